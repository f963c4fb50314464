//! The JSON shape of a snapshot, one for each target.
//!
//! It is here because two things that don't know each other write it: the live
//! stream of a recording and the report of a record. A script that reads one
//! reads the other.

use crate::access::TargetId;
use crate::snapshot::{RegionSnapshot, Snapshot, TargetSnapshot};
use serde::{Deserialize, Serialize};

/// The regions of one target in one aggregation interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotJson {
    /// When the interval began, in microseconds since monitoring began.
    pub start_us: u64,
    /// When it ended.
    pub end_us: u64,
    /// Which target.
    pub target: TargetId,
    /// Sorted, disjoint.
    pub regions: Vec<RegionJson>,
}

/// One region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RegionJson {
    /// Address of its first byte.
    pub start: u64,
    /// Address of the first byte behind it.
    pub end: u64,
    /// The chance that a page is accessed within one sampling interval, 0 to 1.
    pub access_rate: f64,
    /// How long the access frequency has been what it is, in microseconds.
    pub age_us: u64,
    /// The share of checks that could not be observed, 0 to 1; left out when 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unobserved: f64,
}

impl SnapshotJson {
    /// What `snapshot` says of `target`, which is one of its targets.
    pub fn new(snapshot: &Snapshot, target: &TargetSnapshot) -> Self {
        Self {
            start_us: snapshot.start_us,
            end_us: snapshot.end_us,
            target: target.id,
            regions: target.regions.iter().map(|r| RegionJson::new(snapshot, r)).collect(),
        }
    }
}

impl RegionJson {
    /// What `snapshot` says of `region`, which is one of its regions.
    pub fn new(snapshot: &Snapshot, region: &RegionSnapshot) -> Self {
        Self {
            start: region.range.start,
            end: region.range.end,
            access_rate: snapshot.access_rate(region),
            age_us: snapshot.age_us(region),
            unobserved: snapshot.unobserved_share(region),
        }
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}
