//! Real memory, laid out as [`place`] says.
//!
//! One range is reserved first and the regions are mapped into it, so that they
//! lie in order, close together, and where nothing else was. Then the holes
//! between them are given back. Memory is handed out as atomic bytes: threads
//! access the same region at once, which plain bytes would make undefined, and
//! a relaxed access compiles to the same instruction.

use super::RunError;
use super::options::{Backing, Fill, HugePages};
use crate::config::{ALIGNMENT, Config, place};
use daos_core::{AddrRange, PAGE_SIZE, Rng};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The mapped regions of a configuration, in its order.
#[derive(Debug)]
pub(super) struct Memory {
    regions: Vec<RegionMapping>,
}

/// A mapping that this value owns.
#[derive(Debug)]
struct RegionMapping {
    start: *mut c_void,
    /// Bytes mapped: whole pages.
    mapped: usize,
    /// Bytes of the region.
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, so any thread may
// unmap it.
unsafe impl Send for RegionMapping {}
// SAFETY: what a shared reference gives out are atomic bytes.
unsafe impl Sync for RegionMapping {}

impl Memory {
    /// Maps the regions of `config`. Nothing is touched yet, but locked memory
    /// is resident at once.
    pub fn map(config: &Config, huge: HugePages, backing: Backing) -> Result<Self, RunError> {
        let span = place(&config.regions, 0).last().map_or(0, |last| last.end);
        // A hole before the first region and one behind the last, too.
        let reserved = RegionMapping::reserve((span + 2 * ALIGNMENT) as usize)?;
        let base = reserved.start as u64;
        let ranges = place(&config.regions, base + PAGE_SIZE);
        for (range, region) in ranges.iter().zip(&config.regions) {
            let failed = |source: rustix::io::Errno| RunError::Map {
                region: region.name.clone(),
                bytes: region.len,
                source: source.into(),
            };
            let start = reserved.start.wrapping_byte_add((range.start - base) as usize);
            let len = range.len() as usize;
            map_at(start, len, backing).map_err(failed)?;
            advise(start, len, huge).map_err(|e| RunError::HugePages { source: e.into() })?;
            if backing == Backing::Locked {
                // SAFETY: the range was mapped just above; locking changes no content.
                unsafe { mlock(start, len) }.map_err(|e| RunError::Lock {
                    region: region.name.clone(),
                    bytes: region.len,
                    source: e.into(),
                })?;
            }
        }
        Ok(Self { regions: reserved.split(&ranges, config) })
    }

    /// Fills every page. Ends early when `stop` is set.
    pub fn fill(&self, fill: Fill, stop: &AtomicBool) {
        let mut rng = Rng::new(0);
        for page in (0..self.regions.len()).flat_map(|r| self.bytes(r).chunks(PAGE_SIZE as usize)) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match fill {
                Fill::None => return,
                Fill::Touch => page[0].store(1, Ordering::Relaxed),
                Fill::Half => page[..page.len().div_ceil(2)]
                    .iter()
                    .for_each(|byte| byte.store(rng.next_u64() as u8, Ordering::Relaxed)),
            }
        }
    }

    /// The bytes of the region with this index.
    pub fn bytes(&self, region: usize) -> &[AtomicU8] {
        let RegionMapping { start, len, .. } = self.regions[region];
        // SAFETY: the mapping is readable and writable, at least `len` bytes
        // long, zeroed by the kernel, and lives as long as `self`. Atomic bytes
        // may be shared between threads.
        unsafe { std::slice::from_raw_parts(start.cast::<AtomicU8>(), len) }
    }

    /// Page-aligned range of each region.
    pub fn ranges(&self) -> impl Iterator<Item = AddrRange> {
        self.regions.iter().map(|m| {
            let start = m.start as u64;
            AddrRange::new(start, start + m.mapped as u64)
        })
    }
}

impl RegionMapping {
    /// Takes `mapped` bytes of address space that can't be accessed.
    fn reserve(mapped: usize) -> Result<Self, RunError> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses a free place, so nothing is replaced.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), flags) }
                .map_err(|e| RunError::Reserve { bytes: mapped as u64, source: e.into() })?;
        Ok(Self { start, mapped, len: 0 })
    }

    /// Hands over the regions within this reservation and gives the rest back.
    fn split(self, ranges: &[AddrRange], config: &Config) -> Vec<RegionMapping> {
        let whole = std::mem::ManuallyDrop::new(self);
        let base = whole.start as u64;
        let part = |start: u64, end: u64, len: u64| RegionMapping {
            start: whole.start.wrapping_byte_add((start - base) as usize),
            mapped: (end - start) as usize,
            len: len as usize,
        };
        let mut hole_start = base;
        let mut regions = Vec::with_capacity(ranges.len());
        for (range, region) in ranges.iter().zip(&config.regions) {
            drop(part(hole_start, range.start, 0));
            regions.push(part(range.start, range.end, region.len));
            hole_start = range.end;
        }
        drop(part(hole_start, base + whole.mapped as u64, 0));
        regions
    }
}

impl Drop for RegionMapping {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: this value owns the mapping, and slices of it borrow from
            // the `Memory` that owns this value. A failure leaves it mapped.
            let _ = unsafe { munmap(self.start, self.mapped) };
        }
    }
}

/// Maps memory over a part of a reservation.
fn map_at(start: *mut c_void, len: usize, backing: Backing) -> rustix::io::Result<()> {
    let kind = if backing == Backing::Shared { MapFlags::SHARED } else { MapFlags::PRIVATE };
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the caller's reservation holds the range and nothing uses it yet.
    unsafe { mmap_anonymous(start, len, access, kind | MapFlags::FIXED) }.map(drop)
}

fn advise(start: *mut c_void, len: usize, huge: HugePages) -> rustix::io::Result<()> {
    let advice = match huge {
        HugePages::Default => return Ok(()),
        HugePages::Always => Advice::LinuxHugepage,
        HugePages::Never => Advice::LinuxNoHugepage,
    };
    // SAFETY: the range is mapped, and this advice changes no content.
    unsafe { madvise(start, len, advice) }
}
