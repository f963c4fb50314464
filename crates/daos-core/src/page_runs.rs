//! Runs of pages, shared by the snapshots in which nothing new is known of them.

use super::{AddrRange, PageRun};
use std::sync::Arc;

/// Runs of pages of one target: sorted, disjoint.
///
/// There may be hundreds of thousands, and a snapshot ten times a second. So to clone them, and
/// to let them [grow](Self::grow) older, costs nothing; and they come in [blocks](RunBlock), of
/// which those that nothing new is known of are shared with the runs before.
#[derive(Debug, Clone, Default)]
pub struct PageRuns {
    blocks: Arc<Vec<RunBlock>>,
    /// Runs of all blocks.
    len: usize,
    /// By how much idle ones are older than their blocks say, in microseconds.
    older_us: u64,
}

/// Neighbouring runs of pages that were found together.
#[derive(Debug, Clone)]
pub struct RunBlock {
    runs: Arc<[PageRun]>,
    /// By how much idle ones are older than they say, in microseconds.
    older_us: u64,
    /// The access rate of those in use, if all have one.
    used_rate: Option<f64>,
}

impl Default for RunBlock {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl PartialEq for RunBlock {
    fn eq(&self, other: &Self) -> bool {
        self.is_later(other, 0) || self.iter().eq(other.iter())
    }
}

impl RunBlock {
    /// Sorted and disjoint runs that were just found.
    pub fn new(runs: &[PageRun]) -> Self {
        Self { runs: runs.into(), older_us: 0, used_rate: None }
    }

    /// The same runs, so many microseconds later.
    pub fn later(&self, us: u64) -> Self {
        let older_us = self.older_us.saturating_add(us);
        Self { runs: self.runs.clone(), older_us, used_rate: self.used_rate }
    }

    /// The same runs, of which those in use have this access rate, more than 0 and 1 at most.
    pub fn with_used_rate(self, rate: f64) -> Self {
        Self { used_rate: Some(rate.clamp(f64::MIN_POSITIVE, 1.0)), ..self }
    }

    /// The access rate of those in use, if all were [given](Self::with_used_rate) one.
    pub fn used_rate(&self) -> Option<f64> {
        self.used_rate
    }

    /// The runs by rising address.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PageRun> + '_ {
        self.older(&self.runs, 0)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Where its first run begins; 0 if there is none.
    pub fn start(&self) -> u64 {
        self.runs.first().map_or(0, |run| run.range.start)
    }

    /// Where its last run ends; 0 if there is none.
    pub fn end(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.range.end)
    }

    /// Whether these are known to be `before`, so much later. Of equal ones that were found
    /// anew it is not known.
    pub fn is_later(&self, before: &Self, us: u64) -> bool {
        self.used_rate == before.used_rate && self.is_later_but_for_rates(before, us)
    }

    /// The same, but that those in use may have another access rate.
    pub fn is_later_but_for_rates(&self, before: &Self, us: u64) -> bool {
        Arc::ptr_eq(&self.runs, &before.runs) && self.older_us == before.older_us.saturating_add(us)
    }

    fn older<'a>(
        &self,
        runs: &'a [PageRun],
        us: u64,
    ) -> impl ExactSizeIterator<Item = PageRun> + use<'a> {
        let (older_us, used_rate) = (self.older_us.saturating_add(us), self.used_rate);
        runs.iter().map(move |run| match run.access_rate > 0.0 {
            true => PageRun { access_rate: used_rate.unwrap_or(run.access_rate), ..*run },
            false => PageRun { age_us: run.age_us.saturating_add(older_us), ..*run },
        })
    }
}

