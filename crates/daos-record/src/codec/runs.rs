//! Page runs to bytes and back, as changes of those of the snapshot before.
//!
//! A target may have thousands of runs, of which few change in an interval. So
//! what is written are edits: so many runs stay, so many go, these are new. The
//! number of runs that the edits start from stands in front of them, so that a
//! reader that starts from others notices.

use super::stored::StoredRun;
use super::varint;
use daos_core::{AddrRange, PAGE_SIZE};

/// Most runs of one target: what a reader may have to hold.
pub const MAX_RUNS: usize = 1 << 20;

/// How a list of runs becomes another one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edits {
    edits: Vec<Edit>,
    /// Those of all edits.
    new: Vec<StoredRun>,
    /// Old runs that stay, behind the last edit.
    kept: usize,
    /// Where the last run ends that stays or is new.
    end: u64,
}

/// A place in a list of runs where something changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    /// Old runs that stay, behind the edit before.
    kept: usize,
    /// Old runs behind those that go.
    dropped: usize,
    /// Runs that take their place.
    new: usize,
    /// Where the run ends that is in front of them; 0 for none.
    previous_end: u64,
}

impl Edits {
    /// All `old` runs go, these come.
    pub fn anew(old: usize, runs: Vec<StoredRun>) -> Self {
        let edit = Edit { kept: 0, dropped: old, new: runs.len(), previous_end: 0 };
        Self { edits: vec![edit], new: runs, ..Self::default() }
    }

    /// So many more runs stay, of which the last ends there.
    pub fn keep(&mut self, runs: usize, end: u64) {
        (self.kept, self.end) = (self.kept + runs, end);
    }

    /// More runs become others.
    pub fn replace(&mut self, old: &[StoredRun], runs: &[StoredRun]) {
        let (mut from, mut to) = (0, 0);
        loop {
            let same = old[from..].iter().zip(&runs[to..]).take_while(|(a, b)| a == b);
            let kept = same.count();
            (from, to) = (from + kept, to + kept);
            if let Some(last) = to.checked_sub(1).filter(|_| kept > 0) {
                self.keep(kept, runs[last].range.end);
            }
            if from == old.len() && to == runs.len() {
                return;
            }
            let (dropped, new) = before_next_common(&old[from..], &runs[to..]);
            let kept = std::mem::take(&mut self.kept);
            self.edits.push(Edit { kept, dropped, new, previous_end: self.end });
            (from, to) = (from + dropped, to + new);
            let added = &runs[to - new..to];
            self.new.extend_from_slice(added);
            self.end = added.last().map_or(self.end, |run| run.range.end);
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Runs that are new.
    pub fn nr_new(&self) -> usize {
        self.new.len()
    }
}

/// Whether a record can hold these runs behind the one that ends at `previous_end`; what is
/// wrong with them where it can't.
pub fn check(mut previous_end: u64, runs: &[StoredRun]) -> Result<(), &'static str> {
    for AddrRange { start, end } in runs.iter().map(|run| run.range) {
        if start % PAGE_SIZE != 0 || end % PAGE_SIZE != 0 {
            return Err("a run of pages does not begin and end with a page");
        }
        if start < previous_end || end <= start {
            return Err("runs of pages are not sorted and disjoint");
        }
        previous_end = end;
    }
    Ok(())
}

/// Whether a record can hold so many runs of a target.
pub fn check_number(runs: usize) -> Result<(), &'static str> {
    let fits = runs <= MAX_RUNS;
    fits.then_some(()).ok_or("a target has more than 1048576 runs of pages")
}

/// Appends to `out` what becomes of so many `old` runs. The new ones have been
/// [checked](check).
pub fn encode(old: usize, edits: &Edits, out: &mut Vec<u8>) {
    varint::put(out, old as u64);
    varint::put(out, edits.edits.len() as u64);
    let mut rest = &edits.new[..];
    for edit in &edits.edits {
        for number in [edit.kept, edit.dropped, edit.new] {
            varint::put(out, number as u64);
        }
        let (new, behind) = rest.split_at(edit.new);
        rest = behind;
        let mut previous_end = edit.previous_end;
        for run in new {
            encode_run(run, previous_end, out);
            previous_end = run.range.end;
        }
    }
}

fn encode_run(run: &StoredRun, previous_end: u64, out: &mut Vec<u8>) {
    varint::put(out, (run.range.start - previous_end) / PAGE_SIZE);
    varint::put(out, run.range.pages());
    varint::put(out, u64::from(run.nr_accesses) << 1 | u64::from(run.age > 0));
    if run.age > 0 {
        varint::put(out, run.age.into());
    }
}

