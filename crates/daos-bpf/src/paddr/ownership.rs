//! Whose the frames of a block are, and from that who has which part of the machine's RAM.
//!
//! What is told is made of the samples that say where anything is mapped, so it costs nothing
//! more to find. Blocks that follow each other and are alike are one part; where these are too
//! many, larger blocks are taken together.

use crate::programs::{FrameKind, FrameRun};
use daos_core::ownership::{MOST_PARTS, MOST_SHARES};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, OwnedPart, Owner, Ownership};
use std::collections::HashMap;

/// Whom a frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Holder {
    /// A process.
    Process(u32),
    /// Several processes.
    Several,
    /// A process that was not found, or one that shares memory with a device or a virtual machine.
    Unclear,
    /// Nobody, as it is page cache that no process maps.
    PageCache,
    Kernel,
}

/// How many bytes of some memory each has: sorted, none of 0.
pub(super) type Shares = Vec<(Holder, u64)>;

impl Holder {
    /// Whose the frames of a run are, whose owners were asked for; `None` if they are free.
    pub fn of(found: &FrameRun) -> Option<Self> {
        Some(match found.kind {
            FrameKind::FRAME_FREE => return None,
            FrameKind::FRAME_OTHER => Self::Kernel,
            FrameKind::FRAME_UNMAPPED => Self::PageCache,
            FrameKind::FRAME_SHARED | FrameKind::FRAME_KSM => Self::Several,
            FrameKind::FRAME_OWN => Self::Process(std::process::id()),
            _ if found.tgid != 0 => Self::Process(found.tgid),
            _ => Self::Unclear,
        })
    }

    fn owner(self, names: &mut impl FnMut(u32) -> String) -> Owner {
        let (pid, name) = match self {
            Self::Process(pid) => (Some(pid), names(pid)),
            Self::Several => (None, "several processes".to_owned()),
            Self::Unclear => (None, "unknown processes".to_owned()),
            Self::PageCache => (None, "page cache that nobody maps".to_owned()),
            Self::Kernel => (None, "the kernel".to_owned()),
        };
        Owner { pid, name }
    }
}

/// Adds `bytes` to what `holder` has.
pub(super) fn add(shares: &mut Shares, holder: Holder, bytes: u64) {
    match shares.binary_search_by_key(&holder, |&(holder, _)| holder) {
        Ok(at) => shares[at].1 += bytes,
        Err(at) => shares.insert(at, (holder, bytes)),
    }
}

/// Who has which part: `blocks` are sorted, aligned and of 2 MiB or less. `names`: of processes.
pub(super) fn ownership<'a>(
    blocks: impl Iterator<Item = (AddrRange, &'a Shares)> + Clone,
    mut names: impl FnMut(u32) -> String,
) -> Ownership {
    let mut unit = HUGE_PAGE_SIZE;
    let mut parts = parts(blocks.clone(), unit);
    while parts.len() > MOST_PARTS / 2 {
        unit *= 2;
        parts = self::parts(blocks.clone(), unit);
    }
    let mut all = Ownership::default();
    let mut places: HashMap<Holder, u32> = HashMap::new();
    for (range, mut shares) in parts {
        shares.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
        shares.truncate(MOST_SHARES);
        let place = |(holder, bytes): (Holder, u64)| {
            let place = *places.entry(holder).or_insert_with(|| {
                all.owners.push(holder.owner(&mut names));
                all.owners.len() as u32 - 1
            });
            (place, bytes)
        };
        all.parts.push(OwnedPart { range, shares: shares.into_iter().map(place).collect() });
    }
    all
}

/// Blocks of which somebody has anything: those in the same `unit` of bytes are one, and units
/// that follow each other, too, where the same have the same share of them.
fn parts<'a>(
    blocks: impl Iterator<Item = (AddrRange, &'a Shares)>,
    unit: u64,
) -> Vec<(AddrRange, Shares)> {
    let mut units: Vec<(AddrRange, Shares)> = Vec::new();
    for (range, shares) in blocks.filter(|(_, shares)| !shares.is_empty()) {
        match units.last_mut() {
            Some((last, sum)) if last.start / unit == range.start / unit => {
                last.end = range.end;
                shares.iter().for_each(|&(holder, bytes)| add(sum, holder, bytes));
            }
            _ => units.push((range, shares.clone())),
        }
    }
    units.dedup_by(|(range, shares), (last, sum)| {
        let joins = last.end == range.start && are_alike((*last, sum), (*range, shares));
        if joins {
            last.end = range.end;
            shares.iter().for_each(|&(holder, bytes)| add(sum, holder, bytes));
        }
        joins
    });
    units
}

