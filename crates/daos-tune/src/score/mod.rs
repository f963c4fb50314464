//! From what was measured to a score: more is better, no scheme has 0.
//!
//! | module | holds |
//! |---|---|
//! | this one | the score of one sample: the paper's Listing 2, or an expression |
//! | [`expression`] | the user's own arithmetic |
//! | [`scorer`] | the scores of all samples, also by the user's own command |
//! | `reference` | what each sample is compared with, and the noise of that |
//! | `repeats` | what runs of the same come to, and by how much they differ |
//! | `sides` | what the sides of pairs differ by |

pub mod expression;
mod reference;
mod repeats;
pub mod scorer;
mod sides;

pub use expression::{ExprError, Expression};
pub(crate) use repeats::orig;
pub use scorer::{RSS, RUNTIME, SampleScore, ScoreCommand, Scored, Scorer};

use std::collections::BTreeMap;
use thiserror::Error;

/// What was measured in a sample, by name: `runtime` in seconds, `rss` in bytes, what
/// the user names.
pub type Values = BTreeMap<String, f64>;

/// Which way a metric of performance is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// A time: run time, latency.
    Less,
    /// A rate: requests a second.
    More,
}

/// How a score is made of the two shares.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ScoreFunction {
    /// The paper's Listing 2: the mean of both while less than a tenth of the performance
    /// is lost, or what else [`max_loss`](Scoring::max_loss) says, else the worst score so far.
    #[default]
    Listing2,
    /// The user's own, over `p`, `m`, `worst`, each metric by its name, and each metric
    /// without a scheme by `orig_` and its name.
    Expression(Expression),
}

/// How samples are scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Scoring {
    /// Name of the metric of performance.
    pub performance: String,
    /// Which way that is good.
    pub better: Better,
    /// Name of the metric of memory, of which less is better.
    pub memory: String,
    /// What is made of them.
    pub function: ScoreFunction,
    /// The share of the performance from whose loss on the service level of Listing 2 is
    /// violated, above 0.
    pub max_loss: f64,
}

/// Why there is no score.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ScoreError {
    /// A metric that was not measured.
    #[error("the metric {0} was not measured")]
    Missing(String),
    /// A metric that can't be divided by.
    #[error("the metric {name} is {value} without a scheme: a share of that says nothing")]
    Nothing {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
    },
    /// The expression does not go.
    #[error(transparent)]
    Expression(#[from] ExprError),
    /// The score is not a number.
    #[error("the score is {0}, not a finite number")]
    NotFinite(f64),
}

impl Default for Scoring {
    /// The paper's: run time, resident set, Listing 2.
    fn default() -> Self {
        Self {
            performance: "runtime".to_owned(),
            better: Better::Less,
            memory: "rss".to_owned(),
            function: ScoreFunction::Listing2,
            max_loss: Self::MAX_LOSS,
        }
    }
}

impl Scoring {
    /// The share of the performance that may be lost in the paper.
    pub const MAX_LOSS: f64 = 0.1;

    /// Performance gained, as a share of what it is without a scheme:
    /// `1 - runtime/orig`, or `rate/orig - 1`.
    ///
    /// # Errors
    ///
    /// A metric that is missing, or not above 0 without a scheme.
    pub fn performance_gained(&self, values: &Values, orig: &Values) -> Result<f64, ScoreError> {
        let ratio = ratio(&self.performance, values, orig)?;
        Ok(match self.better {
            Better::Less => 1.0 - ratio,
            Better::More => ratio - 1.0,
        })
    }

    /// Memory saved, as a share: `1 - rss/orig`.
    ///
    /// # Errors
    ///
    /// A metric that is missing, or not above 0 without a scheme.
    pub fn memory_saved(&self, values: &Values, orig: &Values) -> Result<f64, ScoreError> {
        Ok(1.0 - ratio(&self.memory, values, orig)?)
    }