/// What `old` becomes by the edits in `payload`, and how many runs of that are new; `None`
/// when it holds anything else, or edits of other runs than these.
pub fn decode(old: &[StoredRun], payload: &mut &[u8]) -> Option<(Vec<StoredRun>, u64)> {
    if varint::take(payload)? != old.len() as u64 {
        return None;
    }
    let mut runs = Vec::new();
    let mut all_new = 0u64;
    let mut old = old.iter();
    for _ in 0..varint::take(payload)? {
        for _ in 0..varint::take(payload)? {
            append(&mut runs, *old.next()?)?;
        }
        for _ in 0..varint::take(payload)? {
            old.next()?;
        }
        let new = varint::take(payload)?;
        all_new = all_new.checked_add(new)?;
        for _ in 0..new {
            let previous_end = runs.last().map_or(0, |run| run.range.end);
            append(&mut runs, decode_run(previous_end, payload)?)?;
        }
    }
    for run in old {
        append(&mut runs, *run)?;
    }
    payload.is_empty().then_some((runs, all_new))
}

fn decode_run(previous_end: u64, payload: &mut &[u8]) -> Option<StoredRun> {
    let start = previous_end.checked_add(varint::take_pages(payload)?)?;
    let end = start.checked_add(varint::take_pages(payload)?)?;
    let accesses = varint::take(payload)?;
    Some(StoredRun {
        range: AddrRange::new(start, end),
        nr_accesses: u32::try_from(accesses >> 1).ok()?,
        age: if accesses & 1 == 1 { varint::take_u32(payload)? } else { 0 },
    })
}

/// Appends `run` if it lies behind those that are there, and there is room.
fn append(runs: &mut Vec<StoredRun>, run: StoredRun) -> Option<()> {
    let previous_end = runs.last().map_or(0, |before| before.range.end);
    if run.range.is_empty() || run.range.start < previous_end || runs.len() == MAX_RUNS {
        return None;
    }
    runs.push(run);
    Some(())
}

