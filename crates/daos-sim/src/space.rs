//! The simulated target: its memory, its accessed bits, its clock.
//!
//! A page's accessed bit is not simulated access by access. Armed at one time and
//! looked at later, it is set if a stride passed it in between, or with the
//! chance that one of the random accesses in between met it. That chance is drawn
//! from a hash of seed, page and time, and the answer is kept, so looking twice
//! gives the same answer, and an accessed page stays accessed until it is armed.

use crate::block::{BLOCK_SIZE, Blocks};
use crate::cost::{CostModel, Counters};
use crate::frames::Frames;
use crate::interval_accesses::IntervalAccesses;
use crate::memory::{MemoryModel, MemoryUse};
use crate::metrics::{Pressure, SimMetrics};
use crate::options::SimOptions;
use crate::page_set::{BLOCK_PAGES, PageSet};
use crate::residency::{BlockResidency, Residency};
use crate::workload::{Segment, TARGET, Workload};
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::pages::Pages;
use daos_core::{
    AccessCheck, AddrRange, Capabilities, Mapping, Observation, Ownership, PAGE_SIZE, PageBits,
    Prices, Target, TargetId, TargetInfo, Window,
};
use daos_workload::{Config, place, rate};
use std::convert::Infallible;
use thiserror::Error;

/// Most pages between two that are armed, on average, that are passed over. Chosen: as many as
/// cost as much as a range without an interrupt.
const MOST_GAP: u64 = 16;

/// Why regions can't lie where they were to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{regions} regions can't lie in {ranges} ranges: each needs one of its size in pages, page-aligned and above the one before"
)]
pub struct Misplaced {
    /// Regions of the configuration.
    pub regions: usize,
    /// Ranges given.
    pub ranges: usize,
}

/// How often the pages of a range are truly accessed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RangeRate {
    /// A region of the workload.
    pub range: AddrRange,
    /// The chance that a page of it is accessed within a sampling interval, 0 to 1.
    pub rate: f64,
}

/// A simulated address space, with one target that never ends.
///
/// Time starts at 0, with the first phase, and stands still until it is set. Unless said
/// otherwise, all memory was written before, so the accessed bits are set.
#[derive(Debug, Clone)]
pub struct SimSpace {
    pub(crate) workload: Workload,
    /// Which pages are armed.
    pub(crate) blocks: Blocks,
    /// Which are not there. A page is never in both.
    pub(crate) residency: Residency,
    /// What actions took, in microseconds.
    pub(crate) acting_us: f64,
    pub(crate) mappings: Vec<Mapping>,
    /// Who has which part, if several share it.
    pub(crate) ownership: Option<Ownership>,
    /// Where its pages lie in physical memory, if that is known.
    pub(crate) frames: Option<Frames>,
    pressure: Pressure,
    now_us: u64,
    pub(crate) counters: Counters,
    /// Of each region, the last one that was asked for.
    accesses: Vec<IntervalAccesses>,
    /// What monitors are told to be mapped.
    mapped: Vec<AddrRange>,
    model: CostModel,
    /// Windows in which set bits were cleared, with the huge pages that they lie in, if
    /// anyone wants to know.
    pub(crate) cleared: Option<Vec<(TargetId, AddrRange)>>,
}

impl SimSpace {
    /// The space of a configuration at time 0, its regions [placed](place) as on real
    /// memory.
    pub fn new(config: Config, options: SimOptions) -> Self {
        let ranges = place(&config.regions, options.base.min(1 << 56));
        Self::of(Workload::new(config, ranges, options))
    }

    /// The same with a range of addresses for each region. They may touch, and start and
    /// end at any page below 2^57.
    pub fn placed(
        config: Config,
        ranges: Vec<AddrRange>,
        options: SimOptions,
    ) -> Result<Self, Misplaced> {
        let fits = |(range, region): (&AddrRange, &daos_workload::Region)| {
            *range == range.page_aligned()
                && range.end <= 1 << 57
                && range.pages() == region.len.div_ceil(PAGE_SIZE)
        };
        let sound = ranges.len() == config.regions.len()
            && ranges.iter().zip(&config.regions).all(fits)
            && ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if !sound {
            return Err(Misplaced { regions: config.regions.len(), ranges: ranges.len() });
        }
        Ok(Self::of(Workload::new(config, ranges, options)))
    }

