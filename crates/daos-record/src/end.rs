//! Why a recording ended and what it cost, in its last frame.
//!
//! A record without it was cut off: its recorder was killed, or still runs. The
//! rule for new fields is that of the [header](crate::header).

use serde::{Deserialize, Serialize};

/// Why a recording ended and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct End {
    /// Why, in words: `the target ended`.
    pub reason: String,
    /// Exit status of the command, where a command was started: as a shell gives
    /// it, 128 and the signal's number when a signal ended it.
    pub exit_status: Option<i32>,
    /// From time 0 of the snapshots to the end, in microseconds.
    pub elapsed_us: u64,
    /// Snapshots taken.
    pub snapshots: u64,
    /// Windows checked; one of the reference monitor is a page.
    pub checks: u64,
    /// Ticks that came late by more than a tenth of a sampling interval.
    pub late_ticks: u64,
    /// Ticks that were left out because the one before took too long.
    pub missed_ticks: u64,
    /// CPU time of the monitor before time 0, user and system, in microseconds.
    pub setup_cpu_us: u64,
    /// CPU time of the monitor from time 0 on, user and system, in microseconds.
    pub cpu_us: u64,
    /// Most memory that the monitor had resident, in bytes.
    pub peak_rss_bytes: u64,
}
