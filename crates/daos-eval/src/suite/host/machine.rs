//! What the machine is, for whoever reads the tables.

use daos_linux::host;
use serde::{Deserialize, Serialize};
use std::fs;

/// The machine of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The release of the kernel.
    pub kernel: String,
    /// What the processor calls itself.
    pub processor: String,
    /// Online CPUs.
    pub cpus: u32,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        let host = host::here();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = model.and_then(|rest| Some(rest.split_once(':')?.1.trim().to_owned()));
        Self {
            kernel: host.kernel,
            processor: processor.unwrap_or(host.arch),
            cpus: host.cpus,
            memory_bytes: host.mem_total_bytes,
        }
    }

    /// What tells it from another one, in words; `None` if it is the same. How much memory a kernel finds differs by a little from
    /// one start to the next.
    pub fn differs_from(&self, other: &Self) -> Option<String> {
        let differs = |what: &str, own: &str, others: &str| {
            (own != others).then(|| format!("{what} {own} instead of {others}"))
        };
        let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
        let memory = self.memory_bytes.abs_diff(other.memory_bytes) > other.memory_bytes / 50;
        differs("kernel", &self.kernel, &other.kernel)
            .or_else(|| differs("processor", &self.processor, &other.processor))
            .or_else(|| differs("CPUs:", &self.cpus.to_string(), &other.cpus.to_string()))
            .or_else(|| {
                let memory = memory.then(|| (gib(self.memory_bytes), gib(other.memory_bytes)));
                memory.map(|(own, others)| format!("memory {own} instead of {others}"))
            })
    }

    /// In words.
    pub fn words(&self) -> String {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        format!("{}, {} CPUs, {gib:.0} GiB, Linux {}", self.processor, self.cpus, self.kernel)
    }
}