    fn of(workload: Workload) -> Self {
        let named = workload.ranges.iter().zip(&workload.config.regions);
        let mapping = |(range, region): (&AddrRange, &daos_workload::Region)| Mapping {
            shared: false,
            range: *range,
            name: region.name.clone(),
        };
        Self {
            residency: Residency::new(&workload),
            acting_us: 0.0,
            mappings: named.map(mapping).collect(),
            ownership: None,
            frames: None,
            pressure: Pressure::default(),
            blocks: Blocks::new(workload.whole()),
            accesses: vec![IntervalAccesses::default(); workload.ranges.len()],
            mapped: if workload.options.sparse {
                AddrRange::joined(workload.ranges.iter().copied())
            } else {
                vec![workload.whole()]
            },
            workload,
            now_us: 0,
            counters: Counters::default(),
            model: CostModel::SAME_CPU,
            cleared: None,
        }
    }

    /// Says what looking costs: what [`prices`](AccessCheck::prices) are derived from.
    /// [`CostModel::SAME_CPU`] unless said.
    pub fn set_model(&mut self, model: CostModel) {
        self.model = model;
    }

    pub(crate) fn cost_model(&self) -> &CostModel {
        &self.model
    }

    /// Says what memory costs: to be done before anything happens.
    /// [`MemoryModel::ZRAM`] unless said.
    pub fn set_memory_model(&mut self, model: MemoryModel) {
        self.residency.set_model(model);
    }

    /// What the target has of memory now, and what came of it since time 0.
    ///
    /// Brings all that is not present up to now: about 0.1 µs for each 2 MiB in which a page
    /// ever was absent.
    pub fn memory(&mut self) -> MemoryUse {
        self.residency.memory(&self.workload, self.now_us)
    }

    /// Whether the model says how much memory there is.
    pub fn has_dram_size(&self) -> bool {
        self.residency.model().dram_bytes.is_some()
    }

    /// What can be measured now, for an engine of schemes. The memory pressure is an
    /// average of what it was between the times that it was asked for.
    pub fn metrics(&mut self) -> SimMetrics {
        let memory = self.memory();
        let free = |dram: u64| {
            let free = dram.saturating_sub(memory.resident_bytes);
            free as f64 / dram.max(1) as f64
        };
        SimMetrics {
            free_memory: self.residency.model().dram_bytes.map(free),
            memory_pressure: self.pressure.read(memory.stall_us, self.now_us),
            resident: memory.resident_share(),
        }
    }

    /// What of a block is not resident now, for an action to change.
    pub(crate) fn residency_of(&mut self, number: u64) -> BlockResidency {
        self.residency.of_block(&self.workload, number, self.now_us).copied().unwrap_or_default()
    }

    /// Brings the accessed bits of a block up to now.
    pub(crate) fn settle_block(&mut self, number: u64) {
        if let Some(block) = self.blocks.get(number) {
            self.counters.entries_set_again +=
                self.workload.settle(number, block, self.now_us, &mut self.accesses);
        }
    }

    /// The time, in microseconds since the first phase began.
    pub fn now_us(&self) -> u64 {
        self.now_us
    }

    /// Sets the time. It never runs backwards: an earlier time changes nothing.
    pub fn set_now_us(&mut self, now_us: u64) {
        self.now_us = self.now_us.max(now_us);
    }

    /// Lets microseconds pass.
    pub fn advance_us(&mut self, us: u64) {
        self.set_now_us(self.now_us.saturating_add(us));
    }

    /// What was asked of this space so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Counts that whoever looks was woken for a tick.
    pub fn wake(&mut self) {
        self.counters.wakes += 1;
    }

    /// What the state of accessed bits and of absent memory takes, in bytes.
    #[cfg(test)]
    pub(crate) fn state_bytes(&self) -> usize {
        self.blocks.bytes() + self.residency.bytes()
    }

    /// The page-aligned range of each region, in the configuration's order.
    pub fn ranges(&self) -> &[AddrRange] {
        &self.workload.ranges
    }

    /// Bytes in the pages that share an accessed bit, where there is room for them.
    pub fn page_bytes(&self) -> u64 {
        if self.workload.options.huge_pages { BLOCK_SIZE } else { PAGE_SIZE }
    }

    /// Accesses per second of all patterns of a phase together.
    pub fn accesses_per_sec(&self) -> u64 {
        self.workload.options.accesses_per_sec
    }

    /// The workload that it follows.
    pub fn config(&self) -> &Config {
        &self.workload.config
    }

    /// The target under the name of its configuration, each region a mapping; of a physical space
    /// one, and who has which part.
    pub fn target_info(&self) -> TargetInfo {
        let (name, mappings) = (self.workload.config.name.clone(), self.mappings.clone());
        TargetInfo {
            id: TARGET,
            pid: None,
            name,
            mappings,
            cgroup: None,
            memory: None,
            ownership: self.ownership.clone(),
            page_cache: None,
        }
    }

