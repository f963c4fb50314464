//! Which labels of an axis are written when there is no room for all.

/// Every n-th of `labels` (where its middle is, and how wide it is), with the smallest n of
/// which none come closer than `gap` to each other; a somewhat larger one if that also has
/// the last. Returns n.
pub fn step(labels: &[(f64, f64)], gap: f64) -> usize {
    let fits = |n: &usize| {
        let kept: Vec<_> = labels.iter().step_by(*n).collect();
        kept.windows(2).all(|pair| {
            let (left, right) = (pair[0], pair[1]);
            left.0 + left.1 / 2.0 + gap <= right.0 - right.1 / 2.0
        })
    };
    let least = (1..labels.len()).find(fits).unwrap_or(labels.len().max(1));
    let last = labels.len().saturating_sub(1);
    (least..2 * least).filter(fits).find(|n| last.is_multiple_of(*n)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evenly(count: usize, distance: f64) -> Vec<(f64, f64)> {
        (0..count).map(|i| (i as f64 * distance, 10.0)).collect()
    }

    #[test]
    fn all_are_written_where_there_is_room() {
        assert_eq!(step(&evenly(7, 20.0), 5.0), 1);
        assert_eq!(step(&[], 5.0), 1);
        assert_eq!(step(&evenly(1, 0.0), 5.0), 1);
    }

    #[test]
    fn labels_never_touch_and_the_last_is_kept_if_it_can_be() {
        assert_eq!(step(&evenly(61, 4.0), 5.0), 4);
        assert_eq!(step(&evenly(61, 2.0), 5.0), 10, "8 would do, but leaves out the last");
        assert_eq!(step(&evenly(60, 4.0), 5.0), 4, "no n up to 8 has the last");
        assert_eq!(step(&evenly(5, 0.0), 5.0), 5, "all at one place: the first alone");
    }
}
