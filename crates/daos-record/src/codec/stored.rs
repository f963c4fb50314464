//! Snapshots as a record stores them: rates and ages in whole numbers.
//!
//! A monitor's rates and times are exact; here, and only here, they are rounded. A rate is a
//! count of the highest count of its snapshot, an age a number of aggregation intervals, so
//! that most of them take a byte.

use daos_core::{
    AddrRange, Cost, PageRun, RegionSnapshot, Snapshot, TargetId, TargetSnapshot, WorkingSets,
};

/// The highest count of what is written: rates are kept to a millionth.
const HIGHEST: u32 = 1_000_000;

/// A snapshot of which nothing is rounded any more.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredSnapshot {
    pub start_us: u64,
    pub end_us: u64,
    pub aggregation_us: u64,
    pub sample_us: u64,
    /// What counts are of.
    pub max_nr_accesses: u32,
    pub targets: Vec<StoredTarget>,
    pub cost: Cost,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredTarget {
    pub id: TargetId,
    pub resident_bytes: Option<u64>,
    pub regions: Vec<StoredRegion>,
    pub pages: Vec<StoredRun>,
    pub working_sets: Option<WorkingSets>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRegion {
    pub range: AddrRange,
    pub nr_accesses: u32,
    pub nr_unobserved: u32,
    pub age: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredRun {
    pub range: AddrRange,
    pub nr_accesses: u32,
    pub age: u32,
}

impl StoredSnapshot {
    /// `snapshot`, rounded, without its runs of pages: those are written as what changed of them.
    pub fn of(snapshot: &Snapshot) -> Self {
        let region = |region: &RegionSnapshot| StoredRegion {
            range: region.range,
            nr_accesses: count(region.access_rate),
            nr_unobserved: count(region.unobserved),
            age: age(region.age_us, snapshot.aggregation_us),
        };
        let target = |target: &TargetSnapshot| StoredTarget {
            id: target.id,
            resident_bytes: target.resident_bytes,
            regions: target.regions.iter().map(region).collect(),
            pages: Vec::new(),
            working_sets: target.working_sets,
        };
        Self {
            start_us: snapshot.start_us,
            end_us: snapshot.end_us,
            aggregation_us: snapshot.aggregation_us,
            sample_us: snapshot.sample_us,
            max_nr_accesses: HIGHEST,
            targets: snapshot.targets.iter().map(target).collect(),
            cost: snapshot.cost.clone(),
        }
    }

    /// What was rounded.
    pub fn restored(self) -> Snapshot {
        let highest = f64::from(self.max_nr_accesses.max(1));
        let share = |count: u32| (f64::from(count) / highest).min(1.0);
        let age_us = |age: u32| u64::from(age).saturating_mul(self.aggregation_us);
        let region = |region: StoredRegion| RegionSnapshot {
            range: region.range,
            access_rate: share(region.nr_accesses),
            unobserved: share(region.nr_unobserved),
            age_us: age_us(region.age),
        };
        let run = |run: StoredRun| PageRun {
            range: run.range,
            access_rate: share(run.nr_accesses),
            age_us: age_us(run.age),
        };
        let target = |target: StoredTarget| TargetSnapshot {
            id: target.id,
            resident_bytes: target.resident_bytes,
            regions: target.regions.into_iter().map(region).collect(),
            pages: target.pages.into_iter().map(run).collect(),
            working_sets: target.working_sets,
        };
        Snapshot {
            start_us: self.start_us,
            end_us: self.end_us,
            aggregation_us: self.aggregation_us,
            sample_us: self.sample_us,
            targets: self.targets.into_iter().map(target).collect(),
            cost: self.cost,
        }
    }
}

impl StoredRun {
    /// `run`, rounded.
    pub fn of(run: PageRun, aggregation_us: u64) -> Self {
        Self {
            range: run.range,
            nr_accesses: count(run.access_rate),
            age: age(run.age_us, aggregation_us),
        }
    }

    /// As it is so many aggregation intervals later if nothing is accessed.
    pub fn later(self, intervals: u32) -> Self {
        let older = if self.nr_accesses == 0 { intervals } else { 0 };
        Self { age: self.age.saturating_add(older), ..self }
    }
}

/// Microseconds as a number of aggregation intervals.
fn age(us: u64, aggregation_us: u64) -> u32 {
    match us.checked_div(aggregation_us) {
        Some(age) => u32::try_from(age).unwrap_or(u32::MAX),
        None => 0,
    }
}

/// A share as a count of [`HIGHEST`]; 0 only for nothing.
pub fn count(share: f64) -> u32 {
    let count = (share * f64::from(HIGHEST)).round() as u32;
    if share > 0.0 { count.clamp(1, HIGHEST) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_not_nothing_and_ages_are_whole_intervals() {
        let region = |access_rate, unobserved, age_us| RegionSnapshot {
            range: AddrRange::new(0, 4096),
            access_rate,
            unobserved,
            age_us,
        };
        let snapshot = |regions| Snapshot {
            aggregation_us: 100,
            targets: vec![TargetSnapshot { regions, ..TargetSnapshot::default() }],
            ..Snapshot::default()
        };
        let kept = snapshot(vec![region(0.000_000_1, 0.0, 199), region(0.45, 1.0, 200)]);
        let restored = StoredSnapshot::of(&kept).restored();
        assert_eq!(restored, snapshot(vec![region(0.000_001, 0.0, 100), region(0.45, 1.0, 200)]));
        assert_eq!(StoredSnapshot::of(&restored).restored(), restored);
    }
}
