//! What is tuned: the thresholds and their ranges.

mod param;

pub use param::{Param, Scale, Threshold};

use daos_schemes::Scheme;
use daos_schemes::nearest::nearest;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What was measured, or is to be: no scheme at all, or one with these thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum At {
    /// The target without a scheme: a baseline.
    NoScheme,
    /// The scheme with these values, in the order of the space's parameters, each in
    /// the unit of its threshold.
    Point(Vec<f64>),
}

impl At {
    /// The values of the thresholds; `None` of no scheme.
    pub fn values(&self) -> Option<&[f64]> {
        match self {
            Self::NoScheme => None,
            Self::Point(values) => Some(values),
        }
    }
}

/// The thresholds to tune, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSpace {
    params: Vec<Param>,
}

/// What is wrong with a space.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpaceError {
    /// Not `NAME=LOW..HIGH`.
    #[error("{0:?} is no parameter to tune: write NAME=LOW..HIGH, such as min_age=1s..60s")]
    Form(String),
    /// There is no such threshold.
    #[error("there is no threshold {name:?} to tune{}: one of {}",
            .nearest.map(|word| format!(" (did you mean {word}?)")).unwrap_or_default(),
            Threshold::ALL.map(Threshold::name).join(", "))]
    Name {
        /// What was given.
        name: String,
        /// What is most like it.
        nearest: Option<&'static str>,
    },
    /// A bound that is none.
    #[error("{text:?} is no bound of {name}: expected {expected}")]
    Bound {
        /// The threshold.
        name: &'static str,
        /// What was given.
        text: String,
        /// What would have been one.
        expected: String,
    },
    /// Nothing lies between the bounds.
    #[error("{name} can't be tuned from {low} to {high}: the first has to be the smaller")]
    Empty {
        /// The threshold.
        name: &'static str,
        /// Its lower bound.
        low: String,
        /// Its upper bound.
        high: String,
    },
    /// A threshold given more than once.
    #[error("{0} is given twice: give one range for it")]
    Twice(&'static str),
    /// A scheme whose bounds would cross.
    #[error(
        "{param} can't be tuned {way} to {reach}: the scheme's other bound is {other}; \
             narrow the range, or change the scheme"
    )]
    Crosses {
        /// The threshold.
        param: &'static str,
        /// `up` or `down`: where that end of its range lies.
        way: &'static str,
        /// The end of its range that is too far.
        reach: String,
        /// The other bound of the pattern.
        other: String,
    },
    /// Not `NAME=LOW..HIGH/STEP`.
    #[error(
        "{0:?} is no sweep: write NAME=LOW..HIGH/STEP, such as min_age=0s..60s/1s, with a \
             step above 0"
    )]
    Step(String),
    /// A grid that nobody could wait for.
    #[error("a sweep of more than {0} points would never end: take larger steps")]
    TooMany(usize),
    /// Nothing to tune.
    #[error("there is nothing to tune: give at least one range, such as min_age=0s..60s")]
    Nothing,
}

impl Default for SearchSpace {
    /// The paper's: `min_age` from 0 to 60 s.
    fn default() -> Self {
        Self { params: vec![Param::new(Threshold::MinAge, 0.0, 60e6)] }
    }
}

impl SearchSpace {
    /// Of these parameters.
    ///
    /// # Errors
    ///
    /// None at all, one given twice, or one without a range.
    pub fn new(params: Vec<Param>) -> Result<Self, SpaceError> {
        if params.is_empty() {
            return Err(SpaceError::Nothing);
        }
        for (at, param) in params.iter().enumerate() {
            let name = param.threshold.name();
            if params[..at].iter().any(|other| other.threshold == param.threshold) {
                return Err(SpaceError::Twice(name));
            }
            // Also refuses what is not a number.
            if !(param.low >= 0.0 && param.low < param.high && param.high.is_finite()) {
                let [low, high] = [param.low, param.high].map(|v| param.threshold.show(v));
                return Err(SpaceError::Empty { name, low, high });
            }
        }
        Ok(Self { params })
    }

