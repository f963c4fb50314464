//! What the searches compute with: means, normal numbers, evenly spread points, Student's
//! t, and the little linear algebra that fits need.
//!
//! It stands here since each crate for it would bring far more than the two hundred lines it
//! replaces, and since the same seed has to give the same points, to the last bit, in every
//! release.

pub(crate) mod linalg;
pub(crate) mod student;

use daos_core::Rng;
use daos_core::rng::mix;
use serde::Serialize;

/// A mean, and the standard deviation around it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MeanSd {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a single value from it; 0 of a single one.
    pub sd: f64,
}

impl MeanSd {
    /// Of these values, which are a sample of all that there could be; no number of none.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, sd: (squares / (count.max(2) - 1) as f64).sqrt() }
    }
}

/// A number of the standard normal distribution (Box and Muller, 1958).
pub fn gaussian(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

/// The point with number `at` of a sequence of low discrepancy, which fills the unit cube
/// of `dims` dimensions evenly however many of its points are taken: multiples of the
/// powers of the generalised golden ratio (Roberts, 2018), from a start that the seed
/// decides.
pub(crate) fn evenly_spread(at: usize, dims: usize, seed: u64) -> Vec<f64> {
    // The root of x^(dims + 1) = x + 1.
    let mut ratio = 1.5f64;
    for _ in 0..60 {
        ratio = (1.0 + ratio).powf(1.0 / (dims as f64 + 1.0));
    }
    let mut start = Rng::new(mix(seed));
    let coordinate = |dim: i32| (start.unit() + (at + 1) as f64 * ratio.powi(-dim - 1)).fract();
    (0..dims as i32).map(coordinate).collect()
}
