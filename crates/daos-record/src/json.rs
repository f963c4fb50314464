//! The JSON shape of a snapshot, one for each target.
//!
//! It is here because two things that don't know each other write it: the live
//! stream of a recording and the report of a record. A script that reads one
//! reads the other.

use daos_core::{Action, Done, Interval, RegionSnapshot, TargetId, TargetSnapshot};
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
    /// What schemes did to it at the end of the interval, by scheme, action and address.
    /// Left out when they did nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<DoneJson>,
}

/// Memory that a scheme acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneJson {
    /// The scheme, by its place in the list.
    pub scheme: u32,
    /// What was done.
    pub action: Action,
    /// Address of its first byte.
    pub start: u64,
    /// Address of the first byte behind it.
    pub end: u64,
}

/// One region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// What is known to the page: `[start, end, age_us]` of each run of neighbouring
    /// pages, by rising address. The age is the time in microseconds since the last
    /// access that was seen, 0 for pages in use. Left out when nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<[u64; 3]>,
}

impl SnapshotJson {
    /// What `interval` says of `target`, which is one of its targets.
    pub fn new(interval: &Interval, target: &TargetSnapshot) -> Self {
        let snapshot = &interval.snapshot;
        Self {
            start_us: snapshot.start_us,
            end_us: snapshot.end_us,
            target: target.id,
            regions: target.regions.iter().map(|r| RegionJson::new(target, r)).collect(),
            done: done_to(&interval.done, target.id),
        }
    }
}

fn done_to(done: &[Done], target: TargetId) -> Vec<DoneJson> {
    let of_target = done.iter().filter(|done| done.target == target).copied();
    let json = |Done { scheme, action, range, .. }| DoneJson {
        scheme,
        action,
        start: range.start,
        end: range.end,
    };
    Done::joined(of_target).into_iter().map(json).collect()
}

impl RegionJson {
    /// What `target` says of `region`, which is one of its regions.
    pub fn new(target: &TargetSnapshot, region: &RegionSnapshot) -> Self {
        let RegionSnapshot { range, access_rate, unobserved, age_us } = *region;
        let pages = target.runs_in(range).map(|run| [run.range.start, run.range.end, run.age_us]);
        Self {
            start: range.start,
            end: range.end,
            access_rate: six_decimals(access_rate),
            age_us,
            unobserved: six_decimals(unobserved),
            pages: pages.collect(),
        }
    }
}

/// Enough for any rate, and short.
fn six_decimals(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{AddrRange, PageRun};

    #[test]
    fn each_region_has_its_part_of_the_page_runs() {
        let region = |start, end| RegionSnapshot {
            range: AddrRange::new(start, end),
            access_rate: 0.25,
            unobserved: 0.0,
            age_us: 0,
        };
        let run = |start, end, age_us| PageRun {
            range: AddrRange::new(start, end),
            access_rate: 0.0,
            age_us,
        };
        let target = TargetSnapshot {
            regions: vec![region(0, 8192), region(8192, 20480), region(40960, 45056)],
            pages: vec![run(0, 4096, 0), run(4096, 12288, 300), run(16384, 20480, 100)],
            ..TargetSnapshot::default()
        };
        let json = SnapshotJson::new(&Interval::default(), &target);
        let pages: Vec<_> = json.regions.iter().map(|region| &region.pages[..]).collect();
        let expected: [&[[u64; 3]]; 3] =
            [&[[0, 4096, 0], [4096, 8192, 300]], &[[8192, 12288, 300], [16384, 20480, 100]], &[]];
        assert_eq!(pages, expected);
    }
}
