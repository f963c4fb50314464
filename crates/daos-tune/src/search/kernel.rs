//! Which curves are likely: covariances of the scores at two places.
//!
//! A kernel is a sum: a level, a line along each threshold, and a smooth rest (Matérn
//! 5/2). How fast that rest varies is not known, so a model holds many kernels and weighs
//! them by the samples. Nothing here knows the six shapes of scores: kernels made of
//! logistic steps were tried, and were hardly better.

/// Where something is measured: units from 0 to 1, or no scheme.
pub(super) type Place = Option<Vec<f64>>;

/// The standard deviation of the level, as a share of that of the smooth part (chosen).
const LEVEL: f64 = 0.3;
/// The standard deviation of a line from one end of a threshold's range to the other, as a
/// share of that of the smooth part (chosen).
const LINE: f64 = 0.5;

/// One assumption about the curve.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    /// Over which distance the smooth part varies, for each threshold.
    lengths: Vec<f64>,
}

impl Kernel {
    /// Those that are considered for a space of so many thresholds, all as likely.
    pub fn all(dims: usize) -> Vec<Self> {
        // Of several thresholds each may matter or not: their lengths are drawn evenly
        // by their logarithms. A length of 3 is all but a line.
        const DRAWN: usize = 120;
        let drawn = |at| {
            let units = crate::math::evenly_spread(at, dims, 0).into_iter();
            Self { lengths: units.map(|unit| 0.1 * 30f64.powf(unit)).collect() }
        };
        match dims {
            1 => [0.1, 0.15, 0.2, 0.3, 0.5, 0.8].map(|l| Self { lengths: vec![l] }).into(),
            _ => (0..DRAWN).map(drawn).collect(),
        }
    }

    /// The covariance of the scores at two places.
    pub fn covariance(&self, a: &Place, b: &Place) -> f64 {
        let level = LEVEL * LEVEL;
        // No scheme is a place of its own: all it shares is the level.
        let (Some(a), Some(b)) = (a, b) else { return level };
        let (mut line, mut far) = (0.0, 0.0);
        for ((a, b), length) in a.iter().zip(b).zip(&self.lengths) {
            line += a * b;
            far += ((a - b) / length).powi(2);
        }
        let r = (5.0 * far).sqrt();
        level + LINE * LINE * line + (1.0 + r + r * r / 3.0) * (-r).exp()
    }
}
