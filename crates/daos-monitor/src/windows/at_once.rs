//! Arming all that a target has in memory at once, where that takes less than to arm its page tables
//! one by one.
//!
//! A primitive may do that for a tenth of the price of a page. But it can't be done for a part of the
//! memory, nor in parts: so there is a time from which on page tables that are due are not armed any
//! more, what is not spent on them is put by, and once there is enough, all that waits is read and
//! everything is armed.

use super::Windows;
use super::arming::{BUSY_RATE, is_first};
use super::budget::BOUND_OVER_US;
use super::looks::wait_us;
use super::round::{Place, Who};
use super::subregion::{IDLE_RATE, Subregion};
use daos_core::pages::Pages;
use daos_core::{AccessCheck, PAGE_SIZE, TargetId};
use std::cmp::Reverse;

/// Longest time that it may take, in microseconds: so long the target may have to wait where it maps
/// memory. Chosen: some half a million pages on a usual host, and no longer than a scheduler lets
/// others wait.
const MOST_US: f64 = 25_000.0;
/// The share of what may be spent in the seconds over which the bound is promised that it may take, both sides. Chosen: the rest is to see with.
const MOST_OF_ALL: f64 = 0.9;
/// The same where a phase began in as many seconds before. Chosen: the other half and more is to see the next.
const MOST_IN_PHASES: f64 = 0.4;
/// The same where it is lent. Chosen: what a store of a gigabyte takes on an Intel host, where bits are dear to set anew.
const MOST_IF_LENT: f64 = 1.2;
/// What was spent in these seconds as long as it is early, as a part of what may be. Chosen: some two seconds.
const EARLY: f64 = 0.3;
/// The share of what comes in that is put by for it, at least. Chosen: as much as page tables would have, which are
/// not armed meanwhile. And at most: waking up, snapshots and what is read take the rest.
const PUT_BY: f64 = 0.6;
const MOST_PUT_BY: f64 = 0.85;
/// Time after which it is tried again where it could not be done, in microseconds. Chosen: it won't be possible then.
const AGAIN_US: u64 = 60_000_000;
/// Time from one planning to the next, in microseconds, and as long as too little is known. Chosen: what is known of
/// all has to be gone through.
const BETWEEN_PLANS_US: u64 = 1_000_000;
const UNTIL_READY_US: u64 = 500_000;
/// How much more it may take once it is planned.
const SLACK: f64 = 1.1;
/// One in so many subregions may never have been looked at. Chosen: new ones come all the time.
const FEW: usize = 8;
/// Page tables in which use begins or ends are armed one by one before, if they are no more than one in so many and few are mixed: where
/// blocks are in use, these tell most. Chosen.
const FEW_EDGES: usize = 4;
/// Page tables of which some pages were accessed and others not, for all to be armed at once before it was put by for: one in
/// so many. Chosen: where page tables are in use as a whole or not at all, few pages of each tell as much.
const MIXED: usize = 6;
/// How many times as much as it should cost it takes at least to arm page tables one by one that were never armed, where many are
/// mixed. Measured on an Intel Xeon: 1.6 to 3.3 times, as few are armed in a round.
const DEARER: f64 = 1.5;
/// The share of pages that are taken to be accessed where nothing is known. Chosen: where it is more, that is known
/// before there is enough.
const MAY_BE_USED: f64 = 0.1;
/// How often all is read after it.
const READINGS: f64 = 2.0;
/// The number of the time within which pages that are accessed have their bits set anew. Chosen: five seconds; of
/// what is accessed less often, some are armed the next time.
const WITHIN_SECONDS: usize = 5;
/// Pages that it takes to arm one in use of a page table, with those between that are passed over and
/// the runs that they make. Measured on tables of which a tenth is in use, singly.
const PAGES_OF_ONE: u64 = 4;
/// Page tables that are read as soon as can be at most, and one in how many is beside those that are accessed that
/// often, or one in more where they are many. Chosen: what is used all the time shows in some of them.
const SOON: usize = 64;
const SOON_ONE_IN: u64 = 8;
/// Sampling intervals within which these are read, at the latest. Chosen: ticks may come late.
const SOON_SAMPLES: u64 = 4;
/// Time from it to the first reading of all, and to the second, in microseconds. Chosen: from how many pages come by both it is
/// known how often what is accessed once to fifty times a second is.
const FIRST_READING_US: u64 = 60_000;
const SECOND_READING_US: u64 = 800_000;
/// Time after it in which all is read and nothing else armed, in microseconds. Chosen: the second reading comes in two
/// rounds.
const READ_IN_US: u64 = 1_500_000;
/// By how much that is put off while one page table in so many was not read for the second time, and until when since it was armed, in
/// microseconds. Chosen: the target may have paid more than was thought, and little be left to read with.
const READ_LATER_US: u64 = 300_000;
const FEW_UNREAD: usize = 16;
const READ_IN_AT_MOST_US: u64 = 4_000_000;

