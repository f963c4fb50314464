//! How often each number occurred.
//!
//! Kept as counts, not as a list: what a tick checks takes few different values,
//! and a day has seventeen million ticks.

use std::collections::BTreeMap;

/// How often each number occurred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distribution {
    counts: BTreeMap<u64, u64>,
    count: u64,
    sum: u128,
}

impl Distribution {
    /// Takes in one more number.
    pub fn add(&mut self, value: u64) {
        self.add_times(value, 1);
    }

    /// Takes in a number so many times.
    pub fn add_times(&mut self, value: u64, times: u64) {
        *self.counts.entry(value).or_default() += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
    }

    /// How many numbers were taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; `None` of no numbers.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest number that at least `percent` (0 to 100) of all numbers
    /// don't exceed: always one that occurred. `None` of no numbers.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let reaches = |(_, count): &(&u64, &u64)| {
            below += **count;
            below >= rank.min(self.count)
        };
        self.counts.iter().find(reaches).map(|(&value, _)| value)
    }

    /// Each number that occurred with how often it did, by rising number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(&value, &count)| (value, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Distribution {
        let mut all = Distribution::default();
        values.iter().for_each(|&value| all.add(value));
        all
    }

    #[test]
    fn percentiles_are_numbers_that_occurred() {
        let four = of(&[40, 10, 30, 20]);
        let asked = [0.0, 25.0, 25.1, 50.0, 99.9, 100.0, 200.0];
        let found = asked.map(|p| four.percentile(p).unwrap());
        assert_eq!(found, [10, 10, 20, 20, 40, 40, 40]);
        assert_eq!(four.mean(), Some(25.0));
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!((of(&[]).percentile(50.0), of(&[]).mean()), (None, None));
        assert_eq!(of(&[7]).percentile(0.0), Some(7));
    }
}
