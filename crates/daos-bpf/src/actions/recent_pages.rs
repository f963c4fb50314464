//! Which pages were asked for not long ago, to be left in peace meanwhile.

use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, PageBits, huge_page_start};
use std::collections::HashMap;

/// Microseconds after which a page that is still paged out is asked for again. Chosen: more
/// than it takes to read it in, and less than it matters if the cache has dropped it.
pub(crate) const ASK_AGAIN_US: u64 = 5_000_000;

/// Remembers pages for a time, a bit each; the default for none.
#[derive(Debug, Default)]
pub(crate) struct RecentPages {
    /// How long, in microseconds.
    for_us: u64,
    /// By address of a block of 2 MiB: since when, and which of its pages.
    blocks: HashMap<u64, (u64, PageBits)>,
    /// How many pages these are.
    pages: u64,
    /// When blocks were last cleared away.
    cleared_us: u64,
}

impl RecentPages {
    /// Remembers for `for_us` microseconds.
    pub(crate) fn new(for_us: u64) -> Self {
        Self { for_us, blocks: HashMap::new(), pages: 0, cleared_us: 0 }
    }

    /// Adds `range` at `now_us`; whether any page of it was not there already. The time
    /// of a page counts from the first that is added to its block.
    pub(crate) fn add_range(&mut self, range: AddrRange, now_us: u64) -> bool {
        let mut any_new = false;
        for part in range.blocks(HUGE_PAGE_SIZE) {
            let block = huge_page_start(part.start);
            let (since, bits) = self.blocks.entry(block).or_insert((now_us, PageBits::default()));
            if now_us.saturating_sub(*since) >= self.for_us {
                self.pages -= count(bits);
                (*since, *bits) = (now_us, PageBits::default());
            }
            let page = |addr: u64| ((addr - block) / PAGE_SIZE) as usize;
            for page in page(part.start)..page(part.end) {
                let (word, bit) = (&mut bits[page / 64], 1 << (page % 64));
                if *word & bit == 0 {
                    any_new = true;
                    *word |= bit;
                    self.pages += 1;
                }
            }
        }
        any_new
    }

    /// Bytes that are remembered, with those whose time is over that were not yet cleared away.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages * PAGE_SIZE
    }

    /// Forgets what is over, once in the time for which pages are remembered.
    pub(crate) fn clear_away(&mut self, now_us: u64) {
        if now_us.saturating_sub(self.cleared_us) >= self.for_us {
            let is_over = |since: u64| now_us.saturating_sub(since) >= self.for_us;
            self.blocks.retain(|_, (since, _)| !is_over(*since));
            self.pages = self.blocks.values().map(|(_, bits)| count(bits)).sum();
            self.cleared_us = now_us;
        }
    }
}

fn count(bits: &PageBits) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_remembered_for_a_time() {
        let page = |page| AddrRange::new(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
        let mut recent = RecentPages::new(100);
        assert!(recent.add_range(page(1), 10));
        assert!(!recent.add_range(page(1), 109));
        assert_eq!(recent.bytes(), PAGE_SIZE);
        assert!(recent.add_range(page(2), 109), "another page");
        assert!(recent.add_range(page(513), 109), "another block");
        assert!(!recent.add_range(AddrRange::new(0x1000, 0x3000), 109), "both");
        assert!(recent.add_range(AddrRange::new(0x1000, 0x4000), 109), "one more");
        assert!(recent.add_range(page(1), 110), "the time of its block is over");
        assert!(recent.add_range(page(2), 111));
        let blocks = AddrRange::new(0x3000, 3 * HUGE_PAGE_SIZE);
        assert!(recent.add_range(blocks, 112));
        assert!(!recent.add_range(blocks, 112));
        // All of the first block but page 0.
        assert_eq!(recent.bytes(), 3 * HUGE_PAGE_SIZE - PAGE_SIZE);
    }

    #[test]
    fn what_is_over_takes_no_memory() {
        let mut recent = RecentPages::new(100);
        recent.add_range(AddrRange::new(0, 50 * HUGE_PAGE_SIZE), 10);
        recent.clear_away(300);
        assert!(recent.blocks.is_empty());
        assert_eq!(recent.bytes(), 0);
    }
}
