//! The seam to the methods: which point to measure next, and which is the best.
//!
//! A [`Search`] is asked for a point and told what was measured there, no more. What it
//! asks depends on its seed and on what it was told, on nothing else: asking twice gives
//! the same, and one that is told again what was kept of an interrupted tuning goes on
//! where that ended. So it may also be told of points that it never asked for.

use super::space::Space;
use super::student;

/// What was measured, or is to be: no scheme at all, or one with these thresholds.
#[derive(Debug, Clone, PartialEq)]
pub enum At {
    /// The target without a scheme: a baseline.
    NoScheme,
    /// The scheme with these values, in the order of the space's parameters, each in
    /// the unit of its threshold.
    Point(Vec<f64>),
}

/// Why a point is asked for: for those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// To know how no scheme does, and how much that varies.
    Baseline,
    /// To see all of the space.
    Explore,
    /// Where the best is expected.
    Improve,
    /// A point again: one value does not tell it from others.
    Repeat,
}

impl Why {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Explore => "explore",
            Self::Improve => "improve",
            Self::Repeat => "repeat",
        }
    }
}

/// A point to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Where.
    pub at: At,
    /// What for.
    pub why: Why,
}

/// What was measured at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Where.
    pub at: At,
    /// The score there, more is better; `None` if the sample is void: it took its share of the
    /// time, but nothing is known from it.
    pub score: Option<f64>,
}

/// A number that is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// What it is expected to be.
    pub mean: f64,
    /// It is below this with a probability of 5 %; -∞ if nothing is known of that.
    pub low: f64,
    /// It is above this with a probability of 5 %; ∞ if nothing is known of that.
    pub high: f64,
}

/// How sure an [`Interval`] is: the probability that it holds the number.
pub const CONFIDENCE: f64 = 0.9;

impl Interval {
    /// Of a normal distribution with this mean and standard deviation.
    pub(super) fn normal((mean, sd): (f64, f64)) -> Self {
        // The standard normal distribution's quantile at 95 %.
        let reach = 1.644_853_626_951_472_2 * sd;
        Self { mean, low: mean - reach, high: mean + reach }
    }

    /// Of a mean whose standard deviation was estimated with so many degrees of freedom,
    /// and which was picked among so many (Bonferroni's correction). Without a degree of
    /// freedom nothing is known but the mean.
    pub(super) fn student((mean, sd): (f64, f64), free: usize, among: usize) -> Self {
        let tail = (1.0 - CONFIDENCE) / 2.0 / among.max(1) as f64;
        let reach = if free == 0 { f64::INFINITY } else { student::quantile(tail, free) * sd };
        Self { mean, low: mean - reach, high: mean + reach }
    }
}

/// What a search takes for the best.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Where that is. [`At::NoScheme`] if every point is expected to do worse.
    pub at: At,
    /// The score to expect there.
    pub score: Interval,
    /// How much better than no scheme.
    pub gain: Interval,
}

impl Estimate {
    /// Whether it is better than no scheme for sure: else nothing should be applied.
    pub fn is_better_than_none(&self) -> bool {
        self.at != At::NoScheme && self.gain.low > 0.0
    }
}

/// A method to find the best point within a number of samples.
pub trait Search {
    /// The space that is searched.
    fn space(&self) -> &Space;

    /// The next point to measure; `None` when the samples are used up.
    fn ask(&self) -> Option<Ask>;

    /// Takes what was measured.
    fn tell(&mut self, sample: Sample);

    /// The best, as far as is known; `None` while no point was measured.
    fn best(&self) -> Option<Estimate>;

    /// The curve that was fitted: what is expected at each of these points. Empty while
    /// there is none, or where the method fits none.
    fn curve(&self, _points: &[At]) -> Vec<Interval> {
        Vec::new()
    }

    /// What was told so far.
    fn samples(&self) -> &[Sample];
}
