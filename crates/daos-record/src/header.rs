//! The first and the last frame of a record: everything that is needed to understand it,
//! and why it ended and what it cost. A record without the last one was cut off: its
//! recorder was killed, or still runs.
//!
//! Both are JSON, so that any program can read them. A field of today is required; a
//! field added later in the same format version gets `#[serde(default)]`, and
//! readers ignore fields that they don't know. So old and new releases read each
//! other's records, and a missing fact is never mistaken for a default.

use daos_core::{Host, MonitorAttrs, SchemeStats};
use serde::{Deserialize, Deserializer, Serialize};

/// How, where and of what a record was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the `daos` that wrote it.
    pub daos_version: String,
    /// When recording began, in seconds since 1970 (UTC).
    pub created_unix_s: u64,
    /// `CLOCK_MONOTONIC` in microseconds at time 0 of the snapshots.
    pub start_monotonic_us: u64,
    /// The attributes of the monitor.
    pub attrs: MonitorAttrs,
    /// The seed of its random generator.
    pub seed: u64,
    /// The algorithm: `windows`, `reference`.
    pub monitor: String,
    /// Upper bound on what monitoring may cost, in percent of one CPU, the targets'
    /// side included: the one in force; `None` where the monitor keeps none, and in records of
    /// before where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_overhead_percent: Option<f64>,
    /// Whether the monitor chose its intervals; those of `attrs` are the first ones then.
    #[serde(default)]
    pub auto_intervals: bool,
    /// The primitives under it: `ebpf-vaddr`, `ebpf-paddr`, `sim`.
    pub backend: String,
    /// The target as the user asked for it, word by word.
    pub command: Vec<String>,
    /// The schemes that act on what is seen, each by its name or its text;
    /// [`Done::scheme`](daos_core::Done) is the place in this list. None where it
    /// is only watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schemes: Vec<String>,
    /// The machine.
    pub host: Host,
}

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
    /// What each scheme came to that was in force at the end. None where it was only watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known")]
    pub schemes: Vec<SchemeEnd>,
}

/// What a scheme came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemeEnd {
    /// Which scheme: its label, as in the [header](Header::schemes).
    pub label: String,
    /// Its counters.
    pub stats: SchemeStats,
}

/// Those that this release understands: a later one may have more reasons to refuse.
fn known<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<SchemeEnd>, D::Error> {
    let all = Vec::<serde_json::Value>::deserialize(input)?;
    Ok(all.into_iter().filter_map(|scheme| serde_json::from_value(scheme).ok()).collect())
}
