//! The six shapes that scores have (the paper's Figure 3), and which of them was measured.
//!
//! With `x` the aggressiveness from 0 to 1, memory is saved by a logistic step and a
//! line, and performance is lost by a later step (thrashing begins, thrashing is
//! saturated): a [`ScoreCurve`]. Shapes 4 to 6 are shapes 1 to 3 upside down.
//!
//! What was measured is noisy, so its own ups and downs say little. A curve of that family
//! is fitted by least squares, and its changes of direction are read. `daos-eval` draws
//! curves of the same family, whose best is known, to compare searches on.

use crate::math::linalg::Cholesky;

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
}

/// A logistic step, scaled to go from 0 at 0 to 1 at 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticStep {
    /// Where it is steepest.
    pub center: f64,
    /// How far it takes: nine tenths of it within six times that.
    pub width: f64,
}

impl LogisticStep {
    /// How much of it lies before `x`.
    pub fn at(&self, x: f64) -> f64 {
        let logistic = |x: f64| 1.0 / (1.0 + ((self.center - x) / self.width).exp());
        let (start, end) = (logistic(0.0), logistic(1.0));
        (logistic(x) - start) / (end - start)
    }
}

/// A curve of the family that the shapes belong to: a level, a line and two steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreCurve {
    /// The score at an aggressiveness of 0.
    pub level: f64,
    /// How much the line rises, from 0 to 1.
    pub line: f64,
    /// How high each step is, and the step.
    pub steps: [(f64, LogisticStep); 2],
}

impl ScoreCurve {
    /// The score at the aggressiveness `x`.
    pub fn at(&self, x: f64) -> f64 {
        let [(first, early), (second, late)] = &self.steps;
        self.level + self.line * x + first * early.at(x) + second * late.at(x)
    }
}

/// What a sweep looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// The shape; `None` if noise is most of what was measured.
    pub shape: Option<Shape>,
    /// The share of the scores' variance that the fitted curve explains, 0 to 1.
    pub explained: f64,
    /// The fitted curve: scores at 201 evenly spaced points from 0 to 1.
    pub curve: Vec<f64>,
}

/// The fitted parameters: level, line, two factors, two positions, one width.
const PARAMETERS: usize = 7;
/// A fit that explains less than this share of the variance is one of noise (chosen).
const LEAST_EXPLAINED: f64 = 0.3;
/// A change of direction counts from this share of the curve's height on (chosen).
const DIRECTION_CHANGE: f64 = 0.1;

/// Names the shape of scores measured at aggressivenesses from 0 to 1, repeats included.
/// No scheme scores 0. `None` with too few points to fit: no more than seven.
pub fn classify(points: &[(f64, f64)]) -> Option<Classification> {
    if points.len() <= PARAMETERS {
        return None;
    }
    let count = points.len() as f64;
    let mean = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let total: f64 = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
    let (rest, fitted) = best_fit(points)?;
    let curve: Vec<f64> = (0..=200).map(|at| fitted.at(f64::from(at) / 200.0)).collect();
    let free = count - PARAMETERS as f64;
    let explained = (1.0 - rest / free / (total / (count - 1.0))).clamp(0.0, 1.0);
    // A total of 0 gives no number, and so no shape.
    let shape = (explained >= LEAST_EXPLAINED).then(|| shape_of(&curve));
    Some(Classification {
        shape,
        explained: if explained.is_nan() { 0.0 } else { explained },
        curve,
    })
}

/// The curve that leaves least over, after what that is.
fn best_fit(points: &[(f64, f64)]) -> Option<(f64, ScoreCurve)> {
    let mut best: Option<(f64, ScoreCurve)> = None;
    for width in [0.01, 0.02, 0.035, 0.05, 0.07, 0.1] {
        let steps = (1..33).map(|at| LogisticStep { center: f64::from(at) * 0.03, width });
        let columns: Vec<(LogisticStep, Vec<f64>)> =
            steps.map(|step| (step, points.iter().map(|&(x, _)| step.at(x)).collect())).collect();
        for (at, (second, of_second)) in columns.iter().enumerate() {
            for (first, of_first) in &columns[..at] {
                let Some((rest, factors)) = least_squares(points, of_first, of_second) else {
                    continue;
                };
                if best.as_ref().is_none_or(|(least, _)| rest < *least) {
                    let [level, line, of_first, of_second] = factors;
                    let steps = [(of_first, *first), (of_second, *second)];
                    best = Some((rest, ScoreCurve { level, line, steps }));
                }
            }
        }
    }
    best
}

