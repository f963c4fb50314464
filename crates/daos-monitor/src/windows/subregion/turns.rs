//! When a subregion comes into use, and falls idle, as a whole.

use super::super::budget::BOUND_OVER_US;

/// How long it takes at most from when some pages come into use until all have, in microseconds.
/// Chosen: of what is used twice a second most is in use by then.
const BEGINS_IN_US: u64 = 3_000_000;
/// A page table has settled after staying unchanged for this many times its previous state's
/// duration, within bounds. Chosen.
const SETTLED: u64 = 2;
/// The shortest such time, in microseconds. Chosen.
const LEAST_SETTLED_US: u64 = 10_000_000;
/// The longest such time, in microseconds. Chosen.
const MOST_SETTLED_US: u64 = 120_000_000;

/// When a subregion came into use or fell idle, and until when it is known by a few pages because
/// of that.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in super::super) struct Turns {
    /// When it last came into use as a whole; 0 if it never did.
    whole_us: u64,
    /// When some of its pages last came into use, until all did; else 0.
    begun_us: u64,
    /// How long it was idle before it last came into use, in microseconds.
    idle_us: u64,
    /// When its use last began or ended.
    changed_us: u64,
    /// Until when it is known by a few of its pages.
    until_us: u64,
}

impl Turns {
    /// Whether it is still known by a few of its pages.
    pub fn go_on(&self, now_us: u64) -> bool {
        now_us < self.until_us
    }

    /// Whether it came into use as a whole within the time over which the bound is promised.
    pub fn was_whole_lately(&self, now_us: u64) -> bool {
        self.whole_us > 0 && now_us < self.whole_us + BOUND_OVER_US
    }

    /// Takes in a reading. `begins`: how long all was idle in microseconds, if that found the first
    /// of its pages in use again; `changed`: the rate changed.
    pub fn note(&mut self, begins: Option<u64>, changed: bool, now_us: u64) {
        if let Some(idle_us) = begins {
            (self.begun_us, self.idle_us) = (now_us, idle_us);
        }
        if changed || begins.is_some() {
            let as_it_was_us = now_us.saturating_sub(self.changed_us);
            self.changed_us = now_us;
            if self.until_us > 0 {
                self.stay(as_it_was_us, now_us);
            }
        }
    }

    /// Notes that nearly all of its pages are in use. Returns whether it just came into use as a
    /// whole.
    pub fn note_whole(&mut self, now_us: u64) -> bool {
        // In the first seconds of monitoring all of it may just have been filled: what follows is
        // another phase as likely as not.
        let has_just_begun = now_us < self.begun_us + BEGINS_IN_US;
        if has_just_begun {
            (self.begun_us, self.whole_us) = (0, now_us);
        }
        has_just_begun
    }

    /// Keeps it known by a few pages until it settles: before it came into use it was idle.
    pub fn stay_after_idle(&mut self, now_us: u64) {
        self.stay(self.idle_us, now_us);
    }

    /// Keeps it known by a few pages until it settles. `as_it_was_us`: how long its previous state
    /// lasted.
    fn stay(&mut self, as_it_was_us: u64, now_us: u64) {
        let settled_us = (SETTLED * as_it_was_us).clamp(LEAST_SETTLED_US, MOST_SETTLED_US);
        self.until_us = self.until_us.max(now_us + settled_us);
    }
}
