//! What a record shows, against the truth.

use daos_core::{AddrRange, RegionSnapshot, Snapshot, TargetId};
use daos_eval::{Score, Scorer, TruePhase};
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

/// All snapshots of a record.
pub fn snapshots(record: &Record) -> Vec<Snapshot> {
    record.snapshots().map(|snapshot| snapshot.expect("it was read before")).collect()
}

/// How accurate a record is on one of its targets.
pub fn score(record: &Record, id: TargetId, truth: &[PhaseTruth], warmup_s: f64) -> Score {
    let header = record.header();
    let phases = truth.iter().map(|phase| TruePhase::counted(phase, &header.attrs)).collect();
    let mut scorer = Scorer::new(phases, header.start_monotonic_us, (warmup_s * 1e6) as u64);
    for snapshot in snapshots(record) {
        for target in snapshot.targets.iter().filter(|target| target.id == id) {
            scorer.add(&snapshot, target);
        }
    }
    let score = scorer.score();
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
