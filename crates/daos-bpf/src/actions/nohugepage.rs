//! Nohugepage: a huge page becomes regular pages, and what was never used is given back.
//!
//! `MADV_NOHUGEPAGE` works only from inside a process. But an advice for a part of a huge
//! page makes the kernel split it. Pages that hold nothing but zeros were most likely
//! never written: newer kernels give them back themselves as they split; of older ones,
//! they are paged out, which costs next to no swap, as zeros are not stored.
//!
//! Where the host's policy is `always`, the kernel's khugepaged may in time make huge
//! pages of them again.

use super::leaves;
use crate::BpfError;
use crate::programs::Facts;
use crate::vaddr::VirtualMemory;
use daos_core::{ActionReport, AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Refusal};
use daos_linux::Process;
use daos_linux::madvise::Advice;

const ZEROS: [u8; PAGE_SIZE as usize] = [0; PAGE_SIZE as usize];

impl VirtualMemory {
    /// Splits the huge pages in `ranges` and gives back their pages of zeros; `None` when
    /// the process has ended. Only whole huge pages of anonymous memory are split.
    ///
    /// Applied are huge pages that no longer are; bloat falls by what left memory of them.
    pub(super) fn nohugepage(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<ActionReport>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let mut report = ActionReport::default();
        let mut huge = Vec::new();
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        let there = leaves::for_each(reader, &task, ranges, Facts::OfPresent, |leaf| {
            if leaf.level == 1 || !leaf.is_memory() {
                return;
            }
            let can_split =
                leaf.level == 2 && leaf.is_whole() && !space.is_of_file(leaf.range.start);
            match (can_split, leaf.is_shared()) {
                (false, _) => report.refuse(Refusal::Unsuitable, leaf.range.len()),
                (true, true) => report.refuse(Refusal::Shared, leaf.range.len()),
                (true, false) => huge.push(leaf.range),
            }
        })?;
        if !there {
            return Ok(None);
        }
        let mut content = vec![0; if huge.is_empty() { 0 } else { HUGE_PAGE_SIZE as usize }];
        for block in huge {
            if !self.split(at, block, &mut content, &mut report)? {
                return Ok(None);
            }
        }
        Ok(Some(report))
    }

    /// Splits one huge page; whether the process is still there.
    fn split(
        &mut self,
        at: usize,
        block: AddrRange,
        content: &mut [u8],
        report: &mut ActionReport,
    ) -> Result<bool, BpfError> {
        let first = AddrRange::new(block.start, block.start + PAGE_SIZE);
        let advised = self.spaces[at].process.advise(Advice::Cold, &[first]);
        if advised.stopped.is_some() {
            return Ok(false);
        }
        let Some(pages) = self.pages_in_memory(at, block)? else { return Ok(false) };
        let Pages::Regular(pages) = pages else {
            let is_refused = !advised.refused.is_empty();
            let why = if is_refused { Refusal::Unsuitable } else { Refusal::Kept };
            report.refuse(why, HUGE_PAGE_SIZE);
            return Ok(true);
        };
        let process = &self.spaces[at].process;
        let empty = pages_of_zeros(process, &pages, content);
        process.advise(Advice::Pageout, &empty);
        let Some(left) = self.pages_in_memory(at, block)? else { return Ok(false) };
        report.applied_bytes += HUGE_PAGE_SIZE;
        block.push_joined(&mut report.applied);
        report.bloat_bytes -= (HUGE_PAGE_SIZE - left.bytes()) as i64;
        Ok(true)
    }

    /// What of `block` is in memory; `None` when the process has ended.
    fn pages_in_memory(&mut self, at: usize, block: AddrRange) -> Result<Option<Pages>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let mut is_huge = false;
        let mut pages = Vec::new();
        let there =
            leaves::for_each(&mut self.reader, &task, &[block], Facts::OfPresent, |leaf| {
                if leaf.is_memory() {
                    is_huge |= leaf.level > 1;
                    leaf.range.push_joined(&mut pages);
                }
            })?;
        let pages = if is_huge { Pages::Huge } else { Pages::Regular(pages) };
        Ok(there.then_some(pages))
    }
}

/// What of a block is in memory.
enum Pages {
    Huge,
    Regular(Vec<AddrRange>),
}

impl Pages {
    fn bytes(&self) -> u64 {
        match self {
            Self::Huge => HUGE_PAGE_SIZE,
            Self::Regular(pages) => super::bytes(pages),
        }
    }
}

/// Those of `pages` that hold nothing but zeros. `content`: room for all of them.
fn pages_of_zeros(process: &Process, pages: &[AddrRange], content: &mut [u8]) -> Vec<AddrRange> {
    let mut empty = Vec::new();
    for range in pages {
        let content = &mut content[..range.len() as usize];
        let read = process.read_at(range.start, content).unwrap_or(0);
        let starts = (range.start..).step_by(PAGE_SIZE as usize);
        for (start, page) in starts.zip(content[..read].chunks_exact(ZEROS.len())) {
            if page == ZEROS {
                AddrRange::new(start, start + PAGE_SIZE).push_joined(&mut empty);
            }
        }
    }
    empty
}
