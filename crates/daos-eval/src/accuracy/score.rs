//! From snapshots and the truth to how accurate the snapshots are.
//!
//! Everything is counted in bytes of the memory that the truth names. Of the rest
//! of a process (its program, its stack, the holes between mappings) nobody knows
//! how often it was accessed, so it counts neither for nor against a monitor.

use super::truth::{TruePhase, TrueRange};
use daos_core::{AddrRange, Part, Snapshot, TargetSnapshot};

/// How accurate snapshots were. A metric is `None` when there was nothing that it
/// could be a share of.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Score {
    /// Snapshots that counted.
    pub snapshots: u64,
    /// Of the memory reported hot the share that was hot, 0 to 1.
    pub precision: Option<f64>,
    /// Of the hot memory the share that was reported hot, 0 to 1.
    pub recall: Option<f64>,
    /// By how much the working set was reported too large, as a share of the true
    /// one; negative when it was too small. Medians over the snapshots of what
    /// `report wss` counts and of what is accessed, both on average within an aggregation
    /// interval.
    pub wss_error: Option<f64>,
    /// The same of the 75th percentiles over the snapshots.
    pub wss_error_p75: Option<f64>,
    /// How far the reported access rate of a page is from the true one, on average over
    /// pages and snapshots, 0 to 1. Memory of which nothing is reported counts as
    /// reported cold.
    pub rate_error: Option<f64>,
    /// The same as a share of the mean true rate.
    pub rate_error_relative: Option<f64>,
}

/// Compares snapshots with the truth, one by one.
///
/// A snapshot counts if it lies within one phase and begins at least the warm-up
/// after the monitoring began, and settled after the phase did: a monitor needs time
/// to find out, and how long is the detection latency.
#[derive(Debug, Clone)]
pub struct Scorer {
    phases: Vec<TruePhase>,
    origin_us: u64,
    warmup_us: u64,
    settle_us: u64,
    bytes: HotBytes,
    rates: RateErrors,
    reported_wss: Vec<u64>,
    true_wss: Vec<u64>,
}

/// Bytes times snapshots.
#[derive(Debug, Clone, Copy, Default)]
struct HotBytes {
    /// Reported hot.
    reported: u64,
    /// Truly hot.
    there: u64,
    /// Both.
    right: u64,
}

/// Sums over bytes and snapshots.
#[derive(Debug, Clone, Copy, Default)]
struct RateErrors {
    bytes: f64,
    true_rates: f64,
    errors: f64,
}

impl Scorer {
    /// Knows the truth, by rising time. Monitoring began, and the snapshots count
    /// their time, at `origin_us` on the truth's clock. A phase settles as long as the
    /// warm-up takes.
    pub fn new(phases: Vec<TruePhase>, origin_us: u64, warmup_us: u64) -> Self {
        Self {
            phases,
            origin_us,
            warmup_us,
            settle_us: warmup_us,
            bytes: HotBytes::default(),
            rates: RateErrors::default(),
            reported_wss: Vec::new(),
            true_wss: Vec::new(),
        }
    }

    /// Counts snapshots from `settle_us` microseconds after the start of a phase on.
    pub fn settling(self, settle_us: u64) -> Self {
        Self { settle_us, ..self }
    }

    /// The phases up to the one that `snapshot` lies in, once that has settled.
    pub fn settled(&self, snapshot: &Snapshot) -> Option<&[TruePhase]> {
        self.settled_at(snapshot).map(|at| &self.phases[..=at])
    }

    /// The place of the phase that `snapshot` lies in, once that has settled.
    fn settled_at(&self, snapshot: &Snapshot) -> Option<usize> {
        let start_us = self.origin_us + snapshot.start_us;
        let end_us = self.origin_us + snapshot.end_us;
        let warm_us = self.origin_us + self.warmup_us;
        self.phases.iter().position(|phase| {
            // A phase that ran before monitoring began has settled no sooner than that.
            let settled_us = phase.start_us.max(self.origin_us) + self.settle_us;
            settled_us.max(warm_us) <= start_us && end_us <= phase.end_us
        })
    }

