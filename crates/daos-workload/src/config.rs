//! What a workload is: regions of memory, and phases that access them.
//!
//! A configuration comes out of the [parser](crate::parse) only, so whoever
//! holds one can rely on what is promised here, and needs no checks of its own.

use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use serde::{Deserialize, Serialize};

/// A workload that was read and found sound.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The name of its file.
    pub name: String,
    /// At least one; their names differ.
    pub regions: Vec<Region>,
    /// At least one, in the order in which they run.
    pub phases: Vec<Phase>,
}

/// A contiguous piece of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its name, never empty.
    pub name: String,
    /// Its size in bytes, at least 1; all regions together at most 64 TiB.
    pub len: u64,
}

/// A time in which memory is accessed in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// Its name, never empty; names may repeat.
    pub name: String,
    /// How long it lasts, in milliseconds, at least 1.
    pub duration_ms: u64,
    /// What is accessed, side by side. None: the phase is idle.
    pub patterns: Vec<Pattern>,
}

/// One way to access one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Index into [`Config::regions`].
    pub region: usize,
    /// Which of its bytes, in which order.
    pub order: Order,
    /// Its share of the phase's accesses, in proportion to the other weights.
    /// At least 1.
    pub weight: u32,
    /// What an access does.
    pub mode: Mode,
}

/// Which bytes of a region are accessed, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any byte, each as likely as the other.
    Random,
    /// From the start to the end, and again, so many bytes at a step (at least
    /// 1). Each phase begins at the start.
    Stride(u64),
    /// Any byte of some pages: of each so many bytes one page (see [`Singles`](crate::singles)).
    /// At most the size of the region.
    Singles(u64),
}

/// What an access does to its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reads it.
    Ro,
    /// Writes it.
    #[default]
    Wo,
    /// Reads it and writes it back changed.
    Rw,
}

impl Config {
    /// How long all phases last together, in microseconds.
    pub fn duration_us(&self) -> u64 {
        self.phases.iter().map(Phase::duration_us).sum()
    }

    /// The size of all regions together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.regions.iter().map(|r| r.len).sum()
    }
}

impl Phase {
    /// How long it lasts, in microseconds.
    pub fn duration_us(&self) -> u64 {
        self.duration_ms * 1000
    }

    /// The sum of the weights of its patterns; 0 when the phase is idle.
    pub fn total_weight(&self) -> u64 {
        self.patterns.iter().map(|p| u64::from(p.weight)).sum()
    }
}

/// Where a region can start, in bytes: the size of a huge page.
pub const ALIGNMENT: u64 = HUGE_PAGE_SIZE;

/// Where the regions lie: the page-aligned range of each, in their order, by rising address.
/// The first starts at `base` rounded up to [`ALIGNMENT`].
///
/// Each starts at a multiple of 2 MiB, so that huge pages can map all of it, and behind each
/// is a hole of 4 KiB to 2 MiB, so that the kernel never makes one mapping of two. Larger
/// holes would invite others: a thread's stack (2 MiB and a guard page) does not fit in there.
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
