//! The bound on what monitoring may cost.
//!
//! A bucket fills at nine tenths of the rate that is allowed, and holds little more than a
//! second of it; what was spent is taken out. Part of it is kept for when much changes at once.
//! What a sample will cost the monitor is predicted from the primitive's prices, and the prediction
//! corrected by what samples really cost: reading and arming each by itself, as what is read is not in the
//! caches, and by how much that is dearer than it was when prices were measured differs from host to host.
//!
//! What it costs the targets can come late and all at once: memory that turns hot after
//! it was armed. It is paid back over the next seconds, so that the monitor is not blind
//! in the very moment in which there is something to see.

mod costs;
mod intervals;
mod price;
mod savings;

pub(super) use price::Price;

use costs::{Costs, MAX_FACTOR};
use daos_core::{CpuCost, Prices};

/// Seconds over which the bound on the overhead is promised, and the same in microseconds.
const BOUND_OVER_S: u64 = 10;
pub(super) const BOUND_OVER_US: u64 = BOUND_OVER_S * 1_000_000;
/// How long the bucket takes to fill, in microseconds. Chosen: little of the ten seconds over
/// which the bound is promised, and longer than the time between two rounds, beside what is kept.
const FILLS_IN_US: f64 = 1_200_000.0;
/// The share of a full bucket that is kept for when much changes at once. Chosen: a phase that
/// begins is seen then, though all else that there is was spent on knowing more.
pub(super) const KEPT_FOR_CHANGE: f64 = 0.4;
/// The share of it that is there in the beginning. Chosen: the bound holds for the first ten
/// seconds, too.
const FULL_AT_FIRST: f64 = 0.5;
/// The share of what is allowed that is planned with. Chosen: the rest is for what can't be
/// planned.
const PLANNED: f64 = 0.9;
/// The share of what comes in that repays debt, at least. Chosen: the rest is to see with.
const REPAID: f64 = 0.4;
/// The same at most. Chosen: a few pages of each page table can be armed and read with the rest.
const MOST_REPAID: f64 = 0.7;
/// In so many microseconds debt is repaid, if it takes no more than that of what comes in, and no less. Chosen: less than those over
/// which the bound is promised.
const MAX_DEBT_US: f64 = 8_000_000.0;
/// The share of a full bucket that has to be there before something is put by. Chosen: half of what is kept; with less,
/// nothing is read.
const FIRST: f64 = 0.2;
/// The share of what comes in that is put by at most while memory that came into use waits to be armed. Chosen: some is, since
/// of some programs there always is such memory.
const PUT_BY_BESIDE_NEWS: f64 = 0.3;
/// What was put by comes back at this share of what comes in. Chosen: slowly, so that the bound holds.
const GIVEN_BACK: f64 = 0.1;
/// The share of what comes in that reading may take while page tables are learned. Chosen: what is known is read more
/// seldom until all is.
const READING_WHILE_LEARNING: f64 = 0.25;
/// What each tick leaves of the costs before it. Chosen: some twenty count.
const KEEP_COSTS: f64 = 0.95;
/// What each end of an aggregation interval, and each update of targets, leaves of the costs before it. Chosen: there are
/// fewer of them than of ticks.
const KEEP_ENDINGS: f64 = 0.7;
/// Ticks around such an end: what is done with a snapshot is charged in the tick behind it.
const TICKS_OF_AN_END: u32 = 2;
/// Ends that are not usual count as so many times as dear as is known at most. Chosen: one changes little, and ten in a row
/// all.
const UNUSUAL: f64 = 2.0;
/// What there is at least before something is armed, in wake-ups. Chosen: besides the one
/// more that it takes, to go to the target's CPU and back takes as long as two.
const ARMING_WAKES: f64 = 16.0;
/// The same when much has just changed. Chosen: what waits then is worth more.
const ARMING_WAKES_ASTIR: f64 = 8.0;
/// Microseconds for samples that the bucket holds at least, besides wake-ups. Chosen: some
/// ten windows are armed and checked.
const LEAST_SAMPLES_US: f64 = 20.0;