/// Which target is to be armed at once, and what that takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    target: TargetId,
    /// To clear the bits, and to read before and after, in microseconds.
    monitor_us: f64,
    /// What it costs the target.
    target_us: f64,
    /// How much less it is than to arm what is due of it one by one, in microseconds.
    gain_us: f64,
    /// Something is known of most of it.
    is_ready: bool,
    /// So many of its pages differ one by one that it is done before it was put by for, as soon as what was spent lately
    /// leaves room for it.
    may_be_lent: bool,
}

/// What arming at once has to remember.
#[derive(Debug, Clone, Default)]
pub(super) struct AtOnce {
    /// A target that is to be armed at once, and when that is planned next.
    plan: Option<Plan>,
    plan_due_us: u64,
    /// That was the last that was armed, which is not charged yet.
    pub was_just_armed: bool,
    /// What was spent on the last one, in microseconds, and until when as much is put by again.
    spent_us: f64,
    saves_until_us: u64,
    /// Until when reading comes first since then, and when it is to be read for the second time.
    pub all_read_until_us: u64,
    pub read_again_us: u64,
    /// Which it was, and when, until its page tables have learned from each other.
    learning: Option<(TargetId, u64)>,
}

impl Plan {
    fn price_us(&self) -> f64 {
        self.monitor_us + self.target_us
    }
}

impl Windows {
    /// Plans anew which target is to be armed at once, if any, when that is due: all that is known of them has to be
    /// gone through.
    pub(super) fn plan_at_once<A: AccessCheck + ?Sized>(&mut self, access: &A, now_us: u64) {
        if now_us < self.at_once.plan_due_us || now_us < self.at_once.all_read_until_us {
            return;
        }
        let may = |at: &usize| self.fits_tables && access.can_arm_target(self.targets[*at].id);
        let plans = (0..self.targets.len()).filter(may).filter_map(|at| self.plan(at, now_us));
        let plan = plans.max_by(|one, other| one.gain_us.total_cmp(&other.gain_us));
        let is_ready = match plan {
            Some(plan) => plan.is_ready,
            // In the beginning, when it may be lent, there may be one any moment.
            None => !self.budget.has_room(0.0, EARLY),
        };
        self.at_once.plan_due_us =
            now_us + if is_ready { BETWEEN_PLANS_US } else { UNTIL_READY_US };
        self.at_once.plan = plan;
        self.save(now_us);
    }

    /// Puts by what is wanted for the plan; and after one was carried out, as much again: what was spent was more
    /// than came in meanwhile.
    fn save(&mut self, now_us: u64) {
        let spent_us =
            if now_us < self.at_once.saves_until_us { self.at_once.spent_us } else { 0.0 };
        let wanted_us = self.at_once.plan.map_or(0.0, |plan| plan.price_us()).max(spent_us);
        self.budget
            .save_for(wanted_us, self.budget.part_of_all(wanted_us).clamp(PUT_BY, MOST_PUT_BY));
    }