    /// The score of a sample. `orig` is what was measured without a scheme, `earlier` the
    /// scores so far; with those of baselines among them a sample that violates the
    /// service level never scores above no scheme.
    ///
    /// `noise` is the standard deviation of the performance between runs of the same, as a
    /// share. Another run of what was close to the service level may be on its other side,
    /// so Listing 2 is weighed: its score is that within the level and the worst so far,
    /// each as likely as that run is there. With a noise of 0 it is the paper's.
    ///
    /// # Errors
    ///
    /// A share that it needs and that can't be computed, and what the expression can't do.
    pub fn score(
        &self,
        values: &Values,
        orig: &Values,
        earlier: &[f64],
        noise: f64,
    ) -> Result<f64, ScoreError> {
        let p = || self.performance_gained(values, orig);
        let m = || self.memory_saved(values, orig);
        let worst = earlier.iter().copied().reduce(f64::min);
        let score = match &self.function {
            ScoreFunction::Listing2 => listing_2(p()?, m()?, self.max_loss, noise, worst),
            ScoreFunction::Expression(expression) => expression.value(|name| match name {
                "p" => p().ok(),
                "m" => m().ok(),
                "worst" => Some(worst.unwrap_or(0.0)),
                _ => {
                    let base = name.strip_prefix("orig_").and_then(|name| orig.get(name));
                    values.get(name).or(base).copied()
                }
            })?,
        };
        if score.is_finite() { Ok(score) } else { Err(ScoreError::NotFinite(score)) }
    }

    /// From which value of the metric of performance on Listing 2's service level is
    /// violated for sure, if that is `orig` without a scheme and the noise is as for
    /// [`score`](Self::score): a sample can be cut short there, for nothing that follows
    /// changes its score. `None` for expressions, which have no level.
    pub fn lost_at(&self, orig: f64, noise: f64) -> Option<f64> {
        let lost = self.max_loss + SURE * noise;
        (self.function == ScoreFunction::Listing2).then_some(match self.better {
            Better::Less => orig * (1.0 + lost),
            Better::More => orig * (1.0 - lost),
        })
    }
}

/// A metric as a share of what it is without a scheme.
fn ratio(name: &str, values: &Values, orig: &Values) -> Result<f64, ScoreError> {
    let missing = || ScoreError::Missing(name.to_owned());
    let value = *values.get(name).ok_or_else(missing)?;
    let base = *orig.get(name).ok_or_else(missing)?;
    if base > 0.0 {
        Ok(value / base)
    } else {
        Err(ScoreError::Nothing { name: name.to_owned(), value: base })
    }
}

/// The paper's Listing 2 for the shares of performance gained and memory saved, `max_loss` of
/// the performance being allowed, weighed by the `noise` as [`Scoring::score`] says. The first
/// sample of all keeps its own score, there being no worse one.
pub fn listing_2(p: f64, m: f64, max_loss: f64, noise: f64, worst: Option<f64>) -> f64 {
    let kept = probability((p + max_loss) / noise);
    let score = 0.5 * p + 0.5 * m;
    kept * score + (1.0 - kept) * worst.unwrap_or(score)
}

