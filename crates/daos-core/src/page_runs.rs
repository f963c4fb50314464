//! Runs of pages, shared by the snapshots in which nothing new is known of them.

use super::{AddrRange, PageRun};
use std::sync::Arc;

/// Runs of pages of one target: sorted, disjoint.
///
/// There may be tens of thousands, and a snapshot ten times a second. So to clone them, and
/// to let them [grow](Self::grow) older, costs nothing.
#[derive(Debug, Clone, Default)]
pub struct PageRuns {
    runs: Arc<Vec<PageRun>>,
    /// By how much idle ones are older than they say, in microseconds.
    older_us: u64,
}

impl PageRuns {
    /// The runs by rising address.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PageRun> + '_ {
        self.since(0)
    }

    /// The runs that do not end at or before `addr`.
    pub fn behind(&self, addr: u64) -> impl ExactSizeIterator<Item = PageRun> + '_ {
        self.since(self.runs.partition_point(|run| run.range.end <= addr))
    }

    fn since(&self, first: usize) -> impl ExactSizeIterator<Item = PageRun> + '_ {
        let older_us = self.older_us;
        self.runs[first..].iter().map(move |run| {
            let older_us = if run.access_rate > 0.0 { 0 } else { older_us };
            PageRun { age_us: run.age_us.saturating_add(older_us), ..*run }
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// So much time passed, and nothing was learned of them: idle ones are older.
    pub fn grow(&mut self, us: u64) {
        self.older_us = self.older_us.saturating_add(us);
    }

    /// Whether these are known to be `before`, so much later. Of equal ones that were found
    /// anew it is not known.
    pub fn is_later(&self, before: &Self, us: u64) -> bool {
        Arc::ptr_eq(&self.runs, &before.runs) && self.older_us == before.older_us.saturating_add(us)
    }

    /// Keeps only what lies in `range`; runs at its edges are cut.
    pub fn crop(&mut self, range: AddrRange) {
        let inside = |run: PageRun| Some(PageRun { range: run.range.intersect(&range)?, ..run });
        *self = self.iter().filter_map(inside).collect();
    }
}

impl From<Vec<PageRun>> for PageRuns {
    fn from(runs: Vec<PageRun>) -> Self {
        Self { runs: Arc::new(runs), older_us: 0 }
    }
}

impl FromIterator<PageRun> for PageRuns {
    fn from_iter<I: IntoIterator<Item = PageRun>>(runs: I) -> Self {
        Vec::from_iter(runs).into()
    }
}

impl PartialEq for PageRuns {
    fn eq(&self, other: &Self) -> bool {
        self.is_later(other, 0) || self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_runs_grow_older() {
        let run = |start, access_rate, age_us| PageRun {
            range: AddrRange::new(start, start + 4096),
            access_rate,
            age_us,
        };
        let then = PageRuns::from(vec![run(0, 0.5, 0), run(4096, 0.0, 10)]);
        let mut now = then.clone();
        now.grow(5);
        assert_eq!(now, PageRuns::from(vec![run(0, 0.5, 0), run(4096, 0.0, 15)]));
        assert!(now.is_later(&then, 5) && !now.is_later(&then, 4));
        assert!(!PageRuns::from(then.iter().collect::<Vec<_>>()).is_later(&then, 0));
        assert_eq!(now.behind(4096).collect::<Vec<_>>(), [run(4096, 0.0, 15)]);
        now.crop(AddrRange::new(4096, 5000));
        assert_eq!(now.iter().map(|run| run.range.len()).collect::<Vec<_>>(), [904]);
    }
}
