//! Arming all that a target has in memory at once, where that takes less than to arm its page
//! tables one by one.
//!
//! A primitive may do that for a tenth of the price of a page. But it can't be done for a part of
//! the memory, nor in parts: so there is a time from which on page tables that are due are not
//! armed any more, what is not spent on them is put by, and once there is enough, all that waits is
//! read and everything is armed.

use super::Windows;
use super::arming::{BUSY_RATE, is_at_border};
use super::budget::BOUND_OVER_US;
use super::looks::wait_us;
use super::round::{Place, Who};
use super::subregion::{IDLE_RATE, Subregion};
use super::target::TargetSubregions;
use daos_core::pages::Pages;
use daos_core::{AccessCheck, PAGE_SIZE, TargetId};
use std::cmp::Reverse;

/// Longest time that arming all at once may take, in microseconds: the target may have to wait for
/// so long where it maps memory. Chosen: some half a million pages on a usual host, and no longer
/// than a scheduler lets others wait.
const MOST_US: f64 = 25_000.0;
/// Largest share of 10 s of budget that arming all at once may cost, both sides. Chosen: the rest
/// is to see with.
const MOST_OF_ALL: f64 = 0.9;
/// Largest share of 10 s of budget that arming all at once may cost if a phase began in the last 10
/// s. Chosen: the other half and more is to see the next phase.
const MOST_IN_PHASES: f64 = 0.4;
/// Largest share of 10 s of budget that arming all at once may cost if it is paid for afterwards
/// ('lent'). Chosen: what a store of a gigabyte takes on an Intel host, where it is expensive to
/// set bits again.
const MOST_IF_LENT: f64 = 1.2;
/// Monitoring counts as just begun while less than this share of 10 s of budget was spent. Chosen:
/// some two seconds.
const EARLY: f64 = 0.3;
/// The least share of the income that is put by for arming all at once. Chosen: as much as page
/// tables would have, which are not armed meanwhile.
const PUT_BY: f64 = 0.6;
/// The largest share of the income that is put by for it. Chosen: waking up, snapshots and what is
/// read take the rest.
const MOST_PUT_BY: f64 = 0.85;
/// Time until it is tried again after the primitive could not do it, in microseconds. Chosen: it
/// will hardly be possible soon.
const AGAIN_US: u64 = 60_000_000;
/// Time from one planning to the next, in microseconds. Chosen: planning goes through all
/// subregions.
const BETWEEN_PLANS_US: u64 = 1_000_000;
/// The same while too little is known for a plan to be carried out. Chosen.
const UNTIL_READY_US: u64 = 500_000;
/// Once it is planned, arming all at once may cost this many times as much as before.
const SLACK: f64 = 1.1;
/// A plan is ready if no more than one subregion in this many was never looked at. Chosen: new ones
/// come all the time.
const FEW: usize = 8;
/// A target is not armed at once if there are page tables to be learned at edges of use, but fewer
/// than one in this many, and few are mixed: they are armed one by one first. Chosen: where blocks
/// are in use, these tell most.
const FEW_EDGES: usize = 4;
/// Many page tables are mixed if at least one in this many had some pages accessed and others not.
/// Then arming all at once may be lent. Chosen: where page tables are in use as a whole or not at
/// all, a few pages of each tell as much.
const MIXED: usize = 6;
/// Learning mixed page tables one by one costs at least this many times its predicted price.
/// Measured on an Intel Xeon: 1.6 to 3.3 times, as few are armed in a round.
const DEARER: f64 = 1.5;
/// The share of pages that are taken to be accessed where nothing is known. Chosen: where more are,
/// that is known before enough is put by.
const MAY_BE_USED: f64 = 0.1;
/// Full readings after arming all at once.
const FULL_READINGS: f64 = 2.0;
/// Index in `WITHIN_US` of the time within which accessed pages have their bits set again. Chosen:
/// five seconds; of what is accessed less often, some is armed the next time.
const WITHIN_SECONDS: usize = 5;
/// Arming one page in use of a page table costs as much as arming this many, with the pages between
/// that are passed over and the runs that they make. Measured on tables of which a tenth is in use,
/// singly.
const PAGES_OF_ONE: u64 = 4;
/// Most page tables read within [`SOON_SAMPLES`] intervals. Chosen.
const SOON: usize = 64;
/// Of the page tables not known to be accessed that often, a random one in this many is read that
/// soon; fewer if that would exceed [`SOON`]. Chosen: what is used all the time shows in some of
/// them.
const SOON_ONE_IN: u64 = 8;
/// Sampling intervals within which these are read, at the latest. Chosen: ticks may come late.
const SOON_SAMPLES: u64 = 4;
/// Time from arming all at once to the first full reading, in microseconds. Chosen: the pages that
/// came by each of the two readings tell the rate of what is accessed once to fifty times a second.
const FIRST_READING_US: u64 = 60_000;
/// Time from arming all at once to the second full reading, in microseconds. Chosen: see
/// [`FIRST_READING_US`].
const SECOND_READING_US: u64 = 800_000;
/// Time after arming all at once in which only readings are done, and nothing else is armed, in
/// microseconds. Chosen: the second reading comes in two rounds.
const READ_IN_US: u64 = 1_500_000;
/// By how much the end of that time is put off while much is unread, in microseconds. Chosen: the
/// target may have paid more than was thought, and little be left to read with.
const READ_LATER_US: u64 = 300_000;
/// Much is unread while more than one page table in this many was not read for the second time.
/// Chosen.
const FEW_UNREAD: usize = 16;
/// Time after arming all at once from which on the end is not put off any more, in microseconds.
/// Chosen.
const READ_IN_AT_MOST_US: u64 = 4_000_000;

