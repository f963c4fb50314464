//! How much of a target is accessed within times of rising length.

/// The times in microseconds: from a sampling interval to twenty seconds, each some four times the
/// one before, and those among them that are asked for most: a second, and five.
pub const WITHIN_US: [u64; 7] = [5_000, 20_000, 80_000, 320_000, 1_000_000, 5_000_000, 20_000_000];

/// The bytes that are accessed within each of [`WITHIN_US`]: the curve of the working set.
///
/// Where pages of one region differ, a few of them in use ten times a second and others once
/// in a few seconds, no one access rate tells this; to count pages does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorkingSets {
    bytes: [f64; WITHIN_US.len()],
}

impl WorkingSets {
    /// These bytes within each of [`WITHIN_US`], of which none is below the one before it: one
    /// that is, is taken for as many.
    pub fn new(mut bytes: [f64; WITHIN_US.len()]) -> Self {
        let mut before = 0.0f64;
        for bytes in &mut bytes {
            *bytes = bytes.max(before);
            before = *bytes;
        }
        Self { bytes }
    }

    /// The bytes within each of [`WITHIN_US`].
    pub fn bytes(&self) -> [f64; WITHIN_US.len()] {
        self.bytes
    }

    /// The last of the times, in microseconds: beyond, less is known than regions tell.
    pub fn longest_us(&self) -> u64 {
        WITHIN_US[WITHIN_US.len() - 1]
    }

    /// Bytes accessed within so many microseconds. Between two of the times they grow with a power
    /// of the time; below the first they are proportional; beyond the last they grow no more.
    pub fn within(&self, us: u64) -> f64 {
        let above = WITHIN_US.partition_point(|time_us| *time_us < us);
        let Some(&high_us) = WITHIN_US.get(above) else { return self.bytes[WITHIN_US.len() - 1] };
        let Some(below) = above.checked_sub(1) else {
            return self.bytes[0] * us as f64 / high_us as f64;
        };
        let (low, high) = (self.bytes[below], self.bytes[above]);
        let low_us = WITHIN_US[below];
        if low <= 0.0 {
            return high * (us - low_us) as f64 / (high_us - low_us) as f64;
        }
        let log = |us: u64| (us as f64 / low_us as f64).ln();
        low * (high / low).powf(log(us) / log(high_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_its_points_it_grows_with_a_power_of_the_time() {
        let sets = WorkingSets::new([1.0, 3.0, 7.0, 6.0, 9.0, 9.0, 10.0]);
        assert_eq!(sets.bytes()[3], 7.0, "it never falls");
        let near = |us, bytes: f64| (sets.within(us) - bytes).abs() < 1e-9;
        assert!(near(0, 0.0) && near(2_500, 0.5) && near(5_000, 1.0) && near(10_000, 3f64.sqrt()));
        assert!(
            near(40_000, 21f64.sqrt())
                && near(1_000_000, 9.0)
                && near(10_000_000, 90f64.sqrt())
                && near(60_000_000, 10.0)
        );
    }
}