    /// A plan to arm this target at once, if that is worth it and can be.
    fn plan(&self, target: usize, now_us: u64) -> Option<Plan> {
        let target = &self.targets[target];
        if now_us < target.at_once_from_us || target.growth.is_growing(now_us) {
            return None;
        }
        let (mut pages, mut subregions, mut new) = (0, 0, 0);
        let (mut reading_us, mut target_us, mut one_by_one_us) = (0.0, 0.0, 0.0);
        let (mut edges, mut mixed, mut never_armed_us) = (0, 0, 0.0);
        let subregions_there = target.subregions.iter().enumerate().filter(|(_, s)| !s.absent);
        for (index, subregion) in subregions_there {
            let all = subregion.range.pages();
            let is_new = subregion.is_new();
            (pages, subregions, new) = (pages + all, subregions + 1, new + usize::from(is_new));
            let within = || subregion.shares_within(now_us).nth(WITHIN_SECONDS);
            let mut chance = if is_new { MAY_BE_USED } else { within().map_or(0.0, f64::from) };
            if self.may_turn(target, index, now_us) {
                // By then it may be in use again.
                chance = 1.0;
            } else if subregion.table.is_none() {
                // That the others of its few pages will be accessed, too, was not seen.
                chance = chance.min(MAY_BE_USED.max(subregion.accessed.share.into()));
            }
            target_us += self.budget.setting_again(all as f64 * chance);
            // What waits is read before, and all of it twice afterwards.
            let before = if subregion.waiting.is_empty() { 0 } else { subregion.nr_pages() };
            reading_us += self.budget.reading(u64::from(before)).monitor()
                + READINGS * self.budget.reading(all).monitor();
            let is_due = self.is_to_be_armed_whole(subregion, now_us);
            let is_unknown = is_due && subregion.table.is_none();
            edges += usize::from(is_unknown && is_first(target, index));
            mixed += usize::from(subregion.is_seen_mixed());
            if is_new || is_due && subregion.may_differ() {
                let used = PAGES_OF_ONE * u64::from(subregion.summary.used);
                let armed = if subregion.table.is_some() { all.min(used) } else { all };
                let price_us = self.budget.real(self.budget.sampling(armed, chance));
                one_by_one_us += price_us;
                never_armed_us += if subregion.table.is_some() { 0.0 } else { price_us };
            }
        }
        let are_many_mixed = mixed * MIXED >= subregions;
        if are_many_mixed {
            let dearer = (DEARER / self.budget.factor_of_arming() - 1.0).max(0.0);
            one_by_one_us += dearer * never_armed_us;
        }
        let resident = target.resident_bytes.map_or(pages, |bytes| bytes / PAGE_SIZE);
        let clearing_us = self.budget.clearing_at_once(resident);
        let reading_us = reading_us * self.budget.factor_of_reading().max(1.0);
        let monitor_us = clearing_us + reading_us;
        let price_us = monitor_us + target_us;
        let plan = Plan {
            target: target.id,
            monitor_us,
            target_us,
            gain_us: one_by_one_us - price_us,
            is_ready: new * FEW <= subregions,
            may_be_lent: are_many_mixed,
        };
        // What was begun goes on though a little changes.
        let is_planned = self.is_to_be_armed_at_once(target.id);
        let may_be_blocks = !are_many_mixed && (1..subregions / FEW_EDGES).contains(&edges);
        if may_be_blocks && !is_planned {
            return None;
        }
        let slack = if is_planned { SLACK } else { 1.0 };
        let part = self.budget.part_of_all(price_us);
        // A phase that begins while so much is put by, or was just spent, would hardly be seen.
        let most = match plan.may_be_lent {
            true => MOST_IF_LENT,
            false if self.phase_began_lately(now_us) => MOST_IN_PHASES,
            false => slack * MOST_OF_ALL,
        };
        let can =
            clearing_us <= slack * MOST_US && part <= most && one_by_one_us * slack > price_us;
        can.then_some(plan)
    }

    /// Whether a target is to be armed at once, so that its page tables wait for that.
    pub(super) fn is_to_be_armed_at_once(&self, target: TargetId) -> bool {
        self.at_once.plan.is_some_and(|plan| plan.target == target)
    }