/// Which target is to be armed at once, and what that costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    target: TargetId,
    /// What it costs the monitor to clear the bits and to read before and after, in microseconds.
    monitor_us: f64,
    /// What it costs the target to set the bits again, in microseconds.
    target_us: f64,
    /// How much cheaper it is than to arm what is due one by one, in microseconds.
    gain_us: f64,
    /// All but a few subregions were looked at: it may be carried out.
    is_ready: bool,
    /// Many page tables are mixed: it may be carried out before enough is put by, if little was
    /// spent lately.
    may_be_lent: bool,
}

/// What is remembered about arming all at once.
#[derive(Debug, Clone, Default)]
pub(super) struct AtOnce {
    /// The target that is to be armed at once next, if any.
    plan: Option<Plan>,
    /// When that is planned anew.
    plan_due_us: u64,
    /// All of a target was armed in the last tick, which is not charged yet.
    pub was_just_armed: bool,
    /// What the last arming at once cost, in microseconds.
    spent_us: f64,
    /// Until when as much is put by again.
    saves_until_us: u64,
    /// Until when only readings are done after the last arming at once.
    pub all_read_until_us: u64,
    /// When all is to be read for the second time.
    pub read_again_us: u64,
    /// The target armed last and when that was, until its page tables have learned from each other.
    learning: Option<(TargetId, u64)>,
}

/// What is summed up over the subregions of a target to plan whether to arm it at once.
#[derive(Debug, Default)]
struct Sums {
    pages: u64,
    subregions: usize,
    /// Subregions that were never looked at.
    new: usize,
    /// Page tables to be learned in which use begins or ends.
    edges: usize,
    /// Page tables of which some pages were accessed and others not.
    mixed: usize,
    /// Microseconds by the prices, to read all before and after arming at once.
    reading_us: f64,
    /// Microseconds that it costs the target to set the bits again.
    target_us: f64,
    /// Microseconds to arm what is due one by one instead.
    one_by_one_us: f64,
    /// The part of that for page tables that are not known page by page yet.
    never_armed_us: f64,
}

impl Plan {
    /// What it costs both sides, in microseconds.
    fn price_us(&self) -> f64 {
        self.monitor_us + self.target_us
    }
}

