//! Page tables that come into use, and fall idle, as a whole: by turns.
//!
//! Where pages are known one by one, all pages of an idle page table wait for an access. When the
//! next phase uses them, their user has to set the bits of all pages again; and for that to be seen
//! in time, all have to be read every second. If this takes much of the budget, the phase after it
//! is not seen. A few pages tell of a page table that turns as a whole just as well as all do, so
//! it is known by a few pages until it settles.

use super::Windows;
use super::budget::BOUND_OVER_US;
use super::subregion::Subregion;
use super::target::TargetSubregions;

/// A page table came into use as a whole if this share of its looked-at pages waited before, and
/// this share was accessed since. A fraction: numerator, denominator. Chosen.
const WHOLE: (u32, u32) = (7, 8);
/// Coming into use as a whole is expensive if setting those bits again costs this share of 10 s of
/// budget, or reading the pages once costs this share of 1 s of budget. Chosen: less leaves enough
/// to see the next phase.
const MUCH: f64 = 0.3;
/// Memory idle for less than this is not counted as having turned, but is accessed now and then; in
/// microseconds. Chosen: such memory counts as accessed within a second anyway.
const LEAST_IDLE_US: u64 = 1_000_000;
/// Once it was expensive, coming into use as a whole counts as expensive for this time, in
/// microseconds. Chosen: twice the time over which the bound is promised.
const DEAR_FOR_US: u64 = 2 * BOUND_OVER_US;

impl Subregion {
    /// Notes the result of a reading. `waited`: pages that waited before it; `quiet_since_us`:
    /// since when none was accessed, or 0; `changed`: the rate changed. Returns whether it just
    /// came into use as a whole.
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
        self.turns.note(begins.then(|| now_us - quiet_since_us), changed, now_us);
        are_most(all - self.waiting.len()) && self.turns.note_whole(now_us)
    }
}

impl Windows {
    /// Whether a subregion whose pages are not known one by one may come into use as a whole, which
    /// is expensive.
    pub(super) fn may_turn(&self, target: &TargetSubregions, index: usize, now_us: u64) -> bool {
        let subregion = &target.subregions[index];
        let is_accessed = now_us < subregion.accessed.to_us + BOUND_OVER_US;
        let is_as_dear =
            now_us < self.turns_dear_until_us && is_accessed && !subregion.is_probe_mixed();
        subregion.table.is_none()
            && (subregion.turns.go_on(now_us) || is_as_dear && !target.is_edge(index))
    }

    /// Has page tables that came into use as a whole known by a few of their pages, if that was
    /// expensive.
    pub(super) fn leave_what_turns(&mut self, now_us: u64) {
        let is_turned = |target: &TargetSubregions, index: usize| {
            let subregion = &target.subregions[index];
            // When all is armed at once, the pages of those that go on are known, too. Where a few
            // tell of a page table at an edge, not all of it may be in use.
            let is_new = || !subregion.turns.go_on(now_us) && !target.is_edge(index);
            subregion.turns.was_whole_lately(now_us) && (subregion.table.is_some() || is_new())
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
        // Page tables that follow belong to the same phase, or to others like it.
        if now_us >= self.turns_dear_until_us && !is_dear {
            return;
        }
        self.turns_dear_until_us = now_us + DEAR_FOR_US;
        for (at, index) in turned {
            let subregion = &mut self.targets[at].subregions[index];
            subregion.turns.stay_after_idle(now_us);
            subregion.leave_table();
        }
    }
}
