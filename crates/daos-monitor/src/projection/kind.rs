//! What is known of a page frame, in a byte.
//!
//! There is one for each frame of the machine, and neighbours are joined that are alike. What is
//! rounded for that is not lost: each kind keeps the mean of what was told of its frames.

use daos_core::Part;

/// Kinds of idle frames: two for each doubling of the age, from [`YOUNGEST_US`] on.
const IDLE: u8 = 60;
/// Idle for less is as good as just used, in microseconds. Chosen: below an aggregation interval.
const YOUNGEST_US: f64 = 65_536.0;
const UNOBSERVED: u8 = IDLE + 1;
/// Kinds of frames in use: four for each doubling of the rate, up to 1.
const USED: u8 = 160;
/// Of rates, and of ages, how many kinds a doubling has.
const RATES_A_DOUBLING: f64 = 4.0;
const AGES_A_DOUBLING: f64 = 2.0;

/// What is known of a frame. Where two pages lie in one, the greater of their kinds holds: it is
/// accessed if one of them is, and as often as the one in use more often; idle since the last
/// access to any; not observed, if one of them is not and none is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Kind(pub u8);

impl Kind {
    /// Nobody who is watched has it.
    pub const NOTHING: Self = Self(0);

    /// Of the frames of a part of a target's memory.
    pub fn of(part: &Part) -> Self {
        if part.access_rate > 0.0 {
            let doublings = part.access_rate.min(1.0).log2() * RATES_A_DOUBLING;
            let steps = (-doublings).min(f64::from(USED)) as u8;
            return Self(UNOBSERVED + 1 + USED - steps);
        }
        if part.unobserved > 0.5 {
            return Self(UNOBSERVED);
        }
        let doublings = (part.age_us as f64 / YOUNGEST_US).max(1.0).log2() * AGES_A_DOUBLING;
        Self(IDLE - (doublings as u8).min(IDLE - 1))
    }

    /// The least and the greatest of its sort: idle, not observed, or in use.
    pub fn sort(self) -> (u8, u8) {
        match self {
            _ if self.is_nothing() || self.is_unobserved() => (self.0, self.0),
            _ if self.is_idle() => (1, IDLE),
            _ => (UNOBSERVED + 1, u8::MAX),
        }
    }

    pub fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }

    pub fn is_unobserved(self) -> bool {
        self.0 == UNOBSERVED
    }

    pub fn is_used(self) -> bool {
        self.0 > UNOBSERVED
    }

    /// Nobody uses it, as far as is known.
    pub fn is_idle(self) -> bool {
        self.0 < UNOBSERVED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::AddrRange;

    fn kind(access_rate: f64, age_us: u64, unobserved: f64) -> Kind {
        let range = AddrRange::new(0, 4096);
        Kind::of(&Part { range, access_rate, unobserved, age_us, alike_bytes: 4096, is_run: true })
    }

    #[test]
    fn what_says_more_of_accesses_is_greater() {
        let rising = [
            Kind::NOTHING,
            kind(0.0, u64::MAX, 0.0),
            kind(0.0, 3_600_000_000, 0.0),
            kind(0.0, 5_000_000, 0.2),
            kind(0.0, 0, 0.0),
            kind(0.0, 0, 0.8),
            kind(1e-300, 0, 0.0),
            kind(0.001, 7, 0.9),
            kind(0.4, 0, 0.0),
            kind(1.0, 0, 0.0),
        ];
        assert!(rising.is_sorted_by(|a, b| a < b), "{rising:?}");
        assert!(rising[..5].iter().all(|kind| kind.is_idle()));
        assert!(rising[5].is_unobserved() && rising[6..].iter().all(|kind| kind.is_used()));
    }

    #[test]
    fn a_little_more_or_less_is_the_same_kind() {
        assert_eq!(kind(0.30, 0, 0.0), kind(0.32, 0, 0.0));
        assert!(kind(0.30, 0, 0.0).0 - kind(0.15, 0, 0.0).0 == 4);
        assert_eq!(kind(0.0, 9_000_000, 0.0), kind(0.0, 10_000_000, 0.0));
        assert_eq!(kind(0.0, 10_000_000, 0.0).0, kind(0.0, 20_000_000, 0.0).0 + 2);
    }
}
