//! What schemes heed beside accesses, measured on this host.

use crate::host;
use crate::memory::ProcessMemory;
use crate::targets_memory::TargetsMemory;
use daos_core::{DEFAULT_MAX_OVERHEAD, Metric, Metrics};
use std::fs;
use std::path::{Path, PathBuf};

/// Reads metrics from `/proc`, each time anew.
///
/// - Free memory is what programs could have, `MemAvailable`, as a share of
///   `MemTotal`. What is free in the strict sense (`MemFree`, which the kernel's DAMON
///   takes) is next to nothing on a healthy host, as files fill it: watermarks on it
///   say little.
/// - Memory pressure is `some avg10` of `/proc/pressure/memory`. Where the kernel has
///   none (`psi=0`), there is no value.
/// - Resident is of all targets together; no value while none has memory.
#[derive(Debug)]
pub struct HostMetrics {
    proc: PathBuf,
    targets: TargetsMemory,
    /// Whether all processes together are the target.
    of_machine: bool,
}

impl HostMetrics {
    /// Of this host, without targets.
    pub fn new() -> Self {
        Self::at(Path::new("/proc"))
    }

    /// Of a tree like `/proc`.
    pub fn at(proc: &Path) -> Self {
        let targets = TargetsMemory::new(DEFAULT_MAX_OVERHEAD);
        Self { proc: proc.to_owned(), targets, of_machine: false }
    }

    /// The bound on what watching costs in all, as a share of one CPU, 0.5 % unless this is
    /// called: asking for the memory of targets takes a part of it at most.
    pub fn with_max_overhead(mut self, share: f64) -> Self {
        self.targets = TargetsMemory::new(share);
        self
    }

    /// All processes of the machine are the target, and what is in swap is theirs.
    pub fn of_machine(self) -> Self {
        Self { of_machine: true, ..self }
    }

    /// Whose resident set counts from now on, by process number. Those that have
    /// ended do no harm.
    pub fn set_targets(&mut self, pids: impl IntoIterator<Item = u32>) {
        self.targets.set(pids);
    }

    /// What the targets have in memory and in swap together. Of many, some were asked a while
    /// ago; `None` until all were, and while none has any.
    pub fn memory_of_targets(&mut self) -> Option<ProcessMemory> {
        if self.of_machine {
            return ProcessMemory::of_machine(&self.proc);
        }
        self.targets.read(&self.proc)
    }

    /// Whether this host has that to measure; if not, why, and what to do about it.
    pub fn supports(&self, metric: Metric) -> Result<(), String> {
        if metric == Metric::MemoryPressure && self.memory_pressure().is_none() {
            return Err("this kernel does not measure memory pressure (no \
                        /proc/pressure/memory): boot it with psi=1, or go by free-memory"
                .to_owned());
        }
        Ok(())
    }

    fn free_memory(&self) -> Option<f64> {
        let available = host::meminfo(&self.proc, "MemAvailable")?;
        share(available, host::meminfo(&self.proc, "MemTotal")?)
    }

    fn memory_pressure(&self) -> Option<f64> {
        let text = fs::read_to_string(self.proc.join("pressure/memory")).ok()?;
        let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
        let percent = some.split(' ').find_map(|field| field.strip_prefix("avg10="))?;
        percent.parse::<f64>().ok().map(|percent| percent / 100.0)
    }

    fn resident(&mut self) -> Option<f64> {
        let ProcessMemory { resident_bytes, swap_bytes } = self.memory_of_targets()?;
        share(resident_bytes, resident_bytes + swap_bytes)
    }
}

impl Default for HostMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics for HostMetrics {
    fn read(&mut self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::FreeMemory => self.free_memory(),
            Metric::MemoryPressure => self.memory_pressure(),
            Metric::Resident => self.resident(),
        }
    }
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, HostMetrics) {
        let proc = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = proc.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let metrics = HostMetrics::at(proc.path());
        (proc, metrics)
    }

    #[test]
    fn each_is_a_share() {
        let (_proc, mut metrics) = tree(&[
            ("meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 250 kB\n"),
            (
                "pressure/memory",
                "some avg10=12.50 avg60=1.00 avg300=0.10 total=62042\n\
                 full avg10=3.00 avg60=0.00 avg300=0.00 total=14813\n",
            ),
            ("7/status", "VmRSS: 500 kB\nVmSwap: 100 kB\n"),
            ("8/status", "VmRSS: 100 kB\nVmSwap: 300 kB\n"),
        ]);
        assert_eq!(metrics.read(Metric::FreeMemory), Some(0.25));
        assert_eq!(metrics.read(Metric::MemoryPressure), Some(0.125));
        assert_eq!(metrics.read(Metric::Resident), None, "there is no target");
        metrics.set_targets([7, 8, 9]);
        assert_eq!(metrics.read(Metric::Resident), Some(0.6));
        metrics.set_targets([8]);
        assert_eq!(metrics.read(Metric::Resident), Some(0.25));
    }

    #[test]
    fn what_cannot_be_measured_has_no_value() {
        let (_proc, mut metrics) = tree(&[("meminfo", "MemFree: 10 kB\n")]);
        metrics.set_targets([7]);
        assert!(Metric::ALL.iter().all(|&metric| metrics.read(metric).is_none()));
        assert!(metrics.supports(Metric::MemoryPressure).unwrap_err().contains("psi=1"));
        assert!(metrics.supports(Metric::Resident).is_ok(), "there may be targets yet");
    }

    #[test]
    fn this_host_has_some_memory_free() {
        let free = HostMetrics::new().read(Metric::FreeMemory).unwrap();
        assert!(free > 0.0 && free < 1.0, "{free}");
    }
}