    /// The true access rate of each region: the chance that a page of it is accessed within
    /// `sample_us` microseconds, on average over the time from `from_us` to `to_us`, in pages
    /// of the size that they had at first. Sampling intervals across the end of a phase count
    /// as if they lay in one.
    pub fn truth(&self, from_us: u64, to_us: u64, sample_us: u64) -> Vec<RangeRate> {
        let Workload { config, options, timeline, ranges, .. } = &self.workload;
        let (from, to) = (timeline.at(from_us), timeline.at(to_us));
        let page = self.page_bytes();
        let per_sample = options.accesses_per_sec as f64 * sample_us as f64 / 1e6;

        let rate_in = |phase: usize, region: usize| {
            let phase = &config.phases[phase];
            let total = phase.total_weight() as f64;
            rate::any(phase.patterns.iter().filter(|p| p.region == region).map(|p| {
                let accesses = per_sample * f64::from(p.weight) / total;
                rate::touched(p.order, config.regions[region].len, page, accesses)
            }))
        };
        let mean = |region: usize| {
            let weighted = (0..config.phases.len())
                .map(|p| timeline.time_in(p, from, to) as f64 * rate_in(p, region))
                .sum::<f64>();
            weighted / to_us.saturating_sub(from_us).max(1) as f64
        };
        let rated =
            |(region, range): (usize, &AddrRange)| RangeRate { range: *range, rate: mean(region) };
        ranges.iter().enumerate().map(rated).collect()
    }

    /// Bytes that are there.
    fn resident_bytes(&mut self) -> u64 {
        let memory = self.memory();
        let absent_bytes = memory.swapped_bytes + memory.untouched_bytes;
        self.config().bytes().saturating_sub(absent_bytes)
    }

    /// Brings all accessed bits up to now, so that the counters hold what was set again
    /// up to now.
    pub fn settle(&mut self) {
        for (number, block) in self.blocks.made() {
            self.counters.entries_set_again +=
                self.workload.settle(number, block, self.now_us, &mut self.accesses);
        }
    }

    /// Most windows are of one page, a hundred million in an hour.
    fn arm_page(&mut self, window: &Window) {
        self.counters.ranges_armed += 1;
        let Some(segment) = self.workload.page(window) else { return };
        let residency = self.residency.of_block(&self.workload, segment.block, self.now_us);
        if residency.is_some_and(|residency| residency.absent().has(segment.first)) {
            return;
        }
        let block = self.blocks.make(segment.block);
        self.counters.entries_set_again +=
            self.workload.settle(segment.block, block, self.now_us, &mut self.accesses);
        // A huge page is armed as a whole.
        let new = if segment.huge {
            block.armed.insert(0, BLOCK_PAGES).pages > 0
        } else {
            block.armed.insert_one(segment.first)
        };
        if new {
            self.note_cleared(segment.armed_with(window.range()));
        }
        self.counters.entries_cleared += u64::from(new);
        self.counters.flushes += u64::from(new);
    }

    /// Notes that bits in a range were cleared, if anyone wants to know.
    fn note_cleared(&mut self, range: AddrRange) {
        if let Some(cleared) = &mut self.cleared {
            cleared.push((TARGET, range));
        }
    }

    fn arm_window(&mut self, window: &Window) {
        if window.pages == 1 {
            return self.arm_page(window);
        }
        let (mut entries, mut runs) = (0, 0);
        let mut cleared = window.range();
        for segment in self.workload.segments(window) {
            let block = self.blocks.make(segment.block);
            self.counters.entries_set_again +=
                self.workload.settle(segment.block, block, self.now_us, &mut self.accesses);
            // A huge page is armed as a whole.
            let (first, pages) =
                if segment.huge { (0, BLOCK_PAGES) } else { (segment.first, segment.pages) };
            let residency = self.residency.of_block(&self.workload, segment.block, self.now_us);
            let added = match residency {
                None => block.armed.insert(first, pages),
                Some(residency) => block.armed.insert_but(first, pages, &residency.absent()),
            };
            entries += segment.entries(added.pages);
            let between = u64::from(pages.saturating_sub(added.pages));
            let is_bridged = added.runs > 1 && between <= MOST_GAP * u64::from(added.runs - 1);
            runs += if is_bridged { 1 } else { u64::from(added.runs) };
            self.counters.entries_passed += if is_bridged { between } else { 0 };
            if added.runs > 0 {
                cleared = segment.armed_with(cleared);
            }
        }
        if runs > 0 {
            self.note_cleared(cleared);
        }
        self.counters.ranges_armed += runs.max(1);
        self.counters.entries_cleared += entries;
        self.counters.flushes += runs;
    }

