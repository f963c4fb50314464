//! What a session cost, and what its targets took of memory.

use crate::memory_series::MemorySeries;
use daos_core::CpuCost;

/// From the first interval on.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// How long that is, in microseconds.
    pub elapsed_us: u64,
    /// CPU time that went into monitoring.
    pub monitor: CpuCost,
    /// CPU time that went into schemes.
    pub schemes: CpuCost,
    /// What the targets took of memory. Empty without schemes.
    pub memory: MemorySeries,
}
