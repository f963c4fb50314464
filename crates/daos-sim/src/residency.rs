//! Which memory is not resident, and how it comes back.
//!
//! An access brings back a page that is in swap, and makes one that was never touched. As
//! with accessed bits, no access is simulated: whether there was one is decided when
//! somebody asks, from what the workload did since the last time. Such a page has no
//! accessed bit, and once it is back it is not armed, so each page waits for its next access
//! in one place only: here, or among the armed ones.
//!
//! While all memory is present nothing is kept here; then 208 bytes for each 2 MiB.

use crate::block::Blocks;
use crate::huge_pages::HugePages;
use crate::interval_accesses::IntervalAccesses;
use crate::memory::{MemoryModel, MemoryUse, bytes};
use crate::page_set::{BLOCK_PAGES, PageSet};
use crate::workload::Workload;
use daos_core::{AddrRange, PAGE_SIZE};

/// Pages of a block that are not resident, or not used: each waits for its next access. The
/// sets are disjoint.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockResidency {
    /// In swap.
    pub swapped: PageSet,
    /// Nowhere: never accessed, or given back.
    pub untouched: PageSet,
    /// Present, but never accessed: there because a huge page needed them.
    pub bloat: PageSet,
    /// What time that is the state of.
    as_of_us: u64,
}

impl BlockResidency {
    /// A block in which nothing of what is mapped was ever accessed.
    fn unpopulated(workload: &Workload, number: u64) -> Self {
        let mut untouched = PageSet::default();
        for segment in workload.segments_of_block(number) {
            untouched.insert(segment.first, segment.pages);
        }
        Self { untouched, ..Self::default() }
    }

    /// The pages that are not in memory.
    pub fn absent(&self) -> PageSet {
        self.swapped | self.untouched
    }

    /// Whether nothing was ever accessed in 2 MiB: there is no page table then.
    pub fn is_untouched(&self) -> bool {
        self.untouched == PageSet::run(0, BLOCK_PAGES)
    }

    /// These pages were accessed: they are resident and used.
    fn note_accessed(&mut self, accessed: PageSet) {
        self.swapped = self.swapped - accessed;
        self.untouched = self.untouched - accessed;
        self.bloat = self.bloat - accessed;
    }
}

/// Pages of each kind, in all blocks.
#[derive(Debug, Clone, Copy, Default)]
struct PageCounts {
    swapped: u64,
    untouched: u64,
    bloat: u64,
}

impl PageCounts {
    /// A block has changed.
    fn replace(&mut self, before: &BlockResidency, after: &BlockResidency) {
        let change = |sum: &mut u64, before: &PageSet, after: &PageSet| {
            *sum = *sum + u64::from(after.count()) - u64::from(before.count());
        };
        change(&mut self.swapped, &before.swapped, &after.swapped);
        change(&mut self.untouched, &before.untouched, &after.untouched);
        change(&mut self.bloat, &before.bloat, &after.bloat);
    }
}

/// The state of memory beside accessed bits.
#[derive(Debug, Clone)]
pub(crate) struct Residency {
    /// `None` while all pages are resident and used.
    blocks: Option<Blocks<BlockResidency>>,
    totals: Totals,
    /// Whether the blocks of all regions that are ever accessed were made.
    all_made: bool,
}

/// What is summed up over all blocks.
#[derive(Debug, Clone)]
struct Totals {
    model: MemoryModel,
    pages: PageCounts,
    huge: HugePages,
    /// Pages that went to swap.
    swap_outs: u64,
    /// Pages that the target had to wait for.
    faults: u64,
    accesses: Vec<IntervalAccesses>,
}

impl Residency {
    /// Memory before anything is done to it.
    pub fn new(workload: &Workload) -> Self {
        let mut pages = PageCounts::default();
        if !workload.options.populate {
            pages.untouched = workload.ranges.iter().map(AddrRange::pages).sum();
        }
        Self {
            blocks: (!workload.options.populate).then(|| Blocks::new(workload.whole())),
            totals: Totals {
                model: MemoryModel::ZRAM,
                pages,
                huge: HugePages::new(workload),
                swap_outs: 0,
                faults: 0,
                accesses: vec![IntervalAccesses::default(); workload.ranges.len()],
            },
            all_made: workload.options.populate,
        }
    }

    pub fn model(&self) -> &MemoryModel {
        &self.totals.model
    }

    pub fn set_model(&mut self, model: MemoryModel) {
        self.totals.model = model;
    }

    /// What of a block is not resident now; `None` if all of it always was.
    #[inline]
    pub fn of_block(
        &mut self,
        workload: &Workload,
        number: u64,
        now_us: u64,
    ) -> Option<&BlockResidency> {
        if self.blocks.is_none() { None } else { self.settled(workload, number, now_us) }
    }

