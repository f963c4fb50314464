//! What this host offers a monitor and its actions. Facts only; what to make of
//! them is the caller's. Every reader takes a root, so that a test can hand it a tree.

use crate::host;
use crate::kernel_files::{selected, unescaped};
use crate::zram::Zram;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// Rights that a process has, of those that monitoring needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights(u64);

/// A right: its name, and its bit in the kernel's sets.
pub const NEEDED_RIGHTS: [(&str, u32); 4] =
    [("CAP_BPF", 39), ("CAP_PERFMON", 38), ("CAP_SYS_PTRACE", 19), ("CAP_SYS_NICE", 23)];
/// This one stands for the first two of the others.
const SYS_ADMIN: u32 = 21;

impl Rights {
    /// The effective rights of process `pid`; none when they can't be read.
    pub fn of(proc: &Path, pid: u32) -> Self {
        let status = fs::read_to_string(proc.join(pid.to_string()).join("status"));
        Self::of_status(&status.unwrap_or_default())
    }

    /// The same by its `/proc/PID/status`.
    pub fn of_status(status: &str) -> Self {
        let set = status
            .lines()
            .find_map(|l| l.strip_prefix("CapEff:"))
            .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
        Self(set.unwrap_or(0))
    }

    /// Whether the one with this bit is among them, or another that stands for it.
    pub fn covers(self, bit: u32) -> bool {
        let has = |bit: u32| self.0 & (1 << bit) != 0;
        has(bit) || (matches!(bit, 38 | 39) && has(SYS_ADMIN))
    }

    /// The needed ones that are missing.
    pub fn missing(self) -> Vec<&'static str> {
        let missing = NEEDED_RIGHTS.iter().filter(|(_, bit)| !self.covers(*bit));
        missing.map(|(name, _)| *name).collect()
    }
}

/// Whether the kernel describes its own types, which the eBPF programs need.
pub fn has_btf(sys: &Path) -> bool {
    sys.join("kernel/btf/vmlinux").exists()
}

/// Whether the kernel sorts pages by generation, rather than into an active and an
/// inactive list.
pub fn has_lru_generations(sys: &Path) -> bool {
    let enabled = fs::read_to_string(sys.join("kernel/mm/lru_gen/enabled")).unwrap_or_default();
    !matches!(enabled.trim(), "" | "0x0000" | "0")
}

/// Swap of this host.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Swap {
    /// Size of all devices in bytes.
    pub total_bytes: u64,
    /// Bytes in use.
    pub used_bytes: u64,
    /// The devices and files.
    pub devices: Vec<String>,
}

impl Swap {
    /// Bytes not in use.
    pub fn free_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.used_bytes)
    }

    /// How many more bytes can be paged out, in steps of `part`: what is free in all swap devices
    /// but zram devices that have reached their memory limit. The kernel still gives out slots of
    /// those, but the write fails, and the page stays in memory.
    pub fn room_bytes(root: &Path, part: u64) -> u64 {
        let is_full = |device: &SwapDevice| {
            let number = device.name.strip_prefix("/dev/zram").and_then(|nr| nr.parse().ok());
            let usage = number.and_then(|number| Zram::new(root, number).usage());
            usage.is_some_and(|usage| usage.is_full_with(part))
        };
        let devices = SwapDevice::all(&root.join("proc")).into_iter();
        let free = |device: SwapDevice| device.size_bytes.saturating_sub(device.used_bytes);
        devices.filter(|device| !is_full(device)).map(free).sum()
    }

    /// From `/proc/swaps` and `/proc/meminfo`.
    pub fn read(proc: &Path) -> Self {
        let total_bytes = host::meminfo(proc, "SwapTotal").unwrap_or(0);
        let free_bytes = host::meminfo(proc, "SwapFree").unwrap_or(0);
        Self {
            total_bytes,
            used_bytes: total_bytes.saturating_sub(free_bytes),
            devices: SwapDevice::all(proc).into_iter().map(|device| device.name).collect(),
        }
    }
}

/// A device or file that is used for swap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapDevice {
    /// Its path.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Bytes in use.
    pub used_bytes: u64,
}

impl SwapDevice {
    /// From `/proc/swaps`.
    pub fn all(proc: &Path) -> Vec<Self> {
        let swaps = fs::read_to_string(proc.join("swaps")).unwrap_or_default();
        let device = |line: &str| {
            let mut fields = line.split_whitespace();
            let name = fields.next()?;
            let name = unescaped(name).unwrap_or_else(|| name.to_owned());
            let mut kib = fields.skip(1).map(|field| field.parse::<u64>().ok());
            let size_bytes = kib.next()?? * 1024;
            Some(Self { name, size_bytes, used_bytes: kib.next()?? * 1024 })
        };
        swaps.lines().skip(1).filter_map(device).collect()
    }
}

/// How the host hands out transparent huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct HugePages {
    /// `always`, `madvise` or `never`; empty where the kernel has none.
    pub enabled: String,
    /// When a fault waits for one.
    pub defrag: String,
}

impl HugePages {
    /// From `/sys/kernel/mm/transparent_hugepage`.
    pub fn read(sys: &Path) -> Self {
        let dir = sys.join("kernel/mm/transparent_hugepage");
        let chosen = |name| selected(&fs::read_to_string(dir.join(name)).unwrap_or_default());
        Self { enabled: chosen("enabled"), defrag: chosen("defrag") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_from_the_effective_set() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("1")).unwrap();
        let status = |set: &str| {
            fs::write(dir.path().join("1/status"), format!("Name: x\nCapEff:\t{set}\n")).unwrap();
            Rights::of(dir.path(), 1).missing()
        };
        assert_eq!(status("000001ffffffffff"), Vec::<&str>::new());
        assert_eq!(status("0000000000000000").len(), 4);
        assert_eq!(status("0000000000a80000"), Vec::<&str>::new(), "ptrace, admin, nice");
        assert_eq!(status("0000000000280000"), ["CAP_SYS_NICE"]);
    }

    #[test]
    fn swap_devices_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(
            dir.path().join("swaps"),
            "Filename Type Size Used Priority\n/dev/zram0 partition 1024 512 -2\n",
        )
        .unwrap();
        fs::write(dir.path().join("meminfo"), "SwapTotal: 1024 kB\nSwapFree: 512 kB\n").unwrap();
        let swap = Swap::read(dir.path());
        assert_eq!((swap.total_bytes, swap.used_bytes), (1 << 20, 512 << 10));
        assert_eq!(swap.devices, ["/dev/zram0"]);
        let device = SwapDevice::all(dir.path()).pop().unwrap();
        assert_eq!((device.size_bytes, device.used_bytes), (1 << 20, 512 << 10));
    }

    #[test]
    fn compressed_swap_that_may_take_no_more_memory_has_no_room() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let room = || Swap::room_bytes(root.path(), 4096);
        assert_eq!(room(), 0);
        let swaps = "Filename Type Size Used Priority\n/dev/zram3 partition 1024 512 5\n";
        write("proc/swaps", swaps);
        assert_eq!(room(), 512 << 10);
        for (limit, expected) in [(0, 512 << 10), (104_096, 512 << 10), (104_095, 0)] {
            write("sys/block/zram3/mm_stat", &format!("200000 90000 100000 {limit} 0\n"));
            assert_eq!(room(), expected);
        }
        write("proc/swaps", &format!("{swaps}/swapfile file 64 4 -2\n"));
        assert_eq!(room(), 60 << 10);
    }
}
