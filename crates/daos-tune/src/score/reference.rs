//! What samples are compared with: what was measured without a scheme, or, in pairs, beside each
//! of them.

use super::Values;
use super::repeats::orig;
use super::sides::Sides;
use crate::tuning::SampleRecord;
use daos_core::Side;
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

    /// What a metric of a sample is as a share of what it would have been; none if that is
    /// nothing.
    pub fn share(&self, record: &SampleRecord, metric: &str) -> Option<f64> {
        let share = record.metrics.get(metric)? / self.of_sample(record).get(metric)?;
        share.is_finite().then_some(share)
    }
}
