//! Single pages among others: of each so many bytes of a region one page, at a place that looks
//! like chance and is always the same.

use daos_core::PAGE_SIZE;
use daos_core::rng::mix;

/// Which pages of a region are accessed singly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Singles {
    /// Bytes of which one page is accessed: whole pages, at least two.
    pub every: u64,
    /// How often the region has so many bytes. What is left at its end is left alone.
    pub groups: u64,
}

impl Singles {
    /// Of a region of `len` bytes; `every` is at least a page.
    pub fn new(every: u64, len: u64) -> Self {
        Self { every, groups: len / every }
    }

    /// Where the page of a group begins, in bytes from the start of the region.
    pub fn offset(&self, group: u64) -> u64 {
        let pages = (self.every / PAGE_SIZE).max(1);
        group * self.every + mix(group) % pages * PAGE_SIZE
    }

    /// Whether a page of `page` bytes at `offset`, a multiple of that, has one of them in it.
    pub fn meets(&self, offset: u64, page: u64) -> bool {
        let groups = offset / self.every..=(offset + page - 1) / self.every;
        let mut met = groups.take_while(|group| *group < self.groups);
        met.any(|group| (offset..offset + page).contains(&self.offset(group)))
    }

    /// Bytes in pages of `page` bytes that have one of them in them, among the first `bytes`,
    /// where pages are no larger than what one is of.
    pub fn bytes_before(&self, bytes: u64, page: u64) -> u64 {
        let group = (bytes / self.every).min(self.groups);
        let in_group = match group < self.groups {
            true => bytes.saturating_sub(self.offset(group) / page * page).min(page),
            false => 0,
        };
        group * page + in_group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE;

    #[test]
    fn each_group_has_one_page() {
        let singles = Singles::new(4 * PAGE, 4002 * PAGE);
        assert_eq!(singles.groups, 1000);
        let met: Vec<u64> = (0..4002).filter(|page| singles.meets(page * PAGE, PAGE)).collect();
        assert_eq!(met.len(), 1000);
        assert!(met.iter().zip(0..).all(|(page, group)| page / 4 == group));
        let first = met.iter().filter(|page| *page % 4 == 0).count();
        assert!((150..350).contains(&first), "a quarter is at each place, not {first} of 1000");
        for pages in [0, 1, 7, 8, 2001, 4002] {
            let before = met.iter().filter(|page| **page < pages).count() as u64;
            assert_eq!(singles.bytes_before(pages * PAGE, PAGE), before * PAGE);
        }
    }

    #[test]
    fn huge_pages_have_one_or_many() {
        let huge = 512 * PAGE;
        let few = Singles::new(4 * huge, 400 * huge);
        let met = (0..400).filter(|page| few.meets(page * huge, huge)).count() as u64;
        assert_eq!((met, few.bytes_before(400 * huge, huge)), (100, 100 * huge));
        let many = Singles::new(4 * PAGE, 4 * huge);
        assert!((0..4).all(|page| many.meets(page * huge, huge)));
    }
}
