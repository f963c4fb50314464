//! The scale of scores: from which to which number a tuning is drawn.
//!
//! One sample that went very wrong, or a polynomial that runs away where nothing was
//! measured, would squeeze all else into a line. So what was measured makes the scale, except
//! for a few points far below all others; bands, error bars and the curve may widen it by a
//! half to either side and are cut off beyond that.

use super::{Expected, TuningView};
use crate::ticks::{self, Tick};

/// How far below the others a point must lie to be left out of the scale: this many times
/// the range of the others, or a quarter of the highest if they hardly differ.
const FAR: f64 = 1.5;

/// Scores that differ by less are all the same.
const LEAST: f64 = 1e-9;

/// From which to which score is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// The lower and the upper end.
    pub ends: (f64, f64),
    /// Measured scores that lie below the lower end, the lowest first.
    pub below: Vec<f64>,
}

impl Scale {
    /// The scale of a tuning.
    pub fn of(view: &TuningView) -> Self {
        let mut scores: Vec<f64> = view.points().map(|point| point.score).collect();
        scores.sort_by(f64::total_cmp);
        let peaks = || view.panels.iter().filter_map(|panel| panel.peak.as_ref());
        let fixed: Vec<f64> = (view.baseline().map(|(mean, _)| mean).into_iter())
            .chain(peaks().map(|(_, at, _)| at.mean))
            .collect();
        let below = far_below(&scores, &fixed);
        let firm = range(scores[below..].iter().chain(&fixed).copied());
        let firm = with_zero(firm.or_else(|| range(curve(view).map(|at| at.mean))));
        let (low, high) = widened(firm, range(soft(view, firm.0)));
        let room = (high - low) * 0.05;
        let ends = (low - room, high + room);
        scores.retain(|&score| score < ends.0);
        Self { ends, below: scores }
    }

    /// Where a score lies, 0 at the lower and 1 at the upper end; beyond that if it is off
    /// the scale.
    pub fn share(&self, score: f64) -> f64 {
        (score - self.ends.0) / (self.ends.1 - self.ends.0)
    }

    /// Whether a measured score is below the lower end.
    pub fn is_below(&self, score: f64) -> bool {
        score < self.ends.0
    }

    /// At most `most` round scores.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        ticks::decimal(self.ends.0, self.ends.1, most)
    }

    /// A score with as many decimals as differences on this scale need.
    pub fn number(&self, score: f64) -> String {
        let leading = (self.ends.1 - self.ends.0).log10().floor() as i32;
        let decimals = if leading > 0 { 2 - leading } else { (1 - leading).max(2) };
        let decimals = decimals.clamp(0, 12) as usize;
        let text = format!("{score:.decimals$}");
        // No `-0.00`.
        match text.chars().all(|c| matches!(c, '-' | '0' | '.')) {
            true => text.trim_start_matches('-').to_owned(),
            false => text,
        }
    }

    /// `0.31 (0.28 to 0.34)`, or the mean alone if there is no band.
    pub fn expected(&self, at: &Expected) -> String {
        let [mean, low, high] = [at.mean, at.low, at.high].map(|score| self.number(score));
        if at.low < at.high { format!("{mean} ({low} to {high})") } else { mean }
    }
}

/// How many of the sorted `scores` lie far below all others; no more than a quarter of them
/// can, or one of three.
fn far_below(scores: &[f64], fixed: &[f64]) -> usize {
    let most = if scores.len() < 3 { 0 } else { (scores.len() / 4).max(1) };
    let is_far = |&count: &usize| {
        let others = range(scores[count..].iter().chain(fixed).copied());
        others.is_some_and(|(low, high)| {
            low - scores[count - 1] > FAR * (high - low).max(high.abs() / 4.0)
        })
    };
    (1..=most).rev().find(is_far).unwrap_or(0)
}

/// With zero, unless that would squeeze the scores into less than a quarter; never a single
/// number.
fn with_zero(range: Option<(f64, f64)>) -> (f64, f64) {
    let (low, high) = range.unwrap_or((0.0, 1.0));
    let (from, to) = (low.min(0.0), high.max(0.0));
    match (high - low, to - from) {
        (_, all) if all < LEAST => (-0.1, 0.1),
        (scores, all) if scores < all * LEAST || scores * 4.0 >= all => (from, to),
        _ => (low, high),
    }
}

/// What need not be seen whole.
fn soft(view: &TuningView, floor: f64) -> impl Iterator<Item = f64> {
    let bars = view.points().filter(move |point| point.score >= floor);
    let bars = bars.filter_map(|point| Some((point.score, point.sd?)));
    let bars = bars.chain(view.baseline()).flat_map(|(mean, sd)| [mean - sd, mean + sd]);
    let peaks = view.panels.iter().filter_map(|panel| panel.peak.as_ref().map(|peak| peak.1));
    bars.chain(curve(view).chain(peaks).flat_map(|at| [at.mean, at.low, at.high]))
}

fn curve(view: &TuningView) -> impl Iterator<Item = Expected> {
    view.panels.iter().flat_map(|panel| panel.curve.iter().map(|&(_, at)| at))
}

/// `firm`, widened towards `soft` by no more than a half to either side.
fn widened(firm: (f64, f64), soft: Option<(f64, f64)>) -> (f64, f64) {
    let most = (firm.1 - firm.0) / 2.0;
    let (low, high) = soft.unwrap_or(firm);
    (low.clamp(firm.0 - most, firm.0), high.clamp(firm.1, firm.1 + most))
}

fn range(scores: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let widest = |(low, high): (f64, f64), score| (low.min(score), high.max(score));
    let range = scores.fold((f64::INFINITY, f64::NEG_INFINITY), widest);
    (range.0 <= range.1).then_some(range)
}
