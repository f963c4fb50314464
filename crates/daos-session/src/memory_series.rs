//! How much memory the targets took, over the time.

use serde::Serialize;

/// What targets take of memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryUse {
    /// Their resident set.
    pub resident: u64,
    /// What is in swap.
    pub swap: u64,
    /// What compressed swap that was set up for them takes of memory itself.
    pub zram: u64,
}

/// Resident set and swap, sampled.
#[derive(Debug, Clone, Default)]
pub struct MemorySeries {
    /// The resident set.
    pub resident: ByteSeries,
    /// What was in swap.
    pub swap: ByteSeries,
    /// Both together: what the targets would take without schemes, about.
    pub whole: ByteSeries,
    /// What compressed swap that was set up takes of memory itself.
    pub zram: ByteSeries,
    first_us: Option<u64>,
    last_us: u64,
}

/// What a figure was over the time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ByteSeries {
    /// At first.
    pub first: u64,
    /// At least.
    pub min: u64,
    /// At most.
    pub max: u64,
    /// On average over the time.
    pub mean: u64,
    /// At last.
    pub last: u64,
    /// Bytes times microseconds, from the first sample on.
    #[serde(skip)]
    sum: u128,
}

impl MemorySeries {
    /// Adds a sample. Times rise.
    pub fn add(&mut self, at_us: u64, MemoryUse { resident, swap, zram }: MemoryUse) {
        let first_us = *self.first_us.get_or_insert(at_us);
        let begins = first_us == at_us;
        let (since_us, all_us) = (at_us - self.last_us.max(first_us), at_us - first_us);
        self.last_us = at_us;
        for (series, bytes) in [
            (&mut self.resident, resident),
            (&mut self.swap, swap),
            (&mut self.whole, resident + swap),
            (&mut self.zram, zram),
        ] {
            series.add(bytes, begins, since_us, all_us);
        }
    }
}

impl ByteSeries {
    /// A sample, which stands for the time since the one before.
    fn add(&mut self, bytes: u64, begins: bool, since_us: u64, all_us: u64) {
        if begins {
            *self = Self { first: bytes, min: bytes, ..Self::default() };
        }
        self.sum += u128::from(bytes) * u128::from(since_us);
        self.min = self.min.min(bytes);
        self.max = self.max.max(bytes);
        self.mean = self.sum.checked_div(all_us.into()).map_or(bytes, |mean| mean as u64);
        self.last = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_the_time() {
        let mut series = MemorySeries::default();
        series.add(5, MemoryUse { resident: 100, ..MemoryUse::default() });
        assert_eq!(series.resident.mean, 100);
        series.add(15, MemoryUse { resident: 100, ..MemoryUse::default() });
        series.add(45, MemoryUse { resident: 20, swap: 80, zram: 10 });
        let ByteSeries { first, min, max, mean, last, .. } = series.resident;
        assert_eq!((first, min, max, mean, last), (100, 20, 100, 40, 20));
        assert_eq!((series.swap.last, series.whole.mean), (80, 100));
        assert_eq!((series.zram.last, series.zram.min), (10, 0));
    }
}
