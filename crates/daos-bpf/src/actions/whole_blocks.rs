//! Blocks of 2 MiB that are paged out as one page.
//!
//! To page out a page that was written to, the kernel has to flush the TLB of every CPU
//! that the target runs on: an interrupt for each page, which costs the target more than
//! all the rest. So a block of which all pages are to go is made a huge page first, which takes one
//! flush instead of 512. The memory of that huge page is free again at once, for the next block.

use super::leaves::Leaf;
use crate::vaddr::Space;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, huge_page_start};
use daos_linux::madvise::Advice;
use std::collections::{BTreeMap, HashSet};

/// Counts the pages of blocks that are to be paged out.
#[derive(Debug, Default)]
pub(super) struct WholeBlocks {
    /// By address: small pages of anonymous memory in it, no more than 512.
    pages: BTreeMap<u64, u64>,
}

impl WholeBlocks {
    /// Adds a page, or a huge page, which needs nothing.
    pub(super) fn add(&mut self, leaf: &Leaf<'_>) {
        if leaf.level == 1 {
            *self.pages.entry(huge_page_start(leaf.range.start)).or_default() += 1;
        }
    }

    /// Makes huge pages of the blocks of which all pages are there, and gives `asked`, which
    /// is sorted and joined, with each of these in one piece.
    pub(super) fn collapse(self, space: &Space, asked: Vec<AddrRange>) -> Vec<AddrRange> {
        let is_whole = |(start, pages): &(u64, u64)| {
            *pages == HUGE_PAGE_SIZE / PAGE_SIZE && !space.is_of_file(*start)
        };
        let whole: Vec<u64> =
            self.pages.into_iter().filter(is_whole).map(|(start, _)| start).collect();
        let locked = locked(space, &whole);
        let mut blocks = Vec::new();
        for start in whole.into_iter().filter(|start| !locked.contains(start)) {
            let block = AddrRange::new(start, start + HUGE_PAGE_SIZE);
            // Where there is no huge page to be had, the pages go one by one.
            if space.process.collapse(block).is_err() {
                break;
            }
            blocks.push(block);
        }
        in_one_piece(asked, &blocks)
    }
}

/// The blocks, by their starts, that the kernel leaves, as locked memory: it would make huge pages
/// of them, and then not page them out. It refuses as well to have a page of them taken first.
fn locked(space: &Space, blocks: &[u64]) -> HashSet<u64> {
    let first_page = |start: &u64| AddrRange::new(*start, start + PAGE_SIZE);
    let pages: Vec<_> = blocks.iter().map(first_page).collect();
    let refused = space.process.advise(Advice::Cold, &pages).refused;
    refused.into_iter().map(|(page, _)| page.start).collect()
}

/// Replaces the parts of sorted `ranges` that lie in sorted `blocks`, which they fill, by
/// the blocks.
fn in_one_piece(ranges: Vec<AddrRange>, blocks: &[AddrRange]) -> Vec<AddrRange> {
    let mut all = blocks.to_vec();
    for range in ranges {
        let mut rest = range;
        let first = blocks.partition_point(|block| block.end <= range.start);
        for block in blocks[first..].iter().take_while(|block| block.start < range.end) {
            all.push(AddrRange::new(rest.start, block.start));
            rest.start = block.end.min(rest.end);
        }
        all.push(rest);
    }
    all.retain(|range| !range.is_empty());
    all.sort_unstable_by_key(|range| range.start);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_asked_for_in_one_piece() {
        let mib = |start: u64, end: u64| AddrRange::new(start << 20, end << 20);
        let ranges = vec![mib(1, 2), mib(2, 3), mib(3, 4), mib(4, 5), mib(5, 6), mib(9, 10)];
        let asked = in_one_piece(ranges.clone(), &[mib(2, 4)]);
        assert_eq!(asked, [mib(1, 2), mib(2, 4), mib(4, 5), mib(5, 6), mib(9, 10)]);
        assert_eq!(in_one_piece(ranges.clone(), &[]), ranges);
        assert_eq!(in_one_piece(vec![mib(1, 7)], &[mib(2, 4), mib(4, 6)]).len(), 4);
    }
}
