//! A round: what is due is read, what was read is armed anew where it has to be, and what
//! the budget leaves goes into knowing more.
//!
//! Memory that is known to be accessed often is read a sampling interval after it was armed, in a
//! tick of its own; all other memory is read in a later round.

use super::Windows;
use super::budget::BOUND_OVER_US;
use super::looks::{BETWEEN_LOOKS_US, BETWEEN_TABLES_US, key};
use super::subregion::{Subregion, Taken};
use daos_core::{AccessCheck, Observation, Window};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time from one look to the next at memory of which nothing is present, in microseconds. Chosen.
const BETWEEN_ABSENT_US: u64 = 500_000;
/// A subregion is looked at closely until it is known whether it has this many accesses a second.
/// Chosen: what is used every two seconds is in use.
const LEAST_RATE: f64 = 0.5;
/// A subregion without an access for this time after arming is idle for sure, whatever its pages
/// are; in microseconds. Chosen.
const SURE_AFTER_US: u64 = 1_000_000;
/// Neighbours on each side of a changed subregion that are looked at, too. Chosen.
const REACH: usize = 8;
/// Most of a round's budget (what the bucket holds beyond the reserve) for reading what waits for
/// an access, as a share. Chosen.
const FOR_READING: f64 = 0.3;
/// Most of a round's budget for that reading plus arming what is due, as a share. Chosen: the rest
/// is for learning or exploring.
const FOR_LOOKS: f64 = 0.55;
/// If only the reserve is left, the share of it that reading may still take in a round. Chosen: as
/// much comes in meanwhile, and a reserve for changes is of no use where nobody sees that there are
/// any.
const READ_ANYWAY: f64 = 0.1;
/// Most of a round's budget for reading plus arming what was never armed before, as a share.
/// Chosen: a few pages of each subregion tell cheaply what most of the memory is.
const FOR_FIRST_LOOKS: f64 = 0.8;
/// A phase has begun when at least one subregion in this many changed during back-to-back rounds.
/// Chosen.
const MANY_CHANGE: usize = 32;
/// A phase has also begun when at least this many subregions changed, and they are at least one in
/// [`OF_LOOKS`] of all looks. Chosen: where little can be looked at, few changes are seen of a
/// phase that begins.
const SOME: u64 = 4;
/// See [`SOME`]: changes must be at least one in this many looks. Chosen.
const OF_LOOKS: u64 = 2;
/// How long the reserve may be spent after much has changed, in microseconds. Chosen: as long as
/// looks take at memory that is accessed often.
pub(super) const ASTIR_US: u64 = 200_000;
/// The share of a full bucket that learning and exploring leave untouched, also while the reserve
/// may be spent. Chosen.
const KEPT_BY_LEARNING: f64 = 0.15;
/// While at least one subregion in this many changes during back-to-back rounds, learning page
/// tables has no larger share than usual. Chosen: in mixed memory whose use does not change, one in
/// a hundred seems to.
const SOME_CHANGE: usize = 128;
/// ([`FOR_READING`], [`FOR_LOOKS`]) while some page tables are still to be learned and little
/// changes. Chosen: learning comes first.
const WHILE_LEARNING: (f64, f64) = (0.25, 0.33);
/// ([`FOR_READING`], [`FOR_LOOKS`]) while parts of a large memory are still unexplored and little
/// changes. Chosen: exploring comes first.
const WHILE_EXPLORING: (f64, f64) = (0.15, 0.3);
/// The same while looks are late, too. Chosen: exploring, which would find more to look at, has
/// less.
const WHILE_BEHIND: (f64, f64) = (0.2, 0.4);
/// A look that is later than this shows that there is too little for all looks, in microseconds.
/// Chosen.
const BEHIND_US: u64 = 1_000_000;
/// Memory counts as explored after this many places for each region that the attributes allow.
/// Chosen: blocks in a hundredth of the memory were found by then.
const PLACES_A_REGION: u64 = 20;
/// The share of a round's budget that learning and exploring leave for what comes unexpected.
/// Chosen.
const LEFT: f64 = 0.05;
/// The same for learning page tables if a phase began lately. Chosen: another may follow.
const LEFT_IN_PHASES: f64 = 0.6;
/// If there was not enough to arm anything for so long, nothing is put by until there is, in
/// microseconds. Chosen: what is in use stays known while all of a target is saved for, and that
/// takes a tenth longer.
const ARMING_WAITS_US: u64 = 2_000_000;
/// Looks come earlier by up to one part in this many of the pause before them, so that they spread
/// over rounds. Chosen.
const SPREAD: u64 = 2;

