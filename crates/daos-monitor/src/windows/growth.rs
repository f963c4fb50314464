//! How much memory a target has filled of late, by what is resident.

use std::collections::VecDeque;

/// A target has grown if more than one part in this many more is resident than before. Chosen.
pub(super) const GROWN: u64 = 8;
/// A target counts as growing for this time after it has grown, in microseconds. Chosen.
const GROWING_US: u64 = 3_000_000;
/// A target may be growing for this time after it was seen for the first time, in microseconds: it
/// is not known how it came to what it has. Chosen.
const MAY_GROW_US: u64 = 1_000_000;
/// For how long resident sizes are kept, in microseconds. Chosen: what was filled longer ago was
/// looked at.
pub(super) const KEPT_US: u64 = 1_000_000;
/// The least time between two sizes that are kept, in microseconds. Chosen.
const APART_US: u64 = 100_000;

/// What was resident of a target, and when.
#[derive(Debug, Clone, Default)]
pub(super) struct Growth {
    /// The time in microseconds, and bytes resident then, by rising time.
    lately: VecDeque<(u64, u64)>,
    /// Bytes resident when that had last grown by [`GROWN`].
    grown_to: u64,
    /// Until when the target counts as growing.
    growing_until_us: u64,
    /// Until when it is not known whether the target grows.
    may_grow_until_us: u64,
}

impl Growth {
    /// Takes in how much is resident now.
    pub fn note(&mut self, bytes: u64, now_us: u64) {
        if bytes < self.grown_to - self.grown_to / GROWN {
            // What was given back may be filled again.
            self.grown_to = bytes;
        }
        if bytes > self.grown_to + self.grown_to / GROWN {
            match self.grown_to {
                0 => self.may_grow_until_us = now_us + MAY_GROW_US,
                _ => self.growing_until_us = now_us + GROWING_US,
            }
            self.grown_to = bytes;
        }
        if self.lately.back().is_none_or(|(at_us, _)| *at_us + APART_US <= now_us) {
            self.lately.push_back((now_us, bytes));
        }
        // One size from before that time is needed, too.
        while self.lately.get(1).is_some_and(|(at_us, _)| *at_us + KEPT_US < now_us) {
            self.lately.pop_front();
        }
    }

    /// Whether much memory was filled of late: what is known of the target then does not hold for
    /// long.
    pub fn is_growing(&self, now_us: u64) -> bool {
        now_us < self.growing_until_us
    }

    /// Whether it is not known yet if the target grows.
    pub fn may_grow(&self, now_us: u64) -> bool {
        now_us < self.may_grow_until_us
    }

    /// Bytes by which resident memory grew in the last `us` microseconds, up to [`KEPT_US`], or
    /// since it was first taken in. These were accessed meanwhile: that filled them.
    pub fn within(&self, us: u64) -> u64 {
        let Some((last_us, last)) = self.lately.back() else { return 0 };
        let since_us = last_us.saturating_sub(us);
        let behind = self.lately.partition_point(|(at_us, _)| *at_us < since_us);
        let (next_us, next) = self.lately[behind];
        let then = match behind.checked_sub(1).map(|before| self.lately[before]) {
            Some((before_us, before)) => {
                let part = (since_us - before_us) as f64 / (next_us - before_us) as f64;
                before as f64 + part * (next as f64 - before as f64)
            }
            None => next as f64,
        };
        (*last as f64 - then).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    /// So many bytes one second after the other.
    fn seen(resident: &[u64]) -> Growth {
        let mut growth = Growth::default();
        (0..).zip(resident).for_each(|(second, bytes)| growth.note(*bytes, second * S));
        growth
    }

    #[test]
    fn it_may_be_growing_until_it_was_seen_for_a_while() {
        assert!(!seen(&[]).may_grow(0), "nothing speaks for it");
        let once = seen(&[100]);
        assert!(once.may_grow(S - 1) && !once.may_grow(S) && !once.is_growing(0));
        assert!(!seen(&[100, 101]).is_growing(S));
        assert!(seen(&[100, 10, 60]).is_growing(3 * S), "what was given back is filled again");
        let growing = seen(&[20, 60]);
        assert!(growing.is_growing(S) && !growing.is_growing(S + GROWING_US));
    }

    #[test]
    fn what_came_within_a_time_is_known() {
        let growth = seen(&[1000, 1100, 1300, 1400]);
        let within = [0, 250_000, S / 2, KEPT_US].map(|us| growth.within(us));
        assert_eq!(within, [0, 25, 50, 100]);
        assert_eq!(seen(&[1000, 1400]).within(KEPT_US), 400);
        assert_eq!(seen(&[1000, 1500, 900]).within(S), 0, "it was given back");
        assert_eq!(seen(&[1000]).within(S), 0, "of before nothing is known");
        let long: Vec<u64> = (0..100).map(|second| second * 10).collect();
        let growth = seen(&long);
        assert_eq!((growth.within(KEPT_US), growth.lately.len()), (10, 3));
    }
}
