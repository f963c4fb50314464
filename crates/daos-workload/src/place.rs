//! Where the regions lie.
//!
//! Each starts at a multiple of 2 MiB, so that huge pages can map all of it, and
//! behind each is a hole of 4 KiB to 2 MiB, so that the kernel never makes one
//! mapping of two. Larger holes would invite others: a thread's stack (2 MiB and
//! a guard page) does not fit in there.

use crate::config::Region;
use daos_core::{AddrRange, PAGE_SIZE};

/// Where a region can start, in bytes: the size of a huge page.
pub const ALIGNMENT: u64 = 2 << 20;

/// The page-aligned range of each region, in their order, by rising address. The
/// first starts at `base` rounded up to [`ALIGNMENT`].
pub fn place(regions: &[Region], base: u64) -> Vec<AddrRange> {
    let mut start = base.next_multiple_of(ALIGNMENT);
    let mut ranges = Vec::with_capacity(regions.len());
    for region in regions {
        let range = AddrRange::new(start, start + region.len).page_aligned();
        start = (range.end + PAGE_SIZE).next_multiple_of(ALIGNMENT);
        ranges.push(range);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_and_apart() {
        let region = |len| Region { name: String::new(), len };
        let ranges = place(&[region(1), region(2 << 20), region((2 << 20) - 4095)], 4096);
        let starts: Vec<u64> = ranges.iter().map(|r| r.start / ALIGNMENT).collect();
        assert_eq!(starts, [1, 2, 4]);
        assert_eq!(ranges.iter().map(AddrRange::pages).collect::<Vec<_>>(), [1, 512, 512]);
    }
}
