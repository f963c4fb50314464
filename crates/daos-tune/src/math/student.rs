//! Student's t distribution: how far off a mean may be whose noise was itself measured.
//!
//! The distribution function is the finite sum for whole degrees of freedom in Abramowitz
//! and Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4. Its inverse
//! is found by halving.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// With more degrees of freedom than this the noise is as good as known.
const MOST: usize = 1000;

/// What is exceeded with probability `tail`, from 0 to 0.5, with so many degrees of
/// freedom; infinite without any.
pub(crate) fn quantile(tail: f64, free: usize) -> f64 {
    if free == 0 {
        return f64::INFINITY;
    }
    let free = free.min(MOST);
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let is_below = (1.0 - within(middle, free)) / 2.0 > tail;
        *(if is_below { &mut low } else { &mut high }) = middle;
    }
    low.tan() * (free as f64).sqrt()
}

/// The probability to be at most this far from 0; `angle` is the arctangent of the
/// distance by the root of `free`.
fn within(angle: f64, free: usize) -> f64 {
    let (sin, cos) = angle.sin_cos();
    let is_odd = free % 2 == 1;
    let (mut power, mut term) = if is_odd { (1, cos) } else { (0, 1.0) };
    let mut sum = 0.0;
    while power + 2 <= free {
        sum += term;
        power += 2;
        term *= (power - 1) as f64 / power as f64 * cos * cos;
    }
    if is_odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_tables() {
        for (tail, free, wanted) in [
            (0.05, 1, 6.314),
            (0.05, 2, 2.920),
            (0.05, 3, 2.353),
            (0.05, 4, 2.132),
            (0.05, 5, 2.015),
            (0.05, 30, 1.697),
            (0.025, 10, 2.228),
            (0.005, 7, 3.499),
            (0.0005, 1, 636.619),
            (0.0005, 20, 3.850),
            (0.025, 120, 1.980),
        ] {
            let found = quantile(tail, free);
            assert!((found - wanted).abs() < 6e-4, "{tail} {free}: {found}, not {wanted}");
        }
        // Nearly normal, also far out.
        assert!((quantile(0.05, 1_000_000) - 1.645).abs() < 2e-3);
        assert!((quantile(5e-7, 1_000_000) - 4.892).abs() < 0.05);
        assert!(quantile(0.05, 0).is_infinite());
    }
}
