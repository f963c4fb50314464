//! From what was measured to a score: more is better, no scheme has 0.

use super::expr::{ExprError, Expression};
use std::collections::BTreeMap;
use thiserror::Error;

/// What was measured in a sample, by name: `runtime` in seconds, `rss` in bytes, what
/// the user names.
pub type Values = BTreeMap<String, f64>;

/// Below this share of the performance lost, Listing 2 holds the service level.
const LEVEL: f64 = -0.1;

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
pub enum Function {
    /// The paper's Listing 2: the mean of both while less than a tenth of the performance
    /// is lost, else the worst score so far.
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
    pub function: Function,
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
            function: Function::Listing2,
        }
    }
}

impl Scoring {
    /// Performance gained and memory saved, as shares of what they are without a scheme:
    /// `1 - runtime/orig`, or `rate/orig - 1`, and `1 - rss/orig`.
    ///
    /// # Errors
    ///
    /// A metric that is missing, or 0 without a scheme.
    pub fn shares(&self, values: &Values, orig: &Values) -> Result<(f64, f64), ScoreError> {
        let ratio = |name: &String| {
            let missing = || ScoreError::Missing(name.clone());
            let value = values.get(name).ok_or_else(missing)?;
            let base = orig.get(name).ok_or_else(missing)?;
            let nothing = ScoreError::Nothing { name: name.clone(), value: *base };
            if *base > 0.0 { Ok(value / base) } else { Err(nothing) }
        };
        let performance = match self.better {
            Better::Less => 1.0 - ratio(&self.performance)?,
            Better::More => ratio(&self.performance)? - 1.0,
        };
        Ok((performance, 1.0 - ratio(&self.memory)?))
    }

    /// The score of a sample. `orig` is what was measured without a scheme, `earlier` the
    /// scores so far; with those of baselines among them a sample that violates the
    /// service level never scores above no scheme.
    ///
    /// # Errors
    ///
    /// As [`shares`](Self::shares), and what the expression can't do.
    pub fn score(
        &self,
        values: &Values,
        orig: &Values,
        earlier: &[f64],
    ) -> Result<f64, ScoreError> {
        let (p, m) = self.shares(values, orig)?;
        let worst = earlier.iter().copied().reduce(f64::min);
        let score = match &self.function {
            Function::Listing2 => listing_2(p, m, worst),
            Function::Expression(expression) => expression.value(|name| match name {
                "p" => Some(p),
                "m" => Some(m),
                "worst" => Some(worst.unwrap_or(0.0)),
                _ => {
                    let base = name.strip_prefix("orig_").and_then(|name| orig.get(name));
                    values.get(name).or(base).copied()
                }
            })?,
        };
        if score.is_finite() { Ok(score) } else { Err(ScoreError::NotFinite(score)) }
    }

    /// Whether Listing 2's service level is already violated: the sample can be cut short,
    /// for nothing that follows changes its score. Expressions have none.
    pub fn is_lost(&self, performance: f64) -> bool {
        self.function == Function::Listing2 && performance <= LEVEL
    }
}

/// The paper's Listing 2. The first sample of all keeps its own score, there being no
/// worse one.
fn listing_2(p: f64, m: f64, worst: Option<f64>) -> f64 {
    let score = 0.5 * p + 0.5 * m;
    if p > LEVEL { score } else { worst.unwrap_or(score) }
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
            let score = scoring.score(&sample, &orig, &seen).unwrap();
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
        assert!(scoring.is_lost(-0.1) && !scoring.is_lost(-0.09));
    }

    #[test]
    fn rates_are_good_when_they_are_high() {
        let scoring =
            Scoring { performance: "rate".to_owned(), better: Better::More, ..Scoring::default() };
        let orig = values(&[("rate", 200.0), ("rss", 100.0)]);
        let sample = values(&[("rate", 190.0), ("rss", 60.0)]);
        let (p, m) = scoring.shares(&sample, &orig).unwrap();
        assert!((p + 0.05).abs() < 1e-12 && (m - 0.4).abs() < 1e-12);
    }

    #[test]
    fn expressions_see_all_there_is() {
        let text = "p > -0.05 ? 0.7*p + 0.3*m : min(worst, swap / orig_swap)";
        let function = Function::Expression(Expression::parse(text).unwrap());
        let scoring = Scoring { function, ..Scoring::default() };
        let orig = values(&[("runtime", 10.0), ("rss", 10.0), ("swap", 4.0)]);
        let good = values(&[("runtime", 10.0), ("rss", 5.0), ("swap", 1.0)]);
        assert_eq!(scoring.score(&good, &orig, &[]), Ok(0.3 * 0.5));
        let bad = values(&[("runtime", 20.0), ("rss", 5.0), ("swap", 1.0)]);
        assert_eq!(scoring.score(&bad, &orig, &[0.4, -0.2]), Ok(-0.2));
        assert_eq!(scoring.score(&bad, &orig, &[0.4]), Ok(0.25));
    }

    #[test]
    fn what_is_missing_is_named() {
        let scoring = Scoring::default();
        let orig = values(&[("runtime", 0.0), ("rss", 10.0)]);
        let err = scoring.score(&orig, &orig, &[]).unwrap_err();
        assert!(err.to_string().contains("runtime is 0"), "{err}");
        let err = scoring.score(&values(&[]), &orig, &[]).unwrap_err();
        assert_eq!(err, ScoreError::Missing("runtime".to_owned()));
    }
}
