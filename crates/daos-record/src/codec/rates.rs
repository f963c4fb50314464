//! Access rates of page runs that are otherwise as expected, to bytes and back.
//!
//! With each look it is known better how often pages are used, while it seldom changes which pages
//! are. So where all runs in use of a block have the same rate, a new rate for them takes a few
//! bytes in the record, however many runs there are.

use super::stored::StoredRun;
use super::varint;

/// New rates of those in use among some runs, by rising place in a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rates {
    spans: Vec<Span>,
    /// Where the last span ends.
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    /// Runs behind the span before whose rates stay.
    kept: usize,
    runs: usize,
    nr_accesses: u32,
}

impl Rates {
    /// Sets the rate of those in use among so many runs, from the one at `first` on. Calls go by
    /// rising `first`, and runs do not overlap.
    pub fn set(&mut self, first: usize, runs: usize, nr_accesses: u32) {
        debug_assert!(first >= self.end && nr_accesses > 0);
        self.spans.push(Span { kept: first - self.end, runs, nr_accesses });
        self.end = first + runs;
    }

    /// Whether all stay as they are.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

/// Appends to `out` the new rates of some of so many `runs`.
pub fn encode(runs: usize, rates: &Rates, out: &mut Vec<u8>) {
    varint::put(out, runs as u64);
    varint::put(out, rates.spans.len() as u64);
    for span in &rates.spans {
        varint::put(out, span.kept as u64);
        varint::put(out, span.runs as u64);
        varint::put(out, span.nr_accesses.into());
    }
}

/// Gives `runs` the rates in `payload`; `None` when it holds anything else, or rates of other runs
/// than these.
pub fn apply(runs: &mut [StoredRun], payload: &mut &[u8]) -> Option<()> {
    if varint::take(payload)? != runs.len() as u64 {
        return None;
    }
    let mut rest = runs;
    for _ in 0..varint::take(payload)? {
        let kept = usize::try_from(varint::take(payload)?).ok()?;
        let nr = usize::try_from(varint::take(payload)?).ok().filter(|nr| *nr > 0)?;
        let nr_accesses = varint::take_u32(payload).filter(|nr| *nr > 0)?;
        let (span, behind) = rest.split_at_mut_checked(kept)?.1.split_at_mut_checked(nr)?;
        let used = span.iter_mut().filter(|run| run.nr_accesses > 0);
        used.for_each(|run| run.nr_accesses = nr_accesses);
        rest = behind;
    }
    payload.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{AddrRange, PAGE_SIZE};

    fn runs(accesses: &[u32]) -> Vec<StoredRun> {
        let range = |page: u64| AddrRange::new(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
        let run = |(page, nr_accesses): (u64, &u32)| StoredRun {
            range: range(page),
            nr_accesses: *nr_accesses,
            age: 0,
        };
        (0..).zip(accesses).map(run).collect()
    }

    fn encoded(of: usize, rates: &[(usize, usize, u32)]) -> Vec<u8> {
        let mut all = Rates::default();
        rates.iter().for_each(|(first, runs, rate)| all.set(*first, *runs, *rate));
        let mut out = Vec::new();
        encode(of, &all, &mut out);
        out
    }

    #[test]
    fn those_in_use_have_them_then() {
        let mut all = runs(&[7, 0, 7, 7, 9, 0]);
        let bytes = encoded(6, &[(1, 2, 300), (4, 2, 1)]);
        assert_eq!(bytes, [6, 2, 1, 2, 0xac, 2, 1, 2, 1]);
        apply(&mut all, &mut &bytes[..]).unwrap();
        assert_eq!(all, runs(&[7, 0, 300, 7, 1, 0]));
    }

    #[test]
    fn rates_of_other_runs_are_refused() {
        let refused = |bytes: &[u8]| apply(&mut runs(&[7, 0, 7]), &mut &bytes[..]).is_none();
        assert!(refused(&encoded(2, &[(0, 1, 5)])), "of two runs");
        assert!(refused(&encoded(3, &[(1, 3, 5)])), "more than there are");
        assert!(refused(&[3, 1, 0, 0, 5]) && refused(&[3, 1, 0, 1, 0]), "of none, and no rate");
        assert!(refused(&[3, 1, 0, 1]) && refused(&[3, 0, 0]), "too short and too long");
        assert!(refused(&[3, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 5]));
        assert!(!refused(&encoded(3, &[(2, 1, 5)])));
    }
}
