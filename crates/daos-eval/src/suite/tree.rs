//! A program and all that it starts: the memory of all of them, and their end.

use daos_linux::guard;
use daos_linux::memory::{self, ProcessMemory, huge_bytes};
use daos_linux::process::children;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long what was killed may take to be gone, and a guard to take swap away.
const PATIENCE: Duration = Duration::from_secs(60);
const NAP: Duration = Duration::from_millis(5);
const PROC: &str = "/proc";

/// A process and all that descend from it, by number.
pub fn processes(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while let Some(&pid) = all.get(next) {
        next += 1;
        for child in children(Path::new(PROC), pid) {
            if !all.contains(&child) {
                all.push(child);
            }
        }
    }
    all
}

/// What a program and all that it started have. Resident are anonymous memory of all, and of files
/// and of shared memory that of the process which has most of it, since the others mostly have the
/// same.
pub fn memory(proc: &Path, pids: &[u32]) -> ProcessMemory {
    let (mut anonymous, mut file, mut shared, mut swap_bytes) = (0, 0, 0, 0);
    for kinds in pids.iter().filter_map(|&pid| memory::kinds(proc, pid)) {
        anonymous += kinds.anonymous_bytes;
        file = kinds.file_bytes.max(file);
        shared = kinds.shared_bytes.max(shared);
        swap_bytes += kinds.swapped_bytes;
    }
    ProcessMemory { resident_bytes: anonymous + file + shared, swap_bytes }
}

/// Anonymous memory that huge pages map, of these processes together, in bytes.
pub fn huge(pids: &[u32]) -> u64 {
    pids.iter().filter_map(|&pid| huge_bytes(Path::new(PROC), pid)).sum()
}

/// Ends all that was started since and is still there, when it is dropped: what a workload
/// left behind, also what left its own parents behind.
#[derive(Debug)]
pub struct Sweep {
    before: BTreeSet<u32>,
}

impl Sweep {
    /// From now on.
    pub fn new() -> Self {
        // What loses its parents becomes our child. A kernel that can't leaves it to init.
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
        Self { before: children(Path::new(PROC), std::process::id()).into_iter().collect() }
    }

    /// Ends what was started since, but for `spared`. Returns whether there was anything.
    pub fn end_all_but(&self, spared: &[u32]) -> bool {
        let mut found = false;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ours = children(Path::new(PROC), std::process::id());
            let left: Vec<u32> = ours
                .into_iter()
                .filter(|pid| !self.before.contains(pid) && !spared.contains(pid))
                .collect();
            if left.is_empty() || Instant::now() > deadline {
                return found;
            }
            found = true;
            let all = left.iter().flat_map(|&pid| processes(pid));
            // A guard of swap ends by itself, once it has taken that away.
            for pid in all.filter(|&pid| !is_guard(pid)).filter_map(as_pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
            for pid in left.into_iter().filter_map(as_pid) {
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
            std::thread::sleep(NAP);
        }
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.end_all_but(&[]);
    }
}

/// Whether a process takes swap away when who set it up has ended.
fn is_guard(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|&byte| byte == 0).nth(1) == Some(guard::COMMAND.as_bytes())
}

fn as_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_counts_once() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, anonymous, shared) in [(7, 100, 40), (8, 10, 50)] {
            let dir = proc.path().join(pid.to_string());
            fs::create_dir_all(&dir).unwrap();
            let status = format!(
                "RssAnon: {anonymous} kB\nRssFile: 5 kB\nRssShmem: {shared} kB\nVmSwap: 3 kB\n"
            );
            fs::write(dir.join("status"), status).unwrap();
        }
        let memory = memory(proc.path(), &[7, 8, 9]);
        assert_eq!(memory.resident_bytes, (100 + 10 + 5 + 50) << 10);
        assert_eq!(memory.swap_bytes, 6 << 10);
    }
}
