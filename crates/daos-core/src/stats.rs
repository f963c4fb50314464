//! Statistics of a few measurements.

/// The median: the middle value, or the mean of the two middle ones; `None` if there are no values.
/// A single outlier does not move it.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let below = values.get(values.len().checked_sub(1)? / 2)?;
    let above = values.get(values.len() / 2)?;
    Some((below + above) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_odd_and_even_numbers() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([9.0, 1.0, 4.0, 2.0]), Some(3.0));
        assert_eq!(median([]), None);
    }
}
