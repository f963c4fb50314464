//! What comes first when not everything may be acted on.

use crate::quota::Weights;
use daos_core::addr::PAGE_SIZE;

/// From 0 to 1: how much the size, the rate and the age of some memory speak for acting
/// on it first. Like the kernel's DAMOS, an age counts by its logarithm, and for memory
/// that is not accessed as coldness; unlike there, the size counts as well.
pub(super) fn score(weights: &Weights, hot_first: bool, bytes: u64, rate: f64, age_us: u64) -> f64 {
    let log2 = |value: u64| f64::from(u64::BITS - value.leading_zeros());
    let long = (log2(age_us / 1_000_000) / 32.0).min(1.0);
    let settled = if rate > 0.0 { 0.5 + long / 2.0 } else { 0.5 - long / 2.0 };
    let (by_rate, by_age) = if hot_first { (rate, settled) } else { (1.0 - rate, 1.0 - settled) };
    let by_size = (log2(bytes / PAGE_SIZE) / 40.0).min(1.0);
    let Weights { size, rate, age } = *weights;
    let sum = size + rate + age;
    if sum > 0.0 { (size * by_size + rate * by_rate + age * by_age) / sum } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    #[test]
    fn the_coldest_or_the_hottest_first() {
        let cold = |rate, age| score(&Weights::default(), false, PAGE_SIZE, rate, age);
        let hot = |rate, age| score(&Weights::default(), true, PAGE_SIZE, rate, age);
        assert!(cold(0.0, 60 * SECOND) > cold(0.0, 5 * SECOND));
        assert!(cold(0.0, 5 * SECOND) > cold(0.1, 5 * SECOND));
        assert!(cold(0.1, SECOND) > cold(0.1, 60 * SECOND), "it has been in use for longer");
        assert!(hot(0.9, SECOND) > hot(0.5, SECOND));
        assert!(hot(0.5, 60 * SECOND) > hot(0.5, SECOND));
        assert!(hot(0.1, SECOND) > hot(0.0, SECOND));
        let large = Weights { size: 1.0, rate: 0.0, age: 0.0 };
        let sized = |bytes| score(&large, false, bytes, 0.5, SECOND);
        assert!(sized(1 << 30) > sized(1 << 20));
        let none = Weights { size: 0.0, rate: 0.0, age: 0.0 };
        assert_eq!(score(&none, true, 0, 0.3, 9), 1.0);
    }
}