    /// Reads parameters such as `min_age=1s..60s` or `max_freq=0..20%`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and what can't be read.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, SpaceError> {
        Self::new(texts.into_iter().map(param).collect::<Result<_, _>>()?)
    }

    /// The parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// How many there are.
    pub fn dims(&self) -> usize {
        self.params.len()
    }

    /// The same with every scale linear, as the paper has it.
    pub fn linear(mut self) -> Self {
        for param in &mut self.params {
            param.scale = Scale::Linear;
        }
        self
    }

    /// The point at these units, each from 0, the gentlest, to 1, the most aggressive.
    pub fn point(&self, units: &[f64]) -> At {
        At::Point(self.params.iter().zip(units).map(|(p, &unit)| p.value(unit)).collect())
    }

    /// Where a point lies: the inverse of [`point`](Self::point). `None` for no scheme,
    /// and for a point of another space.
    pub fn units(&self, at: &At) -> Option<Vec<f64>> {
        let values = at.values().filter(|values| values.len() == self.dims())?;
        Some(self.params.iter().zip(values).map(|(p, &v)| p.unit(v)).collect())
    }

    /// `min_age=5.3s max_freq=5%`, or `no scheme`.
    pub fn show(&self, at: &At) -> String {
        match at {
            At::NoScheme => "no scheme".to_owned(),
            At::Point(values) => {
                let shown = self.params.iter().zip(values).map(|(p, &value)| p.show(value));
                shown.collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// The scheme with the thresholds of a point; `None` for no scheme.
    pub fn apply(&self, scheme: &Scheme, at: &At) -> Option<Scheme> {
        let mut tuned = scheme.clone();
        for (param, &value) in self.params.iter().zip(at.values()?) {
            param.threshold.set(&mut tuned, value);
        }
        Some(tuned)
    }

    /// Whether every point makes a scheme: no lower bound is ever above its upper one.
    ///
    /// # Errors
    ///
    /// The first threshold whose range goes too far. Both bounds of a pattern can be
    /// tuned if their ranges don't overlap.
    pub fn check(&self, scheme: &Scheme, aggregation_us: u64) -> Result<(), SpaceError> {
        let range = |threshold: Threshold| {
            let tuned = self.params.iter().find(|param| param.threshold == threshold);
            let fixed = threshold.of(scheme, aggregation_us);
            tuned.map_or((fixed, fixed, false), |param| (param.low, param.high, true))
        };
        for [least, most] in Threshold::ALL.as_chunks().0 {
            let ((_, reach, is_tuned), (other, _, _)) = (range(*least), range(*most));
            if reach > other {
                let (param, way, reach, against, other) = if is_tuned {
                    (least, "up", reach, most, other)
                } else {
                    (most, "down", other, least, reach)
                };
                return Err(SpaceError::Crosses {
                    param: param.name(),
                    way,
                    reach: param.show(reach),
                    other: against.show(other),
                });
            }
        }
        Ok(())
    }
}

fn param(text: &str) -> Result<Param, SpaceError> {
    let form = || SpaceError::Form(text.to_owned());
    let (name, range) = text.split_once('=').ok_or_else(form)?;
    let (low, high) = range.split_once("..").ok_or_else(form)?;
    let name = name.trim();
    let threshold = Threshold::ALL.into_iter().find(|threshold| threshold.name() == name);
    let threshold = threshold.ok_or_else(|| SpaceError::Name {
        name: name.to_owned(),
        nearest: nearest(name, Threshold::ALL.map(Threshold::name)),
    })?;
    let bound = |text: &str| {
        threshold.parse(text.trim()).map_err(|expected| SpaceError::Bound {
            name: threshold.name(),
            text: text.trim().to_owned(),
            expected,
        })
    };
    Ok(Param::new(threshold, bound(low)?, bound(high)?))
}

#[cfg(test)]
mod tests;
