//! What the simulated space is made of and what is done to it: all that time
//! and monitors don't change.

use crate::bits::BITS;
use crate::block::{BLOCK_SIZE, Block};
use crate::exposure::Exposure;
use crate::load::Load;
use crate::space::{SimOptions, TARGET};
use crate::timeline::Timeline;
use daos_core::{AddrRange, PAGE_SIZE, Window};
use daos_workload::Config;
use daos_workload::place::place;

/// What never changes.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub config: Config,
    pub options: SimOptions,
    pub timeline: Timeline,
    /// The regions' ranges, each starting a block, and what is done to them.
    pub ranges: Vec<AddrRange>,
    loads: Vec<Load>,
    /// The region of each block from the first on: no two share one. A hole
    /// counts to the region before it.
    region_of: Vec<u32>,
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

impl World {
    pub fn new(config: Config, options: SimOptions) -> Self {
        let timeline = Timeline::new(&config);
        let per_sec = options.accesses_per_sec.min(1_000_000_000_000);
        let options = SimOptions { accesses_per_sec: per_sec, ..options };
        let ranges = place(&config.regions, options.base.min(1 << 56));
        let load = |region| Load::new(&config, region, &timeline, per_sec);
        let loads = (0..config.regions.len()).map(load).collect();
        let first_block = ranges[0].start / BLOCK_SIZE;
        let mut region_of = Vec::new();
        for (region, range) in ranges.iter().enumerate() {
            let before = (range.start / BLOCK_SIZE - first_block) as usize;
            let blocks = range.len().div_ceil(BLOCK_SIZE) as usize;
            region_of.resize(before, region.saturating_sub(1) as u32);
            region_of.resize(before + blocks, region as u32);
        }
        Self { config, options, timeline, ranges, loads, region_of }
    }

    /// From the start of the first region to the end of the last.
    pub fn whole(&self) -> AddrRange {
        AddrRange::new(self.ranges[0].start, self.ranges[self.ranges.len() - 1].end)
    }

    /// The parts of a window that are mapped, block by block.
    pub fn segments(&self, window: &Window) -> impl Iterator<Item = Segment> + use<'_> {
        let window = if window.target == TARGET { window.range() } else { AddrRange::new(0, 0) };
        let first_block = self.ranges[0].start / BLOCK_SIZE;
        let blocks = window.start / BLOCK_SIZE..window.end.div_ceil(BLOCK_SIZE);
        blocks.filter_map(move |block| {
            let region = *self.region_of.get(block.checked_sub(first_block)? as usize)? as usize;
            let range = self.ranges[region];
            let block_end = (block + 1) * BLOCK_SIZE;
            let start = window.start.max(block * BLOCK_SIZE);
            let end = window.end.min(block_end).min(range.end);
            (start < end).then(|| Segment {
                region,
                block,
                first: ((start % BLOCK_SIZE) / PAGE_SIZE) as u32,
                pages: ((end - start) / PAGE_SIZE) as u32,
                in_window: ((start - window.start) / PAGE_SIZE) as u32,
                huge: self.options.huge_pages && block_end <= range.end,
            })
        })
    }

    /// Brings a block up to now: takes out the pages that were accessed since.
    /// Returns how many entries that are.
    pub fn settle(
        &self,
        segment: Segment,
        block: &mut Block,
        now_us: u64,
        exposures: &mut [Exposure],
    ) -> u64 {
        let since_us = std::mem::replace(&mut block.as_of_us, now_us);
        let load = &self.loads[segment.region];
        if since_us == now_us || load.is_idle() || block.armed.is_empty() {
            return 0;
        }
        let page = if segment.huge { BLOCK_SIZE } else { PAGE_SIZE };
        let exposure = exposures[segment.region].of(
            load,
            &self.timeline,
            self.options.seed,
            (since_us, now_us),
            page,
        );
        if exposure.is_idle() {
            return 0;
        }
        let region_start = self.ranges[segment.region].start;
        let spared = |page_in_block: u32| {
            let address = segment.block * BLOCK_SIZE + u64::from(page_in_block) * PAGE_SIZE;
            exposure.spared(address - region_start, address)
        };
        if !segment.huge {
            u64::from(block.armed.retain(spared))
        } else if !spared(0) {
            block.armed.clear();
            1
        } else {
            0
        }
    }
}

impl Segment {
    /// The page-table entries that map so many of its pages.
    pub fn entries(&self, pages: u32) -> u64 {
        u64::from(if self.huge { pages.div_ceil(BITS) } else { pages })
    }
}
