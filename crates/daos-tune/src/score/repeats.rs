//! What runs of the same come to: what is measured without a scheme, and how much the
//! performance varies by itself.
//!
//! The first run may be slow, since caches are cold, and any may be disturbed: medians and
//! median deviations don't mind one of a few.

use super::Values;
use super::reference::Reference;
use crate::search::by_point;
use crate::tuning::SampleRecord;
use daos_core::median;

/// The noise to expect before there is any repeat: a standard deviation as a share
/// (chosen).
const EXPECTED: f64 = 0.02;
/// How many runs that counts for (chosen).
const COUNTS_FOR: f64 = 2.0;
/// The standard deviation of normal numbers over their median deviation: one over the
/// quantile of the standard normal distribution at 75 %.
const OF_NORMAL: f64 = 1.4826;

/// What is measured without a scheme: the medians over all baselines, and of what ran beside
/// samples; `None` without a baseline.
pub fn orig(records: &[SampleRecord]) -> Option<Values> {
    let baselines = || records.iter().filter(|record| record.is_baseline());
    let names = baselines().next()?.metrics.keys();
    let beside = records.iter().filter_map(|record| Some(&record.beside.as_ref()?.metrics));
    let alone: Vec<_> = baselines().map(|record| &record.metrics).chain(beside).collect();
    let of = |name: &String| {
        let values = alone.iter().filter_map(|metrics| metrics.get(name).copied());
        Some((name.clone(), median(values)?))
    };
    Some(names.filter_map(of).collect())
}

/// The standard deviation of a metric between runs of the same, as a share of its value.
pub(crate) fn noise(records: &[SampleRecord], reference: &Reference, metric: &str) -> f64 {
    let whole = records.iter().filter(|record| record.void.is_none() && !record.cut_short);
    let values = whole.filter_map(|record| Some((&record.at, reference.share(record, metric)?)));
    let mut deviations = Vec::new();
    for (_, same) in by_point(values).into_iter().filter(|(_, same)| same.len() > 1) {
        if let Some(middle) = median(same.iter().copied()).filter(|middle| *middle > 0.0) {
            deviations.extend(same.iter().map(|value| (value / middle - 1.0).abs()));
        }
    }
    spread(deviations)
}

/// A standard deviation from such deviations from the median, few of which say little.
pub(super) fn spread(deviations: Vec<f64>) -> f64 {
    let count = deviations.len() as f64;
    let seen = median(deviations).map_or(0.0, |deviation| OF_NORMAL * deviation);
    ((COUNTS_FOR * EXPECTED.powi(2) + count * seen.powi(2)) / (COUNTS_FOR + count)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::RUNTIME;
    use crate::score::scorer::tests::{pair, record};
    use daos_core::Side;

    fn runs(at: Option<f64>, runtimes: &[f64]) -> Vec<SampleRecord> {
        runtimes.iter().map(|&runtime| record(at, runtime, 100.0)).collect()
    }

    #[test]
    fn a_first_run_with_cold_caches_is_not_what_counts() {
        let baselines = runs(None, &[30.0, 20.0, 20.4]);
        assert_eq!(orig(&baselines).unwrap()[RUNTIME], 20.4);
        assert_eq!(orig(&baselines[..2]).unwrap()[RUNTIME], 25.0);
        assert_eq!(orig(&runs(Some(1e6), &[20.0])), None);
    }

    #[test]
    fn noise_is_what_repeats_differ_by() {
        let of = |records: &[SampleRecord]| {
            Reference::of(records).map_or(EXPECTED, |known| noise(records, &known, RUNTIME))
        };
        let expected = |found: f64, low: f64, high: f64| {
            assert!((low..=high).contains(&found), "{found} is not {low} to {high}");
        };
        expected(of(&[]), EXPECTED, EXPECTED);
        // Single runs say nothing, however much they differ.
        expected(of(&[runs(None, &[20.0]), runs(Some(1e6), &[30.0])].concat()), EXPECTED, EXPECTED);
        let calm = runs(None, &[20.0, 20.01, 19.99, 20.0, 20.02, 19.98]);
        expected(of(&calm), 0.005, 0.011);
        let wild = [runs(None, &[20.0, 22.0, 18.0]), runs(Some(1e6), &[27.0, 33.0])].concat();
        expected(of(&wild), 0.08, 0.15);
        // What both copies of a pair take longer is none of it.
        let drifting = [pair(None, Side::First, 20.0, 20.1), pair(None, Side::Second, 30.0, 30.1)];
        expected(of(&drifting), 0.0, 0.02);
        // One that was disturbed, or had no chance to come to its end.
        let mut cut = record(None, 3.0, 100.0);
        cut.cut_short = true;
        expected(of(&[runs(None, &[31.0, 20.1, 20.0]), vec![cut]].concat()), 0.01, 0.02);
    }
}
