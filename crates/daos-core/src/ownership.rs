//! Who has which part of a target that several share: the machine's RAM.
//!
//! It is found by samples, so it says how much of a part each has, and not which pages.

use crate::addr::{AddrRange, HUGE_PAGE_SIZE};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Most parts in one account. Chosen: a picture has some hundred rows.
pub const MOST_PARTS: usize = 4096;
/// Most owners of one part. Chosen: with more, each has next to nothing of it.
pub const MOST_SHARES: usize = 64;
/// Most parts that are kept of what was so earlier.
const MOST_REMEMBERED: usize = 4 * MOST_PARTS;

/// Who has memory: a process or, without a number, what else the memory is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Owner {
    /// Its process number, where it is a process.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub pid: Option<u32>,
    /// Its command line, or what the memory is for.
    pub name: String,
}

/// Who has which part of a target's memory, as far as samples tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ownership {
    /// Those who have any.
    pub owners: Vec<Owner>,
    /// Sorted, disjoint, not empty. What lies between was nobody's, or is not known.
    pub parts: Vec<OwnedPart>,
}

/// A part of memory, and how much of it is whose.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnedPart {
    /// Its addresses.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub range: AddrRange,
    /// Owners, by their places in [`Ownership::owners`], and how many bytes each has here: no
    /// more than there are, all together.
    pub shares: Vec<(u32, u64)>,
}

/// How many bytes of some memory each has: sorted, none of 0.
pub type Shares<H> = Vec<(H, u64)>;

/// Adds `bytes` to what `holder` has.
pub fn add_share<H: Ord>(shares: &mut Shares<H>, holder: H, bytes: u64) {
    match shares.binary_search_by(|(known, _)| known.cmp(&holder)) {
        Ok(at) => shares[at].1 += bytes,
        Err(at) => shares.insert(at, (holder, bytes)),
    }
}

