//! Hugepage: a block of regular pages becomes a huge page.
//!
//! `MADV_COLLAPSE` does that at once and from outside, whatever the host's policy for
//! huge pages is. The kernel holds the target's memory while it copies a block, half a
//! millisecond, so each block is a call of its own.

use super::leaves;
use crate::BpfError;
use crate::entry::bytes_mapped;
use crate::programs::Facts;
use crate::vaddr::VirtualMemory;
use daos_core::{ActionReport, AddrRange, HUGE_PAGE_SIZE, Refusal};
use rustix::io::Errno;

/// A block before it was collapsed.
struct Block {
    range: AddrRange,
    /// Bytes that were in memory.
    resident: u64,
    is_huge: bool,
    /// Whether others map some of it, too: a huge page would be a copy.
    is_shared: bool,
    /// Why it could not be collapsed.
    refused: Option<Refusal>,
}

impl VirtualMemory {
    /// Makes the 2 MiB-aligned blocks in `ranges` huge pages; `None` when the process has
    /// ended. What is left beside whole blocks is unsuitable.
    ///
    /// Applied are blocks that were not huge and are. What was absent of them, or in swap,
    /// is in memory now: bloat.
    pub(super) fn hugepage(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<ActionReport>, BpfError> {
        let mut report = ActionReport::default();
        let mut whole: Vec<_> = ranges.iter().map(|r| r.whole_blocks(HUGE_PAGE_SIZE)).collect();
        whole.retain(|range| !range.is_empty());
        report.refuse(Refusal::Unsuitable, super::bytes(ranges) - super::bytes(&whole));
        let Some(mut blocks) = self.blocks(at, &whole)? else { return Ok(None) };
        blocks.retain(|block| !block.is_huge);

        for block in &mut blocks {
            block.refused = if block.is_shared {
                Some(Refusal::Shared)
            } else {
                match self.spaces[at].process.collapse(block.range) {
                    Ok(()) => None,
                    Err(Errno::SRCH) => return Ok(None),
                    // No huge page, or no room for it in the cgroup.
                    Err(Errno::NOMEM | Errno::BUSY) => Some(Refusal::NoRoom),
                    Err(Errno::AGAIN | Errno::INTR) => Some(Refusal::Kept),
                    Err(_) => Some(Refusal::Unsuitable),
                }
            };
        }

        let asked: Vec<_> = blocks.iter().map(|block| block.range).collect();
        let Some(after) = self.blocks(at, &asked)? else { return Ok(None) };
        for (before, after) in blocks.iter().zip(after) {
            if after.is_huge {
                report.applied_bytes += HUGE_PAGE_SIZE;
                after.range.push_joined(&mut report.applied);
                report.bloat_bytes += (HUGE_PAGE_SIZE - before.resident) as i64;
            } else {
                report.refuse(before.refused.unwrap_or(Refusal::Kept), HUGE_PAGE_SIZE);
            }
        }
        Ok(Some(report))
    }

    /// What the blocks of whole `ranges` are now.
    fn blocks(&mut self, at: usize, ranges: &[AddrRange]) -> Result<Option<Vec<Block>>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let starts = ranges.iter().flat_map(|r| (r.start..r.end).step_by(HUGE_PAGE_SIZE as usize));
        let mut blocks: Vec<_> = starts
            .map(|start| {
                let range = AddrRange::new(start, start + HUGE_PAGE_SIZE);
                Block { range, resident: 0, is_huge: false, is_shared: false, refused: None }
            })
            .collect();
        let mut block = 0;
        let there = leaves::for_each(&mut self.reader, &task, ranges, Facts::OfPresent, |leaf| {
            while !blocks[block].range.contains(leaf.range.start) {
                block += 1;
            }
            let block = &mut blocks[block];
            if leaf.is_memory() {
                block.resident += leaf.range.len();
                block.is_huge |= bytes_mapped(leaf.level) >= HUGE_PAGE_SIZE;
                block.is_shared |= leaf.is_shared();
            }
        })?;
        Ok(there.then_some(blocks))
    }
}
