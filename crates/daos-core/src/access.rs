//! The seam to the primitives: who can say whether a page was accessed.
//!
//! The paper calls this the Monitoring Primitives Layer. It works on *windows*
//! of one page or more and in batches, because a round trip to the kernel costs
//! more than a page. The reference algorithm asks for windows of one page.

use crate::addr::{AddrRange, PAGE_SIZE};
use crate::target::{Target, TargetId, TargetInfo};

/// Most pages in a window: those that one page of a page table maps on x86-64, and on
/// others with base pages of 4 KiB.
pub const MAX_WINDOW_PAGES: u32 = 512;

/// Some pages to arm or to check: page-aligned, inside one region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Whose memory.
    pub target: TargetId,
    /// Address of the first page.
    pub start: u64,
    /// Number of pages, `1..=`[`Capabilities::max_window_pages`].
    pub pages: u32,
}

impl Window {
    /// The window that covers a range: page-aligned, and no more pages than a window has.
    pub fn over(target: TargetId, range: AddrRange) -> Self {
        Self { target, start: range.start, pages: range.pages() as u32 }
    }

    /// The addresses that the window covers.
    pub fn range(&self) -> AddrRange {
        AddrRange::new(self.start, self.start + u64::from(self.pages) * PAGE_SIZE)
    }
}

/// One bit for each page of a window, the first page in bit 0 of word 0.
pub type PageBits = [u64; MAX_WINDOW_PAGES as usize / 64];

/// Whether page `page` of a window is one of those that `bits` are set for.
pub fn has_page(bits: &PageBits, page: u32) -> bool {
    bits[page as usize / 64] >> (page % 64) & 1 == 1
}

/// The same pages, by numbers that are `by` higher; those that get too high are left out.
pub fn shifted_pages(bits: &PageBits, by: u32) -> PageBits {
    let (words, rest) = ((by / 64) as usize, by % 64);
    std::array::from_fn(|at| {
        let low = at.checked_sub(words).map_or(0, |from| bits[from] << rest);
        let carry = at.checked_sub(words + 1).filter(|_| rest > 0);
        low | carry.map_or(0, |from| bits[from] >> (64 - rest))
    })
}

/// The pages from `from` on, by numbers that are `from` lower.
pub fn later_pages(bits: &PageBits, from: u32) -> PageBits {
    let (words, rest) = ((from / 64) as usize, from % 64);
    std::array::from_fn(|at| {
        let word = |at: usize| bits.get(at).copied().unwrap_or(0);
        let carry = if rest > 0 { word(at + words + 1) << (64 - rest) } else { 0 };
        word(at + words) >> rest | carry
    })
}

/// What a check found in one window. Counts are of pages; `accessed` is at most
/// `present`, and `present + unobservable` at most the size of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Observation {
    /// Pages that are in memory and can be observed.
    pub present: u32,
    /// Pages accessed since they were armed.
    pub accessed: u32,
    /// Entries of page tables, each with one accessed bit, that map those present: as many
    /// as pages, or 1 where a huge page does. 0: not known, taken for as many as pages.
    pub entries: u32,
    /// Pages of which nothing can be said: locked, shared, of a device, …
    pub unobservable: u32,
    /// Size in bytes of the aligned block around the window's first page in which
    /// nothing is in memory, where the primitive knows: 2 MiB, 1 GiB, 512 GiB, …; else 0.
    pub empty_bytes: u64,
    /// Which pages were accessed, where the primitive knows
    /// ([`Capabilities::page_bits`]).
    pub pages: Option<PageBits>,
    /// Which pages nothing can be said of, where there are any and the primitive knows.
    pub unknown: Option<PageBits>,
    /// Which pages are not in memory, where there are any and the primitive knows. `None`: as many
    /// as are neither present nor unobservable, whichever those are.
    pub absent: Option<PageBits>,
}

impl Observation {
    /// Whether one huge page maps all of a window of so many pages.
    pub fn is_huge(&self, pages: u32) -> bool {
        self.entries == 1 && self.present == pages && pages > 1
    }

    /// Independent trials that this is worth, and how many of them found an access.
    pub fn trials(&self) -> (f64, f64) {
        let tries = if self.entries > 0 { self.entries } else { self.present };
        let share = f64::from(self.accessed) / f64::from(self.present.max(1));
        (share * f64::from(tries), f64::from(tries))
    }
}

/// What an implementation can and can't do, said before it is asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Short name, as records show it: `ebpf-vaddr`, `ebpf-paddr`, `sim`.
    pub name: &'static str,
    /// Largest window that it takes, in pages, `1..=`[`MAX_WINDOW_PAGES`].
    pub max_window_pages: u32,
    /// Whether an [`Observation`] says which pages were accessed.
    pub page_bits: bool,
    /// Whether ranges are the mappings of a process, with huge gaps between
    /// heap, mmap area and stack that are not worth watching.
    pub sparse: bool,
}

