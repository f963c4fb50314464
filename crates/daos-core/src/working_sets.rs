//! How much of a target is accessed within times of rising length.

/// The times in microseconds: from a sampling interval to twenty seconds, each some four times the
/// one before, and those among them that are asked for most: a second, and five.
pub const WITHIN_US: [u64; 7] = [5_000, 20_000, 80_000, 320_000, 1_000_000, 5_000_000, 20_000_000];

/// The least part of all that is taken to be left: where all came, they came at some rate.
const LEAST_LEFT: f64 = 1e-3;

/// The bytes that are accessed within each of [`WITHIN_US`]: the curve of the working set. And
/// those beside it of which nothing can be said.
///
/// Where pages of one region differ, a few of them in use ten times a second and others once
/// in a few seconds, no one access rate tells this; to count pages does.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorkingSets {
    bytes: [f64; WITHIN_US.len()],
    hidden: f64,
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
        Self { bytes, hidden: 0.0 }
    }

    /// Beside so many bytes that are in memory and can't be observed, or were not found.
    pub fn beside_hidden(self, hidden: f64) -> Self {
        Self { hidden, ..self }
    }

    /// The bytes that are in memory and can't be observed, or were not found; an estimate where
    /// pages are not known one by one.
    pub fn hidden(&self) -> f64 {
        self.hidden
    }

    /// The bytes within each of [`WITHIN_US`].
    pub fn bytes(&self) -> [f64; WITHIN_US.len()] {
        self.bytes
    }

    /// The last of the times, in microseconds: beyond, less is known than regions tell.
    pub fn longest_us(&self) -> u64 {
        WITHIN_US[WITHIN_US.len() - 1]
    }

    /// Bytes accessed within so many microseconds. Between two of the times of the curve, and
    /// before the first, pages are taken to be accessed for the first time at random times: a
    /// constant share of those not accessed so far in each moment. Beyond the last time the curve
    /// is flat.
    pub fn within(&self, us: u64) -> f64 {
        let all = self.bytes[WITHIN_US.len() - 1];
        let above = WITHIN_US.partition_point(|time_us| *time_us < us);
        let Some(&high_us) = WITHIN_US.get(above) else { return all };
        let below = above.checked_sub(1);
        let (low_us, low) = below.map_or((0, 0.0), |below| (WITHIN_US[below], self.bytes[below]));
        let high = self.bytes[above];
        let part = (us - low_us) as f64 / (high_us - low_us) as f64;
        let left = |bytes: f64| (1.0 - bytes / all).max(LEAST_LEFT);
        low + (high - low) * part_come(part, left(high) / left(low))
    }
}

/// Interpolates an exponential decay. Of what happens within some time, this share, 0 to 1, has
/// happened after the `part` of that time, 0 to 1, if what is still to come decays at a constant
/// rate to the part `left` of what it was at the beginning. Linear if nothing is left to happen in
/// it.
pub fn part_come(part: f64, left: f64) -> f64 {
    if left >= 1.0 { part } else { (1.0 - left.powf(part)) / (1.0 - left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_its_points_they_come_at_random_times() {
        // Ten times a second.
        let within = |us: u64| 1e6 * -(-10.0 * us as f64 / 1e6).exp_m1();
        let sets = WorkingSets::new(WITHIN_US.map(within));
        for us in [0, 2_500, 5_000, 10_000, 60_000, 100_000, 200_000, 320_000, 20_000_000] {
            assert!((sets.within(us) - within(us)).abs() < 0.005 * 1e6, "{us}");
        }
    }

    #[test]
    fn they_never_fall_and_grow_no_more_than_they_did() {
        let sets = WorkingSets::new([1.0, 3.0, 7.0, 6.0, 9.0, 9.0, 10.0]);
        assert_eq!(sets.bytes()[3], 7.0);
        let times = (0..30_000).map(|ms| sets.within(ms * 1000));
        let bytes: Vec<f64> = times.collect();
        assert!(bytes.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(
            [sets.within(20_000), sets.within(1_000_000), sets.within(60_000_000)],
            [3.0, 9.0, 10.0]
        );
        assert_eq!(WorkingSets::default().within(60_000), 0.0);
    }
}
