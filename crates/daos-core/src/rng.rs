//! A seeded random generator whose stream never changes between releases.

use crate::evenly::part_of;

/// SplitMix64 (Steele, Lea and Flood, 2014): 64 bits of state, equidistributed.
/// A record keeps the seed, so its run can be repeated anywhere.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that always gives the same stream for the same `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..bound`; 0 when `bound` is 0. The bias of the
    /// multiply-and-shift is below `bound / 2^64`, far under a page in 2^52.
    pub fn below(&mut self, bound: u64) -> u64 {
        part_of(self.next_u64(), bound)
    }

    /// A number in `0.0..1.0`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The finalizer of SplitMix64: a good 64-bit hash of a number.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // The first values for seed 0 and 1234567 of the reference implementation.
        assert_eq!(Rng::new(0).next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(Rng::new(1_234_567).next_u64(), 6_457_827_717_110_365_317);
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut rng = Rng::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[rng.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(rng.below(0), 0);
    }
}
