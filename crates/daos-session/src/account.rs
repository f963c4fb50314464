//! What a session cost, and what its targets took of memory.

use crate::memory_series::MemorySeries;
use daos_core::Spent;

/// From the first interval on.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// How long that is, in microseconds.
    pub elapsed_us: u64,
    /// CPU time that went into monitoring.
    pub monitor: Spent,
    /// CPU time that went into schemes.
    pub schemes: Spent,
    /// What the targets took of memory. Empty without schemes.
    pub memory: MemorySeries,
}