/// Whether the same have the same share of both.
fn are_alike((a, of_a): (AddrRange, &Shares), (b, of_b): (AddrRange, &Shares)) -> bool {
    let share = |bytes: u64, of: AddrRange| u128::from(bytes) * u128::from(of.len());
    of_a.len() == of_b.len()
        && of_a
            .iter()
            .zip(of_b)
            .all(|(&(x, has), &(y, had))| x == y && share(has, b) == share(had, a))
}

/// Whether so much is held by others that it is worth telling anew: somebody has an eighth and
/// 16 MiB more or less. Chosen: more than samples differ from each other by chance.
pub(super) fn differs(before: &HashMap<Holder, u64>, now: &HashMap<Holder, u64>) -> bool {
    let of = |all: &HashMap<Holder, u64>, holder| all.get(holder).copied().unwrap_or(0);
    before.keys().chain(now.keys()).any(|holder| {
        let (before, now) = (of(before, holder), of(now, holder));
        before.abs_diff(now) >= (before.max(now) / 8).max(16 << 20)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const A: Holder = Holder::Process(7);

    fn block(at: u64) -> AddrRange {
        AddrRange::new(at * HUGE_PAGE_SIZE, (at + 1) * HUGE_PAGE_SIZE)
    }

    fn of(blocks: &[(AddrRange, Shares)]) -> Ownership {
        ownership(blocks.iter().map(|(range, shares)| (*range, shares)), |pid| format!("p{pid}"))
    }

    #[test]
    fn blocks_that_are_alike_are_one_part() {
        let mixed = vec![(A, MIB), (Holder::PageCache, MIB / 2)];
        let all = of(&[
            (block(0), vec![(A, 2 * MIB)]),
            (block(1), vec![(A, 2 * MIB)]),
            (block(2), mixed.clone()),
            (block(3), Vec::new()),
            (block(4), mixed.clone()),
            (block(5), mixed),
        ]);
        let name = |at: usize| (all.owners[at].pid, &all.owners[at].name[..]);
        assert_eq!([name(0), name(1)], [(Some(7), "p7"), (None, "page cache that nobody maps")]);
        let parts: Vec<_> =
            all.parts.iter().map(|part| (part.range.len() / MIB, &part.shares[..])).collect();
        let expected: [(u64, &[(u32, u64)]); 3] =
            [(4, &[(0, 4 * MIB)]), (2, &[(0, MIB), (1, MIB / 2)]), (4, &[(0, 2 * MIB), (1, MIB)])];
        assert_eq!(parts, expected);
        assert!(all.is_sound());
    }

    #[test]
    fn of_many_that_differ_larger_blocks_are_told() {
        let blocks: Vec<_> = (0..20_000)
            .map(|at| (block(at), vec![(Holder::Process(at as u32), MIB), (Holder::Kernel, MIB)]))
            .collect();
        let all = of(&blocks);
        assert!(all.is_sound() && all.parts.len() > MOST_PARTS / 4, "{}", all.parts.len());
        let kernel = all.owners.iter().position(|owner| owner.name == "the kernel").unwrap();
        let bytes = all.within(AddrRange::new(0, u64::MAX))[&(kernel as u32)];
        assert_eq!(bytes, 20_000.0 * MIB as f64);
    }

    #[test]
    fn what_differs_by_chance_is_no_news() {
        let had = |bytes: u64| HashMap::from([(A, bytes * MIB)]);
        assert!(!differs(&had(1000), &had(1100)) && !differs(&had(10), &had(20)));
        assert!(differs(&had(1000), &had(1200)) && differs(&HashMap::new(), &had(16)));
        assert!(differs(&had(30), &HashMap::new()));
    }
}
