//! What schemes did: for displays, records and tuners.

use super::action::Action;
use super::sink::Refusal;
use crate::access::TargetId;
use crate::addr::AddrRange;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Memory that a scheme acted on, at the end of an aggregation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// The scheme, by its place in the list.
    pub scheme: u32,
    /// What was done.
    pub action: Action,
    /// Whose memory.
    pub target: TargetId,
    /// Where. Not every page in it need have been changed.
    pub range: AddrRange,
}

/// Counters of one scheme, from its start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Regions that fitted, each time that they did.
    pub tried_regions: u64,
    /// Their bytes.
    pub tried_bytes: u64,
    /// Regions in which something was changed.
    pub applied_regions: u64,
    /// Bytes that were changed.
    pub applied_bytes: u64,
    /// Bytes in regions that fitted of which each page was seen to be in use, and so was
    /// left alone.
    pub spared_bytes: u64,
    /// Bytes that were refused, by reason.
    pub refused_bytes: BTreeMap<Refusal, u64>,
    /// Bytes that became resident by it; given back, if negative.
    pub bloat_bytes: i64,
    /// Times that its quota was used up.
    pub quota_exceeded: u64,
    /// Microseconds spent on it.
    pub spent_us: f64,
    /// Times that it was up.
    pub passes: u64,
    /// Times that it slept, by its watermarks.
    pub slept: u64,
    /// Bytes that fitted at the last pass.
    pub fitting_bytes: u64,
}