/// What is due, the smallest key first.
pub(super) type Due = BinaryHeap<Reverse<(u64, Who)>>;

/// Who is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// A subregion of a target, both by index.
    Subregion(usize, usize),
    /// A scout, by index.
    Scout(usize),
}

/// A window of some of the pages of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub who: Who,
    /// The first page's number in the probe, and the number behind the last page's.
    pub from: u32,
    pub to: u32,
}

impl Windows {
    /// Reads what is due, and arms what has to be.
    pub(super) fn begin_round<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        self.rounds += 1;
        self.wants_round = false;
        if std::mem::take(&mut self.has_turned) {
            self.leave_what_turns(now_us);
        }
        let kept = self.kept(now_us);
        let is_worth_arming = self.budget.is_worth_arming(kept, self.is_astir(now_us));
        self.is_behind &= !is_worth_arming;
        if is_worth_arming {
            self.could_arm_us = now_us;
        }
        self.budget.arming_waits = now_us > self.could_arm_us + ARMING_WAITS_US;
        let fullness = self.budget.fullness();
        let there_is = (fullness - kept).max(0.0);
        let (for_reading, _) = self.shares(now_us);
        self.to_check.clear();
        let left = match there_is > 0.0 {
            true => kept + there_is * (1.0 - for_reading),
            false => (1.0 - READ_ANYWAY) * fullness,
        };
        self.read_due(access, now_us, left)?;

