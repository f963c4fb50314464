//! Page tables that come into use as a whole, and are idle as a whole, by turns.
//!
//! Where pages are known one by one, all those of an idle page table wait for an access. When the next phase uses them, their
//! user has to set the bits of all anew; and to see it in time, all have to be read every second. Where that takes much of
//! what may be spent, the phase after it is not seen. What turns so, as a whole, is known by a few pages just as well: it is
//! until it stays as it is.

use super::Windows;
use super::budget::BOUND_OVER_US;
use super::subregion::Subregion;
use super::target::TargetSubregions;

/// The share of the pages that are looked at that waited before, and were accessed then, where all came into use. Chosen.
const WHOLE: (u32, u32) = (7, 8);
/// What turned while the bound is promised is dear if setting its bits anew takes such a part of what may be spent in that time, or
/// reading it once such a part of what may be spent in a second. Chosen: less leaves enough to see the next phase.
const MUCH: f64 = 0.3;
/// What was idle for less, in microseconds, did not turn, but is accessed now and then. Chosen: it is told with what is accessed
/// within a second.
const LEAST_IDLE_US: u64 = 1_000_000;
/// How long it takes at most from when some of it comes into use until all of it is, in microseconds. Chosen: of what is used
/// twice a second most is by then.
const BEGINS_IN_US: u64 = 3_000_000;
/// So many times as long as it last was as it was, it has to be as it is to count as settled. Chosen.
const SETTLED: u64 = 2;
/// Bounds on that time, in microseconds. Chosen.
const LEAST_SETTLED_US: u64 = 10_000_000;
const MOST_SETTLED_US: u64 = 120_000_000;

/// When a subregion turned, and how long it is known by a few pages for it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Turns {
    /// When it last came into use as a whole; 0 if it never did.
    whole_us: u64,
    /// When some of it last came into use, until all of it did; else 0.
    begun_us: u64,
    /// When use last began or ended.
    changed_us: u64,
    /// Until when it is known by a few of its pages.
    until_us: u64,
}

impl Turns {
    /// Whether it is known by a few of its pages.
    pub fn go_on(&self, now_us: u64) -> bool {
        now_us < self.until_us
    }

    /// Whether it came into use as a whole while the bound is promised.
    fn was_whole_lately(&self, now_us: u64) -> bool {
        self.whole_us > 0 && now_us < self.whole_us + BOUND_OVER_US
    }

    /// Notes that use began or ended.
    fn note(&mut self, now_us: u64) {
        let as_it_was_us = now_us.saturating_sub(self.changed_us);
        self.changed_us = now_us;
        if self.until_us > 0 {
            self.stay(as_it_was_us, now_us);
        }
    }

    /// Has it known by a few of its pages until it is settled; it was for so long as it was before.
    fn stay(&mut self, as_it_was_us: u64, now_us: u64) {
        let settled_us = (SETTLED * as_it_was_us).clamp(LEAST_SETTLED_US, MOST_SETTLED_US);
        self.until_us = self.until_us.max(now_us + settled_us);
    }
}

impl Subregion {
    /// Notes what came of a reading; before it, so many pages of the probe waited, and none was accessed since `quiet_since_us`, if
    /// that is not 0. `changed`: it is used otherwise. Returns whether all of it came into use.
    pub fn note_turn(
        &mut self,
        waited: u32,
        quiet_since_us: u64,
        changed: bool,
        now_us: u64,
    ) -> bool {
        let (share, of) = WHOLE;
        let all = self.nr_pages();
        let are_most = |pages: u32| pages * of >= all * share;
        let was_idle = quiet_since_us > 0 && now_us >= quiet_since_us + LEAST_IDLE_US;
        let begins = was_idle && self.quiet_since_us == 0 && are_most(waited);
        if begins {
            self.turns.begun_us = now_us;
        }
        if changed || begins {
            self.turns.note(now_us);
        }
        let has_just_begun = now_us < self.turns.begun_us + BEGINS_IN_US;
        if !has_just_begun || !are_most(all - self.waiting.len()) {
            return false;
        }
        (self.turns.begun_us, self.turns.whole_us) = (0, now_us);
        true
    }
}

impl Windows {
    /// Whether a subregion whose pages are not known one by one may come into use as a whole again, which is dear.
    pub(super) fn may_turn(&self, target: &TargetSubregions, index: usize, now_us: u64) -> bool {
        let subregion = &target.subregions[index];
        let is_accessed = now_us < subregion.accessed.to_us + BOUND_OVER_US;
        let is_as_dear =
            now_us < self.turns_dear_until_us && is_accessed && !subregion.is_probe_mixed();
        subregion.table.is_none()
            && (subregion.turns.go_on(now_us) || is_as_dear && !target.is_edge(index))
    }

    /// Lets page tables that came into use as a whole be known by few of their pages, if what that took is much.
    pub(super) fn leave_what_turns(&mut self, now_us: u64) {
        let is_turned = |target: &TargetSubregions, index: usize| {
            let subregion = &target.subregions[index];
            // Of a table of which few pages tell, what is at an edge is not all in use.
            subregion.turns.was_whole_lately(now_us)
                && !subregion.turns.go_on(now_us)
                && (subregion.table.is_some() || !target.is_edge(index))
        };
        let mut turned = Vec::new();
        for (at, target) in self.targets.iter().enumerate() {
            let of_it = (0..target.subregions.len()).filter(|index| is_turned(target, *index));
            turned.extend(of_it.map(|index| (at, index)));
        }
        let (mut setting_us, mut reading_us) = (0.0, 0.0);
        for (at, index) in &turned {
            let pages = self.targets[*at].subregions[*index].range.pages();
            setting_us += self.budget.setting_again(pages as f64);
            reading_us += self.budget.real(self.budget.reading(pages));
        }
        let is_dear = self.budget.part_of_all(setting_us) >= MUCH
            || reading_us >= MUCH * self.budget.per_second();
        // Those that follow are of the same phase, or of others like it.
        if now_us >= self.turns_dear_until_us && !is_dear {
            return;
        }
        self.turns_dear_until_us = now_us + SETTLED * BOUND_OVER_US;
        for (at, index) in turned {
            let subregion = &mut self.targets[at].subregions[index];
            let as_it_was_us = now_us.saturating_sub(subregion.since_us);
            subregion.turns.stay(as_it_was_us, now_us);
            subregion.leave_table();
        }
    }
}
