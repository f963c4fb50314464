//! What tables are of.

use crate::suite::store::Measured;

/// Something that is measured of each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Seconds from start to end.
    Runtime,
    /// CPU time in user space.
    User,
    /// CPU time in the kernel.
    System,
    /// Memory of the machine that was used, on average.
    MemUsed,
    /// The resident set, on average.
    Rss,
    /// The same, in the last quarter of the run.
    RssLate,
    /// What was in swap, on average.
    Swap,
    /// What was in huge pages, on average.
    Huge,
    /// CPU time of `daos`.
    DaosCpu,
    /// The same, in percent of a CPU.
    DaosCpuPercent,
    /// Resident set of `daos`, on average.
    DaosRss,
}

/// In what a metric is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, to the millisecond.
    Seconds,
    /// KiB, as the seeds have it.
    Kib,
    /// Percent.
    Percent,
}

impl Metric {
    /// All of them, in the order of the tables.
    pub const ALL: &[Self] = &[
        Self::Runtime,
        Self::MemUsed,
        Self::Rss,
        Self::RssLate,
        Self::User,
        Self::System,
        Self::Swap,
        Self::Huge,
        Self::DaosCpu,
        Self::DaosCpuPercent,
        Self::DaosRss,
    ];
    /// Those that are drawn, and of which there are tables of deviations.
    pub const MAIN: &[Self] = &[Self::Runtime, Self::MemUsed, Self::Rss];

    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::User => "utime",
            Self::System => "stime",
            Self::MemUsed => "memused.avg",
            Self::Rss => "rss.avg",
            Self::RssLate => "rss.late",
            Self::Swap => "swap.avg",
            Self::Huge => "thp.avg",
            Self::DaosCpu => "daos.cpu",
            Self::DaosCpuPercent => "daos.cpu.percent",
            Self::DaosRss => "daos.rss.avg",
        }
    }

    /// What it is, in words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Runtime => "seconds from start to end",
            Self::User => "CPU time of the workload in user space, in seconds",
            Self::System => "CPU time of the workload in the kernel, in seconds",
            Self::MemUsed => {
                "by how much less memory of the machine was free (MemFree) than before the run, KiB"
            }
            Self::Rss => "resident set of the workload's processes, KiB",
            Self::RssLate => "the same in the last quarter of the run, KiB",
            Self::Swap => "what they had in swap, KiB",
            Self::Huge => "what they had in huge pages, KiB",
            Self::DaosCpu => "CPU time of the daos beside the workload, in seconds",
            Self::DaosCpuPercent => "CPU time of the daos beside the workload, in percent of a CPU",
            Self::DaosRss => "resident set of the daos beside the workload, KiB",
        }
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::Runtime | Self::User | Self::System | Self::DaosCpu => Unit::Seconds,
            Self::DaosCpuPercent => Unit::Percent,
            _ => Unit::Kib,
        }
    }

    /// Whether it is compared with that of the baseline, which has none of the others.
    pub fn is_compared(self) -> bool {
        !matches!(
            self,
            Self::Swap | Self::Huge | Self::DaosCpu | Self::DaosCpuPercent | Self::DaosRss
        )
    }

    /// Whether values of several workloads have a sum.
    pub fn adds_up(self) -> bool {
        self != Self::DaosCpuPercent
    }

    /// Its value of a run, in its unit.
    pub fn of(self, run: &Measured) -> f64 {
        match self {
            Self::Runtime => run.runtime_s,
            Self::User => run.user_s,
            Self::System => run.system_s,
            Self::MemUsed => run.memused_bytes / 1024.0,
            Self::Rss => run.rss_bytes / 1024.0,
            Self::RssLate => run.rss_late_bytes / 1024.0,
            Self::Swap => run.swap_bytes / 1024.0,
            Self::Huge => run.huge_bytes / 1024.0,
            Self::DaosCpu => run.daos_cpu_s,
            // No run takes less than a microsecond.
            Self::DaosCpuPercent => 100.0 * run.daos_cpu_s / run.runtime_s.max(1e-6),
            Self::DaosRss => run.daos_rss_bytes / 1024.0,
        }
    }
}

impl Unit {
    /// A value in it, without its name.
    pub fn number(self, value: f64) -> String {
        match self {
            Self::Seconds => format!("{value:.3}"),
            // What is rounded to nothing has no sign.
            Self::Kib => format!("{:.0}", value.round() + 0.0),
            Self::Percent => format!("{value:.2}"),
        }
    }
}
