//! How much memory the targets took, over the time.

use serde::Serialize;

/// Resident set and swap, sampled.
#[derive(Debug, Clone, Default)]
pub struct Footprint {
    /// The resident set.
    pub resident: Course,
    /// What was in swap.
    pub swap: Course,
    /// Both together: what the targets would take without schemes, about.
    pub whole: Course,
    /// What compressed swap that was set up takes of memory itself.
    pub zram: Course,
    first_us: Option<u64>,
    last_us: u64,
}

/// What a figure was over the time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Course {
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

impl Footprint {
    /// Adds what was resident and in swap at a time, and what zram took, in bytes. Times
    /// rise.
    pub fn add(&mut self, at_us: u64, resident: u64, swap: u64, zram: u64) {
        let first_us = *self.first_us.get_or_insert(at_us);
        let begins = first_us == at_us;
        let (since_us, all_us) = (at_us - self.last_us.max(first_us), at_us - first_us);
        self.last_us = at_us;
        for (course, bytes) in [
            (&mut self.resident, resident),
            (&mut self.swap, swap),
            (&mut self.whole, resident + swap),
            (&mut self.zram, zram),
        ] {
            course.add(bytes, begins, since_us, all_us);
        }
    }
}

impl Course {
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
        let mut footprint = Footprint::default();
        footprint.add(5, 100, 0, 0);
        assert_eq!(footprint.resident.mean, 100);
        footprint.add(15, 100, 0, 0);
        footprint.add(45, 20, 80, 10);
        let Course { first, min, max, mean, last, .. } = footprint.resident;
        assert_eq!((first, min, max, mean, last), (100, 20, 100, 40, 20));
        assert_eq!((footprint.swap.last, footprint.whole.mean), (80, 100));
        assert_eq!((footprint.zram.last, footprint.zram.min), (10, 0));
    }
}
