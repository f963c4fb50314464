//! Addresses, in bytes, and half-open ranges of them.

use std::fmt;

/// Bytes in a base page, as on x86-64. Every boundary that a monitor sets is a multiple
/// of it.
pub const PAGE_SIZE: u64 = 4096;

/// Bytes that one huge page maps, and one page of page table: 512 pages, as on x86-64.
pub const HUGE_PAGE_SIZE: u64 = 512 * PAGE_SIZE;

/// Where the huge page that would map an address begins, and what its page of page table maps.
pub fn huge_page_start(addr: u64) -> u64 {
    addr / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE
}

/// A half-open range of addresses, `start..end`, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AddrRange {
    /// First byte in the range.
    pub start: u64,
    /// First byte behind the range.
    pub end: u64,
}

impl AddrRange {
    /// The range `start..end`. An `end` before `start` gives an empty range at `start`.
    pub fn new(start: u64, end: u64) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Size in bytes.
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Whether the range holds no byte.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whole pages in the range.
    pub fn pages(&self) -> u64 {
        self.len() / PAGE_SIZE
    }

    /// Whether `addr` lies in the range.
    pub fn contains(&self, addr: u64) -> bool {
        self.start <= addr && addr < self.end
    }

    /// The part that two ranges share, if there is one.
    pub fn intersect(&self, other: &AddrRange) -> Option<AddrRange> {
        let start = self.start.max(other.start);
        let end = self.end.min(other.end);
        (start < end).then_some(AddrRange { start, end })
    }

    /// Its parts in the aligned blocks of so many bytes, by rising address.
    pub fn blocks(self, bytes: u64) -> impl Iterator<Item = AddrRange> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let end = rest.end.min((rest.start / bytes + 1) * bytes);
            let part = AddrRange::new(rest.start, end);
            rest.start = end;
            (!part.is_empty()).then_some(part)
        })
    }

    /// The aligned blocks of so many bytes that lie in it as a whole; empty if none does.
    pub fn whole_blocks(self, bytes: u64) -> AddrRange {
        // Behind the last block there is none.
        let start = self.start.checked_next_multiple_of(bytes).unwrap_or(u64::MAX);
        AddrRange::new(start, self.end / bytes * bytes)
    }

    /// Whether one of these `ranges`, which are sorted and disjoint, holds `addr`.
    pub fn any_contains(ranges: &[AddrRange], addr: u64) -> bool {
        let at = ranges.partition_point(|range| range.end <= addr);
        ranges.get(at).is_some_and(|range| range.contains(addr))
    }

    /// Adds this behind sorted `ranges`, as one with the last of them where they touch or
    /// overlap.
    pub fn push_joined(self, ranges: &mut Vec<AddrRange>) {
        match ranges.last_mut() {
            Some(last) if (last.start..=last.end).contains(&self.start) => {
                last.end = last.end.max(self.end);
            }
            _ => ranges.push(self),
        }
    }

    /// Sorted ranges, those that touch or overlap as one.
    pub fn joined(ranges: impl IntoIterator<Item = AddrRange>) -> Vec<AddrRange> {
        let mut joined = Vec::new();
        ranges.into_iter().for_each(|range| range.push_joined(&mut joined));
        joined
    }

    /// The smallest page-aligned range around this one; without the last page of all addresses,
    /// whose end would not fit into 64 bits.
    pub fn page_aligned(&self) -> AddrRange {
        let end = self.end.checked_next_multiple_of(PAGE_SIZE);
        let end = end.unwrap_or(u64::MAX / PAGE_SIZE * PAGE_SIZE);
        AddrRange { start: (self.start / PAGE_SIZE * PAGE_SIZE).min(end), end }
    }
}

impl fmt::Debug for AddrRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end)
    }
}

impl fmt::Display for AddrRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}-{:#x}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_where_they_are_aligned() {
        let cut = |start, end| AddrRange::new(start, end).blocks(10).map(|r| (r.start, r.end));
        assert_eq!(cut(3, 25).collect::<Vec<_>>(), [(3, 10), (10, 20), (20, 25)]);
        assert_eq!(cut(10, 20).collect::<Vec<_>>(), [(10, 20)]);
        assert_eq!(cut(7, 7).count(), 0);
    }

    #[test]
    fn there_is_no_page_behind_the_last_address() {
        let all = AddrRange::new(1, u64::MAX).page_aligned();
        assert_eq!((all.start, all.end), (0, u64::MAX - 4095));
        assert!(AddrRange::new(u64::MAX - 1, u64::MAX).page_aligned().is_empty());
        assert!(AddrRange::new(u64::MAX - 1, u64::MAX).whole_blocks(PAGE_SIZE).is_empty());
        let page = AddrRange::new(4097, 4098).page_aligned();
        assert_eq!((page.start, page.end), (4096, 8192));
    }

    #[test]
    fn whole_blocks_are_cut_out() {
        let whole = |start, end| AddrRange::new(start, end).whole_blocks(10);
        assert_eq!(whole(20, 60), AddrRange::new(20, 60));
        assert_eq!(whole(19, 61), AddrRange::new(20, 60));
        for (start, end) in [(21, 39), (21, 22), (19, 29)] {
            assert!(whole(start, end).is_empty());
        }
    }

    #[test]
    fn neighbours_are_one() {
        let ranges = [(0, 2), (2, 5), (6, 7)].map(|(start, end)| AddrRange::new(start, end));
        let joined = AddrRange::joined(ranges);
        assert_eq!(joined, [AddrRange::new(0, 5), AddrRange::new(6, 7)]);
        let held = (0..9).filter(|&addr| AddrRange::any_contains(&joined, addr));
        assert_eq!(held.collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6]);
        let overlapping = [(0, 8), (2, 5), (8, 9)].map(|(start, end)| AddrRange::new(start, end));
        assert_eq!(AddrRange::joined(overlapping), [AddrRange::new(0, 9)]);
    }
}
