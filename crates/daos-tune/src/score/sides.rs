//! What the two sides of pairs differ by: by their CPUs, and what else each copy has for itself.
//!
//! Baselines tell it, of which both copies run without a scheme, and points that were measured
//! on both sides, where what the scheme does cancels out. What may be chance is not taken for a
//! difference: an estimate is shrunk by how uncertain it is (James and Stein, 1961).

use super::repeats::spread;
use crate::search::by_point;
use crate::space::At;
use crate::tuning::SampleRecord;
use daos_core::{Side, median};
use std::collections::{BTreeMap, BTreeSet};

/// So many baselines or points have to tell it before it is known (chosen: one alone says nothing
/// of how certain that is).
const ENOUGH: usize = 2;

/// Of each metric for which it is known, the logarithm of what it is on the first side over what it
/// is on the second.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sides(BTreeMap<String, f64>);

impl Sides {
    /// By all samples in pairs; none differ without any.
    pub fn of(records: &[SampleRecord]) -> Self {
        let names = records.iter().filter(|record| record.beside.is_some());
        let names = names.flat_map(|record| record.metrics.keys());
        let names: BTreeSet<&String> = names.collect();
        let known = |name: &String| Some((name.clone(), difference(records, name)?));
        Self(names.into_iter().filter_map(known).collect())
    }

    /// What a metric is on this side, as a share of what it is on the other; `None` while that is
    /// not known.
    pub fn share(&self, metric: &str, side: Side) -> Option<f64> {
        let difference = *self.0.get(metric)?;
        Some(match side {
            Side::First => difference.exp(),
            Side::Second => (-difference).exp(),
        })
    }
}

fn difference(records: &[SampleRecord], metric: &str) -> Option<f64> {
    let whole = records.iter().filter(|record| record.void.is_none() && !record.cut_short);
    let pairs = whole.filter_map(|record| Some((&record.at, first_over_second(record, metric)?)));
    let mut told = Vec::new();
    for (at, same) in by_point(pairs) {
        if *at == At::NoScheme {
            told.extend(same.into_iter().map(|(_, difference)| difference));
            continue;
        }
        let on = |side| same.iter().filter(move |(at, _)| *at == side).map(|(_, d)| *d);
        if let [Some(first), Some(second)] = Side::BOTH.map(|side| median(on(side))) {
            told.push((first + second) / 2.0);
        }
    }
    let middle = median(told.iter().copied()).filter(|_| told.len() >= ENOUGH)?;
    let deviation = spread(told.iter().map(|one| (one - middle).abs()).collect());
    let chance = deviation.powi(2) / told.len() as f64;
    let sure = 1.0 - chance / middle.powi(2);
    Some(if sure > 0.0 { middle * sure } else { 0.0 })
}

/// On which side the copy that counts ran, and the difference that its pair tells. A metric that
/// is 0, as swap is, has none.
fn first_over_second(record: &SampleRecord, metric: &str) -> Option<(Side, f64)> {
    let beside = record.beside.as_ref()?;
    let (own, other) = (record.metrics.get(metric)?, beside.metrics.get(metric)?);
    let difference = (own / other).ln();
    let side = beside.side.other();
    let difference = if side == Side::First { difference } else { -difference };
    difference.is_finite().then_some((side, difference))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::RUNTIME;
    use crate::score::scorer::tests::pair;

    fn first_slower_by(records: &[SampleRecord]) -> Option<f64> {
        Sides::of(records).share(RUNTIME, Side::First).map(|share| share - 1.0)
    }

    #[test]
    fn baselines_tell_it_whichever_copy_counts() {
        let baselines = [
            pair(None, Side::First, 11.0, 10.0),
            pair(None, Side::Second, 20.0, 22.0),
            pair(None, Side::First, 5.5, 5.0),
        ];
        let found = first_slower_by(&baselines).unwrap();
        assert!((0.09..0.1).contains(&found), "{found}");
        let sides = Sides::of(&baselines);
        let both = Side::BOTH.map(|side| sides.share(RUNTIME, side).unwrap());
        assert!((both[0] * both[1] - 1.0).abs() < 1e-12, "{both:?}");
        assert_eq!(sides.share("swap", Side::First), None);
        assert_eq!(first_slower_by(&baselines[..1]), None, "one may be chance");
    }

    #[test]
    fn so_does_a_point_that_was_measured_on_both_sides() {
        // It is slowed by a fifth; the first side by a tenth.
        let (at, other) = (Some(1e6), Some(2e6));
        let on_both = [
            pair(at, Side::First, 13.2, 10.0),
            pair(at, Side::Second, 12.0, 11.0),
            pair(other, Side::Second, 12.0, 11.0),
            pair(other, Side::First, 13.2, 10.0),
        ];
        let found = first_slower_by(&on_both).unwrap();
        assert!((0.09..0.1).contains(&found), "{found}");
        assert_eq!(first_slower_by(&on_both[..3]), None, "one side says nothing");
    }

    #[test]
    fn what_may_be_chance_is_no_difference() {
        let wild = [
            pair(None, Side::First, 11.0, 10.0),
            pair(None, Side::First, 10.0, 11.2),
            pair(None, Side::First, 10.3, 10.0),
            pair(None, Side::First, 10.0, 10.2),
        ];
        assert_eq!(first_slower_by(&wild), Some(0.0));
        assert_eq!(first_slower_by(&[]), None);
    }
}