/// CPU time in microseconds that may be spent.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    /// Share of one CPU.
    share: f64,
    left: f64,
    /// What the targets spent and was not taken out yet.
    debt: f64,
    /// What is put by to arm all of a target at once, and how much that takes.
    saved: f64,
    wanted: f64,
    /// The share of what comes in, and is not for debt, that is put by until then.
    put_by: f64,
    /// Memory turned out to be used otherwise, and was not all armed since to see how often: less is put by.
    pub news_wait: bool,
    /// What of the targets' side of it was put by.
    prepaid: f64,
    /// What was spent, both sides, in each of the last seconds, and which second that was.
    spent: [(u64, f64); BOUND_OVER_S as usize],
    filled_us: u64,
    /// What the next charge is expected to be, by the prices.
    expected: Price,
    /// What a tick costs in which nothing is sampled.
    wake: f64,
    /// What the ticks around the end of an aggregation interval cost beside waking up and sampling.
    ending: f64,
    /// How many are still around such an end, what those before took, and whether that is what ends usually take.
    near_end: u32,
    end_took: f64,
    is_usual_end: bool,
    /// What an update of targets takes, and the time from one to the next, in microseconds.
    updating: f64,
    update_us: f64,
    /// Whether something was sampled since the last charge.
    sampled: bool,
    /// Whether targets were updated since then, or something was done that is paid for by itself:
    /// what that costs says nothing of other ticks.
    updated: bool,
    apart: bool,
    /// What reading cost the monitor in ticks without arming, against what it was expected to cost, and what arming
    /// did beside that.
    readings: Costs,
    armings: Costs,
    /// What reading may take while page tables are learned.
    for_reading: f64,
    prices: Prices,
}

impl Budget {
    pub fn new(share: f64) -> Self {
        Self {
            share: share * PLANNED,
            left: share * PLANNED * FILLS_IN_US * FULL_AT_FIRST,
            debt: 0.0,
            saved: 0.0,
            wanted: 0.0,
            put_by: 0.0,
            news_wait: false,
            prepaid: 0.0,
            spent: Default::default(),
            filled_us: 0,
            expected: Price::default(),
            wake: Prices::default().wake,
            ending: 0.0,
            near_end: 0,
            end_took: 0.0,
            is_usual_end: true,
            updating: 0.0,
            update_us: f64::INFINITY,
            sampled: false,
            updated: false,
            apart: false,
            readings: Costs::default(),
            armings: Costs::default(),
            for_reading: 0.0,
            prices: Prices::default(),
        }
    }

    pub fn set_prices(&mut self, prices: Prices) {
        self.prices = prices;
        self.wake = prices.wake;
    }

    /// What arming costs by now: it depends on what the targets do.
    pub fn set_arming_prices(&mut self, prices: Prices) {
        self.prices.arm_run = prices.arm_run;
        self.prices.interrupt = prices.interrupt;
        self.prices.arm_target_page = prices.arm_target_page;
    }

    /// Lets time pass.
    pub fn fill(&mut self, now_us: u64) {
        let passed = now_us.saturating_sub(self.filled_us) as f64;
        self.filled_us = now_us;
        let earned = passed * self.share;
        let part = (self.debt / (self.share * MAX_DEBT_US)).clamp(REPAID, MOST_REPAID);
        let paid = self.debt.min(earned * part);
        self.debt -= paid;
        let may_put_by = match self.left < FIRST * self.capacity() {
            true => 0.0,
            false if self.news_wait => self.put_by.min(PUT_BY_BESIDE_NEWS),
            false => self.put_by,
        };
        // What was lent is put by, too.
        let put_by = (may_put_by * (earned - paid)).min((self.wanted - self.saved).max(0.0));
        // What is not wanted any more comes back.
        let is_back = self.wanted == 0.0 && self.saved > 0.0;
        let back = if is_back { self.saved.min(GIVEN_BACK * earned) } else { 0.0 };
        self.saved += put_by - back;
        self.forgive();
        let most_for_reading = READING_WHILE_LEARNING * self.capacity();
        let for_reading = self.for_reading + READING_WHILE_LEARNING * earned;
        self.for_reading = for_reading.min(most_for_reading);
        // What was given out to read with stays, though it is more.
        let most = self.capacity().max(self.left);
        self.left = (self.left + earned - paid - put_by + back).min(most);
    }

