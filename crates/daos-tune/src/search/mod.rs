//! The searches: which thresholds are best for a workload (the paper's §3.3 to §3.5).
//!
//! A [`Search`] knows no workload and no clock. It is asked for a point of a
//! [`SearchSpace`] and told the score that was measured there; in the end it says which
//! point is best, how sure that is, and whether it is better than no scheme.
//!
//! What it asks depends on its seed and on what it was told, on nothing else: asking twice
//! gives the same, and one that is told again what was kept of an interrupted tuning goes
//! on where that ended. So it may also be told of points that it never asked for.
//!
//! | module | holds |
//! |---|---|
//! | [`gp`], `model`, `kernel` | Bayesian search, the default, and what it knows |
//! | [`poly`], `polynomial` | the paper's method, and the fit |
//! | [`random`] | points at random |
//! | [`sweep`] | every point of a grid |
//! | `groups` | samples of the same point |

pub mod gp;
mod groups;
mod kernel;
mod model;
pub mod poly;
mod polynomial;
pub mod random;
pub mod sweep;
#[cfg(test)]
mod testing;

pub use gp::Gp;
pub(crate) use groups::by_point;
pub use poly::{OneThreshold, Poly};
pub use random::Random;
pub use sweep::Sweep;

use crate::math::{MeanSd, student};
use crate::space::{At, SearchSpace};
use serde::{Deserialize, Serialize};

/// Why a point is asked for: for those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// To know how no scheme does, and how much that varies.
    Baseline,
    /// Where the best is expected.
    Improve,
    /// A point again: one value does not tell it from others.
    Repeat,
    /// To see all of the space; also what is read of a word that nobody knows.
    #[serde(other)]
    Explore,
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
    /// The score there, more is better; `None` if it is not known: the sample took its share of the
    /// time all the same.
    pub score: Option<f64>,
    /// Whether it is not known since the work failed.
    pub fails: bool,
}

impl Sample {
    /// Of work that failed if there is no score.
    pub fn of(at: At, score: Option<f64>) -> Self {
        Self { at, score, fails: score.is_none() }
    }
}

/// A number that is not known exactly, and what holds it with a probability of
/// [`CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ConfidenceInterval {
    /// What it is expected to be.
    pub mean: f64,
    /// It is below this with a probability of 5 %; -∞ if nothing is known of that.
    pub low: f64,
    /// It is above this with a probability of 5 %; ∞ if nothing is known of that.
    pub high: f64,
}

/// The probability that a [`ConfidenceInterval`] holds its number (chosen: 5 %
/// on either side).
pub const CONFIDENCE: f64 = 0.9;

impl ConfidenceInterval {
    /// Of a mean whose standard deviation was estimated with so many degrees of freedom,
    /// and which was picked among so many (Bonferroni's correction). Without a degree of
    /// freedom nothing is known but the mean.
    fn student(MeanSd { mean, sd }: MeanSd, free: usize, among: usize) -> Self {
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
    pub score: ConfidenceInterval,
    /// How much better than no scheme.
    pub gain: ConfidenceInterval,
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
    fn space(&self) -> &SearchSpace;

    /// The next point to measure; `None` when the samples are used up.
    fn ask(&self) -> Option<Ask>;

    /// Takes what was measured.
    fn tell(&mut self, sample: Sample);

    /// The best, as far as is known; `None` while no point was measured.
    fn best(&self) -> Option<Estimate>;

    /// The curve that was fitted: what is expected at each of these points. Empty while
    /// there is none, or where the method fits none.
    fn curve(&self, _points: &[At]) -> Vec<ConfidenceInterval> {
        Vec::new()
    }

    /// What was told so far.
    fn samples(&self) -> &[Sample];
}

/// How the best point is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Bayesian search with Gaussian processes: [`Gp`].
    #[default]
    Gp,
    /// The paper's: [`Poly`].
    Poly,
    /// At random: [`Random`].
    Random,
}

impl Method {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::Gp, Self::Poly, Self::Random];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gp => "gp",
            Self::Poly => "poly",
            Self::Random => "random",
        }
    }

    /// A search by this method with this many samples. The same seed and the same scores
    /// give the same search.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn search(
        self,
        space: SearchSpace,
        samples: usize,
        seed: u64,
    ) -> Result<Box<dyn Search>, OneThreshold> {
        Ok(match self {
            Self::Gp => Box::new(Gp::new(space, samples, seed)),
            Self::Poly => Box::new(Poly::new(space, samples, seed)?),
            Self::Random => Box::new(Random::new(space, samples, seed)),
        })
    }
}