impl PageRuns {
    /// The runs by rising address.
    pub fn iter(&self) -> impl Iterator<Item = PageRun> + '_ {
        self.behind(0)
    }

    /// The runs that do not end at or before `addr`.
    pub fn behind(&self, addr: u64) -> impl Iterator<Item = PageRun> + '_ {
        let first = self.blocks.partition_point(|block| block.end() <= addr);
        self.blocks[first..].iter().flat_map(move |block| {
            let first = match block.start() < addr {
                true => block.runs.partition_point(|run| run.range.end <= addr),
                false => 0,
            };
            block.older(&block.runs[first..], self.older_us)
        })
    }

    /// The blocks by rising address, as they are by now. None is empty.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = RunBlock> + '_ {
        self.blocks.iter().map(|block| block.later(self.older_us))
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// So much time passed, and nothing was learned of them: idle ones are older.
    pub fn grow(&mut self, us: u64) {
        self.older_us = self.older_us.saturating_add(us);
    }

    /// Whether these are known to be `before`, so much later. Of equal ones that were found
    /// anew it is not known.
    pub fn is_later(&self, before: &Self, us: u64) -> bool {
        Arc::ptr_eq(&self.blocks, &before.blocks)
            && self.older_us == before.older_us.saturating_add(us)
    }

    /// Keeps only what lies in `range`; runs at its edges are cut.
    pub fn crop(&mut self, range: AddrRange) {
        let inside = |run: PageRun| Some(PageRun { range: run.range.intersect(&range)?, ..run });
        *self = self.iter().filter_map(inside).collect();
    }
}

impl From<Vec<PageRun>> for PageRuns {
    fn from(runs: Vec<PageRun>) -> Self {
        [RunBlock::new(&runs)].into_iter().collect()
    }
}

impl FromIterator<PageRun> for PageRuns {
    fn from_iter<I: IntoIterator<Item = PageRun>>(runs: I) -> Self {
        Vec::from_iter(runs).into()
    }
}

/// Of blocks by rising address; empty ones are left out.
impl FromIterator<RunBlock> for PageRuns {
    fn from_iter<I: IntoIterator<Item = RunBlock>>(blocks: I) -> Self {
        let blocks: Vec<_> = blocks.into_iter().filter(|block| !block.is_empty()).collect();
        let len = blocks.iter().map(RunBlock::len).sum();
        Self { blocks: Arc::new(blocks), len, older_us: 0 }
    }
}

impl PartialEq for PageRuns {
    fn eq(&self, other: &Self) -> bool {
        self.is_later(other, 0) || (self.len == other.len && self.iter().eq(other.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(start: u64, access_rate: f64, age_us: u64) -> PageRun {
        PageRun { range: AddrRange::new(start, start + 4096), access_rate, age_us }
    }

    #[test]
    fn idle_runs_grow_older() {
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

    #[test]
    fn those_in_use_may_be_used_more_or_less() {
        let block = RunBlock::new(&[run(0, 0.5, 0), run(4096, 0.0, 10)]);
        let now = block.later(5).with_used_rate(0.25);
        assert_eq!(now, RunBlock::new(&[run(0, 0.25, 0), run(4096, 0.0, 15)]));
        assert!(now.is_later_but_for_rates(&block, 5) && !now.is_later(&block, 5));
        assert!(now.later(1).is_later(&now, 1) && now.later(1).used_rate() == Some(0.25));
        let most = block.clone().with_used_rate(7.0).with_used_rate(2.0);
        assert_eq!((block.used_rate(), most.used_rate()), (None, Some(1.0)));
    }

    #[test]
    fn what_is_known_already_is_shared() {
        let blocks = [
            RunBlock::new(&[run(0, 0.0, 7), run(8192, 0.0, 9)]),
            RunBlock::new(&[]),
            RunBlock::new(&[run(16384, 0.5, 0), run(20480, 0.0, 1)]),
        ];
        let mut then: PageRuns = blocks.iter().cloned().collect();
        assert_eq!((then.len(), then.blocks().len()), (4, 2));
        for (addr, left) in [(0, 4), (4096, 3), (12287, 3), (12288, 2), (20480, 1), (24576, 0)] {
            assert_eq!(then.behind(addr).count(), left, "{addr}");
        }
        then.grow(10);
        let now = [blocks[0].later(15), RunBlock::new(&[run(16384, 0.5, 0)])];
        let now: PageRuns = now.into_iter().collect();
        let is_later: Vec<_> =
            now.blocks().zip(then.blocks()).map(|(now, then)| now.is_later(&then, 5)).collect();
        assert_eq!(is_later, [true, false]);
        assert_eq!(
            now,
            PageRuns::from(vec![run(0, 0.0, 22), run(8192, 0.0, 24), run(16384, 0.5, 0)])
        );
    }
}
