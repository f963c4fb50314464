//! A region: neighbouring pages that are taken to be accessed alike.

use daos_core::{AddrRange, PAGE_SIZE};

/// Neighbouring pages of one target that are taken to be accessed alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Page-aligned, never empty.
    pub range: AddrRange,
    /// Checks in this aggregation interval that found an access.
    pub nr_accesses: u32,
    /// The same of the aggregation interval before.
    pub last_nr_accesses: u32,
    /// Checks in this aggregation interval whose page could not be observed.
    pub nr_unobserved: u32,
    /// Aggregation intervals since the access frequency last changed.
    pub age: u32,
}

impl Region {
    /// A region of which nothing is known yet.
    pub fn new(range: AddrRange) -> Self {
        debug_assert!(!range.is_empty());
        Self { range, nr_accesses: 0, last_nr_accesses: 0, nr_unobserved: 0, age: 0 }
    }

    /// Takes in the neighbour behind this one. Counts and age become the means
    /// weighted by size, rounded down, as in the kernel's `damon_merge_two_regions`.
    pub fn absorb(&mut self, next: &Region) {
        debug_assert_eq!(self.range.end, next.range.start);
        let (left, right) = (self.range.pages(), next.range.pages());
        let mean = |a: u32, b: u32| {
            let sum = u128::from(a) * u128::from(left) + u128::from(b) * u128::from(right);
            (sum / u128::from(left + right)) as u32
        };
        self.nr_accesses = mean(self.nr_accesses, next.nr_accesses);
        self.last_nr_accesses = mean(self.last_nr_accesses, next.last_nr_accesses);
        self.nr_unobserved = mean(self.nr_unobserved, next.nr_unobserved);
        self.age = mean(self.age, next.age);
        self.range.end = next.range.end;
    }

    /// Cuts the region behind its first `pages` pages and returns the part
    /// behind the cut. Both parts keep counts and age.
    pub fn split_off(&mut self, pages: u64) -> Region {
        debug_assert!(0 < pages && pages < self.range.pages());
        let cut = self.range.start + pages * PAGE_SIZE;
        let right = Region { range: AddrRange::new(cut, self.range.end), ..*self };
        self.range.end = cut;
        right
    }
}
