//! What samples are compared with: what was measured without a scheme, or, in pairs, beside each
//! of them.

use super::Values;
use super::repeats::{orig, spread};
use super::sides::Sides;
use crate::search::by_point;
use crate::tuning::SampleRecord;
use daos_core::{Side, median};
use std::borrow::Cow;

/// What is known of how it is without a scheme.
#[derive(Debug)]
pub(crate) struct Reference {
    orig: Values,
    sides: Sides,
}

impl Reference {
    /// By these samples; `None` without a baseline.
    pub fn of(records: &[SampleRecord]) -> Option<Self> {
        Some(Self { orig: orig(records)?, sides: Sides::of(records) })
    }

    /// What a sample would have been without a scheme: the same as others on average, or, in a
    /// pair, as what ran beside it, had that run on its side.
    pub fn of_sample(&self, record: &SampleRecord) -> Cow<'_, Values> {
        let Some(beside) = &record.beside else { return Cow::Borrowed(&self.orig) };
        let side = beside.side.other();
        let there = |(name, value): (&String, &f64)| {
            (name.clone(), value * self.sides.share(name, side).unwrap_or(1.0))
        };
        Cow::Owned(beside.metrics.iter().map(there).collect())
    }

    /// What a metric of a sample to come will be without a scheme; in a pair, on this side, as a
    /// share of what is measured beside it, once it is known what sides differ by.
    pub fn of_next(&self, metric: &str, pair: Option<Side>) -> Option<f64> {
        match pair {
            None => self.orig.get(metric).copied(),
            Some(side) => self.sides.share(metric, side),
        }
    }

    /// The standard deviation of a metric between runs of the same, as a share of its value.
    pub fn noise(&self, records: &[SampleRecord], metric: &str) -> f64 {
        let whole = records.iter().filter(|record| record.void.is_none() && !record.cut_short);
        let values = whole.filter_map(|record| Some((&record.at, self.share(record, metric)?)));
        let mut deviations = Vec::new();
        for (_, same) in by_point(values).into_iter().filter(|(_, same)| same.len() > 1) {
            if let Some(middle) = median(same.iter().copied()).filter(|middle| *middle > 0.0) {
                deviations.extend(same.iter().map(|value| (value / middle - 1.0).abs()));
            }
        }
        spread(deviations)
    }

    /// What a metric of a sample is as a share of what it would have been; none if that is
    /// nothing.
    fn share(&self, record: &SampleRecord, metric: &str) -> Option<f64> {
        let share = record.metrics.get(metric)? / self.of_sample(record).get(metric)?;
        share.is_finite().then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::super::repeats::EXPECTED;
    use super::super::repeats::tests::runs;
    use super::*;
    use crate::score::RUNTIME;
    use crate::score::scorer::tests::{pair, record};

    #[test]
    fn noise_is_what_repeats_differ_by() {
        let of = |records: &[SampleRecord]| {
            Reference::of(records).map_or(EXPECTED, |known| known.noise(records, RUNTIME))
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
