//! What a record shows, against the truth.

use daos_core::{AddrRange, Interval, RegionSnapshot, Snapshot, TargetId};
use daos_record::Record;
use daos_workload::PhaseTruth;
use std::path::Path;

/// What a workload truly accessed, as it has written it down.
pub fn read_truth(path: &Path) -> Vec<PhaseTruth> {
    PhaseTruth::read_all(path).expect("the truth can be read")
}

/// The only target of a record.
pub fn only_target(record: &Record) -> TargetId {
    let ids: Vec<TargetId> = record.targets().map(|target| target.id).collect();
    assert_eq!(ids.len(), 1);
    ids[0]
}

/// All intervals of a record.
pub fn intervals(record: &Record) -> Vec<Interval> {
    record.intervals().map(|interval| interval.expect("it was read before")).collect()
}

/// What was seen in them.
pub fn snapshots(record: &Record) -> Vec<Snapshot> {
    intervals(record).into_iter().map(|interval| interval.snapshot).collect()
}

/// How well the memory that a record shows in use is that which the target has counted
/// accesses to, over snapshots in which both have settled.
#[derive(Debug, Clone, Copy)]
pub struct Score {
    /// Those that count.
    pub snapshots: usize,
    /// Of what was truly in use, the share that was seen in use.
    pub recall: f64,
    /// Of what was seen in use, the share that truly was.
    pub precision: f64,
}

/// Judges one of the targets of a record, in each phase from `warmup_s` seconds on after that
/// began, and monitoring did.
///
/// Memory is in use if it is accessed at all in an aggregation interval. How often, in
/// sampling intervals, is no matter of the monitor where the machine is busy: a target that
/// waits for a CPU accesses nothing meanwhile.
pub fn score(record: &Record, id: TargetId, truth: &[PhaseTruth], warmup_s: f64) -> Score {
    let origin_us = record.header().start_monotonic_us;
    let warmup_us = (warmup_s * 1e6) as u64;
    let (mut counted, mut used, mut seen, mut right) = (0, 0, 0, 0);
    for mut snapshot in snapshots(record) {
        let (start_us, end_us) = (origin_us + snapshot.start_us, origin_us + snapshot.end_us);
        let settled = |phase: &&PhaseTruth| {
            phase.start_us.max(origin_us) + warmup_us <= start_us && end_us <= phase.end_us
        };
        let Some(phase) = truth.iter().find(settled) else { continue };
        snapshot.targets.retain(|target| target.id == id);
        counted += 1;
        let mut ranges: Vec<(AddrRange, bool)> = Vec::new();
        for region in &phase.regions {
            // A region has an entry for each way in which it is accessed.
            match ranges.iter_mut().find(|(range, _)| *range == region.range()) {
                Some((_, is_used)) => *is_used |= region.accesses > 0,
                None => ranges.push((region.range(), region.accesses > 0)),
            }
        }
        for (range, is_used) in ranges {
            let bytes = bytes_where(&snapshot, range, |r| r.access_rate > 0.0);
            seen += bytes;
            if is_used {
                used += range.len();
                right += bytes;
            }
        }
    }
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let score =
        Score { snapshots: counted, recall: share(right, used), precision: share(right, seen) };
    // Seen with --nocapture: how far from the limits it is.
    println!("{score:?}");
    score
}

/// Bytes of `range` in regions that `wanted` takes, in one snapshot.
pub fn bytes_where(
    snapshot: &Snapshot,
    range: AddrRange,
    wanted: impl Fn(&RegionSnapshot) -> bool,
) -> u64 {
    let regions = snapshot.targets.iter().flat_map(|target| &target.regions);
    regions.filter(|r| wanted(r)).filter_map(|r| Some(r.range.intersect(&range)?.len())).sum()
}