impl Windows {
    /// When it is due, plans anew which target is to be armed at once, if any. This goes through
    /// all subregions.
    pub(super) fn plan_at_once<A: AccessCheck + ?Sized>(&mut self, access: &A, now_us: u64) {
        if now_us < self.at_once.plan_due_us || now_us < self.at_once.all_read_until_us {
            return;
        }
        let may = |at: &usize| self.fits_tables && access.can_arm_target(self.targets[*at].id);
        let plans = (0..self.targets.len()).filter(may).filter_map(|at| self.plan(at, now_us));
        let plan = plans.max_by(|one, other| one.gain_us.total_cmp(&other.gain_us));
        let is_ready = match plan {
            Some(plan) => plan.is_ready,
            // In the beginning, when it may be lent, there may be a plan at any moment.
            None => !self.budget.has_room(0.0, EARLY),
        };
        self.at_once.plan_due_us =
            now_us + if is_ready { BETWEEN_PLANS_US } else { UNTIL_READY_US };
        self.at_once.plan = plan;
        self.save(now_us);
    }

    /// Puts by what the plan costs or, after one was carried out, as much as that cost: it was more
    /// than the income meanwhile.
    fn save(&mut self, now_us: u64) {
        let spent_us =
            if now_us < self.at_once.saves_until_us { self.at_once.spent_us } else { 0.0 };
        let wanted_us = self.at_once.plan.map_or(0.0, |plan| plan.price_us()).max(spent_us);
        self.budget
            .save_for(wanted_us, self.budget.part_of_all(wanted_us).clamp(PUT_BY, MOST_PUT_BY));
    }

    /// A plan to arm this target at once, if it is allowed.
    fn plan(&self, target: usize, now_us: u64) -> Option<Plan> {
        let target = &self.targets[target];
        if now_us < target.at_once_from_us || target.growth.is_growing(now_us) {
            return None;
        }
        let mut sums = Sums::default();
        for index in 0..target.subregions.len() {
            self.add_to(&mut sums, target, index, now_us);
        }
        let are_many_mixed = sums.mixed * MIXED >= sums.subregions;
        if are_many_mixed {
            let dearer = (DEARER / self.budget.factor_of_arming() - 1.0).max(0.0);
            sums.one_by_one_us += dearer * sums.never_armed_us;
        }
        let resident = target.resident_bytes.map_or(sums.pages, |bytes| bytes / PAGE_SIZE);
        let clearing_us = self.budget.clearing_at_once(resident);
        let reading_us = sums.reading_us * self.budget.factor_of_reading().max(1.0);
        let (monitor_us, target_us) = (clearing_us + reading_us, sums.target_us);
        let plan = Plan {
            target: target.id,
            monitor_us,
            target_us,
            gain_us: sums.one_by_one_us - (monitor_us + target_us),
            is_ready: sums.new * FEW <= sums.subregions,
            may_be_lent: are_many_mixed,
        };
        self.is_allowed(&plan, &sums, clearing_us, now_us).then_some(plan)
    }

    /// Adds what arming a subregion would cost, if anything is there: with all others, or by
    /// itself.
    fn add_to(&self, sums: &mut Sums, target: &TargetSubregions, index: usize, now_us: u64) {
        let subregion = &target.subregions[index];
        if subregion.absent {
            return;
        }
        let all = subregion.range.pages();
        let is_new = subregion.is_new();
        sums.pages += all;
        sums.subregions += 1;
        sums.new += usize::from(is_new);
        let within = || subregion.shares_within(now_us).nth(WITHIN_SECONDS);
        let mut chance = if is_new { MAY_BE_USED } else { within().map_or(0.0, f64::from) };
        if self.may_turn(target, index, now_us) {
            // By then all of it may be in use again.
            chance = 1.0;
        } else if subregion.table.is_none() {
            // Where a few pages stand for all, it was not seen that all will be accessed.
            chance = chance.min(MAY_BE_USED.max(subregion.accessed.share.into()));
        }
        sums.target_us += self.budget.setting_again(all as f64 * chance);
        // What waits is read before it; all is read twice afterwards.
        let before = if subregion.waiting.is_empty() { 0 } else { subregion.nr_pages() };
        sums.reading_us += self.budget.reading(u64::from(before)).monitor()
            + FULL_READINGS * self.budget.reading(all).monitor();
        let is_due = self.is_to_be_armed_whole(subregion, now_us);
        let is_unknown = is_due && subregion.table.is_none();
        sums.edges += usize::from(is_unknown && is_at_border(target, index));
        sums.mixed += usize::from(subregion.is_seen_mixed());
        if is_new || is_due && subregion.may_differ() {
            let used = PAGES_OF_ONE * u64::from(subregion.summary.used);
            let armed = if subregion.table.is_some() { all.min(used) } else { all };
            let price_us = self.budget.real(self.budget.sampling(armed, chance));
            sums.one_by_one_us += price_us;
            sums.never_armed_us += if subregion.table.is_some() { 0.0 } else { price_us };
        }
    }

