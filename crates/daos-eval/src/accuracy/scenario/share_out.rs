//! Cutting a number of pages into parts at random.

use daos_core::Rng;

/// Cuts `total` into as many parts as there are weights, each at least 1, in proportion
/// to the weights as far as that goes. `total` must be at least their number.
pub(super) fn share_out(total: u64, weights: &[f64]) -> Vec<u64> {
    let spare = total.saturating_sub(weights.len() as u64) as f64;
    let sum: f64 = weights.iter().sum();
    let (mut before, mut given) = (0.0, 0);
    let parts = weights.iter().map(|weight| {
        before += weight;
        let until = (spare * (before / sum).min(1.0)).round() as u64;
        1 + until - std::mem::replace(&mut given, until)
    });
    parts.collect()
}

/// Weights drawn from 1 to `factor`, any ratio as likely as the other.
pub(super) fn within_a_factor(count: u64, factor: f64, rng: &mut Rng) -> Vec<f64> {
    (0..count).map(|_| factor.powf(rng.unit())).collect()
}

/// Weights as of the distances between points that lie anywhere.
pub(super) fn as_between_points(count: u64, rng: &mut Rng) -> Vec<f64> {
    (0..count).map(|_| 1e-9 - (1.0 - rng.unit()).ln()).collect()
}

/// `0..count` in random order.
pub(super) fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Rng;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up_and_are_none_of_them_empty(
            weights in prop::collection::vec(0.001f64..1000.0, 1..100), spare in 0u64..1 << 32,
        ) {
            let total = weights.len() as u64 + spare;
            let parts = share_out(total, &weights);
            prop_assert_eq!(parts.iter().sum::<u64>(), total);
            prop_assert_eq!(parts.len(), weights.len());
            prop_assert!(parts.iter().all(|part| *part >= 1));
        }

        #[test]
        fn shuffling_loses_nothing(seed: u64, count in 0usize..100) {
            let mut order = shuffled(count, &mut Rng::new(seed));
            order.sort_unstable();
            prop_assert!(order.into_iter().eq(0..count));
        }
    }

    #[test]
    fn parts_are_in_proportion() {
        assert_eq!(share_out(1004, &[1.0, 2.0, 3.0, 4.0]), [101, 201, 301, 401]);
        let weights = within_a_factor(1000, 10.0, &mut Rng::new(1));
        assert!(weights.iter().all(|w| (1.0..=10.0).contains(w)));
        let large = weights.iter().filter(|w| **w > 10f64.sqrt()).count();
        assert!((400..600).contains(&large), "{large}");
    }
}
