//! What this machine is, for records and for `daos doctor`. Facts only.

use crate::kernel_files::{kib_field, text};
use daos_core::{Host, PAGE_SIZE};
use std::fs;
use std::path::Path;

/// This machine.
pub fn here() -> Host {
    let uname = rustix::system::uname();
    let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    Host {
        kernel: text(uname.release()),
        arch: text(uname.machine()),
        hostname: text(uname.nodename()),
        cpus,
        mem_total_bytes: meminfo(Path::new("/proc"), "MemTotal").unwrap_or(0),
        page_size: PAGE_SIZE,
    }
}

/// A line of `/proc/meminfo`, in bytes.
pub fn meminfo(proc: &Path, name: &str) -> Option<u64> {
    kib_field(&fs::read_to_string(proc.join("meminfo")).ok()?, name)
}

/// A line of `/proc/PID/status` that counts memory, in bytes: `VmRSS`, `VmHWM`, …
pub fn process_memory(proc: &Path, pid: u32, name: &str) -> Option<u64> {
    kib_field(&text(&proc.join(pid.to_string()).join("status")).ok()?, name)
}

/// Peak resident set of this process in bytes; 0 when it can't be read.
pub fn my_peak_rss() -> u64 {
    process_memory(Path::new("/proc"), std::process::id(), "VmHWM").unwrap_or(0)
}
