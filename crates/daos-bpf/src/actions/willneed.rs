//! Willneed: what was paged out is read in again.
//!
//! The kernel reads it into its caches and maps nothing, so the target's next access
//! is a fault that need not wait. From the tables a page in the cache looks as it did
//! before, so what was asked for is not asked for again for a while.

use super::leaves;
use crate::BpfError;
use crate::programs::Facts;
use crate::ranges;
use crate::vaddr::VirtualMemory;
use daos_core::{ActionReport, AddrRange, Refusal};
use daos_linux::cpu;
use daos_linux::madvise::Advice;

impl VirtualMemory {
    /// Reads in what of `ranges` is paged out; `None` when the process has ended.
    ///
    /// Applied are pages in swap that were asked for. Pages of files are asked for, too,
    /// but whether they had to be read is not known, so they are not counted.
    pub(super) fn willneed(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<ActionReport>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let now_us = cpu::monotonic_us();
        let (reader, spaces) = (&mut self.reader, &mut self.spaces);
        let mut recent = std::mem::take(&mut spaces[at].willneed);
        recent.clear_away(now_us);
        let space = &spaces[at];
        let (mut ask, mut swapped) = (Vec::new(), Vec::new());
        let there = leaves::for_each(reader, &task, ranges, Facts::None, |leaf| {
            let range = leaf.range;
            let in_swap = leaf.entry.is_swapped();
            let in_file = leaf.entry.is_empty() && space.is_of_file(range.start);
            if (in_swap || in_file) && recent.add_range(range, now_us) {
                ask.push(range);
                if in_swap {
                    range.push_joined(&mut swapped);
                }
            }
        })?;
        ranges::join(&mut ask, Advice::Willneed.most_bytes(), |addr| space.mapping_around(addr));
        let advised = space.process.advise(Advice::Willneed, &ask);
        spaces[at].willneed = recent;
        if !there || advised.stopped.is_some() {
            return Ok(None);
        }
        let mut report = ActionReport::default();
        for range in swapped {
            let is_refused = |(refused, _): &(AddrRange, _)| refused.intersect(&range).is_some();
            if advised.refused.iter().any(is_refused) {
                report.refuse(Refusal::Unsuitable, range.len());
            } else {
                report.applied_bytes += range.len();
                report.applied.push(range);
            }
        }
        Ok(Some(report))
    }
}
