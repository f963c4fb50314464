//! How well a monitor knows idle memory: how much there is, and since when.

use super::truth::{TruePhase, TrueRange};
use daos_core::{Part, Snapshot, TargetSnapshot};

/// From which time without an access on memory is called idle, in microseconds: what `prcl`
/// takes.
pub const IDLE_US: u64 = 5_000_000;

/// Compares snapshots with the truth, one by one. Sums over snapshots.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdleScorer {
    /// Bytes of the truth.
    bytes: f64,
    idle: f64,
    idle_told: f64,
    /// Bytes times microseconds, of what is not accessed at all.
    ages: f64,
    age_errors: f64,
}

impl IdleScorer {
    /// Takes in what `snapshot` says of `target` within a phase of the truth, the last of
    /// `phases`. Monitoring began at `origin_us` on its clock: nothing is known to be idle for
    /// longer.
    pub fn add(
        &mut self,
        phases: &[TruePhase],
        origin_us: u64,
        snapshot: &Snapshot,
        target: &TargetSnapshot,
    ) {
        let now_us = origin_us + snapshot.end_us;
        let Some(phase) = phases.last() else { return };
        if now_us < phase.start_us.max(origin_us) + IDLE_US {
            return;
        }
        let idle_share = |rate: f64| 1.0 - snapshot.share_accessed(rate, IDLE_US);
        let ages: Vec<Option<f64>> = (0..phase.ranges.len())
            .map(|at| Some((now_us - idle_since(phases, at)?.max(origin_us)) as f64))
            .collect();
        for (truth, age) in phase.ranges.iter().zip(&ages) {
            let (all, busy) = (truth.range.len() as f64, truth.bytes_in(truth.range) as f64);
            self.bytes += all;
            self.idle += all - busy + busy * idle_share(truth.rate);
            // Nothing told of it is no age; what is told is taken off below.
            self.ages += age.map_or(0.0, |age| age * all);
            self.age_errors += age.map_or(0.0, |age| age * all);
        }
        for Part { range, access_rate, age_us, .. } in target.parts() {
            let first = phase.ranges.partition_point(|truth| truth.range.end <= range.start);
            for (truth, age) in phase.ranges[first..].iter().zip(&ages[first..]) {
                let Some(part) = truth.range.intersect(&range) else { break };
                let bytes = part.len() as f64;
                self.idle_told += match access_rate > 0.0 {
                    true => bytes * idle_share(access_rate),
                    false if age_us >= IDLE_US => bytes,
                    false => 0.0,
                };
                if let Some(age) = age {
                    let told = if access_rate > 0.0 { 0.0 } else { age_us as f64 };
                    self.age_errors += bytes * ((told - age).abs() - age);
                }
            }
        }
    }

    /// By how much too much is told to be idle, as a share of all memory; negative: too little.
    pub fn idle_error(&self) -> Option<f64> {
        (self.bytes > 0.0).then(|| (self.idle_told - self.idle) / self.bytes)
    }

    /// How far the age of memory that is not accessed at all is from the true one, on average,
    /// as a share of it.
    pub fn age_error(&self) -> Option<f64> {
        (self.ages > 0.0).then(|| self.age_errors.max(0.0) / self.ages)
    }
}

/// Since when nothing was accessed of a range of the last of `phases`, by its place; `None` of one
/// that is.
fn idle_since(phases: &[TruePhase], at: usize) -> Option<u64> {
    let range = phases.last()?.ranges.get(at)?.range;
    let is_idle = |phase: &&TruePhase| {
        let same = |truth: &&TrueRange| truth.range == range && truth.rate == 0.0;
        phase.ranges.get(at).filter(same).is_some()
    };
    let idle = phases.iter().rev().take_while(is_idle);
    idle.last().map(|phase| phase.start_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{AddrRange, RegionSnapshot};

    const SECOND: u64 = 1_000_000;

    /// 100 bytes with a rate, 100 with another.
    fn phase(start: u64, end: u64, rates: [f64; 2]) -> TruePhase {
        let range = |at: usize| TrueRange {
            range: AddrRange::new(100 * at as u64, 100 * at as u64 + 100),
            rate: rates[at],
            touched: rates[at],
            some: None,
        };
        TruePhase {
            start_us: start * SECOND,
            end_us: end * SECOND,
            within_us: 100_000,
            ranges: vec![range(0), range(1)],
        }
    }

    /// What is told at a second: bytes from, to, rate, age in seconds.
    fn scored(phases: &[TruePhase], second: u64, regions: &[(u64, u64, f64, u64)]) -> IdleScorer {
        let region = |&(start, end, access_rate, age): &(u64, u64, f64, u64)| RegionSnapshot {
            range: AddrRange::new(start, end),
            access_rate,
            unobserved: 0.0,
            age_us: age * SECOND,
        };
        let regions = regions.iter().map(region).collect();
        let snapshot = Snapshot {
            start_us: second * SECOND - 100_000,
            end_us: second * SECOND,
            sample_us: 5000,
            targets: vec![TargetSnapshot { regions, ..TargetSnapshot::default() }],
            ..Snapshot::default()
        };
        let mut scorer = IdleScorer::default();
        scorer.add(phases, 0, &snapshot, &snapshot.targets[0]);
        scorer
    }

    #[test]
    fn the_truth_has_no_error() {
        let phases = [phase(0, 20, [0.0, 0.9])];
        let all = scored(&phases, 10, &[(0, 100, 0.0, 10), (100, 200, 0.9, 10)]);
        assert_eq!((all.idle_error(), all.age_error()), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn what_is_told_wrong_counts_by_its_bytes() {
        let phases = [phase(0, 20, [0.0, 0.9])];
        // Half of the idle memory is told to be half as old, the rest to be in use; and a fifth of
        // what is used to be idle.
        let regions = [(0, 50, 0.0, 5), (50, 100, 0.5, 0), (100, 120, 0.0, 7)];
        let all = scored(&phases, 10, &regions);
        assert!((all.idle_error().unwrap() + 30.0 / 200.0).abs() < 1e-9);
        assert!((all.age_error().unwrap() - 0.75).abs() < 1e-9);
        let nothing = scored(&phases, 10, &[]);
        assert_eq!((nothing.idle_error(), nothing.age_error()), (Some(-0.5), Some(1.0)));
    }

    #[test]
    fn memory_may_be_idle_for_longer_than_a_phase() {
        let phases = [phase(0, 10, [0.9, 0.0]), phase(10, 30, [0.0, 0.0])];
        let all = scored(&phases, 20, &[(0, 100, 0.0, 10), (100, 200, 0.0, 20)]);
        assert_eq!((all.idle_error(), all.age_error()), (Some(0.0), Some(0.0)));
        let too_old = scored(&phases, 20, &[(0, 200, 0.0, 20)]);
        assert!((too_old.age_error().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_known_to_be_idle_at_first() {
        let phases = [phase(0, 20, [0.0, 0.9])];
        assert_eq!(scored(&phases, 4, &[]).idle_error(), None);
    }
}
