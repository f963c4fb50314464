//! Everything that is needed to understand a record, in its first frame.
//!
//! It is JSON, so that any program can read it. A field of today is required; a
//! field added later in the same format version gets `#[serde(default)]`, and
//! readers ignore fields that they don't know. So old and new releases read each
//! other's records, and a missing fact is never mistaken for a default.

use daos_core::{Host, MonitorAttrs};
use serde::{Deserialize, Serialize};

/// How, where and of what a record was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The algorithm: `reference`.
    pub monitor: String,
    /// The primitives under it: `ebpf-vaddr`, `sim`.
    pub backend: String,
    /// The target as the user asked for it, word by word.
    pub command: Vec<String>,
    /// The machine.
    pub host: Host,
}