    /// Takes in what `snapshot` says of `target`, which is the one that the truth
    /// is of.
    pub fn add(&mut self, snapshot: &Snapshot, target: &TargetSnapshot) {
        let Some(at) = self.settled_at(snapshot) else { return };
        let phase = &self.phases[at];
        let (ranges, hot_rate) = (&phase.ranges, phase.hot_rate());

        let mut reported_wss = 0.0;
        for Part { range: part, access_rate: rate, .. } in target.parts() {
            for (truth, bytes) in shared(ranges, part) {
                // Pages with the true rate, and those between them, which are left alone.
                let busy = truth.bytes_in(part);
                let idle = bytes - busy;
                // What is added for the whole range below is not so for what is reported.
                self.rates.errors +=
                    busy as f64 * ((rate - truth.rate).abs() - truth.rate) + idle as f64 * rate;
                reported_wss += bytes as f64 * snapshot.share_accessed(rate, phase.within_us);
                if rate >= hot_rate {
                    self.bytes.reported += bytes;
                    self.bytes.right += if truth.rate >= hot_rate { busy } else { 0 };
                }
            }
        }
        if let Some(sets) = &target.working_sets {
            reported_wss = sets.within(phase.within_us);
        }
        let mut true_wss = 0.0;
        for truth in ranges {
            let busy = truth.bytes_in(truth.range);
            self.bytes.there += if truth.rate >= hot_rate { busy } else { 0 };
            self.rates.bytes += truth.range.len() as f64;
            self.rates.true_rates += busy as f64 * truth.rate;
            self.rates.errors += busy as f64 * truth.rate;
            true_wss += busy as f64 * truth.touched;
        }
        self.reported_wss.push(reported_wss.round() as u64);
        self.true_wss.push(true_wss.round() as u64);
    }

    /// How accurate they were.
    pub fn score(&self) -> Score {
        let HotBytes { reported, there, right } = self.bytes;
        let wss_error = |percent| {
            let reported = percentile(&self.reported_wss, percent);
            share(reported, percentile(&self.true_wss, percent)).map(|ratio| ratio - 1.0)
        };
        let RateErrors { bytes, true_rates, errors } = self.rates;
        // Sums of many differences may fall a little below nothing.
        let errors = errors.max(0.0);
        Score {
            snapshots: self.true_wss.len() as u64,
            precision: share(right, reported),
            recall: share(right, there),
            wss_error: wss_error(50),
            wss_error_p75: wss_error(75),
            rate_error: (bytes > 0.0).then(|| errors / bytes),
            rate_error_relative: (true_rates > 0.0).then(|| errors / true_rates),
        }
    }
}

