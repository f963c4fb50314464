//! The six shapes that scores have (the paper's Figure 3), as curves with a known best.
//!
//! With `x` the aggressiveness from 0 to 1, memory is saved by a logistic step and a
//! line, performance is lost by a later step (thrashing begins, thrashing is saturated);
//! the score is the mean of both. Shapes 4 to 6 are shapes 1 to 3 upside down. Tuners are
//! compared on them, each seed with its own positions, widths and heights.

use daos_core::rng::Rng;

/// A shape of the score over the aggressiveness. No scheme scores 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// 1: rises throughout.
    Rises,
    /// 2: rises, falls, stays above no scheme.
    RisesFalls,
    /// 3: rises, falls below no scheme.
    RisesFallsBelow,
    /// 4: falls throughout.
    Falls,
    /// 5: falls, rises, stays below no scheme.
    FallsRises,
    /// 6: falls, rises above no scheme.
    FallsRisesAbove,
}

impl Shape {
    /// All six, in the paper's order.
    pub const ALL: [Self; 6] = [
        Self::Rises,
        Self::RisesFalls,
        Self::RisesFallsBelow,
        Self::Falls,
        Self::FallsRises,
        Self::FallsRisesAbove,
    ];

    /// Its number, 1 to 6.
    pub const fn number(self) -> usize {
        self as usize + 1
    }

    /// What it is, in words.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Rises => "rises throughout",
            Self::RisesFalls => "rises, then falls, but stays above no scheme",
            Self::RisesFallsBelow => "rises, then falls below no scheme",
            Self::Falls => "falls throughout",
            Self::FallsRises => "falls, then rises, but stays below no scheme",
            Self::FallsRisesAbove => "falls, then rises above no scheme",
        }
    }

    /// The curve of this shape for a seed: positions, widths and factors vary by a fifth
    /// either way.
    pub fn curve(self, seed: u64) -> Curve {
        let mut rng = Rng::new(daos_core::rng::mix(seed) ^ self.number() as u64);
        let mut vary = |value: f64| value * (0.8 + 0.4 * rng.unit());
        let (a, b, d, sign) = match self {
            Self::Rises => (0.2, 0.6, 0.1, 1.0),
            Self::RisesFalls => (0.5, 0.3, 0.5, 1.0),
            Self::RisesFallsBelow => (0.5, 0.1, 1.2, 1.0),
            Self::Falls => (0.2, 0.6, 0.1, -1.0),
            Self::FallsRises => (0.5, 0.3, 0.5, -1.0),
            Self::FallsRisesAbove => (0.5, 0.1, 1.2, -1.0),
        };
        Curve::new(
            (vary(a), vary(b), vary(d), sign),
            Step { center: vary(0.2), width: vary(0.05) },
            Step { center: vary(0.5), width: vary(0.05) },
        )
    }
}

/// A logistic step, scaled to go from 0 at 0 to 1 at 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Where it is steepest.
    pub center: f64,
    /// How far it takes: nine tenths of it within six times that.
    pub width: f64,
}

impl Step {
    /// How much of it lies before `x`.
    pub fn at(&self, x: f64) -> f64 {
        let logistic = |x: f64| 1.0 / (1.0 + ((self.center - x) / self.width).exp());
        let (start, end) = (logistic(0.0), logistic(1.0));
        (logistic(x) - start) / (end - start)
    }
}

/// A score over the aggressiveness, 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    factors: (f64, f64, f64, f64),
    saves: Step,
    thrashes: Step,
    low: f64,
    high: f64,
}

impl Curve {
    /// With memory saved in a step by `a` and along a line by `b`, performance lost by
    /// `d`, and `sign` 1 or -1.
    fn new(factors: (f64, f64, f64, f64), saves: Step, thrashes: Step) -> Self {
        let mut curve = Self { factors, saves, thrashes, low: 0.0, high: 0.0 };
        let scores = (0..=2000).map(|i| curve.at(f64::from(i) / 2000.0));
        let (low, high) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), score| {
            (low.min(score), high.max(score))
        });
        (curve.low, curve.high) = (low, high);
        curve
    }

    /// The true score.
    pub fn at(&self, x: f64) -> f64 {
        let (a, b, d, sign) = self.factors;
        sign * (a * self.saves.at(x) + b * x - d * self.thrashes.at(x)) / 2.0
    }

    /// The distance from the worst score to the best.
    pub fn range(&self) -> f64 {
        self.high - self.low
    }

    /// A measurement: the true score and Gaussian noise whose standard deviation is
    /// `noise` times the range.
    pub fn measured(&self, x: f64, noise: f64, rng: &mut Rng) -> f64 {
        self.at(x) + noise * self.range() * gaussian(rng)
    }

    /// How far the score at `x` is from the best, as a share of the range.
    pub fn loss(&self, x: f64) -> f64 {
        ((self.high - self.at(x)) / self.range()).max(0.0)
    }
}

/// A number of the standard normal distribution (Box and Muller).
pub fn gaussian(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

#[cfg(test)]
#[path = "shapes_tests.rs"]
mod tests;