    /// Whether the targets spent so much that it takes seconds to repay.
    pub fn is_in_debt(&self) -> bool {
        self.debt > self.capacity()
    }

    /// When there is something again, at the earliest.
    pub fn paid_us(&self, now_us: u64) -> u64 {
        now_us + ((-self.available(0.0)).max(0.0) / self.share) as u64
    }

    /// Microseconds of CPU time that may be spent in a second.
    pub fn per_second(&self) -> f64 {
        self.share * 1e6
    }

    /// What the bucket holds when it is full.
    fn capacity(&self) -> f64 {
        // Whatever the bound, it must hold the wake-ups of a round, and some samples, beside what is
        // kept.
        let (beside, _) = self.readings.line();
        let least = (3.0 * self.wake + beside + LEAST_SAMPLES_US) / (1.0 - KEPT_FOR_CHANGE);
        (self.share * FILLS_IN_US).max(least)
    }

    /// How many times as much as predicted reading costs the monitor here.
    pub fn factor_of_reading(&self) -> f64 {
        self.readings.line().1
    }

    /// The same of arming.
    pub fn factor_of_arming(&self) -> f64 {
        self.armings.ratio()
    }

    /// What a tick may spend but for `kept`, a share of a full bucket.
    fn available(&self, kept: f64) -> f64 {
        let (beside, _) = self.readings.line();
        self.left - kept * self.capacity() - self.real(self.expected) - beside
    }

    /// Whether more than the share `kept` of a full bucket is left.
    pub fn has_more_than(&self, kept: f64) -> bool {
        self.available(kept) > 0.0
    }

    /// Whether there is enough for something, and at least the share `kept` left then.
    pub fn can_afford(&self, price: Price, kept: f64) -> bool {
        self.available(kept) >= self.real(price)
    }

    /// The share of a full bucket that is left, 0 to 1.
    pub fn fullness(&self) -> f64 {
        (self.available(0.0) / self.capacity()).clamp(0.0, 1.0)
    }

    /// Whether there is so much, beside the share `kept`, that the wake-ups that arming takes are a
    /// small part of it, or most of what there can be; less of it where much `is_astir`.
    pub fn is_worth_arming(&self, kept: f64, is_astir: bool) -> bool {
        let wakes = if is_astir { ARMING_WAKES_ASTIR } else { ARMING_WAKES };
        self.available(kept) >= (wakes * self.wake).min(0.6 * (1.0 - kept) * self.capacity())
    }

    /// Takes the price of something out, if it leaves at least the share `kept`.
    pub fn reserve(&mut self, price: Price, kept: f64) -> bool {
        let can = self.can_afford(price, kept);
        if can {
            self.expect(price);
        }
        can
    }

    /// The same for reading; while page tables are learned, it takes its share of what comes in at most.
    pub fn reserve_reading(&mut self, price: Price, kept: f64, is_learning: bool) -> bool {
        if !is_learning {
            return self.reserve(price, kept);
        }
        let can = self.for_reading > 0.0 && self.reserve(price, kept);
        if can {
            self.for_reading -= self.real(price);
        }
        can
    }

    /// Tells that something is sampled in this tick: it is no mere wake-up.
    pub fn note_sampling(&mut self) {
        self.sampled = true;
    }

    /// Tells that targets are updated in this tick, as they are every so many microseconds.
    pub fn note_update(&mut self, every_us: u64) {
        (self.updated, self.update_us) = (true, every_us as f64);
    }

