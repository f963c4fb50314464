//! Hugepage: a block of regular pages becomes a huge page.
//!
//! `MADV_COLLAPSE` does that at once and from outside, whatever the host's policy for
//! huge pages is. The kernel holds the target's memory while it copies a block, half a
//! millisecond, so each block is a call of its own.

use super::{leaves, push_joined};
use crate::BpfError;
use crate::entry::bytes_mapped;
use crate::programs::Facts;
use crate::vaddr::VirtualMemory;
use daos_core::AddrRange;
use daos_core::schemes::{Outcome, Refusal};
use rustix::io::Errno;

pub(super) const HUGE_BYTES: u64 = 2 << 20;

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
    ) -> Result<Option<Outcome>, BpfError> {
        let mut outcome = Outcome::default();
        let whole: Vec<_> = ranges.iter().copied().filter_map(whole_blocks).collect();
        outcome.refuse(Refusal::Unsuitable, super::bytes(ranges) - super::bytes(&whole));
        let Some(mut blocks) = self.blocks(at, &whole)? else { return Ok(None) };
        blocks.retain(|block| !block.is_huge);

        let mut no_room = false;
        for block in &mut blocks {
            // To look for room takes the kernel long, and will not be better for the next.
            block.refused = if block.is_shared {
                Some(Refusal::Shared)
            } else if no_room {
                Some(Refusal::NoRoom)
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
            no_room |= block.refused == Some(Refusal::NoRoom);
        }

        let asked: Vec<_> = blocks.iter().map(|block| block.range).collect();
        let Some(after) = self.blocks(at, &asked)? else { return Ok(None) };
        for (before, after) in blocks.iter().zip(after) {
            if after.is_huge {
                outcome.applied_bytes += HUGE_BYTES;
                push_joined(&mut outcome.applied, after.range);
                outcome.bloat_bytes += (HUGE_BYTES - before.resident) as i64;
            } else {
                outcome.refuse(before.refused.unwrap_or(Refusal::Kept), HUGE_BYTES);
            }
        }
        Ok(Some(outcome))
    }

    /// What the blocks of whole `ranges` are now.
    fn blocks(&mut self, at: usize, ranges: &[AddrRange]) -> Result<Option<Vec<Block>>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let starts = ranges.iter().flat_map(|r| (r.start..r.end).step_by(HUGE_BYTES as usize));
        let mut blocks: Vec<_> = starts
            .map(|start| {
                let range = AddrRange::new(start, start + HUGE_BYTES);
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
                block.is_huge |= bytes_mapped(leaf.level) >= HUGE_BYTES;
                block.is_shared |= leaf.is_shared();
            }
        })?;
        Ok(there.then_some(blocks))
    }
}

/// The aligned blocks in a range; `None` if it has none.
fn whole_blocks(range: AddrRange) -> Option<AddrRange> {
    let start = range.start.next_multiple_of(HUGE_BYTES);
    let end = range.end / HUGE_BYTES * HUGE_BYTES;
    (start < end).then(|| AddrRange::new(start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_blocks_are_collapsed() {
        let whole = |start, end| whole_blocks(AddrRange::new(start, end)).map(|r| (r.start, r.end));
        assert_eq!(whole(0x20_0000, 0x60_0000), Some((0x20_0000, 0x60_0000)));
        assert_eq!(whole(0x1f_f000, 0x60_1000), Some((0x20_0000, 0x60_0000)));
        assert_eq!(whole(0x20_1000, 0x40_0000), None);
        assert_eq!(whole(0x20_1000, 0x20_2000), None);
    }
}
