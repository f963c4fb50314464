//! What schemes do to the simulated memory.
//!
//! | action | here |
//! |---|---|
//! | `pageout` | present pages go to swap, if there is room; a huge page is split before |
//! | `willneed` | pages in swap come back, with a clear accessed bit; the target does not wait |
//! | `hugepage` | 2 MiB that lie in the range as a whole become a huge page, and present |
//! | `nohugepage` | huge pages are split, and what was never accessed of them is given back |
//! | `cold`, `lock` | what is present is counted, and has its price. There is no reclaim that it would guide, so nothing changes |
//! | `stat` | nothing |

use crate::block::BLOCK_SIZE;
use crate::memory::bytes;
use crate::page_set::{BLOCK_PAGES, PageSet};
use crate::space::SimSpace;
use crate::workload::{Segment, TARGET};
use daos_core::{
    Action, ActionReport, ActionSink, AddrRange, Mapping, PAGE_SIZE, Refusal, Residence, TargetId,
};
use std::convert::Infallible;

impl ActionSink for SimSpace {
    fn supports(&self, _: Action) -> Result<(), String> {
        Ok(())
    }

    /// What is not mapped is neither applied nor refused.
    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, Infallible> {
        let mut report = ActionReport::default();
        if target != TARGET {
            report.refuse(Refusal::Gone, ranges.iter().map(AddrRange::len).sum());
            return Ok(report);
        }
        if action == Action::Stat {
            return Ok(report);
        }
        for range in ranges {
            self.acting_us += self.residency.model().call_us;
            let segments: Vec<Segment> = self.workload.segments_of(*range).collect();
            for segment in &segments {
                let applied = self.apply_to(action, segment, &mut report);
                if applied > 0 {
                    report.applied_bytes += bytes(applied.into());
                    segment.range().push_joined(&mut report.applied);
                }
            }
        }
        Ok(report)
    }

    fn residence(&mut self, _: TargetId, ranges: &[AddrRange]) -> Result<Residence, Infallible> {
        let mut found = Residence::default();
        for range in ranges {
            let segments: Vec<Segment> = self.workload.segments_of(*range).collect();
            for segment in &segments {
                let residency = self.residency_of(segment.block);
                let start = segment.block * BLOCK_SIZE;
                let add = |pages: PageSet, list: &mut Vec<AddrRange>| {
                    for page in (0..BLOCK_PAGES).filter(|&page| pages.has(page)) {
                        let at = start + u64::from(page) * PAGE_SIZE;
                        AddrRange::new(at, at + PAGE_SIZE).push_joined(list);
                    }
                };
                add(segment.bits() - residency.absent(), &mut found.present);
                add(segment.bits() & residency.untouched, &mut found.empty);
            }
        }
        Ok(found)
    }

    /// The simulated time, and on top of it what looking and acting took by the models.
    fn clock_us(&self) -> f64 {
        self.now_us() as f64 + self.cost_model().monitor_us(&self.counters()) + self.acting_us
    }

    /// Whole windows, and the huge pages that they lie in: which pages in them had their
    /// bits set is not kept.
    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        std::mem::take(self.cleared.get_or_insert_default())
    }

    fn mappings(&self, target: TargetId) -> &[Mapping] {
        if target == TARGET { &self.mappings } else { &[] }
    }

    fn cgroup(&self, _: TargetId) -> Option<String> {
        None
    }
}

impl SimSpace {
    /// Returns the pages that were changed.
    fn apply_to(&mut self, action: Action, segment: &Segment, report: &mut ActionReport) -> u32 {
        match action {
            Action::Pageout => self.page_out(segment, report),
            Action::Willneed => self.page_in(segment),
            Action::Hugepage => self.collapse(segment, report),
            Action::Nohugepage => self.split(segment, report),
            Action::Cold | Action::Lock => self.advise(segment),
            Action::Stat => 0,
        }
    }