/// How many runs of each stand before the first that both have.
fn before_next_common(old: &[StoredRun], runs: &[StoredRun]) -> (usize, usize) {
    let (mut from, mut to) = (0, 0);
    while let (Some(a), Some(b)) = (old.get(from), runs.get(to)) {
        if a == b {
            return (from, to);
        }
        from += usize::from(a.range.start <= b.range.start);
        to += usize::from(b.range.start <= a.range.start);
    }
    (old.len(), runs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn run(first: u64, pages: u64, nr_accesses: u32, age: u32) -> StoredRun {
        let start = first * PAGE_SIZE;
        StoredRun { range: AddrRange::new(start, start + pages * PAGE_SIZE), nr_accesses, age }
    }

    fn encoded(old: &[StoredRun], runs: &[StoredRun]) -> Vec<u8> {
        let mut edits = Edits::default();
        edits.replace(old, runs);
        let mut bytes = Vec::new();
        encode(old.len(), &edits, &mut bytes);
        bytes
    }

    fn lists() -> impl Strategy<Value = Vec<StoredRun>> {
        vec((0..3u64, 1..3u64, 0..3u32, 0..3u32), 0..40).prop_map(|runs| {
            let mut end = 0;
            let place = |(gap, pages, nr_accesses, age)| {
                let start = end + gap;
                end = start + pages;
                run(start, pages, nr_accesses, age)
            };
            runs.into_iter().map(place).collect()
        })
    }

    proptest! {
        #[test]
        fn runs_come_back_whatever_was_before(old in lists(), runs in lists()) {
            let bytes = encoded(&old, &runs);
            prop_assert_eq!(decode(&old, &mut &bytes[..]).map(|(runs, _)| runs), Some(runs));
        }

        #[test]
        fn runs_that_stay_need_not_be_gone_through(
            lists in vec((lists(), lists(), any::<bool>()), 0..8),
        ) {
            let (mut edits, mut old, mut runs) = (Edits::default(), Vec::new(), Vec::new());
            for (at, (before, after, stays)) in lists.into_iter().enumerate() {
                let move_up = |list: Vec<StoredRun>| -> Vec<StoredRun> {
                    let up = at as u64 * 1000;
                    list.iter().map(|r| run(up + r.range.start / PAGE_SIZE, r.range.pages(), r.nr_accesses, r.age)).collect()
                };
                let (before, after) = (move_up(before), move_up(after));
                let after = if stays { before.clone() } else { after };
                match after.last() {
                    Some(last) if stays => edits.keep(after.len(), last.range.end),
                    _ => edits.replace(&before, &after),
                }
                old.extend(before);
                runs.extend(after);
            }
            let mut bytes = Vec::new();
            encode(old.len(), &edits, &mut bytes);
            let new = edits.nr_new() as u64;
            prop_assert_eq!(decode(&old, &mut &bytes[..]), Some((runs, new)));
        }

        #[test]
        fn part_of_the_edits_is_refused(old in lists(), runs in lists(), part in 0.0..1.0) {
            let bytes = encoded(&old, &runs);
            let part = (bytes.len() as f64 * part) as usize;
            prop_assert_eq!(decode(&old, &mut &bytes[..part]), None);
        }

        #[test]
        fn what_is_read_can_be_written(old in lists(), bytes in vec(0..5u8, 0..60)) {
            let bytes = [&[old.len() as u8], &bytes[..]].concat();
            if let Some((runs, _)) = decode(&old, &mut &bytes[..]) {
                prop_assert_eq!(check(0, &runs), Ok(()));
            }
        }
    }

    #[test]
    fn new_runs_are_counted() {
        let (old, runs) = ([run(1, 1, 0, 1), run(3, 1, 0, 1)], [run(1, 1, 0, 1), run(5, 1, 3, 0)]);
        let new = |bytes: Vec<u8>| decode(&old, &mut &bytes[..]).map(|(_, new)| new);
        assert_eq!(new(encoded(&old, &old)), Some(0));
        assert_eq!(new(encoded(&old, &runs)), Some(1));
        let mut anew = Vec::new();
        encode(2, &Edits::anew(2, runs.to_vec()), &mut anew);
        assert_eq!(decode(&old, &mut &anew[..]), Some((runs.to_vec(), 2)));
    }

    #[test]
    fn one_change_among_many_costs_little() {
        let old: Vec<_> = (0..5000).map(|at| run(at * 3, 2, 0, 7)).collect();
        let mut runs = old.clone();
        runs[2500] = run(7500, 2, 900, 0);
        assert!(encoded(&old, &runs).len() < 12);
        runs.remove(70);
        assert!(encoded(&old, &runs).len() < 18);
        assert_eq!(encoded(&old, &old).len(), 3);
    }

    #[test]
    fn edits_of_other_runs_are_refused() {
        let (old, runs) = ([run(1, 1, 0, 1)], [run(1, 1, 0, 1), run(5, 1, 3, 0)]);
        let bytes = encoded(&old, &runs);
        assert_eq!(decode(&[], &mut &bytes[..]), None);
        assert_eq!(decode(&runs, &mut &bytes[..]), None);
    }

    #[test]
    fn a_claimed_number_cannot_fill_the_memory() {
        for at in 0..4 {
            let mut bytes = vec![0; at];
            if at > 1 {
                bytes[1] = 1;
            }
            varint::put(&mut bytes, 1 << 60);
            assert_eq!(decode(&[], &mut &bytes[..]), None);
        }
    }

    #[test]
    fn what_breaks_the_rules_is_told() {
        let runs = [run(1, 2, 0, 0), run(2, 1, 0, 0)];
        assert!(check(0, &runs).unwrap_err().contains("disjoint"));
        assert!(check(2 * PAGE_SIZE, &runs[..1]).unwrap_err().contains("disjoint"));
        assert!(check(0, &[run(1, 0, 0, 0)]).unwrap_err().contains("disjoint"));
        let odd = StoredRun { range: AddrRange::new(0, 100), nr_accesses: 0, age: 0 };
        assert!(check(0, &[odd]).unwrap_err().contains("page"));
        assert!(check_number(MAX_RUNS + 1).unwrap_err().contains("more than"));
        assert_eq!(check_number(MAX_RUNS), Ok(()));
    }

    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let old = [run(1024, 16, 700, 0), run(1060, 4, 0, 3)];
        let runs = [run(1024, 16, 700, 0), run(1050, 10, 650, 0), run(1060, 4, 0, 3)];
        #[rustfmt::skip]
        let documented = [
            0x02, 0x01, // two runs before, one edit
            0x01, 0x00, 0x01, // one run stays, none goes, one is new
            0x0a, 0x0a, 0x94, 0x0a, // 10 pages on, 10 pages, 650 accesses, age 0
        ];
        assert_eq!(encoded(&old, &runs), documented);
    }
}