        self.check_us = None;
        self.plan_at_once(access, now_us);
        if self.arm_at_once(access, kept, now_us)? {
            return Ok(());
        }
        self.places.clear();
        self.end_at_once(now_us);
        if now_us < self.at_once.all_read_until_us {
            return Ok(());
        }
        if !(self.wants_round || is_worth_arming) {
            return Ok(());
        }
        // What was just read may have shown that much changes: shares and reserve are others then.
        let (_, for_looks) = self.shares(now_us);
        let kept = self.kept(now_us);
        let there_is = (fullness - kept).max(0.0);
        let kept_beside = |part: f64| kept + there_is * (1.0 - part);
        self.arm_due(now_us, kept_beside(FOR_FIRST_LOOKS), kept_beside(for_looks));
        let left = |part: f64| kept.max(KEPT_BY_LEARNING) + there_is * part;
        if self.fits_tables {
            // Memory that is thought to be idle may be in use by now, and arming it would cost its
            // user.
            if !self.is_astir(now_us) {
                let part = if self.phase_began_lately(now_us) { LEFT_IN_PHASES } else { LEFT };
                self.arm_tables(now_us, left(part));
            }
        } else {
            let first = self.scouts.len();
            self.send_scouts(now_us, left(LEFT));
            for at in first..self.scouts.len() {
                let pages = self.scouts[at].place.nr_pages();
                self.push_armed(Place { who: Who::Scout(at), from: 0, to: pages }, now_us);
            }
        }
        self.arm(access, now_us)
    }

    /// Notes that a look that was due at `due_us` has to wait.
    pub(super) fn note_left(&mut self, due_us: u64, now_us: u64) {
        // `due_us == 0` means urgent, not overdue.
        self.is_behind |= due_us > 0 && now_us > due_us + BEHIND_US;
    }

    /// The shares of a round's budget: for reading, and for reading plus looks.
    fn shares(&self, now_us: u64) -> (f64, f64) {
        if now_us < self.at_once.all_read_until_us {
            return (1.0, 1.0);
        }
        let places = PLACES_A_REGION * u64::from(self.attrs.max_regions);
        let is_calm = !self.has_much_changed();
        match self.fits_tables {
            true if self.is_learning && !self.has_changed_one_in(SOME_CHANGE) => WHILE_LEARNING,
            false if is_calm && self.is_behind && self.nr_explored < places => WHILE_BEHIND,
            false if is_calm && self.nr_explored < places => WHILE_EXPLORING,
            _ => (FOR_READING, FOR_LOOKS),
        }
    }

    /// Whether at least one subregion in `nr` changed in this round and those before it, back to
    /// back.
    fn has_changed_one_in(&self, nr: usize) -> bool {
        self.changes as usize * nr >= self.nr_subregions()
    }

    /// Whether so much changed that a phase has begun.
    fn has_much_changed(&self) -> bool {
        let is_much_of_looks = self.changes >= SOME && self.changes * OF_LOOKS >= self.looks;
        is_much_of_looks || self.has_changed_one_in(MANY_CHANGE)
    }

    /// Reads what was armed for one sampling interval. Arming it reserved the cost of this reading,
    /// and a late reading would waste it.
    pub(super) fn end_round<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        self.check_us = None;
        // A tick may come a little early.
        let by_us = now_us + self.attrs.sample_us / 4;
        let mut to_check = std::mem::take(&mut self.to_check);
        for who in to_check.drain(..) {
            let subregion = self.at(who);
            let look = (subregion.due_us <= by_us).then(|| self.next_look(who, now_us)).flatten();
            if let Some((from, to)) = look {
                // Its cost was reserved when it was armed; what it really costs is to be learned.
                self.budget.expect(self.budget.reading(u64::from(to - from)));
                self.places.push(Place { who, from, to });
            }
        }
        self.to_check = to_check;
        self.read(access, now_us)
    }

    /// Finds again what was armed for one sampling interval, after indices of targets or scouts
    /// changed.
    pub(super) fn find_to_check(&mut self) {
        self.to_check.clear();
        if self.check_us.is_none() {
            return;
        }
        let mut to_check = std::mem::take(&mut self.to_check);
        let is_just_armed = |place: &Subregion| place.armed.at_us >= self.armed_us;
        to_check.extend(self.all().filter(|(_, place)| is_just_armed(place)).map(|(who, _)| who));
        self.to_check = to_check;
    }

    /// Reads what waits for an access and is due, as far as it leaves `kept` of the budget.
    fn read_due<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
        kept: f64,
    ) -> Result<(), A::Error> {
        self.places.clear();
        if !self.budget.has_more_than(kept) {
            return Ok(());
        }
        self.scouts.iter_mut().for_each(|scout| scout.hurry(now_us));
        let is_learning = self.is_learning && !self.is_astir(now_us);
        let mut due = self.all_due(now_us, |place| !place.is_to_be_armed, key);
        while let Some(Reverse((_, who))) = due.pop() {
            let Some((from, to)) = self.next_look(who, now_us) else {
                let place = self.at_mut(who);
                // Of a page table there is something to read again once time has passed.
                place.is_to_be_armed = place.table.is_none();
                continue;
            };
            let price = self.budget.reading(u64::from(to - from));
            if self.places.len() >= self.max_windows()
                || !self.budget.reserve_reading(price, kept, is_learning)
            {
                self.note_left(self.at(who).due_us, now_us);
                break;
            }
            self.places.push(Place { who, from, to });
        }
        self.due = due.into_vec();
        self.read(access, now_us)
    }

    /// What is due and `is_wanted`, the smallest key first. A heap puts only as many in order as
    /// are taken: where the budget is too small for all, many are due, and few are looked at.
    pub(super) fn all_due(
        &mut self,
        now_us: u64,
        is_wanted: impl Fn(&Subregion) -> bool,
        key: impl Fn(&Subregion) -> u64,
    ) -> Due {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        let is_due = |(_, place): &(Who, &Subregion)| place.due_us <= now_us && is_wanted(place);
        due.extend(self.all().filter(is_due).map(|(who, place)| Reverse((key(place), who))));
        BinaryHeap::from(due)
    }

    /// All that is looked at.
    fn all(&self) -> impl Iterator<Item = (Who, &Subregion)> {
        let of_targets = self.targets.iter().enumerate().flat_map(|(at, target)| {
            let subregions = target.subregions.iter().enumerate();
            subregions.map(move |(index, subregion)| (Who::Subregion(at, index), subregion))
        });
        let scouts = self.scouts.iter().enumerate();
        of_targets.chain(scouts.map(|(at, scout)| (Who::Scout(at), &scout.place)))
    }

    pub(super) fn at_mut(&mut self, who: Who) -> &mut Subregion {
        match who {
            Who::Subregion(at, index) => &mut self.targets[at].subregions[index],
            Who::Scout(at) => &mut self.scouts[at].place,
        }
    }

    fn at(&self, who: Who) -> &Subregion {
        match who {
            Who::Subregion(at, index) => &self.targets[at].subregions[index],
            Who::Scout(at) => &self.scouts[at].place,
        }
    }

    /// The pages that are to be read next; of a scout, all.
    fn next_look(&self, who: Who, now_us: u64) -> Option<(u32, u32)> {
        match who {
            Who::Subregion(..) => self.at(who).next_look(now_us),
            Who::Scout(at) => Some((0, self.scouts[at].place.nr_pages())),
        }
    }

    /// Reads the places of this round, and takes in what is found.
    pub(super) fn read<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        if self.places.is_empty() {
            return Ok(());
        }
        self.sort_places();
        self.fill_windows();
        self.observations.clear();
        access.check(&self.windows, &mut self.observations)?;
        self.count_check();
        let (places, found) =
            (std::mem::take(&mut self.places), std::mem::take(&mut self.observations));
        let mut moved = Vec::new();
        for (place, seen) in places.iter().zip(&found) {
            self.take(*place, seen, &mut moved, now_us);
        }
        (self.places, self.observations) = (places, found);
        moved.into_iter().for_each(|(at, start)| self.split_where_moved(at, start, now_us));
        self.recall_scouts(now_us);
        Ok(())
    }

    /// Takes in what was found in a window, and plans the next look. A probe that is not like where
    /// it was before is appended to `moved`: its target, and where it starts.
    fn take(
        &mut self,
        place: Place,
        seen: &Observation,
        moved: &mut Vec<(usize, u64)>,
        now_us: u64,
    ) {
        self.looks += 1;
        let pages = (place.from, place.to);
        let (at, index) = match place.who {
            Who::Scout(at) => {
                return self.scouts[at].take(pages, seen, self.attrs.sample_us, now_us);
            }
            Who::Subregion(at, index) => (at, index),
        };
        let target = &mut self.targets[at];
        let subregion = &mut target.subregions[index];
        if seen.present == 0 && seen.unobservable == 0 {
            return subregion.take_absent(pages, seen, now_us);
        }
        if std::mem::take(&mut subregion.absent) {
            subregion.unsure = true;
        }
        let (waited, quiet_since_us) = (subregion.waiting.len(), subregion.quiet_since_us);
        let Taken { changed, at_all } = subregion.take(pages, seen, now_us);
        self.has_turned |= subregion.note_turn(waited, quiet_since_us, changed, now_us);
        if let Some(look) = at_all {
            target.note_at_all(index, look);
        }
        self.plan_next_look(at, index, seen.present > 0, now_us);
        if changed {
            self.note_changed(at, index, moved, now_us);
        } else if seen.accessed > 0 {
            self.targets[at].subregions[index].moved_from = None;
        }
    }

    /// Plans the next look at a subregion that was read now. `is_there`: some of the pages read are
    /// in memory.
    fn plan_next_look(&mut self, at: usize, index: usize, is_there: bool, now_us: u64) {
        let next_reading_us = self.next_reading_us(now_us);
        let subregion = &mut self.targets[at].subregions[index];
        let is_odd = subregion.estimate.is_odd();
        let waited_us = now_us.saturating_sub(subregion.armed.at_us);
        subregion.unsure = is_odd
            || subregion.is_saturated
            || (waited_us < SURE_AFTER_US && !subregion.estimate.is_enough(LEAST_RATE));
        // Page tables change with their neighbours, so each can be looked at more seldom.
        let between_us = if self.fits_tables { BETWEEN_TABLES_US } else { BETWEEN_LOOKS_US };
        subregion.due_us = subregion.next_due_us(self.attrs.sample_us, between_us, now_us);
        subregion.due_us = subregion.due_us.max(next_reading_us);
        let pause_us = subregion.due_us.saturating_sub(now_us);
        if now_us >= self.at_once.read_again_us && pause_us > BETWEEN_LOOKS_US {
            // Looks are spread over rounds, so that in each some show whether anything changed.
            subregion.due_us -= self.rng.below(pause_us / SPREAD);
        }
        if !is_there {
            subregion.leave_probe();
            subregion.due_us = next_reading_us.max(now_us + BETWEEN_ABSENT_US);
        }
    }

    /// Notes that the rate of a subregion turned out to be another one: it and its neighbours are
    /// looked at at once. Appends it to `moved` if this may be because its probe was moved.
    fn note_changed(
        &mut self,
        at: usize,
        index: usize,
        moved: &mut Vec<(usize, u64)>,
        now_us: u64,
    ) {
        let target = &mut self.targets[at];
        let subregion = &mut target.subregions[index];
        subregion.arm_all_us = subregion.arm_all_us.min(now_us);
        (subregion.due_us, subregion.unsure) = (now_us, true);
        target.make_due_around(index, REACH, now_us);
        self.changes += 1;
        (self.wants_round, self.budget.news_wait) = (true, true);
        let many_change = self.has_much_changed();
        let subregion = &mut self.targets[at].subregions[index];
        if many_change {
            self.astir_until_us = self.astir_until_us.max(now_us + ASTIR_US);
            self.in_phases_until_us = now_us + BOUND_OVER_US;
            // Use changed all over, so this is not because the probe was moved.
            subregion.moved_from = None;
        } else if subregion.moved_from.is_some() {
            moved.push((at, subregion.probe.start));
        }
    }

    /// Sorts the places by target and address: in this order they are read fastest.
    pub(super) fn sort_places(&mut self) {
        let (targets, scouts) = (&self.targets, &self.scouts);
        self.places.sort_unstable_by_key(|place| match place.who {
            Who::Subregion(at, index) => {
                (targets[at].id, targets[at].subregions[index].probe.start)
            }
            Who::Scout(at) => (scouts[at].target, scouts[at].place.probe.start),
        });
    }

    pub(super) fn fill_windows(&mut self) {
        let (targets, scouts) = (&self.targets, &self.scouts);
        self.windows.clear();
        self.windows.extend(self.places.iter().map(|place| {
            let (target, subregion) = match place.who {
                Who::Subregion(at, index) => (targets[at].id, &targets[at].subregions[index]),
                Who::Scout(at) => (scouts[at].target, &scouts[at].place),
            };
            Window::over(target, subregion.pages(place.from, place.to))
        }));
    }
}

impl Subregion {
    /// Takes in a reading of some pages, none of which is in memory, and plans the next look.
    fn take_absent(&mut self, (from, to): (u32, u32), seen: &Observation, now_us: u64) {
        self.take((from, to), seen, now_us);
        self.moved_from = None;
        if to - from < self.nr_pages() {
            // Only a look at all pages tells whether any is there.
            self.whole_read_us = 0;
        }
        self.unsure = false;
        self.absent = self.is_in_hole(self.probe.start, seen.empty_bytes);
        self.due_us = now_us + BETWEEN_ABSENT_US;
        if !self.absent {
            self.leave_probe();
        }
    }
}
