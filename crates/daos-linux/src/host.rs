//! What this machine is, for records and for `daos doctor`. Facts only.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The machine that a record was made on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Host {
    /// Kernel release, as `uname -r` says it.
    pub kernel: String,
    /// Machine, as `uname -m` says it.
    pub arch: String,
    /// Name of the host.
    pub hostname: String,
    /// CPUs that this process may use.
    pub cpus: u32,
    /// Memory in bytes.
    pub mem_total_bytes: u64,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let uname = rustix::system::uname();
        let text = |s: &std::ffi::CStr| s.to_string_lossy().into_owned();
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        Host {
            kernel: text(uname.release()),
            arch: text(uname.machine()),
            hostname: text(uname.nodename()),
            cpus,
            mem_total_bytes: meminfo(Path::new("/proc"), "MemTotal").unwrap_or(0),
        }
    }

    /// The kernel's version as (major, minor); (0, 0) when it can't be read.
    pub fn kernel_version(&self) -> (u32, u32) {
        let mut numbers = self
            .kernel
            .split(|c: char| !c.is_ascii_digit())
            .map(|number| number.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

/// A line of `/proc/meminfo`, in bytes.
pub fn meminfo(proc: &Path, name: &str) -> Option<u64> {
    kib_field(&fs::read_to_string(proc.join("meminfo")).ok()?, name)
}

/// A line of `/proc/PID/status` that counts memory, in bytes: `VmRSS`, `VmHWM`, …
pub fn process_memory(proc: &Path, pid: u32, name: &str) -> Option<u64> {
    kib_field(&fs::read_to_string(proc.join(pid.to_string()).join("status")).ok()?, name)
}

/// Peak resident set of this process in bytes; 0 when it can't be read.
pub fn my_peak_rss() -> u64 {
    process_memory(Path::new("/proc"), std::process::id(), "VmHWM").unwrap_or(0)
}

fn kib_field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_kinds() {
        let version =
            |kernel: &str| Host { kernel: kernel.into(), ..Host::default() }.kernel_version();
        assert_eq!(version("6.1.0-38-amd64"), (6, 1));
        assert_eq!(version("6.18.44-fc-v595"), (6, 18));
        assert_eq!(version("strange"), (0, 0));
    }

    #[test]
    fn fields_are_in_bytes() {
        assert_eq!(kib_field("MemTotal:  12 kB\nMemFree: 3 kB\n", "MemFree"), Some(3072));
        assert_eq!(kib_field("MemTotal:  12 kB\n", "MemFre"), None);
    }
}