    fn check_page(&mut self, window: &Window) -> Observation {
        self.counters.windows_read += 1;
        let Some(segment) = self.workload.page(window) else {
            let empty_bytes = self.empty_bytes(window);
            let pages = Some(PageBits::default());
            return Observation { pages, empty_bytes, ..Observation::default() };
        };
        self.counters.entries_read += 1;
        let residency = self.residency.of_block(&self.workload, segment.block, self.now_us);
        if let Some(residency) = residency
            && residency.absent().has(segment.first)
        {
            let empty_bytes = if residency.is_untouched() { BLOCK_SIZE } else { 0 };
            let pages = Some(PageBits::default());
            let absent = Some(Pages::range(0, 1).0);
            return Observation { pages, absent, empty_bytes, ..Observation::default() };
        }
        let armed = self.blocks.get(segment.block).is_some_and(|block| {
            self.counters.entries_set_again +=
                self.workload.settle(segment.block, block, self.now_us, &mut self.accesses);
            block.armed.has(segment.first)
        });
        let mut pages = PageBits::default();
        pages[0] = u64::from(!armed);
        Observation {
            present: 1,
            accessed: u32::from(!armed),
            pages: Some(pages),
            ..Observation::default()
        }
    }

    fn check_window(&mut self, window: &Window) -> Observation {
        if window.pages == 1 {
            return self.check_page(window);
        }
        let mut found = Observation::default();
        let mut pages = PageBits::default();
        let (mut gone, mut nr_gone) = (PageBits::default(), 0);
        let mut is_untouched = false;
        for segment in self.workload.segments(window) {
            let Segment { first, pages: count, in_window, .. } = segment;
            let mut clear = PageSet::NONE;
            if let Some(block) = self.blocks.get(segment.block) {
                self.counters.entries_set_again +=
                    self.workload.settle(segment.block, block, self.now_us, &mut self.accesses);
                clear = &block.armed;
            }
            let mut present = count;
            found.accessed +=
                match self.residency.of_block(&self.workload, segment.block, self.now_us) {
                    None => clear.missing(first, count, in_window, &mut pages),
                    Some(residency) => {
                        let absent = residency.absent();
                        let there = segment.bits() - absent;
                        let nr = there.missing(first, count, in_window, &mut gone);
                        (present, nr_gone) = (present - nr, nr_gone + nr);
                        is_untouched |= in_window == 0 && residency.is_untouched();
                        (*clear | absent).missing(first, count, in_window, &mut pages)
                    }
                };
            found.present += present;
            self.counters.entries_read += segment.entries(count);
            found.entries += segment.entries(present) as u32;
        }
        self.counters.windows_read += 1;
        found.pages = Some(pages);
        found.absent = (nr_gone > 0).then_some(gone);
        if found.present == 0 {
            found.empty_bytes = if is_untouched { BLOCK_SIZE } else { self.empty_bytes(window) };
        }
        found
    }

    /// The largest block around the window's first page that an entry of a page table
    /// could map and in which nothing is mapped; 0 if there is none.
    fn empty_bytes(&self, window: &Window) -> u64 {
        if window.target != TARGET {
            return 0;
        }
        let ranges = &self.workload.ranges;
        let is_empty = |size: &u64| {
            let start = window.start / size * size;
            let behind = ranges.partition_point(|range| range.end <= start);
            ranges.get(behind).is_none_or(|range| range.start >= start.saturating_add(*size))
        };
        [512 << 30, 1 << 30, BLOCK_SIZE].into_iter().find(is_empty).unwrap_or(0)
    }
}

impl AccessCheck for SimSpace {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "sim",
            max_window_pages: MAX_WINDOW_PAGES,
            page_bits: true,
            // Unless asked for, the holes between regions are of 2 MiB at most.
            sparse: self.workload.options.sparse,
        }
    }

    /// One range with the holes in it, unless it is sparse. To the monitor of a real process the
    /// regions of a workload lie in its mmap area like that. Given one by one,
    /// they would tell it every edge that it is there to find.
    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        let resident_bytes = Some(self.resident_bytes());
        Ok(vec![Target {
            id: TARGET,
            ranges: self.mapped.clone(),
            is_listed: true,
            resident_bytes,
        }])
    }

    fn prices(&self) -> Prices {
        self.model.prices()
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), Infallible> {
        windows.iter().for_each(|w| self.arm_window(w));
        Ok(())
    }

    fn can_arm_target(&self, _: TargetId) -> bool {
        true
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, Infallible> {
        let before = self.counters;
        for range in self.mapped.clone() {
            for block in range.blocks(BLOCK_SIZE) {
                self.arm_window(&Window::over(target, block));
            }
        }
        // It has a price of its own; the bits that come to light meanwhile were set anew before.
        let Counters { entries_set_again, .. } = self.counters;
        let entries_at_once = before.entries_at_once + self.resident_bytes() / self.page_bytes();
        self.counters =
            Counters { entries_set_again, entries_at_once, flushes: before.flushes + 1, ..before };
        Ok(true)
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        found.extend(windows.iter().map(|w| self.check_window(w)));
        Ok(())
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