/// What arming and checking cost, in microseconds of CPU time: about, and on average. A
/// monitor plans by these, and corrects them by what its ticks really cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// To be woken for a tick, whatever is done in it.
    pub wake: f64,
    /// To walk to a window.
    pub read_window: f64,
    /// To read one page's entry there.
    pub read_page: f64,
    /// To arm a run of neighbouring pages with set bits, the flush of the TLB included, and what we
    /// wait for those whom it interrupts.
    pub arm_run: f64,
    /// To the target, when a run is armed: the interrupt, if there is one.
    pub interrupt: f64,
    /// To clear the bit of one page in it.
    pub arm_page: f64,
    /// To pass over a page whose bit is clear, so that those on both sides are one run.
    pub arm_gap: f64,
    /// To the target, when it accesses an armed page again.
    pub set_again: f64,
    /// To arm a page that is in memory where all of a target is armed at once
    /// ([`AccessCheck::arm_target`]), whether its bit is set or not.
    pub arm_target_page: f64,
}

impl Prices {
    /// Most pages between two that are armed which it is cheaper to pass over than to begin
    /// another run.
    pub fn most_gap(&self) -> u32 {
        ((self.arm_run + self.interrupt) / self.arm_gap.max(1e-9)).min(f64::from(MAX_WINDOW_PAGES))
            as u32
    }
}

impl Default for Prices {
    /// What was measured with eBPF and `process_madvise` on a virtual machine (AMD EPYC,
    /// Linux 6.18): round figures, for who has measured none.
    fn default() -> Self {
        Self {
            wake: 30.0,
            read_window: 0.25,
            read_page: 0.85 / 512.0,
            arm_run: 0.8,
            interrupt: 0.0,
            arm_page: 0.04,
            arm_gap: 0.06,
            set_again: 0.38,
            arm_target_page: 0.08,
        }
    }
}

/// CPU time that went into monitoring, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuCost {
    /// By the monitor itself.
    pub monitor_us: f64,
    /// By its targets: interrupts, and bits that had to be set anew.
    pub target_us: f64,
}

/// Arms and checks pages of one or more targets.
///
/// A target that has ended is not an error: [`targets`](Self::targets) no longer
/// lists it, and a check of its pages finds nothing present.
pub trait AccessCheck {
    /// What ends the monitoring for good: the backend itself failed.
    type Error: std::error::Error + Send + Sync + 'static;

    /// What this implementation can do.
    fn capabilities(&self) -> Capabilities;

    /// The targets that live now, each with its mapped ranges.
    fn targets(&mut self) -> Result<Vec<Target>, Self::Error>;

    /// After this returns, an access to a page of these windows will be seen.
    fn arm(&mut self, windows: &[Window]) -> Result<(), Self::Error>;

    /// Whether all that a target has in memory can be armed at once
    /// ([`arm_target`](Self::arm_target)), for a small part of what that takes window by window.
    fn can_arm_target(&self, target: TargetId) -> bool {
        let _ = target;
        false
    }

    /// Arms all that a target has in memory. Returns whether it was done: after that, an access to
    /// any page of it will be seen.
    ///
    /// It takes as long as [`Prices::arm_target_page`] says for each page, and meanwhile the target
    /// may have to wait where it maps memory.
    fn arm_target(&mut self, target: TargetId) -> Result<bool, Self::Error> {
        let _ = target;
        Ok(false)
    }

    /// Appends to `found` one observation for each window, in their order.
    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Self::Error>;

    /// What a target has in memory now, in bytes, where that can be asked for little:
    /// [`targets`](Self::targets) tells what it was when that was last looked at.
    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        let _ = target;
        None
    }

    /// What arming and checking cost here.
    fn prices(&self) -> Prices {
        Prices::default()
    }

    /// CPU time in microseconds that arming and checking took from the targets since
    /// this was last asked, where the primitive can estimate it.
    fn take_target_us(&mut self) -> f64 {
        0.0
    }

    /// Targets that are new, or whose mappings changed, since this was last
    /// asked: for records. A primitive that has no more to say than ranges gives
    /// none.
    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_get_other_numbers(bits: PageBits, by in 0u32..512) {
            let (higher, lower) = (shifted_pages(&bits, by), later_pages(&bits, by));
            for page in 0..512 {
                let is = |page: u32| page < 512 && has_page(&bits, page);
                prop_assert_eq!(has_page(&higher, page), page >= by && is(page - by.min(page)));
                prop_assert_eq!(has_page(&lower, page), is(page + by));
            }
        }
    }
}
