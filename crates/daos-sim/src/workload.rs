//! The simulated workload: its regions, where they lie, and what accesses them when.
//!
//! Neither time nor monitors change any of it. Schemes change which blocks huge pages map.

use crate::block::{ArmedBlock, BLOCK_SIZE, BlockSet};
use crate::interval_accesses::IntervalAccesses;
use crate::options::SimOptions;
use crate::page_set::{BLOCK_PAGES, PageSet};
use crate::region_accesses::RegionAccesses;
use crate::timeline::Timeline;
use daos_core::{AddrRange, PAGE_SIZE, TargetId, Window};
use daos_workload::{Config, Order};

/// The one target.
pub const TARGET: TargetId = TargetId(0);

/// The workload of a configuration. It never changes, but for `remapped`.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub config: Config,
    pub options: SimOptions,
    pub timeline: Timeline,
    /// The regions' ranges, sorted and disjoint.
    pub ranges: Vec<AddrRange>,
    /// What accesses each of them.
    region_accesses: Vec<RegionAccesses>,
    /// For each block from the first on, the first region that ends behind its start.
    region_of: Vec<u32>,
    /// Blocks that actions made huge pages, or small ones: that are not as the options say.
    pub remapped: BlockSet,
}

/// The part of a window that lies in one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub region: usize,
    pub block: u64,
    /// Its first page, counted from the start of the block.
    pub first: u32,
    pub pages: u32,
    /// Its first page, counted from the start of the window.
    pub in_window: u32,
    /// Whether a huge page maps the block.
    pub huge: bool,
}

impl Workload {
    /// The workload of a configuration whose regions lie at `ranges`, which are in their
    /// order, page-aligned, sorted and disjoint.
    pub fn new(config: Config, ranges: Vec<AddrRange>, options: SimOptions) -> Self {
        let timeline = Timeline::new(&config);
        let per_sec = options.accesses_per_sec.min(1_000_000_000_000);
        let options = SimOptions { accesses_per_sec: per_sec, ..options };
        let accesses_to = |region| RegionAccesses::new(&config, region, &timeline, per_sec);
        let region_accesses = (0..config.regions.len()).map(accesses_to).collect();
        let first_block = ranges[0].start / BLOCK_SIZE;
        let mut region_of = Vec::new();
        for (region, range) in ranges.iter().enumerate() {
            let blocks = range.end.div_ceil(BLOCK_SIZE) - first_block;
            region_of.resize(region_of.len().max(blocks as usize), region as u32);
        }
        let remapped = BlockSet::new(first_block);
        Self { config, options, timeline, ranges, region_accesses, region_of, remapped }
    }

    /// From the start of the first region to the end of the last.
    pub fn whole(&self) -> AddrRange {
        AddrRange::new(self.ranges[0].start, self.ranges[self.ranges.len() - 1].end)
    }