/// What is left over, and the factors of 1, `x` and two columns.
fn least_squares(points: &[(f64, f64)], a: &[f64], b: &[f64]) -> Option<(f64, [f64; 4])> {
    let mut squares = vec![0.0; 16];
    let mut factors = [0.0; 4];
    for ((&(x, y), a), b) in points.iter().zip(a).zip(b) {
        let row = [1.0, x, *a, *b];
        for i in 0..4 {
            factors[i] += row[i] * y;
            for j in 0..=i {
                squares[i * 4 + j] += row[i] * row[j];
            }
        }
    }
    // A trace of a prior keeps steps between two points, that nothing tells apart, apart.
    (0..4).for_each(|i| squares[i * 5] += 1e-6);
    let cholesky = Cholesky::of(squares, 4)?;
    cholesky.forward(&mut factors);
    cholesky.backward(&mut factors);
    let [level, line, first, second] = factors;
    let rest = points
        .iter()
        .zip(a)
        .zip(b)
        .map(|((&(x, y), a), b)| (y - level - line * x - first * a - second * b).powi(2));
    Some((rest.sum(), factors))
}

/// From where a curve turns.
fn shape_of(curve: &[f64]) -> Shape {
    let (low, high) = curve
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)));
    let change = DIRECTION_CHANGE * (high - low);
    // The first direction, and the first extreme in it.
    let (mut least, mut most) = (curve[0], curve[0]);
    let mut first: Option<bool> = None;
    let mut after: Option<usize> = None;
    for (at, &y) in curve.iter().enumerate() {
        match first {
            None if y - least > change => (first, most) = (Some(true), y),
            None if most - y > change => (first, least) = (Some(false), y),
            Some(true) if most - y > change => after = after.or(Some(at)),
            Some(false) if y - least > change => after = after.or(Some(at)),
            _ => {}
        }
        if after.is_none() {
            (least, most) = (least.min(y), most.max(y));
        }
    }
    let rest = after.map(|at| &curve[at..]);
    match (first.unwrap_or(true), rest) {
        (true, None) => Shape::Rises,
        (false, None) => Shape::Falls,
        (true, Some(rest)) if rest.iter().all(|y| *y >= 0.0) => Shape::RisesFalls,
        (true, Some(_)) => Shape::RisesFallsBelow,
        (false, Some(rest)) if rest.iter().all(|y| *y <= 0.0) => Shape::FallsRises,
        (false, Some(_)) => Shape::FallsRisesAbove,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::gaussian;
    use daos_core::Rng;

    /// A sweep of 61 points, three times.
    fn sweep(mut score: impl FnMut(f64) -> f64) -> Vec<(f64, f64)> {
        let point = |at| f64::from(at % 61) / 60.0;
        (0..183).map(point).map(|x| (x, score(x))).collect()
    }

    #[test]
    fn a_step_goes_from_0_to_1() {
        let step = LogisticStep { center: 0.2, width: 0.05 };
        assert_eq!((step.at(0.0), step.at(1.0)), (0.0, 1.0));
        assert!((step.at(0.2) - 0.5).abs() < 0.02);
    }

    #[test]
    fn the_direction_of_a_clear_line_is_named() {
        let mut rng = Rng::new(1);
        for (slope, shape) in [(1.0, Shape::Rises), (-1.0, Shape::Falls)] {
            let found = classify(&sweep(|x| slope * x + 0.05 * gaussian(&mut rng))).unwrap();
            assert!(found.shape == Some(shape) && found.explained > 0.9, "{found:?}");
        }
    }

    #[test]
    fn noise_has_no_shape() {
        let mut rng = Rng::new(1);
        let noise = classify(&sweep(|_| gaussian(&mut rng))).unwrap();
        assert_eq!(noise.shape, None, "{}", noise.explained);
        assert_eq!(classify(&sweep(|_| 0.0)).unwrap().shape, None);
        assert_eq!(classify(&[(0.0, 1.0); 7]), None);
    }
}
