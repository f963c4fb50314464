//! Everything that is needed to understand a record, in its first frame.
//!
//! It is JSON, so that any program can read it. A field of today is required; a
//! field added later in the same format version gets `#[serde(default)]`, and
//! readers ignore fields that they don't know. So old and new releases read each
//! other's records, and a missing fact is never mistaken for a default.

use daos_core::{Host, MonitorAttrs};
use serde::{Deserialize, Serialize};

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
    /// side included; `None` where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_overhead_percent: Option<f64>,
    /// Whether the monitor chose its intervals; those of `attrs` are the first ones then.
    #[serde(default)]
    pub auto_intervals: bool,
    /// The primitives under it: `ebpf-vaddr`, `sim`.
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