    /// The parts of a window that are mapped, block by block and region by region.
    pub fn segments(&self, window: &Window) -> Segments<'_> {
        let window = if window.target == TARGET { window.range() } else { AddrRange::new(0, 0) };
        self.segments_of(window)
    }

    /// The parts of a block.
    pub fn segments_of_block(&self, block: u64) -> Segments<'_> {
        self.segments_of(AddrRange::new(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE))
    }

    /// The parts of a range that are mapped, block by block and region by region.
    pub fn segments_of(&self, window: AddrRange) -> Segments<'_> {
        let first_block = self.ranges[0].start / BLOCK_SIZE;
        let block = (window.start / BLOCK_SIZE).saturating_sub(first_block);
        let region = self.region_of.get(block as usize).map_or(self.ranges.len(), |r| *r as usize);
        Segments { workload: self, window, at: window.start, region }
    }

    /// The part of a window of one page, if that is mapped. Most windows are like that.
    #[inline]
    pub fn page(&self, window: &Window) -> Option<Segment> {
        let start = window.start;
        let block = start / BLOCK_SIZE;
        let from_first = block.checked_sub(self.ranges[0].start / BLOCK_SIZE)?;
        let mut region = *self.region_of.get(from_first as usize)? as usize;
        let mut range = *self.ranges.get(region)?;
        while range.end <= start {
            region += 1;
            range = *self.ranges.get(region)?;
        }
        (range.start <= start && window.target == TARGET).then(|| Segment {
            region,
            block,
            first: ((start % BLOCK_SIZE) / PAGE_SIZE) as u32,
            pages: 1,
            in_window: 0,
            huge: self.is_huge(block, range),
        })
    }

    /// Whether a huge page maps the block, of which at least a part is in the range `region`.
    fn is_huge(&self, block: u64, region: AddrRange) -> bool {
        self.is_of_huge(block)
            && region.start <= block * BLOCK_SIZE
            && (block + 1) * BLOCK_SIZE <= region.end
    }

    /// The same for a block that one region covers.
    #[inline]
    fn is_of_huge(&self, block: u64) -> bool {
        self.options.huge_pages != self.remapped.has(block)
    }

    /// Whether no phase accesses the region.
    pub fn is_idle(&self, region: usize) -> bool {
        self.region_accesses[region].is_idle()
    }

    /// Which pages of 4 KiB of a segment were accessed between two times, `among` those of
    /// its block. Draws of another kind than those of [`settle`](Self::settle), even if
    /// the times are the same.
    pub fn accessed(
        &self,
        segment: &Segment,
        among: PageSet,
        time: (u64, u64),
        accesses: &mut [IntervalAccesses],
    ) -> PageSet {
        let region = &self.region_accesses[segment.region];
        let among = among & segment.bits();
        if region.is_idle() || among.is_empty() {
            return PageSet::default();
        }
        let seed = !self.options.seed;
        let interval = accesses[segment.region].of(region, &self.timeline, seed, time, PAGE_SIZE);
        if interval.is_idle() {
            return PageSet::default();
        }
        interval.accessed(among, segment.block, self.ranges[segment.region])
    }

    /// How much of the time between two times the workload spent on a region, in
    /// microseconds: on random accesses, and on strides.
    pub fn time_spent_on(&self, region: usize, from_us: u64, to_us: u64) -> (f64, f64) {
        let (from, to) = (self.timeline.at(from_us), self.timeline.at(to_us));
        let (mut random_us, mut stride_us) = (0.0, 0.0);
        for (index, phase) in self.config.phases.iter().enumerate() {
            let time_us = self.timeline.time_in(index, from, to) as f64;
            for pattern in phase.patterns.iter().filter(|p| p.region == region) {
                let share = f64::from(pattern.weight) / phase.total_weight() as f64;
                match pattern.order {
                    Order::Random | Order::Singles(_) => random_us += share * time_us,
                    Order::Stride(_) => stride_us += share * time_us,
                }
            }
        }
        (random_us, stride_us)
    }

    /// Brings a block up to now: takes out the pages that were accessed since.
    /// Returns how many entries that are.
    pub fn settle(
        &self,
        number: u64,
        block: &mut ArmedBlock,
        now_us: u64,
        accesses: &mut [IntervalAccesses],
    ) -> u64 {
        let since_us = std::mem::replace(&mut block.as_of_us, now_us);
        if since_us == now_us || block.armed.is_empty() {
            return 0;
        }
        let time = (since_us, now_us);
        let whole = AddrRange::new(number * BLOCK_SIZE, (number + 1) * BLOCK_SIZE);
        let region = self.region_of[(number - self.ranges[0].start / BLOCK_SIZE) as usize] as usize;
        let range = self.ranges[region];
        if range.start <= whole.start && whole.end <= range.end {
            // Nearly all blocks are of one region.
            let (first, pages, in_window) = (0, BLOCK_PAGES, 0);
            let huge = self.is_of_huge(number);
            let segment = Segment { region, block: number, first, pages, in_window, huge };
            return self.settle_segment(segment, block, time, accesses);
        }
        self.segments_of(whole)
            .map(|segment| self.settle_segment(segment, block, time, accesses))
            .sum()
    }

    /// The same for the pages of one region.
    #[inline]
    fn settle_segment(
        &self,
        segment: Segment,
        block: &mut ArmedBlock,
        time: (u64, u64),
        accesses: &mut [IntervalAccesses],
    ) -> u64 {
        let region = &self.region_accesses[segment.region];
        if region.is_idle() {
            return 0;
        }
        let page = if segment.huge { BLOCK_SIZE } else { PAGE_SIZE };
        let seed = self.options.seed;
        let interval = accesses[segment.region].of(region, &self.timeline, seed, time, page);
        if interval.is_idle() {
            return 0;
        }
        let region_start = self.ranges[segment.region].start;
        let is_idle = |page_in_block: u32| {
            let address = segment.block * BLOCK_SIZE + u64::from(page_in_block) * PAGE_SIZE;
            interval.is_page_idle(address - region_start, address)
        };
        if !segment.huge && segment.pages == BLOCK_PAGES {
            u64::from(block.armed.retain_all(is_idle))
        } else if !segment.huge {
            u64::from(block.armed.retain(segment.first, segment.pages, is_idle))
        } else if !is_idle(0) {
            block.armed.remove(0, BLOCK_PAGES);
            1
        } else {
            0
        }
    }
}

/// Goes over a window.
#[derive(Debug, Clone)]
pub(crate) struct Segments<'a> {
    workload: &'a Workload,
    window: AddrRange,
    /// What lies before is done.
    at: u64,
    /// The first region that may lie behind.
    region: usize,
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    #[inline]
    fn next(&mut self) -> Option<Segment> {
        let mut range = *self.workload.ranges.get(self.region)?;
        while range.end <= self.at {
            self.region += 1;
            range = *self.workload.ranges.get(self.region)?;
        }
        let start = self.at.max(range.start);
        if start >= self.window.end {
            return None;
        }
        let block = start / BLOCK_SIZE;
        let end = self.window.end.min(range.end).min((block + 1) * BLOCK_SIZE);
        self.at = end;
        Some(Segment {
            region: self.region,
            block,
            first: ((start % BLOCK_SIZE) / PAGE_SIZE) as u32,
            pages: ((end - start) / PAGE_SIZE) as u32,
            in_window: ((start - self.window.start) / PAGE_SIZE) as u32,
            huge: self.workload.is_huge(block, range),
        })
    }
}

impl Segment {
    /// Its addresses.
    pub fn range(&self) -> AddrRange {
        let start = self.block * BLOCK_SIZE + u64::from(self.first) * PAGE_SIZE;
        AddrRange::new(start, start + u64::from(self.pages) * PAGE_SIZE)
    }

    /// `range`, in which it lies, with all that is armed with it: a huge page has one bit.
    pub fn armed_with(&self, range: AddrRange) -> AddrRange {
        if !self.huge {
            return range;
        }
        let start = self.block * BLOCK_SIZE;
        AddrRange::new(range.start.min(start), range.end.max(start + BLOCK_SIZE))
    }

    /// Its pages in the block.
    pub fn bits(&self) -> PageSet {
        PageSet::run(self.first, self.pages)
    }

    /// The page-table entries that map so many of its pages.
    pub fn entries(&self, pages: u32) -> u64 {
        u64::from(if self.huge { pages.div_ceil(BLOCK_PAGES) } else { pages })
    }
}