impl Ownership {
    /// Who has which part, from who has how much of which block: `blocks` are sorted, aligned and
    /// of 2 MiB or less. Those that follow each other and are alike are one part; where these are
    /// too many, larger blocks are taken together. `owner`: who a holder is.
    pub fn of_blocks<'a, H: Copy + Ord + Hash + 'a>(
        blocks: impl Iterator<Item = (AddrRange, &'a Shares<H>)> + Clone,
        mut owner: impl FnMut(H) -> Owner,
    ) -> Self {
        let mut unit = HUGE_PAGE_SIZE;
        let mut parts = parts(blocks.clone(), unit);
        while parts.len() > MOST_PARTS / 2 {
            unit *= 2;
            parts = self::parts(blocks.clone(), unit);
        }
        let mut all = Self::default();
        let mut places: HashMap<H, u32> = HashMap::new();
        for (range, mut shares) in parts {
            shares.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
            shares.truncate(MOST_SHARES);
            let place = |(holder, bytes): (H, u64)| {
                let place = *places.entry(holder).or_insert_with(|| {
                    all.owners.push(owner(holder));
                    all.owners.len() as u32 - 1
                });
                (place, bytes)
            };
            all.parts.push(OwnedPart { range, shares: shares.into_iter().map(place).collect() });
        }
        all
    }

    /// Whether it keeps the rules of its fields, [`MOST_PARTS`] and [`MOST_SHARES`].
    pub fn is_sound(&self) -> bool {
        let is_sound = |part: &OwnedPart| {
            let known = part.shares.iter().all(|&(at, _)| (at as usize) < self.owners.len());
            let bytes = part.shares.iter().map(|&(_, bytes)| bytes).fold(0, u64::saturating_add);
            let AddrRange { start, end } = part.range;
            known && start < end && bytes <= end - start && part.shares.len() <= MOST_SHARES
        };
        self.parts.len() <= MOST_PARTS
            && self.parts.iter().all(is_sound)
            && self.parts.is_sorted_by(|a, b| a.range.end <= b.range.start)
    }

    /// How many bytes of `range` each owner has, by its place, if what it has of a part is spread
    /// evenly there.
    pub fn within(&self, range: AddrRange) -> BTreeMap<u32, f64> {
        let first = self.parts.partition_point(|part| part.range.end <= range.start);
        let mut bytes = BTreeMap::new();
        for part in &self.parts[first..] {
            let Some(inside) = part.range.intersect(&range) else { break };
            let share = inside.len() as f64 / part.range.len() as f64;
            for &(owner, of_part) in &part.shares {
                *bytes.entry(owner).or_default() += of_part as f64 * share;
            }
        }
        bytes
    }

    /// Adds who had what `earlier`, where nobody has anything now, so that memory of a process
    /// that has ended still has its name. Both are sound.
    pub fn remember(&mut self, earlier: Self) {
        let Self { owners: earlier_owners, parts: earlier_parts } = earlier;
        if self.parts.len() + earlier_parts.len() > MOST_REMEMBERED {
            return;
        }
        let mut places: HashMap<Owner, u32> = self.owners.iter().cloned().zip(0..).collect();
        let mut gone = Vec::new();
        for old in earlier_parts {
            let first = self.parts.partition_point(|new| new.range.end <= old.range.start);
            let mut start = old.range.start;
            let stops = self.parts[first..].iter().map(|new| (new.range.start, new.range.end));
            for (from, to) in stops.chain([(old.range.end, old.range.end)]) {
                let range = AddrRange { start, end: from.min(old.range.end) };
                if range.start < range.end {
                    gone.push(old.cut(range, |owner| {
                        let owner = &earlier_owners[owner as usize];
                        *places.entry(owner.clone()).or_insert_with(|| {
                            self.owners.push(owner.clone());
                            self.owners.len() as u32 - 1
                        })
                    }));
                }
                start = start.max(to);
                if start >= old.range.end {
                    break;
                }
            }
        }
        self.parts.extend(gone);
        self.parts.sort_by_key(|part| part.range.start);
    }
}

impl OwnedPart {
    /// What lies in `range`, which is inside of it, with other places for its owners.
    fn cut(&self, range: AddrRange, mut place: impl FnMut(u32) -> u32) -> Self {
        let (inside, all) = (u128::from(range.len()), u128::from(self.range.len()));
        let bytes = |bytes: u64| (u128::from(bytes) * inside / all) as u64;
        let shares = self.shares.iter().map(|&(owner, of_all)| (place(owner), bytes(of_all)));
        Self { range, shares: shares.collect() }
    }
}

/// Blocks of which somebody has anything: those in the same `unit` of bytes are one, and units
/// that follow each other, too, where the same have the same share of them.
fn parts<'a, H: Copy + Ord + 'a>(
    blocks: impl Iterator<Item = (AddrRange, &'a Shares<H>)>,
    unit: u64,
) -> Vec<(AddrRange, Shares<H>)> {
    let mut units: Vec<(AddrRange, Shares<H>)> = Vec::new();
    for (range, shares) in blocks.filter(|(_, shares)| !shares.is_empty()) {
        match units.last_mut() {
            Some((last, sum)) if last.start / unit == range.start / unit => {
                last.end = range.end;
                shares.iter().for_each(|&(holder, bytes)| add_share(sum, holder, bytes));
            }
            _ => units.push((range, shares.clone())),
        }
    }
    units.dedup_by(|(range, shares), (last, sum)| {
        let joins = last.end == range.start && are_alike((*last, sum), (*range, shares));
        if joins {
            last.end = range.end;
            shares.iter().for_each(|&(holder, bytes)| add_share(sum, holder, bytes));
        }
        joins
    });
    units
}

/// Whether the same have the same share of both.
fn are_alike<H: Copy + Ord>(
    (a, of_a): (AddrRange, &Shares<H>),
    (b, of_b): (AddrRange, &Shares<H>),
) -> bool {
    let share = |bytes: u64, of: AddrRange| u128::from(bytes) * u128::from(of.len());
    let same =
        |(&(x, has), &(y, had)): (&(H, u64), &(H, u64))| x == y && share(has, b) == share(had, a);
    of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner { pid: None, name: name.to_owned() }
    }

    fn part(start: u64, end: u64, shares: &[(u32, u64)]) -> OwnedPart {
        OwnedPart { range: AddrRange::new(start, end), shares: shares.to_vec() }
    }

    const MIB: u64 = 1 << 20;

    fn block(at: u64) -> AddrRange {
        AddrRange::new(at * HUGE_PAGE_SIZE, (at + 1) * HUGE_PAGE_SIZE)
    }

    fn of(blocks: &[(AddrRange, Shares<u32>)]) -> Ownership {
        let blocks = blocks.iter().map(|(range, shares)| (*range, shares));
        Ownership::of_blocks(blocks, |holder| owner(&format!("p{holder}")))
    }

    #[test]
    fn blocks_that_are_alike_are_one_part() {
        let mixed = vec![(7, MIB), (8, MIB / 2)];
        let all = of(&[
            (block(0), vec![(7, 2 * MIB)]),
            (block(1), vec![(7, 2 * MIB)]),
            (block(2), mixed.clone()),
            (block(3), Vec::new()),
            (block(4), mixed.clone()),
            (block(5), mixed),
        ]);
        assert_eq!(all.owners, [owner("p7"), owner("p8")]);
        let expected = [
            part(0, 4 * MIB, &[(0, 4 * MIB)]),
            part(4 * MIB, 6 * MIB, &[(0, MIB), (1, MIB / 2)]),
            part(8 * MIB, 12 * MIB, &[(0, 2 * MIB), (1, MIB)]),
        ];
        assert_eq!(all.parts, expected);
    }

    #[test]
    fn of_many_that_differ_larger_blocks_are_told() {
        let blocks: Vec<_> =
            (0..20_000).map(|at| (block(at), vec![(0, MIB), (at as u32 + 1, MIB)])).collect();
        let all = of(&blocks);
        assert!(all.is_sound() && all.parts.len() > MOST_PARTS / 4, "{}", all.parts.len());
        let first = all.owners.iter().position(|owner| owner.name == "p0").unwrap();
        let bytes = all.within(AddrRange::new(0, u64::MAX))[&(first as u32)];
        assert_eq!(bytes, 20_000.0 * MIB as f64);
    }

    #[test]
    fn what_is_within_is_the_share_of_each_part() {
        let parts = vec![part(0, 100, &[(0, 60), (1, 20)]), part(200, 300, &[(0, 100)])];
        let all = Ownership { owners: vec![owner("a"), owner("b")], parts };
        let within =
            |start, end| -> Vec<_> { all.within(AddrRange::new(start, end)).into_iter().collect() };
        assert_eq!(within(0, 300), [(0, 160.0), (1, 20.0)]);
        assert_eq!(within(50, 210), [(0, 40.0), (1, 10.0)]);
        assert_eq!(within(100, 200), []);
    }

    #[test]
    fn who_had_it_earlier_is_remembered_around_who_has_it_now() {
        let mut now = Ownership {
            owners: vec![owner("new"), owner("both")],
            parts: vec![part(20, 30, &[(0, 10)]), part(40, 50, &[(1, 5)])],
        };
        now.remember(Ownership {
            owners: vec![owner("both"), owner("forgotten"), owner("old")],
            parts: vec![
                part(0, 10, &[(0, 10)]),
                part(15, 45, &[(2, 15), (0, 6)]),
                part(45, 48, &[(1, 3)]),
                part(48, 60, &[(2, 12)]),
            ],
        });
        assert_eq!(now.owners, [owner("new"), owner("both"), owner("old")]);
        let expected = [
            part(0, 10, &[(1, 10)]),
            part(15, 20, &[(2, 2), (1, 1)]),
            part(20, 30, &[(0, 10)]),
            part(30, 40, &[(2, 5), (1, 2)]),
            part(40, 50, &[(1, 5)]),
            part(50, 60, &[(2, 10)]),
        ];
        assert_eq!(now.parts, expected);
        assert!(now.is_sound());
    }

    #[test]
    fn what_breaks_the_rules_is_not_sound() {
        let is_sound = |parts: &[OwnedPart]| {
            Ownership { owners: vec![owner("a")], parts: parts.to_vec() }.is_sound()
        };
        assert!(is_sound(&[part(0, 10, &[(0, 10)]), part(10, 20, &[])]));
        assert!(!is_sound(&[part(0, 10, &[(1, 1)])]), "nobody is there");
        assert!(!is_sound(&[part(0, 10, &[(0, 6), (0, 5)])]), "more than there is");
        assert!(!is_sound(&[part(0, 10, &[]), part(9, 20, &[])]), "not disjoint");
        assert!(!is_sound(&[part(0, 0, &[])]), "empty");
        assert!(!is_sound(&[part(0, 100, &[(0, 1); MOST_SHARES + 1])]), "too many");
    }
}
