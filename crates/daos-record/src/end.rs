//! Why a recording ended and what it cost, in its last frame.
//!
//! A record without it was cut off: its recorder was killed, or still runs. The
//! rule for new fields is that of the [header](crate::header).

use daos_core::SchemeStats;
use serde::{Deserialize, Deserializer, Serialize};

/// Why a recording ended and what it cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// What each scheme came to, those that were replaced included. None where it was
    /// only watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub schemes: Vec<SchemeEnd>,
}

/// What a scheme came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemeEnd {
    /// Which scheme: its label, as in the [header](crate::Header::schemes).
    pub label: String,
    /// Its counters.
    pub stats: SchemeStats,
}

/// Those that this release understands: a later one may have more reasons to refuse.
fn known<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<SchemeEnd>, D::Error> {
    let all = Vec::<serde_json::Value>::deserialize(input)?;
    Ok(all.into_iter().filter_map(|scheme| serde_json::from_value(scheme).ok()).collect())
}
