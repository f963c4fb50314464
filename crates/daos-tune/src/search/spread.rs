//! Points that fill a space evenly, however many of them are taken.

use daos_core::rng::{Rng, mix};

/// The point at this place of a sequence of low discrepancy: multiples of the powers of
/// the generalised golden ratio (Roberts, 2018), from a start that the seed decides.
pub(super) fn point(at: usize, dims: usize, seed: u64) -> Vec<f64> {
    // The root of x^(dims + 1) = x + 1.
    let mut ratio = 1.5f64;
    for _ in 0..60 {
        ratio = (1.0 + ratio).powf(1.0 / (dims as f64 + 1.0));
    }
    let mut start = Rng::new(mix(seed));
    let coordinate = |dim: i32| (start.unit() + (at + 1) as f64 * ratio.powi(-dim - 1)).fract();
    (0..dims as i32).map(coordinate).collect()
}
