//! Addresses, in bytes, and half-open ranges of them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes in a base page. Every boundary that the monitor sets is a multiple of it.
pub const PAGE_SIZE: u64 = 4096;

/// A half-open range of addresses, `start..end`, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

    /// The smallest page-aligned range around this one.
    pub fn page_aligned(&self) -> AddrRange {
        AddrRange {
            start: self.start / PAGE_SIZE * PAGE_SIZE,
            end: self.end.div_ceil(PAGE_SIZE) * PAGE_SIZE,
        }
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