    /// Whether a plan costs little enough, and less than to arm page tables one by one.
    /// `clearing_us`: the time to clear the bits.
    fn is_allowed(&self, plan: &Plan, sums: &Sums, clearing_us: f64, now_us: u64) -> bool {
        // A plan holds though a little changes.
        let is_planned = self.is_to_be_armed_at_once(plan.target);
        let may_be_blocks =
            !plan.may_be_lent && (1..sums.subregions / FEW_EDGES).contains(&sums.edges);
        if may_be_blocks && !is_planned {
            return false;
        }
        let slack = if is_planned { SLACK } else { 1.0 };
        let price_us = plan.price_us();
        let part = self.budget.part_of_all(price_us);
        // A phase that begins while so much is put by, or was just spent, would hardly be seen.
        let most = match plan.may_be_lent {
            true => MOST_IF_LENT,
            false if self.phase_began_lately(now_us) => MOST_IN_PHASES,
            false => slack * MOST_OF_ALL,
        };
        clearing_us <= slack * MOST_US && part <= most && sums.one_by_one_us * slack > price_us
    }

    /// Whether a target is to be armed at once, so that its page tables wait for that.
    pub(super) fn is_to_be_armed_at_once(&self, target: TargetId) -> bool {
        self.at_once.plan.is_some_and(|plan| plan.target == target)
    }

    /// Arms a target at once if that is planned and paid for, beside the share `kept` of a full
    /// bucket. Returns whether it did.
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
        // Its cost is accounted for by itself.
        self.budget.note_apart();
        if !access.arm_target(plan.target)? {
            self.targets[at].at_once_from_us = now_us + AGAIN_US;
            return Ok(false);
        }
        self.budget.spend_saved(price_us, plan.target_us);
        // As often as the time over which the bound is promised has room for it, and evenly, so
        // that no such time has more.
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
        // Times count from when arming will be over, as far as is known.
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

    /// Whether a target has grown much since it was planned: it would cost more by as much, and
    /// what is filled next would wait long for its turn.
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

    /// Reads what waits for an access in a target: once all is armed, nothing is known of when it
    /// was accessed before. If that is more than may be read in a tick, what was armed last is
    /// read, and the rest is forgotten.
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

    /// When the next full reading after arming all at once is due; 0 if both are over.
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
            let between_us = (FIRST_READING_US + SECOND_READING_US) / 2;
            self.targets[at].learn_from_peers(armed_us, soon_us, between_us);
        }
    }

    /// Until then, only reads what was armed of a target: that takes the whole budget.
    fn read_all_until(&mut self, at: usize, until_us: u64) {
        (self.at_once.all_read_until_us, self.astir_until_us) = (until_us, until_us);
        // Most pages still wait for their first access since they were armed.
        let target = &mut self.targets[at];
        target.runs.put_off(until_us);
        target.working_sets_due_us = target.working_sets_due_us.max(until_us);
    }

    /// Whether more than a few page tables that were armed at once still wait for their second
    /// reading.
    fn is_much_unread(&self, at: usize) -> bool {
        let subregions = &self.targets[at].subregions;
        let is_unread = |s: &&Subregion| {
            !s.absent && !s.waiting.is_empty() && s.read_us < self.at_once.read_again_us
        };
        subregions.iter().filter(is_unread).count() * FEW_UNREAD > subregions.len()
    }

    /// Notes that a subregion was armed with all others, and when it is to be read: within
    /// [`SOON_SAMPLES`] intervals if `soon` is set or it is accessed that often. `next_us`: when
    /// its target may be armed at once again.
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
                // That rate is of a few pages. All of them tell more in a moment.
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