    fn page_out(&mut self, segment: &Segment, report: &mut ActionReport) -> u32 {
        let mut residency = self.residency_of(segment.block);
        let present = segment.bits() - residency.absent();
        // Pages of zeros take no room in swap: they are given back.
        let zeros = present & residency.bloat;
        let used = present - zeros;
        let room = u32::try_from(self.residency.room()).unwrap_or(u32::MAX);
        let out = used.take(room);
        report.refuse(Refusal::NoRoom, bytes((used - out).count().into()));
        let gone = out | zeros;
        if gone.is_empty() {
            return 0;
        }
        if segment.huge {
            self.remap(segment);
        }
        residency.swapped = residency.swapped | out;
        residency.untouched = residency.untouched | zeros;
        residency.bloat = residency.bloat - zeros;
        self.disarm(segment.block, gone);
        self.residency.set(&self.workload, segment.block, residency, self.now_us());
        self.acting_us += self.residency.model().page_out_us * f64::from(gone.count());
        gone.count()
    }

    fn page_in(&mut self, segment: &Segment) -> u32 {
        let mut residency = self.residency_of(segment.block);
        let back = segment.bits() & residency.swapped;
        if back.is_empty() {
            return 0;
        }
        residency.swapped = residency.swapped - back;
        let now_us = self.now_us();
        self.settle_block(segment.block);
        let block = self.blocks.make(segment.block);
        (block.armed, block.as_of_us) = (block.armed | back, now_us);
        self.residency.set(&self.workload, segment.block, residency, now_us);
        self.acting_us += self.residency.model().page_in_us * f64::from(back.count());
        back.count()
    }

    /// As in the kernel, the bit of a new huge page is set.
    fn collapse(&mut self, segment: &Segment, report: &mut ActionReport) -> u32 {
        if segment.huge {
            return 0;
        }
        let (residency, all) = (self.residency_of(segment.block), PageSet::run(0, BLOCK_PAGES));
        if segment.pages < BLOCK_PAGES {
            report.refuse(Refusal::Unsuitable, bytes(segment.pages.into()));
            return 0;
        }
        let absent = residency.absent();
        if absent == all {
            report.refuse(Refusal::NotWorth, BLOCK_SIZE);
            return 0;
        }
        report.bloat_bytes += bytes(absent.count().into()) as i64;
        let model = self.residency.model();
        self.acting_us +=
            model.collapse_us + model.page_in_us * f64::from(residency.swapped.count());
        let mut full = residency;
        full.bloat = residency.bloat | residency.untouched;
        full.untouched = PageSet::default();
        full.swapped = PageSet::default();
        self.disarm(segment.block, all);
        self.residency.set(&self.workload, segment.block, full, self.now_us());
        self.remap(segment);
        BLOCK_PAGES
    }

    fn split(&mut self, segment: &Segment, report: &mut ActionReport) -> u32 {
        let mut residency = self.residency_of(segment.block);
        let unused = segment.bits() & residency.bloat;
        if segment.huge && !residency.is_untouched() {
            self.remap(segment);
        } else if unused.is_empty() {
            return 0;
        }
        residency.bloat = residency.bloat - unused;
        residency.untouched = residency.untouched | unused;
        report.bloat_bytes -= bytes(unused.count().into()) as i64;
        self.disarm(segment.block, unused);
        self.residency.set(&self.workload, segment.block, residency, self.now_us());
        if segment.huge { segment.pages } else { unused.count() }
    }

    fn advise(&mut self, segment: &Segment) -> u32 {
        let present = segment.bits() - self.residency_of(segment.block).absent();
        self.acting_us += self.residency.model().advise_us * f64::from(present.count());
        present.count()
    }

    /// Makes a huge page of a block, or small ones of a huge page.
    fn remap(&mut self, segment: &Segment) {
        let now_us = self.now_us();
        // What was accessed up to now was in pages of the old size.
        self.settle_block(segment.block);
        self.workload.remapped.toggle(segment.block);
        if segment.huge {
            self.acting_us += self.residency.model().split_us;
            self.residency.huge_split(&self.workload, segment.region, now_us);
        } else {
            self.residency.huge_made(&self.workload, segment.region, now_us);
        }
    }

    /// These pages of a block are no longer armed: they are gone, or their bits are set.
    fn disarm(&mut self, number: u64, pages: PageSet) {
        self.settle_block(number);
        if let Some(block) = self.blocks.get(number) {
            block.armed = block.armed - pages;
        }
    }
}

#[cfg(test)]
#[path = "action_tests.rs"]
mod tests;