/// The true ranges that `range` overlaps, and by how many bytes.
fn shared(ranges: &[TrueRange], range: AddrRange) -> impl Iterator<Item = (&TrueRange, u64)> {
    let first = ranges.partition_point(|truth| truth.range.end <= range.start);
    ranges[first..]
        .iter()
        .map_while(move |truth| Some((truth, truth.range.intersect(&range)?.len())))
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The smallest value that so many percent are no larger than (nearest rank, as `daos report
/// wss` has it); 0 of none.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::truth::SomePages;
    use daos_core::{PageRun, RegionSnapshot};

    const SECOND: u64 = 1_000_000;

    /// 100 bytes of cold, 100 of hot and, behind a hole, 100 of lukewarm memory.
    fn phase(start_us: u64, end_us: u64) -> TruePhase {
        let part = |start, rate, touched| TrueRange {
            range: AddrRange::new(start, start + 100),
            rate,
            touched,
            some: None,
        };
        let ranges = vec![part(100, 0.0, 0.0), part(200, 0.9, 1.0), part(400, 0.1, 0.5)];
        TruePhase { start_us, end_us, within_us: 100_000, ranges }
    }

    /// A snapshot of regions given by start, end and accesses of 20.
    fn snapshot(start_us: u64, regions: &[(u64, u64, u32)]) -> Snapshot {
        let region = |&(start, end, nr_accesses): &(u64, u64, u32)| RegionSnapshot {
            range: AddrRange::new(start, end),
            access_rate: f64::from(nr_accesses) / 20.0,
            unobserved: 0.0,
            age_us: 0,
        };
        let regions = regions.iter().map(region).collect();
        Snapshot {
            start_us,
            end_us: start_us + SECOND / 10,
            targets: vec![TargetSnapshot { regions, ..TargetSnapshot::default() }],
            ..Snapshot::default()
        }
    }

    fn score(scorer: &mut Scorer, snapshots: &[Snapshot]) -> Score {
        snapshots.iter().for_each(|s| scorer.add(s, &s.targets[0]));
        scorer.score()
    }

    #[test]
    fn the_truth_scores_full_marks() {
        let regions = [(100, 200, 0), (200, 300, 18), (400, 450, 2), (450, 500, 0)];
        let mut scorer = Scorer::new(vec![phase(0, SECOND)], 0, 0);
        let score = score(&mut scorer, &[snapshot(0, &regions)]);
        assert_eq!((score.precision, score.recall), (Some(1.0), Some(1.0)));
        assert_eq!((score.wss_error, score.snapshots), (Some(0.0), 1));
    }

    #[test]
    fn bytes_are_counted_in_the_memory_of_the_truth() {
        // Half of the hot and half of the cold memory, the hole, and what is behind it all.
        let regions = [(150, 250, 20), (300, 400, 20), (400, 500, 4), (600, 700, 20)];
        let mut scorer = Scorer::new(vec![phase(0, SECOND)], 0, 0);
        let score = score(&mut scorer, &[snapshot(0, &regions)]);
        assert_eq!((score.precision, score.recall), (Some(0.5), Some(0.5)));
        // 200 bytes of regions, where 100 + 50 are accessed.
        assert!((score.wss_error.unwrap() - 1.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_settled_snapshots_within_a_phase_count() {
        let phases = || vec![phase(10 * SECOND, 12 * SECOND), phase(12 * SECOND, 14 * SECOND)];
        // Monitoring began a second into the first phase; the snapshots count from there.
        let counted = |start_us| {
            let mut scorer = Scorer::new(phases(), 11 * SECOND, SECOND / 2);
            score(&mut scorer, &[snapshot(start_us, &[])]).snapshots
        };
        let starts = [0, 400_000, 500_000, 900_000, 950_000, 1_000_000, 1_500_000, 2_900_001];
        assert_eq!(starts.map(counted), [0, 0, 1, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn nothing_hot_has_no_recall() {
        let mut idle = phase(0, SECOND);
        idle.ranges.truncate(1);
        let mut scorer = Scorer::new(vec![idle], 0, 0);
        let score = score(&mut scorer, &[snapshot(0, &[(100, 200, 0)])]);
        let none = Score { snapshots: 1, rate_error: Some(0.0), ..Score::default() };
        assert_eq!(score, none);
    }

    #[test]
    fn a_rate_is_as_wrong_as_its_pages_are() {
        // The hot hundred bytes half reported, at 0.5; the lukewarm hundred at 0.2.
        let mut scorer = Scorer::new(vec![phase(0, SECOND)], 0, 0);
        let score = score(&mut scorer, &[snapshot(0, &[(200, 250, 10), (400, 500, 4)])]);
        let wrong = 50.0 * 0.4 + 50.0 * 0.9 + 100.0 * 0.1;
        assert!((score.rate_error.unwrap() - wrong / 300.0).abs() < 1e-9);
        assert!((score.rate_error_relative.unwrap() - wrong / 100.0).abs() < 1e-9);
    }

    #[test]
    fn stripes_are_counted_by_page() {
        let some = Some(SomePages { page: 10, every: 5, singles: None });
        let range = AddrRange::new(100, 200);
        let stripes = TrueRange { range, rate: 1.0, touched: 1.0, some };
        let phase =
            TruePhase { start_us: 0, end_us: SECOND, within_us: 100_000, ranges: vec![stripes] };
        let mut scorer = Scorer::new(vec![phase], 0, 0);
        // All at a fifth of the rate, but for one of the two stripes, which is known.
        let mut striped = snapshot(0, &[(100, 200, 4)]);
        striped.targets[0].pages =
            vec![PageRun { range: AddrRange::new(150, 160), access_rate: 1.0, age_us: 0 }].into();
        let score = score(&mut scorer, &[striped]);
        assert_eq!((score.precision, score.recall), (Some(1.0), Some(0.5)));
        assert_eq!(score.wss_error, Some(4.0));
        let wrong = 80.0 * 0.2 + 10.0 * 0.8;
        assert!((score.rate_error.unwrap() - wrong / 100.0).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_of_the_values() {
        let values = [5, 1, 4, 2, 3];
        assert_eq!([0, 50, 75, 100].map(|p| percentile(&values, p)), [1, 3, 4, 5]);
        assert_eq!(percentile(&[1, 2], 50), 1);
        assert_eq!(percentile(&[], 50), 0);
    }
}
