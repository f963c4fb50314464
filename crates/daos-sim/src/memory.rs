//! What the machine's memory costs and gains, and what the target has of it.
//!
//! Like the prices of monitoring these are a yardstick between schemes, not a promise.
//! Nothing here changes what the workload does: it makes its accesses as if it never
//! waited, and what that would have taken it longer, or less long, is summed up beside.

use daos_core::PAGE_SIZE;

/// The machine's memory: how much there is, and prices in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryModel {
    /// Bytes of DRAM, if it is to be known how much is free. Nothing is evicted when it
    /// is full.
    pub dram_bytes: Option<u64>,
    /// Most bytes that can be in swap.
    pub swap_bytes: u64,
    /// What the target waits for a page of 4 KiB that it accesses while that is in swap.
    pub swap_in_us: f64,
    /// To page out a page, for who does it.
    pub page_out_us: f64,
    /// To bring one back before the target needs it, for who does it.
    pub page_in_us: f64,
    /// To make 2 MiB a huge page, for who does it.
    pub collapse_us: f64,
    /// To make small pages of a huge one.
    pub split_us: f64,
    /// To give an advice about a page that changes nothing here.
    pub advise_us: f64,
    /// To ask for anything, for each range.
    pub call_us: f64,
    /// How much faster a target runs all of whose accesses are random ones to huge pages:
    /// 0.15 is 15 %.
    pub random_gain: f64,
    /// The same for strides, of which the caches foresee most.
    pub stride_gain: f64,
}

impl MemoryModel {
    /// Swap is compressed memory.
    ///
    /// Paging out was measured at 0.4 s for 384 MiB. The others are round figures: 10 µs
    /// for a fault that decompresses a page, 4 µs to do so ahead, 300 µs to find, copy and
    /// map 2 MiB, 50 µs to map it by 512 entries again, and 15 % for huge pages, which is
    /// what walks of page tables take of a program that is all cache misses.
    pub const ZRAM: Self = Self {
        dram_bytes: None,
        swap_bytes: u64::MAX,
        swap_in_us: 10.0,
        page_out_us: 4.0,
        page_in_us: 4.0,
        collapse_us: 300.0,
        split_us: 50.0,
        advise_us: 0.13,
        call_us: 0.4,
        random_gain: 0.15,
        stride_gain: 0.03,
    };

    /// Swap is a solid-state disk: the target waits 150 µs for a page, a round figure too.
    pub const DISK: Self = Self { swap_in_us: 150.0, ..Self::ZRAM };
}

/// What a target has of memory, and what came of it since the simulation began.
///
/// Resident, swapped and untouched memory together are what is mapped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryUse {
    /// The time of this reading, in microseconds.
    pub elapsed_us: u64,
    /// Bytes in memory.
    pub resident_bytes: u64,
    /// Bytes in swap.
    pub swapped_bytes: u64,
    /// Bytes that are mapped and nowhere: never accessed, or given back.
    pub untouched_bytes: u64,
    /// Resident bytes in huge pages.
    pub huge_bytes: u64,
    /// Resident bytes that were never accessed: there only since a huge page needed them.
    pub bloat_bytes: u64,
    /// Pages of 4 KiB that came back from swap, for an access or ahead of it.
    pub swap_ins: u64,
    /// Pages that went there.
    pub swap_outs: u64,
    /// How long the target waited for pages in swap, in microseconds.
    pub stall_us: f64,
    /// How long it would have taken longer without huge pages, in microseconds.
    pub gain_us: f64,
}

impl MemoryUse {
    /// How much work was done in the time, as a share of what would have been with all
    /// memory present and in small pages: 1 is as much, less than 1 is less.
    ///
    /// What the simulated workload does in `elapsed_us` it would really have done in
    /// that, and `stall_us` more, and `gain_us` less.
    pub fn work(&self) -> f64 {
        let elapsed_us = self.elapsed_us as f64;
        let needed_us = elapsed_us + self.stall_us - self.gain_us;
        if needed_us > 0.0 { elapsed_us / needed_us } else { 1.0 }
    }

    /// How much longer the same work takes: 0.1 is 10 % longer, less than 0 is faster.
    pub fn slowdown(&self) -> f64 {
        1.0 / self.work() - 1.0
    }

    /// What came of it since an `earlier` reading: the counts and times are from then on,
    /// the bytes are as they are now.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            elapsed_us: self.elapsed_us - earlier.elapsed_us,
            swap_ins: self.swap_ins - earlier.swap_ins,
            swap_outs: self.swap_outs - earlier.swap_outs,
            stall_us: self.stall_us - earlier.stall_us,
            gain_us: self.gain_us - earlier.gain_us,
            ..*self
        }
    }

    /// The resident set as a share, 0 to 1, of it and what is in swap; `None` if there is
    /// nothing of either.
    pub fn resident_share(&self) -> Option<f64> {
        let both = self.resident_bytes + self.swapped_bytes;
        (both > 0).then(|| self.resident_bytes as f64 / both as f64)
    }
}

/// In bytes.
pub(crate) fn bytes(pages: u64) -> u64 {
    pages * PAGE_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paging_out_takes_as_long_as_measured() {
        let pages = (384 << 20) / PAGE_SIZE;
        let took_us = MemoryModel::ZRAM.page_out_us * pages as f64;
        assert!((took_us / 400_000.0 - 1.0).abs() < 0.05, "{took_us}");
    }

    #[test]
    fn work_is_less_by_waiting_and_more_by_huge_pages() {
        let base = MemoryUse {
            elapsed_us: 1_000_000,
            resident_bytes: 30,
            swapped_bytes: 10,
            untouched_bytes: 0,
            huge_bytes: 0,
            bloat_bytes: 0,
            swap_ins: 0,
            swap_outs: 0,
            stall_us: 0.0,
            gain_us: 0.0,
        };
        assert_eq!((base.work(), base.slowdown()), (1.0, 0.0));
        assert_eq!(base.resident_share(), Some(0.75));
        let stalled = MemoryUse { stall_us: 1e6, ..base };
        assert_eq!((stalled.work(), stalled.slowdown()), (0.5, 1.0));
        let gained = MemoryUse { gain_us: 200_000.0, ..base };
        assert_eq!(gained.work(), 1.25);
        let later = MemoryUse { elapsed_us: 3_000_000, stall_us: 2e6, ..base };
        assert_eq!(later.since(&stalled).work(), 2.0 / 3.0);
        let none = MemoryUse { elapsed_us: 0, resident_bytes: 0, swapped_bytes: 0, ..base };
        assert_eq!((none.work(), none.resident_share()), (1.0, None));
    }
}