    /// Apart, so that where all memory is present monitoring is as fast as without this.
    #[inline(never)]
    fn settled(
        &mut self,
        workload: &Workload,
        number: u64,
        now_us: u64,
    ) -> Option<&BlockResidency> {
        let blocks = self.blocks.as_mut()?;
        let block = if workload.options.populate {
            blocks.get(number)?
        } else {
            blocks.make_with(number, || BlockResidency::unpopulated(workload, number))
        };
        self.totals.settle(workload, number, block, now_us);
        Some(block)
    }

    /// Changes what of a block is resident. The block was brought up to now.
    pub fn set(&mut self, workload: &Workload, number: u64, after: BlockResidency, now_us: u64) {
        let blocks = self.blocks.get_or_insert_with(|| Blocks::new(workload.whole()));
        let before = blocks.make(number);
        let (out, back) = (after.swapped - before.swapped, before.swapped - after.swapped);
        debug_assert!(out.is_empty() || back.is_empty());
        self.totals.swap_outs += u64::from(out.count());
        self.totals.pages.replace(before, &after);
        *before = BlockResidency { as_of_us: now_us, ..after };
    }

    /// A huge page was made in a region.
    pub fn huge_made(&mut self, workload: &Workload, region: usize, now_us: u64) {
        self.totals.huge.add(region, workload, &self.totals.model, now_us);
    }

    /// A huge page was split in a region.
    pub fn huge_split(&mut self, workload: &Workload, region: usize, now_us: u64) {
        self.totals.huge.remove(region, workload, &self.totals.model, now_us);
    }

    /// Pages for which there is room in swap.
    pub fn room(&self) -> u64 {
        (self.totals.model.swap_bytes / PAGE_SIZE).saturating_sub(self.totals.pages.swapped)
    }

    /// Brings all blocks up to now, and pages up.
    pub fn memory(&mut self, workload: &Workload, now_us: u64) -> MemoryUse {
        self.settle(workload, now_us);
        let Totals { model, pages, huge, swap_outs, faults, .. } = &mut self.totals;
        let mapped: u64 = workload.ranges.iter().map(AddrRange::pages).sum();
        MemoryUse {
            elapsed_us: now_us,
            resident_bytes: bytes(mapped - pages.swapped - pages.untouched),
            swapped_bytes: bytes(pages.swapped),
            untouched_bytes: bytes(pages.untouched),
            huge_bytes: huge.bytes(),
            bloat_bytes: bytes(pages.bloat),
            // What went there and no longer is there.
            swap_ins: *swap_outs - pages.swapped,
            swap_outs: *swap_outs,
            stall_us: model.swap_in_us * *faults as f64,
            gain_us: huge.gained_us(workload, model, now_us),
        }
    }

    /// What the state takes, in bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.blocks.as_ref().map_or(0, Blocks::bytes)
    }

    /// Brings all blocks up to now in which anything can change: nothing does while `blocks`
    /// is `None`, or where a region is never accessed.
    fn settle(&mut self, workload: &Workload, now_us: u64) {
        let Some(blocks) = &mut self.blocks else { return };
        if !std::mem::replace(&mut self.all_made, true) {
            for (region, range) in workload.ranges.iter().enumerate() {
                if !workload.is_idle(region) {
                    for segment in workload.segments_of(*range) {
                        let number = segment.block;
                        blocks.make_with(number, || BlockResidency::unpopulated(workload, number));
                    }
                }
            }
        }
        for (number, block) in blocks.made() {
            self.totals.settle(workload, number, block, now_us);
        }
    }
}

impl Totals {
    /// Brings a block up to now: what was accessed in between is resident and used.
    fn settle(
        &mut self,
        workload: &Workload,
        number: u64,
        block: &mut BlockResidency,
        now_us: u64,
    ) {
        let since_us = std::mem::replace(&mut block.as_of_us, now_us);
        let all = block.absent() | block.bloat;
        if since_us == now_us || all.is_empty() {
            return;
        }
        let (before, mut changed) = (*block, false);
        for segment in workload.segments_of_block(number) {
            let accessed = workload.accessed(&segment, all, (since_us, now_us), &mut self.accesses);
            if accessed.is_empty() {
                continue;
            }
            block.note_accessed(accessed);
            // The first access to a huge page brings all of it.
            if segment.huge && !before.untouched.is_empty() {
                block.bloat = std::mem::take(&mut block.untouched);
                self.huge.add(segment.region, workload, &self.model, now_us);
            }
            self.faults += u64::from((before.swapped & accessed).count());
            changed = true;
        }
        if changed {
            self.pages.replace(&before, block);
        }
    }
}