    /// Arms a target at once if that is planned and there is enough for it, beside the share `kept` of a
    /// full budget. Says whether it did.
    pub(super) fn arm_at_once<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        kept: f64,
        now_us: u64,
    ) -> Result<bool, A::Error> {
        let Some(plan) = self.at_once.plan.filter(|plan| plan.is_ready) else { return Ok(false) };
        let Some(at) = self.index_of(plan.target) else { return Ok(false) };
        let price_us = plan.price_us();
        let may_grow = self.targets[at].growth.may_grow(now_us);
        let can_lend = plan.may_be_lent && self.budget.can_lend(price_us);
        let has_enough = can_lend || self.budget.has_saved(price_us, kept);
        if may_grow || !self.fits_tables || !has_enough {
            return Ok(false);
        }
        self.at_once.plan = None;
        if self.has_grown(access, at, now_us) {
            self.at_once.plan_due_us = now_us;
            return Ok(false);
        }
        self.read_all_that_waits(access, at, now_us)?;
        self.places.clear();
        // What it takes is known by itself.
        self.budget.note_apart();
        if !access.arm_target(plan.target)? {
            self.targets[at].at_once_from_us = now_us + AGAIN_US;
            return Ok(false);
        }
        self.budget.spend_saved(price_us, plan.target_us);
        // As often as it has room in that time, evenly: in whichever seconds that is, there are no more.
        let times = (PUT_BY / self.budget.part_of_all(price_us)).floor().max(1.0);
        let next_us = now_us + (BOUND_OVER_US as f64 / times) as u64;
        self.targets[at].at_once_from_us = next_us;
        let subregions = self.targets[at].subregions.len();
        let soon_one_in = SOON_ONE_IN.max(subregions.div_ceil(SOON) as u64);
        for index in 0..subregions {
            let soon = self.rng.below(soon_one_in) == 0;
            self.was_armed_at_once(at, index, soon, next_us, now_us);
        }
        (self.armed_us, self.just_armed, self.at_once.was_just_armed) = (now_us, true, true);
        // From when it is over, as far as can be said.
        let armed_us = now_us + plan.monitor_us as u64;
        self.round_us = self.round_us.min(armed_us + FIRST_READING_US);
        self.at_once.read_again_us = armed_us + SECOND_READING_US;
        self.read_all_until(at, armed_us + READ_IN_US);
        self.at_once.saves_until_us = now_us + BOUND_OVER_US;
        self.at_once.spent_us = price_us;
        self.at_once.learning = Some((plan.target, now_us));
        self.save(now_us);
        Ok(true)
    }

    /// Whether a target has filled much since it was planned: it would take as much more, and what is filled next would
    /// wait long for its turn.
    fn has_grown<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        at: usize,
        now_us: u64,
    ) -> bool {
        let target = &mut self.targets[at];
        if let Some(bytes) = access.resident_bytes_of(target.id) {
            target.set_resident(Some(bytes), now_us);
        }
        target.growth.is_growing(now_us)
    }

    /// Reads what waits of a target, since nothing is known any more of when it was accessed once it is
    /// armed; of more than may be read in a tick, what was armed last; of the others nothing is known any more.
    fn read_all_that_waits<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        at: usize,
        now_us: u64,
    ) -> Result<(), A::Error> {
        self.places.clear();
        let subregions = self.targets[at].subregions.iter().enumerate();
        let mut waiting: Vec<_> = subregions
            .filter(|(_, subregion)| !subregion.absent)
            .filter_map(|(index, subregion)| {
                Some((Reverse(subregion.armed.at_us), index, subregion.waiting.span()?))
            })
            .collect();
        waiting.sort_unstable();
        let read = waiting.len().min(self.max_windows());
        for (_, index, (from, to)) in &waiting[..read] {
            self.places.push(Place { who: Who::Subregion(at, *index), from: *from, to: *to });
        }
        for (_, index, _) in &waiting[read..] {
            self.targets[at].subregions[*index].waiting = Pages::default();
        }
        self.read(access, now_us)
    }

    /// When what was armed so is to be read next at the soonest; 0 for whenever it is due.
    pub(super) fn next_reading_us(&self, now_us: u64) -> u64 {
        let second_us = self.at_once.read_again_us;
        let first_us = second_us.saturating_sub(SECOND_READING_US - FIRST_READING_US);
        [first_us, second_us].into_iter().find(|reading_us| now_us < *reading_us).unwrap_or(0)
    }

    /// Once all was read after it, lets page tables learn from each other.
    pub(super) fn end_at_once(&mut self, now_us: u64) {
        if now_us < self.at_once.all_read_until_us {
            return;
        }
        let Some((id, armed_us)) = self.at_once.learning else { return };
        let at = self.index_of(id);
        if let Some(at) = at.filter(|_| now_us < armed_us + READ_IN_AT_MOST_US)
            && self.is_much_unread(at)
        {
            self.read_all_until(at, now_us + READ_LATER_US);
            return;
        }
        self.at_once.learning = None;
        if let Some(at) = at {
            let soon_us = SOON_SAMPLES * self.attrs.sample_us;
            let first_us = (FIRST_READING_US + SECOND_READING_US) / 2;
            self.targets[at].learn_from_peers(armed_us, soon_us, first_us);
        }
    }

    /// Reads what was armed of a target, and does nothing else, until then: that takes all there is.
    fn read_all_until(&mut self, at: usize, until_us: u64) {
        (self.at_once.all_read_until_us, self.astir_until_us) = (until_us, until_us);
        // Most of it waits for its first access since then.
        let target = &mut self.targets[at];
        target.runs.put_off(until_us);
        target.working_sets_due_us = target.working_sets_due_us.max(until_us);
    }

    /// Whether more than a few page tables of a target that were armed at once still wait to be read for the second time.
    fn is_much_unread(&self, at: usize) -> bool {
        let subregions = &self.targets[at].subregions;
        let is_unread = |s: &&Subregion| {
            !s.absent && !s.waiting.is_empty() && s.read_us < self.at_once.read_again_us
        };
        subregions.iter().filter(is_unread).count() * FEW_UNREAD > subregions.len()
    }

    /// Notes that a subregion is armed with all else, and when it is to be read: `soon`, or if it is accessed so often.
    /// `next_us`: when it may be so again.
    fn was_armed_at_once(
        &mut self,
        at: usize,
        index: usize,
        soon: bool,
        next_us: u64,
        now_us: u64,
    ) {
        let sample_us = self.attrs.sample_us;
        let may_be_table = self.may_be_table(&self.targets[at].subregions[index]);
        let subregion = &mut self.targets[at].subregions[index];
        if subregion.absent {
            return;
        }
        let is_new = may_be_table && subregion.table.is_none();
        if is_new {
            subregion.make_table();
            if subregion.estimate.rate() < BUSY_RATE && !subregion.estimate.is_together() {
                // Of a few pages. All of it tells more in a moment.
                subregion.estimate.forget_rate();
            }
        }
        let to = subregion.nr_pages();
        subregion.arm(0, to, now_us);
        self.cost.armed += u64::from(to);
        if let Some(table) = &mut subregion.table {
            subregion.arm_all_us = table.armed_all(now_us, &mut self.rng).max(next_us);
        }
        let rate = subregion.estimate.rate();
        let is_known = rate >= IDLE_RATE && !subregion.unsure;
        let pause_us = if is_known { wait_us(rate, sample_us) } else { FIRST_READING_US };
        let who = Who::Subregion(at, index);
        let is_soon = soon || pause_us < SOON_SAMPLES * sample_us;
        if is_soon && self.to_check.len() < SOON {
            self.check_soon(who, now_us);
        } else {
            // In the first round, whenever that comes.
            subregion.due_us = now_us + SOON_SAMPLES * sample_us;
        }
        self.places.push(Place { who, from: 0, to });
    }
}