    /// Tells that something is done in this tick that is paid for by itself: nothing is learned from what
    /// that costs.
    pub fn note_apart(&mut self) {
        self.apart = true;
    }

    /// Tells that an aggregation interval ends in this tick; `is_usual`: without what mostly comes seldom, and is
    /// bounded by itself.
    pub fn note_ending(&mut self, is_usual: bool) {
        // Where each tick ends one, it has what the one before left to do.
        self.learn_of_end();
        (self.near_end, self.end_took, self.is_usual_end) = (TICKS_OF_AN_END, 0.0, is_usual);
    }

    /// Takes a price out that must be paid.
    pub fn expect(&mut self, price: Price) {
        self.expected.reading += price.reading;
        self.expected.reading_later += price.reading_later;
        self.expected.arming += price.arming;
        self.expected.target += price.target;
        self.expected.wakes += price.wakes;
    }

    /// Takes out what the last tick really cost.
    pub fn charge(&mut self, spent: CpuCost) {
        self.charge_beside(spent);
        let sampled = std::mem::take(&mut self.sampled);
        let updated = std::mem::take(&mut self.updated);
        let apart = std::mem::take(&mut self.apart);
        let near_end = self.near_end > 0;
        let (beside, factor) = self.readings.line();
        let Price { reading, arming, .. } = self.expected;
        let with_samples = if sampled { beside } else { 0.0 };
        let usual = self.wake + with_samples + factor * reading + self.factor_of_arming() * arming;
        let rest = spent.monitor_us - usual;
        // What an end and an update take together is told by what each takes by itself, as far as is known.
        let updating = if updated { self.updating } else { 0.0 };
        if updated && !apart {
            let ending = if near_end { self.ending } else { 0.0 };
            learn(&mut self.updating, rest - ending);
        }
        if near_end {
            self.end_took += if apart { f64::NAN } else { rest - updating };
        }
        if updated || apart || near_end {
            // What these take says nothing of other ticks.
        } else if !sampled {
            self.wake = self.wake * KEEP_COSTS + spent.monitor_us * (1.0 - KEEP_COSTS);
        } else {
            let sampling_us = (spent.monitor_us - self.wake).max(0.0);
            // A page fault may take as long as a hundred windows.
            if arming == 0.0 {
                self.readings.add(reading, sampling_us.min(MAX_FACTOR * reading));
            } else {
                let arming_us = (sampling_us - beside - factor * reading).max(0.0);
                self.armings.add(arming, arming_us.min(MAX_FACTOR * arming));
            }
        }
        if self.near_end == 1 {
            self.learn_of_end();
        }
        self.near_end = self.near_end.saturating_sub(1);
        self.expected = Price::default();
    }

    /// Learns what the end of an interval took, once that is known, if it is.
    fn learn_of_end(&mut self) {
        if self.near_end == 0 || self.end_took.is_nan() {
            return;
        }
        // What comes seldom says little, but it may come each time.
        let unusual = UNUSUAL * (self.ending + self.wake);
        let most = if self.is_usual_end { f64::MAX } else { unusual };
        learn(&mut self.ending, self.end_took.min(most));
    }

    /// Takes out what was spent beside ticks.
    pub fn charge_beside(&mut self, spent: CpuCost) {
        let second = self.filled_us / 1_000_000;
        let lately = &mut self.spent[(second % BOUND_OVER_S) as usize];
        let before_us = if lately.0 == second { lately.1 } else { 0.0 };
        *lately = (second, before_us + spent.monitor_us + spent.target_us);
        self.left -= spent.monitor_us;
        let prepaid = spent.target_us.min(self.prepaid);
        self.prepaid -= prepaid;
        self.debt += spent.target_us - prepaid;
    }
}

/// Takes in what an end of an interval, or an update of targets, took.
fn learn(known: &mut f64, took: f64) {
    *known = *known * KEEP_ENDINGS + took.max(0.0) * (1.0 - KEEP_ENDINGS);
}

#[cfg(test)]
mod tests;
