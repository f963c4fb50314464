//! Which pages of a process are resident, from `/proc/PID/pagemap`: that changes nothing,
//! not even what the kernel takes for used.

use daos_core::{AddrRange, PAGE_SIZE};
use daos_linux::Process;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The bit of an entry that says that the page is in memory.
const PRESENT: u64 = 1 << 63;
/// Bytes of an entry.
const ENTRY: usize = 8;

/// A mapping of a process, of which it can be asked how much is resident.
#[derive(Debug)]
pub struct ResidentPages {
    file: File,
    range: AddrRange,
    entries: Vec<u8>,
}

impl ResidentPages {
    /// The mapping of exactly this many bytes, or `None` if the process has ended or has
    /// no such mapping.
    pub fn find(pid: u32, bytes: u64) -> Option<Self> {
        let mappings = Process::open(pid).ok()?.mappings()?;
        let range = mappings.iter().map(|mapping| mapping.range).find(|r| r.len() == bytes)?;
        let file = File::open(format!("/proc/{pid}/pagemap")).ok()?;
        Some(Self { file, range, entries: vec![0; range.pages() as usize * ENTRY] })
    }

    /// The share of it that is resident, 0 to 1; `None` when the process has ended.
    pub fn resident_share(&mut self) -> Option<f64> {
        let first = self.range.start / PAGE_SIZE;
        self.file.read_exact_at(&mut self.entries, first * ENTRY as u64).ok()?;
        let entries = self.entries.chunks_exact(ENTRY);
        let present = entries.filter(|entry| is_present(entry)).count();
        Some(present as f64 / self.range.pages().max(1) as f64)
    }
}

/// Which of `pages` pages from `start` on are in memory, by the pagemap of their process; none
/// when that has ended.
pub fn present_pages(pagemap: &File, start: u64, pages: u32) -> Vec<u32> {
    let mut entries = vec![0; pages as usize * ENTRY];
    let read = pagemap.read_exact_at(&mut entries, start / PAGE_SIZE * ENTRY as u64);
    let entries = if read.is_ok() { &entries[..] } else { &[] };
    let found = (0..).zip(entries.chunks_exact(ENTRY)).filter(|(_, entry)| is_present(entry));
    found.map(|(page, _)| page).collect()
}

fn is_present(entry: &[u8]) -> bool {
    entry.try_into().is_ok_and(|bytes| u64::from_ne_bytes(bytes) & PRESENT != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_bit_says_present() {
        assert!(is_present(&(PRESENT | 7).to_ne_bytes()));
        assert!(!is_present(&(PRESENT - 1).to_ne_bytes()));
        assert!(ResidentPages::find(std::process::id(), 1 << 60).is_none());
    }
}
