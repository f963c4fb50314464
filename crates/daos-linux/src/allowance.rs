//! CPU time that may go into something: so much in a second, of which some can be saved up.

/// How much time's worth of it may be spent at once, in microseconds. Chosen: a fifth of the
/// ten seconds over which bounds hold.
const SAVED_US: f64 = 2_000_000.0;
/// CPU time in microseconds that may be spent at once at least. Chosen: what is asked for a
/// process or two comes at once, whatever the bound.
const LEAST_AT_ONCE_US: f64 = 2_000.0;

/// What is left of it. Steps are taken while there is some, and paid afterwards: what the last
/// took too much is owed.
#[derive(Debug, Clone)]
pub struct Allowance {
    share: f64,
    left_us: f64,
    filled_us: u64,
}

impl Allowance {
    /// This share of one CPU. At first, as much is there as can be saved up.
    pub fn new(share: f64) -> Self {
        Self { share, left_us: Self::most_at_once_us(share), filled_us: 0 }
    }

    fn most_at_once_us(share: f64) -> f64 {
        (SAVED_US * share).max(LEAST_AT_ONCE_US)
    }

    /// Lets time pass, up to `now_us`.
    pub fn fill(&mut self, now_us: u64) {
        let earned_us = now_us.saturating_sub(self.filled_us) as f64 * self.share;
        self.filled_us = now_us;
        self.left_us = (self.left_us + earned_us).min(Self::most_at_once_us(self.share));
    }

    /// Whether another step may be taken.
    pub fn allows(&self) -> bool {
        self.left_us > 0.0
    }

    /// Microseconds that may be spent now; less than 0 where some are owed.
    pub fn left_us(&self) -> f64 {
        self.left_us
    }

    /// A step took so many microseconds.
    pub fn spend(&mut self, us: u64) {
        self.left_us -= us as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_taken_as_time_allows() {
        let mut allowance = Allowance::new(0.0025);
        allowance.fill(60_000_000);
        assert!(allowance.allows());
        allowance.spend(10_000);
        assert!(!allowance.allows(), "5 ms are owed");
        allowance.fill(61_000_000);
        assert!(!allowance.allows(), "half of them");
        allowance.fill(63_000_000);
        assert!(allowance.allows());
    }

    #[test]
    fn over_any_ten_seconds_it_is_little_more() {
        for share in [0.0005, 0.0025, 0.05] {
            let mut allowance = Allowance::new(share);
            // As much as it allows, from the first moment on, in steps of 50 µs.
            let mut spent_us = 0;
            for at_us in (0..10_000_000).step_by(100_000) {
                allowance.fill(at_us);
                while allowance.allows() {
                    allowance.spend(50);
                    spent_us += 50;
                }
            }
            let spent_us = f64::from(spent_us);
            assert!(spent_us <= 1.2 * share * 1e7 + 2_050.0, "{spent_us} us, {share}");
            assert!(spent_us >= share * 1e7, "{spent_us} us, {share}");
        }
    }
}
