//! Which pages were armed and not found accessed since.
//!
//! To set an accessed bit that was cleared costs the target something. A bit that is found set by
//! several checks in a row, without another arming between them, was set once: only the first of
//! them is charged.

use daos_core::access::{MAX_WINDOW_PAGES, later_pages, shifted_pages};
use daos_core::pages::{Pages, nr_in_table};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Observation, PageBits, TargetId, Window};
use std::collections::HashMap;

/// Blocks that are kept at most. Chosen: some 6 MiB. Of more, all are forgotten, and the targets
/// charged a little less than it cost them.
const MAX_BLOCKS: usize = 65_536;

/// Pages of targets, in blocks of as many as a page table maps.
#[derive(Debug, Default)]
pub(crate) struct ArmedPages {
    blocks: HashMap<(TargetId, u64), PageBits>,
}

impl ArmedPages {
    /// Notes that these pages are armed, each with an entry of its own.
    pub(crate) fn insert_range(&mut self, target: TargetId, pages: AddrRange) {
        for part in pages.blocks(HUGE_PAGE_SIZE) {
            self.insert(target, part.start, &Pages::range(0, part.pages() as u32));
        }
    }

    /// The same of pages of one page table, by their number from `start` on.
    pub(crate) fn insert(&mut self, target: TargetId, start: u64, pages: &Pages) {
        if pages.is_empty() {
            return;
        }
        if self.blocks.len() >= MAX_BLOCKS {
            self.blocks.clear();
        }
        let armed = self.blocks.entry((target, start / HUGE_PAGE_SIZE)).or_default();
        *armed = Pages(*armed).or(&Pages(shifted_pages(&pages.0, nr_in_table(start)))).0;
    }

    /// Takes out those that were found accessed in these windows of one target. Returns how many
    /// there were.
    pub(crate) fn take_found(
        &mut self,
        target: TargetId,
        windows: &[Window],
        found: &[Observation],
    ) -> u32 {
        let pages =
            windows.iter().zip(found).filter_map(|(w, seen)| Some((w, seen.pages.as_ref()?)));
        pages.map(|(window, pages)| self.take(target, window.start, pages)).sum()
    }

    /// Takes out those of `accessed`, pages from `start` on. Returns how many there were.
    pub(crate) fn take(&mut self, target: TargetId, start: u64, accessed: &PageBits) -> u32 {
        let (block, first) = (start / HUGE_PAGE_SIZE, nr_in_table(start));
        let mut taken = self.take_from((target, block), &shifted_pages(accessed, first));
        if first > 0 {
            let rest = later_pages(accessed, MAX_WINDOW_PAGES - first);
            taken += self.take_from((target, block + 1), &rest);
        }
        taken
    }

    fn take_from(&mut self, block: (TargetId, u64), accessed: &PageBits) -> u32 {
        if accessed.iter().all(|word| *word == 0) {
            return 0;
        }
        let Some(armed) = self.blocks.get_mut(&block) else { return 0 };
        let mut taken = 0;
        for (armed, accessed) in armed.iter_mut().zip(accessed) {
            taken += (*armed & accessed).count_ones();
            *armed &= !accessed;
        }
        if armed.iter().all(|word| *word == 0) {
            self.blocks.remove(&block);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::PAGE_SIZE;
    use daos_core::access::has_page;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const TARGET: TargetId = TargetId(3);

    fn page(page: u64) -> u64 {
        HUGE_PAGE_SIZE + page * PAGE_SIZE
    }

    proptest! {
        #[test]
        fn a_page_is_found_once_for_each_time_it_was_armed(
            steps in prop::collection::vec((0u64..1500, 1u64..600, any::<PageBits>()), 1..20),
        ) {
            let (mut pages, mut model) = (ArmedPages::default(), HashSet::new());
            for (at, nr, bits) in steps {
                pages.insert_range(TARGET, AddrRange::new(page(at), page(at + nr)));
                model.extend(at..at + nr);
                let start = at / 2;
                let is_set = |nr: u64| has_page(&bits, nr as u32);
                let found = (0..512).filter(|nr| is_set(*nr) && model.remove(&(start + nr))).count();
                prop_assert_eq!(pages.take(TARGET, page(start), &bits) as usize, found);
                prop_assert_eq!(pages.take(TARGET, page(start), &bits), 0);
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_of_its_target() {
        let mut pages = ArmedPages::default();
        for block in 0..MAX_BLOCKS as u64 + 10 {
            let start = block * HUGE_PAGE_SIZE;
            pages.insert(TARGET, start, &Pages::range(0, 1));
        }
        assert!(pages.blocks.len() <= 10);
        let last = (MAX_BLOCKS as u64 + 9) * HUGE_PAGE_SIZE;
        assert_eq!(pages.take(TargetId(4), last, &[1, 0, 0, 0, 0, 0, 0, 0]), 0);
        assert_eq!(pages.take(TARGET, last, &[1, 0, 0, 0, 0, 0, 0, 0]), 1);
    }
}
