//! Clearing the accessed bits of all pages of a process at once: `/proc/PID/clear_refs`.
//!
//! It goes over what is mapped in a twentieth of a microsecond a page, a tenth of what
//! `process_madvise` takes, splits no huge page and moves none to another list. But it knows no
//! ranges, holds off the process's page faults meanwhile, and flushes no TLB: a page whose entry a
//! CPU still has can be accessed without its bit being set.

use daos_core::PAGE_SIZE;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What to write for the bits of all pages, and for those that say which were written to.
const ACCESSED: &[u8] = b"1";
const WRITTEN: &[u8] = b"4";

/// The files of a process that it takes to clear its accessed bits, open. They stay those of this
/// process if its number becomes another's, and stay usable if we give up the rights that it took
/// to open them (those of the process's user).
#[derive(Debug)]
pub struct ClearRefs {
    clear_refs: File,
    statm: File,
}

impl ClearRefs {
    /// Of the process or thread with this directory in `/proc`; `None` where it can't be opened.
    pub(crate) fn open(dir: &Path) -> Option<Self> {
        let clear_refs = File::options().write(true).open(dir.join("clear_refs")).ok()?;
        let statm = File::open(dir.join("statm")).ok()?;
        Some(Self { clear_refs, statm })
    }

    /// Clears the accessed bits of all that it has in memory; `None` when it has ended. What the
    /// CPUs keep of its page tables in their TLBs stays.
    pub fn clear(&self) -> Option<()> {
        self.write(ACCESSED)
    }

    /// Flushes the TLB of all its memory, where [`can_flush`] says that this does no more; `None`
    /// when it has ended.
    pub fn flush(&self) -> Option<()> {
        self.write(WRITTEN)
    }

    fn write(&self, what: &[u8]) -> Option<()> {
        // Of a thread that has ended, while others may go on, nothing is cleared and no error told.
        let mut begins = [0; 2];
        self.statm.read_at(&mut begins, 0).ok()?;
        if &begins == b"0 " {
            return None;
        }
        (self.clear_refs.write_at(what, 0).ok()? == what.len()).then_some(())
    }
}

/// Whether this kernel keeps no note of pages that were written to (`CONFIG_MEM_SOFT_DIRTY`). Where
/// it does, to clear these notes write-protects each page; else it is but a flush of the TLB.
pub fn can_flush() -> bool {
    const NOTE: u64 = 1 << 55;
    const PRESENT: u64 = 1 << 63;
    // What was just written to has a note.
    let written = vec![1u8; 2 * PAGE_SIZE as usize];
    let page = (written.as_ptr() as u64 + PAGE_SIZE) / PAGE_SIZE;
    let mut entry = [0; 8];
    let read = File::open("/proc/self/pagemap").and_then(|f| f.read_exact_at(&mut entry, page * 8));
    let entry = u64::from_ne_bytes(entry);
    read.is_ok() && entry & PRESENT != 0 && entry & NOTE == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_has_nothing_to_clear() {
        let dir = tempfile::tempdir().unwrap();
        assert!(ClearRefs::open(dir.path()).is_none(), "there is nothing");
        std::fs::write(dir.path().join("clear_refs"), "").unwrap();
        std::fs::write(dir.path().join("statm"), "0 0 0 0 0 0 0\n").unwrap();
        let way = ClearRefs::open(dir.path()).unwrap();
        assert_eq!(way.clear(), None);
        std::fs::write(dir.path().join("statm"), "900 20 10 1 0 300 0\n").unwrap();
        assert_eq!(way.clear(), Some(()));
        assert_eq!(std::fs::read_to_string(dir.path().join("clear_refs")).unwrap(), "1");
    }

    #[test]
    fn bits_of_live_memory_are_cleared() {
        let referenced = || {
            let smaps = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
            let line = smaps.lines().find_map(|line| line.strip_prefix("Referenced:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let memory = std::hint::black_box(vec![1u8; 64 << 20]);
        let before = referenced();
        assert_eq!(ClearRefs::open(Path::new("/proc/self")).unwrap().clear(), Some(()));
        assert!(referenced() + (50 << 10) < before, "of 64 MiB");
        assert_eq!(memory[memory.len() / 2], 1);
    }
}
