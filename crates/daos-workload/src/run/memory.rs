//! Real memory, laid out as [`place`] says.
//!
//! One range is reserved first and the regions are mapped into it, so that they
//! lie in order, close together, and where nothing else was. Then the holes
//! between them are given back. Memory is handed out as atomic bytes: threads
//! access the same region at once, which plain bytes would make undefined, and
//! a relaxed access compiles to the same instruction.
//!
//! A file that backs them has no name, so nothing is left of it, however the run ends.

use super::RunError;
use super::options::{Backing, Fill, HugePages};
use crate::config::{ALIGNMENT, Config, place};
use daos_core::{AddrRange, PAGE_SIZE, Rng};
use rustix::fs::{Mode, OFlags, fsync, ftruncate, open};
use rustix::io::pwrite;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mlock, mmap, mmap_anonymous, munmap};
use std::env::temp_dir;
use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The mapped regions of a configuration, in its order.
#[derive(Debug)]
pub(super) struct Memory {
    regions: Vec<RegionMapping>,
    /// What they map, where that is a file.
    file: Option<OwnedFd>,
    /// The address at which the file would begin.
    base: u64,
}

/// Bytes that are written to a file at once.
const FILE_CHUNK: usize = 1 << 20;

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
        let file = (backing == Backing::File)
            .then(|| unnamed_file(span + 2 * ALIGNMENT))
            .transpose()
            .map_err(RunError::file)?;
        for (range, region) in ranges.iter().zip(&config.regions) {
            let failed = |why: rustix::io::Errno| RunError::Map {
                region: region.name.clone(),
                bytes: region.len,
                why: why.into(),
            };
            let start = reserved.start.wrapping_byte_add((range.start - base) as usize);
            let len = range.len() as usize;
            match &file {
                Some(file) => map_file_at(start, len, file, range.start - base),
                None => map_at(start, len, backing),
            }
            .map_err(failed)?;
            advise(start, len, huge).map_err(|e| RunError::HugePages { why: e.into() })?;
            if backing == Backing::Locked {
                // SAFETY: the range was mapped just above; locking changes no content.
                unsafe { mlock(start, len) }.map_err(|e| RunError::Lock {
                    region: region.name.clone(),
                    bytes: region.len,
                    why: e.into(),
                })?;
            }
        }
        Ok(Self { regions: reserved.split(&ranges, config), file, base })
    }

    /// Fills every page. Ends early when `stop` is set.
    pub fn fill(&self, fill: Fill, stop: &AtomicBool) -> Result<(), RunError> {
        match &self.file {
            Some(file) if fill != Fill::None => {
                self.fill_file(file, fill, stop).map_err(RunError::file)
            }
            _ => {
                self.fill_pages(fill, stop);
                Ok(())
            }
        }
    }

    /// Writes the file as programs do, a megabyte at once, so that it is cached in large folios
    /// where the file system has them; and maps it, once it is on the disk.
    fn fill_file(&self, file: &OwnedFd, fill: Fill, stop: &AtomicBool) -> rustix::io::Result<()> {
        let mut rng = Rng::new(0);
        let mut chunk = vec![0u8; FILE_CHUNK];
        for bytes in (0..self.regions.len()).flat_map(|r| self.bytes(r).chunks(FILE_CHUNK)) {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            for page in chunk.chunks_mut(PAGE_SIZE as usize) {
                match fill {
                    Fill::None => {}
                    Fill::Touch => page[0] = 1,
                    Fill::Half => {
                        let half = page.len() / 2;
                        page[..half].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
                    }
                }
            }
            let at = bytes.as_ptr() as u64 - self.base;
            let mut written = 0;
            while written < bytes.len() {
                written += pwrite(file, &chunk[written..bytes.len()], at + written as u64)?;
            }
        }
        fsync(file)?;
        for bytes in (0..self.regions.len()).map(|r| self.bytes(r)) {
            bytes.chunks(PAGE_SIZE as usize).for_each(|page| {
                page[0].load(Ordering::Relaxed);
            });
        }
        Ok(())
    }

    fn fill_pages(&self, fill: Fill, stop: &AtomicBool) {
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
                .map_err(|e| RunError::Reserve { bytes: mapped as u64, why: e.into() })?;
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

/// Maps a part of a file over a part of a reservation.
fn map_file_at(start: *mut c_void, len: usize, file: &OwnedFd, at: u64) -> rustix::io::Result<()> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the caller's reservation holds the range and nothing uses it yet. Nobody else can
    // open the file, so it stays as long as it is.
    unsafe { mmap(start, len, access, MapFlags::SHARED | MapFlags::FIXED, file, at) }.map(drop)
}

/// A file of so many bytes that has no name.
fn unnamed_file(bytes: u64) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = open(temp_dir(), flags, Mode::RUSR | Mode::WUSR)?;
    ftruncate(&file, bytes)?;
    Ok(file)
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
