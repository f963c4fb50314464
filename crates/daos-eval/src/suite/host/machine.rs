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

    /// What tells it from another one, in words; `None` if it is the same. How much memory a kernel
    /// finds differs by a little from one start to the next.
    pub fn differs_from(&self, other: &Self) -> Option<String> {
        let has_other_memory =
            self.memory_bytes.abs_diff(other.memory_bytes) > other.memory_bytes / 50;
        let of = |what: &str, tell: fn(&Self) -> String| {
            Some(format!("{what} {} instead of {}", tell(self), tell(other)))
        };
        let gib =
            |machine: &Self| format!("{:.1} GiB", machine.memory_bytes as f64 / f64::from(1 << 30));
        if self.kernel != other.kernel {
            of("kernel", |machine| machine.kernel.clone())
        } else if self.processor != other.processor {
            of("processor", |machine| machine.processor.clone())
        } else if self.cpus != other.cpus {
            of("CPUs:", |machine| machine.cpus.to_string())
        } else if has_other_memory {
            of("memory", gib)
        } else {
            None
        }
    }

    /// In words.
    pub fn words(&self) -> String {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        format!("{}, {} CPUs, {gib:.0} GiB, Linux {}", self.processor, self.cpus, self.kernel)
    }
}
