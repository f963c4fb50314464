//! Memory of this process in pages of regular size, to check and to measure with.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::arch::x86_64::_mm_clflush;
use std::ffi::c_void;

/// A mapping that this process alone has, without huge pages. Nothing of it is in
/// memory until it is written to.
#[derive(Debug)]
pub(crate) struct ScratchMemory {
    start: *mut c_void,
    bytes: usize,
}

impl ScratchMemory {
    /// Maps `bytes`; `None` when the kernel gives none.
    pub(crate) fn map(bytes: u64) -> Option<Self> {
        let bytes = bytes as usize;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping that touches no other memory.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, access, flags) }.ok()?;
        // SAFETY: the range is the new mapping.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) };
        Some(Self { start, bytes })
    }

    /// Address of the first page.
    pub(crate) fn start(&self) -> u64 {
        self.start as u64
    }

    /// Writes to the word at `addr`.
    pub(crate) fn write(&self, addr: u64) {
        self.write_word(addr, 1);
    }

    /// Writes `word` at `addr`.
    pub(crate) fn write_word(&self, addr: u64, word: u64) {
        // SAFETY: aligned and inside the mapping, which is writable and nobody else's.
        unsafe { self.word_at(addr).write_volatile(word) };
    }

    /// Reads the word at `addr`.
    pub(crate) fn read(&self, addr: u64) {
        // SAFETY: aligned and inside the mapping.
        unsafe { self.word_at(addr).read_volatile() };
    }

    /// Takes the word at `addr` out of the CPU's caches.
    pub(crate) fn evict(&self, addr: u64) {
        // SAFETY: inside the mapping; x86-64 always has the instruction.
        unsafe { _mm_clflush(self.word_at(addr).cast()) };
    }

    /// The word at `addr`, which is a multiple of 8 inside.
    fn word_at(&self, addr: u64) -> *mut u64 {
        let end = self.start() + self.bytes as u64;
        assert!((self.start()..end).contains(&addr) && addr.is_multiple_of(8));
        addr as *mut u64
    }
}

impl Drop for ScratchMemory {
    fn drop(&mut self) {
        // SAFETY: unmaps what `map` mapped; no reference to it is left.
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}