/// The value of a metric from what a command printed: the last word, so that a line of a
/// metrics page will do. `None` if that is no finite number.
pub fn last_number(printed: &str) -> Option<f64> {
    let word = printed.split_whitespace().next_back()?;
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

/// So many standard deviations beyond the service level it is violated for sure: in 98 of
/// 100 cases.
const SURE: f64 = 2.0;

/// How likely a number of the standard normal distribution is below `z`, by the logistic
/// function that is never more than 0.01 off. What is exactly 0 by 0 is not below.
fn probability(z: f64) -> f64 {
    if z.is_nan() { 0.0 } else { 1.0 / (1.0 + (-1.702 * z).exp()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &[(&str, f64)]) -> Values {
        list.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn listing_2_is_the_papers() {
        let scoring = Scoring::default();
        let orig = values(&[("runtime", 100.0), ("rss", 1000.0)]);
        let mut seen = Vec::new();
        let mut score = |runtime, rss| {
            let sample = values(&[("runtime", runtime), ("rss", rss)]);
            let score = scoring.score(&sample, &orig, &seen, 0.0).unwrap();
            seen.push(score);
            score
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
        // The first violates, and there is nothing worse.
        near(score(120.0, 500.0), 0.5 * -0.2 + 0.5 * 0.5);
        near(score(100.0, 980.0), 0.01);
        near(score(109.0, 400.0), 0.5 * -0.09 + 0.5 * 0.6);
        near(score(150.0, 100.0), 0.01);
        // Exactly a tenth is a violation.
        near(score(110.0, 100.0), 0.01);
        near(scoring.lost_at(100.0, 0.0).unwrap(), 110.0);
    }

    #[test]
    fn the_service_level_can_be_stricter() {
        let scoring = Scoring { max_loss: 0.02, ..Scoring::default() };
        let orig = values(&[("runtime", 100.0), ("rss", 1000.0)]);
        let score = |runtime| {
            let sample = values(&[("runtime", runtime), ("rss", 500.0)]);
            scoring.score(&sample, &orig, &[0.0], 0.0).unwrap()
        };
        assert!(score(101.0) > 0.2);
        assert_eq!((score(103.0), scoring.lost_at(100.0, 0.0)), (0.0, Some(102.0)));
    }

    #[test]
    fn close_to_the_level_another_run_may_be_beyond_it() {
        let scoring = Scoring::default();
        let orig = values(&[("runtime", 100.0), ("rss", 1000.0)]);
        let score = |runtime, noise| {
            let sample = values(&[("runtime", runtime), ("rss", 500.0)]);
            scoring.score(&sample, &orig, &[0.0, 0.1], noise).unwrap()
        };
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.003, "{a} is not {b}");
        near(score(110.0, 0.02), 0.5 * 0.2);
        // One standard deviation on either side, and far from the level.
        near(score(108.0, 0.02), 0.841 * 0.21);
        near(score(112.0, 0.02), 0.159 * 0.19);
        near(score(100.0, 0.02), 0.25);
        near(score(130.0, 0.02), 0.0);
        near(scoring.lost_at(100.0, 0.02).unwrap(), 114.0);
    }

    #[test]
    fn rates_are_good_when_they_are_high() {
        let scoring =
            Scoring { performance: "rate".to_owned(), better: Better::More, ..Scoring::default() };
        let orig = values(&[("rate", 200.0), ("rss", 100.0)]);
        let sample = values(&[("rate", 190.0), ("rss", 60.0)]);
        let p = scoring.performance_gained(&sample, &orig).unwrap();
        let m = scoring.memory_saved(&sample, &orig).unwrap();
        assert!((p + 0.05).abs() < 1e-12 && (m - 0.4).abs() < 1e-12);
        assert_eq!(scoring.lost_at(200.0, 0.0), Some(180.0));
    }

    #[test]
    fn expressions_see_all_there_is() {
        let text = "p > -0.05 ? 0.7*p + 0.3*m : min(worst, swap / orig_swap)";
        let function = ScoreFunction::Expression(Expression::parse(text).unwrap());
        let scoring = Scoring { function, ..Scoring::default() };
        let orig = values(&[("runtime", 10.0), ("rss", 10.0), ("swap", 4.0)]);
        let good = values(&[("runtime", 10.0), ("rss", 5.0), ("swap", 1.0)]);
        assert_eq!(scoring.score(&good, &orig, &[], 0.0), Ok(0.3 * 0.5));
        let bad = values(&[("runtime", 20.0), ("rss", 5.0), ("swap", 1.0)]);
        assert_eq!(scoring.score(&bad, &orig, &[0.4, -0.2], 0.0), Ok(-0.2));
        assert_eq!(scoring.score(&bad, &orig, &[0.4], 0.0), Ok(0.25));
    }

    #[test]
    fn what_is_missing_is_named() {
        let scoring = Scoring::default();
        let orig = values(&[("runtime", 0.0), ("rss", 10.0)]);
        let err = scoring.score(&orig, &orig, &[], 0.0).unwrap_err();
        assert!(err.to_string().contains("runtime is 0"), "{err}");
        let err = scoring.score(&values(&[]), &orig, &[], 0.0).unwrap_err();
        assert_eq!(err, ScoreError::Missing("runtime".to_owned()));
    }
}
