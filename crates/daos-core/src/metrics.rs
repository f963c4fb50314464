//! The seam to what is measured beside the accesses.

/// Something that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Free memory of the system, as a share of all, 0 to 1.
    FreeMemory,
    /// Share of the time, 0 to 1, in which some task waited for memory, over the last
    /// ten seconds (`/proc/pressure/memory`, `some`).
    MemoryPressure,
    /// The targets' resident set as a share, 0 to 1, of it and what they have in swap.
    Resident,
}

impl Metric {
    /// All of them.
    pub const ALL: &[Self] = &[Self::FreeMemory, Self::MemoryPressure, Self::Resident];

    /// Its name in schemes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FreeMemory => "free-memory",
            Self::MemoryPressure => "memory-pressure",
            Self::Resident => "resident",
        }
    }
}

/// Who can measure.
pub trait Metrics {
    /// The metric's value now; `None` where it can't be measured.
    fn read(&mut self, metric: Metric) -> Option<f64>;
}
