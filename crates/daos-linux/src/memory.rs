//! What a process has in memory, in swap and in huge pages: for the lines that show
//! what schemes come to.

use crate::kernel_files::{self, field, kib_field, of_a_live_thread};
use daos_core::{KindsOfMemory, PAGE_SIZE};
use std::fs;
use std::iter::Sum;
use std::path::Path;

/// Bytes that are kept at hand at most: the highest that malloc(3) takes for what it does not
/// map for itself.
const MOST_AT_HAND: libc::c_int = 32 << 20;

/// Has so many bytes at hand for allocations from now on, and keeps what is freed.
///
/// Memory that was never touched costs a page fault, and in a virtual machine whose host gives
/// it memory as it is touched, some milliseconds: best not while time is measured.
pub fn keep_at_hand(bytes: usize) {
    // SAFETY: numbers only. What the allocator refuses stays as it is.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MOST_AT_HAND);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MOST_AT_HAND);
    }
    let mut touched = Vec::<u8>::with_capacity(bytes);
    for page in touched.spare_capacity_mut().chunks_mut(PAGE_SIZE as usize) {
        page[0].write(1);
    }
    std::hint::black_box(&touched);
}

/// Where the memory of a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessMemory {
    /// Its resident set.
    pub resident_bytes: u64,
    /// Its anonymous memory that was paged out. Shared memory does not count.
    pub swap_bytes: u64,
}

impl ProcessMemory {
    /// From `/proc/PID/status`, or that of a thread when the main one has ended before
    /// the others. `None` when it has ended, and for a kernel thread.
    pub fn read(proc: &Path, pid: u32) -> Option<Self> {
        of_status(proc, pid, |status| {
            // Missing in kernels without swap.
            let swap_bytes = kib_field(status, "VmSwap").unwrap_or(0);
            Some(Self { resident_bytes: kib_field(status, "VmRSS")?, swap_bytes })
        })
    }

    /// That of all processes together, each page once, from `/proc/meminfo`: anonymous memory,
    /// and what they map of files. What is in swap is all that is there.
    pub fn of_machine(proc: &Path) -> Option<Self> {
        let meminfo = fs::read_to_string(proc.join("meminfo")).ok()?;
        let bytes = |name| kib_field(&meminfo, name);
        let free_swap = bytes("SwapFree").unwrap_or(0);
        Some(Self {
            resident_bytes: bytes("AnonPages")? + bytes("Mapped")?,
            swap_bytes: bytes("SwapTotal").unwrap_or(0).saturating_sub(free_swap),
        })
    }

    /// What these processes have together, as far as they can be read.
    pub fn of_all(proc: &Path, pids: impl IntoIterator<Item = u32>) -> Self {
        pids.into_iter().filter_map(|pid| Self::read(proc, pid)).sum()
    }
}

impl Sum for ProcessMemory {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            resident_bytes: sum.resident_bytes + one.resident_bytes,
            swap_bytes: sum.swap_bytes + one.swap_bytes,
        })
    }
}

/// What process `pid` has of each kind of memory, from the same file; `None` as there.
pub fn kinds(proc: &Path, pid: u32) -> Option<KindsOfMemory> {
    of_status(proc, pid, kinds_of)
}

/// How much memory a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSize {
    /// All that it has mapped, whether anything is there or not.
    pub mapped_bytes: u64,
    /// What is there.
    pub kinds: KindsOfMemory,
    /// Threads that use it.
    pub threads: u32,
}

/// How much memory process `pid` has, from the same file; `None` as there.
pub fn size(proc: &Path, pid: u32) -> Option<ProcessSize> {
    of_status(proc, pid, |status| {
        let threads = field(status, "Threads").and_then(|nr| nr.parse().ok());
        Some(ProcessSize {
            mapped_bytes: kib_field(status, "VmSize")?,
            kinds: kinds_of(status)?,
            threads: threads.unwrap_or(1),
        })
    })
}

fn kinds_of(status: &str) -> Option<KindsOfMemory> {
    let bytes = |name| kib_field(status, name);
    Some(KindsOfMemory {
        anonymous_bytes: bytes("RssAnon")?,
        file_bytes: bytes("RssFile")?,
        // That of hugetlbfs is counted apart.
        shared_bytes: bytes("RssShmem")? + bytes("HugetlbPages").unwrap_or(0),
        swapped_bytes: bytes("VmSwap").unwrap_or(0),
    })
}

/// What `read` makes of `/proc/PID/status`.
fn of_status<T>(proc: &Path, pid: u32, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    of_a_live_thread(&proc.join(pid.to_string()), |dir| {
        read(&kernel_files::text(&dir.join("status")).ok()?)
    })
}

/// Bytes of anonymous memory that huge pages map, from `/proc/PID/smaps_rollup`. The
/// kernel walks the page tables for it: milliseconds for GiBs.
pub fn huge_bytes(proc: &Path, pid: u32) -> Option<u64> {
    of_a_live_thread(&proc.join(pid.to_string()), |dir| {
        kib_field(&fs::read_to_string(dir.join("smaps_rollup")).ok()?, "AnonHugePages")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join(name), text).unwrap();
    }

    #[test]
    fn a_thread_answers_when_the_main_one_has_ended() {
        let proc = tempfile::tempdir().unwrap();
        let dir = proc.path().join("7");
        write(&dir, "status", "Name: x\nState: Z (zombie)\n");
        assert_eq!(ProcessMemory::read(proc.path(), 7), None);
        let thread = dir.join("task/8");
        write(&thread, "status", "Name: x\nVmRSS:\t 12 kB\nVmSwap:\t 4 kB\n");
        write(&thread, "smaps_rollup", "0-1 ---p 0 0 0 [rollup]\nAnonHugePages:  2048 kB\n");
        let memory = ProcessMemory { resident_bytes: 12 << 10, swap_bytes: 4 << 10 };
        assert_eq!(ProcessMemory::read(proc.path(), 7), Some(memory));
        assert_eq!(huge_bytes(proc.path(), 7), Some(2 << 20));
        assert_eq!(ProcessMemory::read(proc.path(), 9), None);
    }

    #[test]
    fn of_this_process() {
        let (proc, pid) = (Path::new("/proc"), std::process::id());
        assert!(ProcessMemory::read(proc, pid).unwrap().resident_bytes > 1 << 20);
        assert!(huge_bytes(proc, pid).is_some());
        let ProcessSize { mapped_bytes, kinds, threads } = size(proc, pid).unwrap();
        assert!(threads >= 1);
        assert!(kinds.anonymous_bytes > 0 && kinds.file_bytes > 0);
        assert!(kinds.resident_bytes() > 1 << 20 && kinds.resident_bytes() < mapped_bytes);
    }
}
