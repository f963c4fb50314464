//! What runs of the same come to: what is measured without a scheme, and by how much such runs
//! differ.
//!
//! The first run may be slow, since caches are cold, and any may be disturbed: medians and
//! median deviations don't mind one of a few.

use super::Values;
use crate::tuning::SampleRecord;
use daos_core::median;

/// The noise to expect before there is any repeat: a standard deviation as a share
/// (chosen).
pub(super) const EXPECTED: f64 = 0.02;
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

/// A standard deviation from such deviations from the median, few of which say little.
pub(super) fn spread(deviations: Vec<f64>) -> f64 {
    let count = deviations.len() as f64;
    let seen = median(deviations).map_or(0.0, |deviation| OF_NORMAL * deviation);
    ((COUNTS_FOR * EXPECTED.powi(2) + count * seen.powi(2)) / (COUNTS_FOR + count)).sqrt()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::score::RUNTIME;
    use crate::score::scorer::tests::record;

    /// Samples of these run times, at a point or without a scheme.
    pub fn runs(at: Option<f64>, runtimes: &[f64]) -> Vec<SampleRecord> {
        runtimes.iter().map(|&runtime| record(at, runtime, 100.0)).collect()
    }

    #[test]
    fn a_first_run_with_cold_caches_is_not_what_counts() {
        let baselines = runs(None, &[30.0, 20.0, 20.4]);
        assert_eq!(orig(&baselines).unwrap()[RUNTIME], 20.4);
        assert_eq!(orig(&baselines[..2]).unwrap()[RUNTIME], 25.0);
        assert_eq!(orig(&runs(Some(1e6), &[20.0])), None);
    }
}
