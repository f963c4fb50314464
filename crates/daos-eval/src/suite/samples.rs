//! Samples of a workload and of the `daos` beside it, equally far apart, from outside.

use super::tree;
use daos_linux::host;
use daos_linux::memory::ProcessMemory;
use std::path::Path;

/// Samples from one in which huge pages are counted to the next: for that the kernel walks
/// page tables.
const HUGE_EVERY: usize = 10;
/// The last of so many parts of a run is late.
const LATE: usize = 4;

/// What was sampled so far, in bytes.
#[derive(Debug, Default)]
pub struct Samples {
    /// What was free before the workload began.
    free_before: f64,
    /// The resident set of the workload's processes.
    pub resident: Vec<f64>,
    /// What they have in swap.
    pub swap: Vec<f64>,
    /// What they have in huge pages; fewer samples.
    pub huge: Vec<f64>,
    /// By how much less memory of the machine is free than before.
    pub used: Vec<f64>,
    /// The resident set of `daos`.
    pub daos: Vec<f64>,
}

impl Samples {
    /// Of a workload that is about to begin.
    pub fn begin() -> Self {
        Self { free_before: free(), ..Self::default() }
    }

    /// One more, of these processes.
    pub fn take(&mut self, workload: u32, daos: Option<u32>) {
        let proc = Path::new("/proc");
        let pids = tree::processes(workload);
        let memory = tree::memory(proc, &pids);
        if self.resident.len() % HUGE_EVERY == HUGE_EVERY / 2 {
            self.huge.push(tree::huge(&pids) as f64);
        }
        self.used.push(self.free_before - free());
        self.resident.push(memory.resident_bytes as f64);
        self.swap.push(memory.swap_bytes as f64);
        let daos = daos.and_then(|pid| ProcessMemory::read(proc, pid));
        self.daos.extend(daos.map(|memory| memory.resident_bytes as f64));
    }

    /// The resident set in the last part of the time.
    pub fn late(&self) -> &[f64] {
        &self.resident[self.resident.len() - self.resident.len().div_ceil(LATE)..]
    }
}

/// What nothing is in, of the machine's memory.
fn free() -> f64 {
    host::meminfo(Path::new("/proc"), "MemFree").unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::results::mean;

    #[test]
    fn the_last_quarter_is_late() {
        let of = |values: &[f64]| {
            let samples = Samples { resident: values.to_vec(), ..Samples::default() };
            mean(samples.late()).unwrap_or(0.0)
        };
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]), 8.0);
        assert_eq!(of(&[3.0]), 3.0);
        assert_eq!(of(&[]), 0.0);
    }
}
