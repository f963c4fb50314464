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

use daos_core::pages::Pages;
use daos_core::{CpuCost, Prices};

/// Seconds over which the bound on the overhead is promised, and the same in microseconds.
const BOUND_OVER_S: u64 = 10;
pub(super) const BOUND_OVER_US: u64 = BOUND_OVER_S * 1_000_000;
/// What may be spent in these if some of it is lent, as a part of what is planned with. Chosen: what a store of a gigabyte takes on an
/// Intel host, and what two seconds take before.
const LENT: f64 = 1.45;
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
/// The same at most. Chosen: reading alone, which finds what turned hot, takes that little.
const MOST_REPAID: f64 = 0.85;
/// The debt from which on so much repays it, as the microseconds in which so much comes in.
/// Chosen.
const MAX_DEBT_US: f64 = 1_200_000.0;
/// The share of a full bucket that has to be there before something is put by. Chosen: half of what is kept; with less,
/// nothing is read.
const FIRST: f64 = 0.2;
/// The share of what comes in that is put by at most while memory that came into use waits to be armed. Chosen: some is, since
/// of some programs there always is such memory.
const PUT_BY_BESIDE_NEWS: f64 = 0.3;
/// The part of what comes in without which ends of intervals have to do while something is put by, at most. Chosen: where
/// it is more, reading waits rather than snapshots.
const MOST_WITHOUT: f64 = 0.5;
/// What was put by comes back at this share of what comes in. Chosen: slowly, so that the bound holds.
const GIVEN_BACK: f64 = 0.1;
/// The share of what comes in that reading may take while page tables are learned. Chosen: what is known is read more
/// seldom until all is.
const READING_WHILE_LEARNING: f64 = 0.25;
/// What each tick leaves of the costs before it. Chosen: some twenty count.
const KEEP_COSTS: f64 = 0.95;
/// Wake-ups that an aggregation interval must pay for: it has two, which may take a quarter.
const WAKES: f64 = 8.0;
/// The same while there are page tables that nothing is known of, which they delay: less than a fifth.
const WAKES_WHILE_LEARNING: f64 = 11.0;
/// The same of what two ticks with samples take beside these, half of that.
const BESIDE: f64 = 4.0;
/// Most doublings of the aggregation interval for its end. Chosen: 3.2 s by default, for hundreds of
/// targets; with less often a snapshot, changes show late.
const MOST_FOR_ENDINGS: u32 = 5;
/// What updates of targets may take of what there is before ends of intervals make do with the least
/// that they may have. Chosen.
const MOST_FOR_UPDATES: f64 = 0.8;
/// What each end of an aggregation interval, and each update of targets, leaves of the costs before it. Chosen: there are
/// fewer of them than of ticks.
const KEEP_ENDINGS: f64 = 0.7;
/// Ticks around such an end: what is done with a snapshot is charged in the tick behind it.
const TICKS_OF_AN_END: u32 = 2;
/// Ends that are not usual count as so many times as dear as is known at most. Chosen: one changes little, and ten in a row
/// all.
const UNUSUAL: f64 = 2.0;
/// Microseconds of samples that are taken to have cost what was predicted, before any did.
/// Chosen: a few costs say little.
const PRIOR_US: f64 = 500.0;
/// Least factor by which real costs correct the prediction. Chosen: less is an error.
const MIN_FACTOR: f64 = 0.2;
/// Largest such factor. Chosen: hosts differ by a factor of four, as measured.
const MAX_FACTOR: f64 = 10.0;
/// What there is at least before something is armed, in wake-ups. Chosen: besides the one
/// more that it takes, to go to the target's CPU and back takes as long as two.
const ARMING_WAKES: f64 = 16.0;
/// The same when much has just changed. Chosen: what waits then is worth more.
const ARMING_WAKES_ASTIR: f64 = 8.0;
/// Microseconds that it takes us to plan a window and to make something of what was read, and
/// the same of each page of it. Measured, with cold caches.
const WINDOW_US: f64 = 0.5;
const PAGE_US: f64 = 0.01;
/// Microseconds for samples that the bucket holds at least, besides wake-ups. Chosen: some
/// ten windows are armed and checked.
const LEAST_SAMPLES_US: f64 = 20.0;

/// What something costs: microseconds of CPU time, and wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Price {
    /// What the monitor reads in this tick, and later on, and what it arms, by the prices.
    pub reading: f64,
    pub reading_later: f64,
    pub arming: f64,
    pub target: f64,
    pub wakes: f64,
}

impl Price {
    /// All that it costs the monitor beside waking up.
    pub fn monitor(&self) -> f64 {
        self.reading + self.reading_later + self.arming
    }
}

/// What reading or arming cost the monitor, tick by tick, against what it was expected to cost: fading sums for
/// a straight line through both. Whatever is read in a tick, the first of it misses the caches.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Costs {
    ticks: f64,
    expected: f64,
    measured: f64,
    expected_squared: f64,
    product: f64,
}

impl Default for Costs {
    /// As if nothing had cost nothing, and some samples what was expected.
    fn default() -> Self {
        Self {
            ticks: 2.0,
            expected: PRIOR_US,
            measured: PRIOR_US,
            expected_squared: PRIOR_US * PRIOR_US,
            product: PRIOR_US * PRIOR_US,
        }
    }
}

impl Costs {
    fn add(&mut self, expected: f64, measured: f64) {
        let prior = Self::default();
        let add = |sum: &mut f64, prior: f64, news: f64| {
            *sum = prior + (*sum - prior) * KEEP_COSTS + news;
        };
        add(&mut self.ticks, prior.ticks, 1.0);
        add(&mut self.expected, prior.expected, expected);
        add(&mut self.measured, prior.measured, measured);
        add(&mut self.expected_squared, prior.expected_squared, expected * expected);
        add(&mut self.product, prior.product, expected * measured);
    }

    /// How many times as much as expected they cost in all.
    fn ratio(&self) -> f64 {
        (self.measured / self.expected).clamp(MIN_FACTOR, MAX_FACTOR)
    }

    /// What a tick with samples costs beside them, in microseconds, and how many times as much as
    /// expected the samples do: by least squares.
    fn line(&self) -> (f64, f64) {
        let Self { ticks, expected, measured, expected_squared, product } = *self;
        let variance = expected_squared - expected * expected / ticks;
        let slope = (product - expected * measured / ticks) / variance;
        // At least none beside them.
        let slope = slope.min(measured / expected).clamp(MIN_FACTOR, MAX_FACTOR);
        ((measured - slope * expected).max(0.0) / ticks, slope)
    }
}

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
        let most_for_reading = READING_WHILE_LEARNING * self.capacity();
        let for_reading = self.for_reading + READING_WHILE_LEARNING * earned;
        self.for_reading = for_reading.min(most_for_reading);
        // What was given out to read with stays, though it is more.
        let most = self.capacity().max(self.left);
        self.left = (self.left + earned - paid - put_by + back).min(most);
    }

    /// When there is something again, at the earliest.
    pub fn paid_us(&self, now_us: u64) -> u64 {
        now_us + ((-self.available(0.0)).max(0.0) / self.share) as u64
    }

    /// Microseconds of CPU time that may be spent in a second.
    pub fn per_second(&self) -> f64 {
        self.share * 1e6
    }

    /// The share of a CPU that comes in for ends of intervals and all else that is not put by.
    fn coming_in(&self) -> f64 {
        let is_saving = self.saved < self.wanted;
        self.share * (1.0 - if is_saving { self.put_by.min(MOST_WITHOUT) } else { 0.0 })
    }

    /// What the bucket holds when it is full.
    fn capacity(&self) -> f64 {
        // Whatever the bound, it must hold the wake-ups of a round, and some samples, beside what is
        // kept.
        let (beside, _) = self.readings.line();
        let least = (3.0 * self.wake + beside + LEAST_SAMPLES_US) / (1.0 - KEPT_FOR_CHANGE);
        (self.share * FILLS_IN_US).max(least)
    }

    /// The time in which so much comes in as an update of targets takes, in microseconds.
    pub fn update_paid_in_us(&self) -> f64 {
        self.updating / self.share
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

    /// What something will really cost, both sides.
    pub fn real(&self, price: Price) -> f64 {
        let reading = self.factor_of_reading() * (price.reading + price.reading_later);
        reading + self.factor_of_arming() * price.arming + price.target + price.wakes * self.wake
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

    /// Puts by this share of what comes in until there are so many microseconds.
    pub fn save_for(&mut self, wanted_us: f64, share: f64) {
        (self.wanted, self.put_by) = (wanted_us, share);
    }

    /// What was spent in the last seconds over which the bound is promised.
    fn spent_lately(&self) -> f64 {
        let second = self.filled_us / 1_000_000;
        let is_late = |(at, _): &&(u64, f64)| at + BOUND_OVER_S > second;
        self.spent.iter().filter(is_late).map(|(_, us)| us).sum()
    }

    /// Whether so much is put by or left, beside the share `kept` of a full bucket.
    pub fn has_saved(&self, us: f64, kept: f64) -> bool {
        self.saved + self.available(kept).max(0.0) >= us
    }

    /// Whether so much may be spent before it is put by, as little was lately: when monitoring begins, nothing was.
    pub fn can_lend(&self, us: f64) -> bool {
        self.has_room(us, LENT)
    }

    /// Whether what was spent lately leaves room for so much, up to this part of what may be spent in that time.
    pub fn has_room(&self, us: f64, part: f64) -> bool {
        self.part_of_all(self.spent_lately() + us) <= part
    }

    /// Which part so much is of all that may be spent in the time over which the bound is promised.
    pub fn part_of_all(&self, us: f64) -> f64 {
        us / (BOUND_OVER_S as f64 * self.per_second())
    }

    /// Gives out what was put by, or will be: so much in all, of which this to the targets, the rest for this tick.
    pub fn spend_saved(&mut self, us: f64, targets_us: f64) {
        let left = self.available(0.0).max(0.0);
        let saved = if self.saved + left >= us { us.min(self.saved) } else { us };
        self.saved -= saved;
        self.left += saved - targets_us;
        self.prepaid = targets_us;
    }

    /// To arm so many pages of a target at once, in microseconds.
    pub fn clearing_at_once(&self, pages: u64) -> f64 {
        self.prices.arm_target_page * pages as f64
    }

    /// What it costs the target to set the bits of so many pages anew, in microseconds.
    pub fn setting_again(&self, pages: f64) -> f64 {
        self.prices.set_again * pages
    }

    /// How often the aggregation interval must be doubled for two wakes in it to take
    /// at most a quarter of what may be spent, or less than a fifth; and for its end to take no more than half of what
    /// updates of targets leave, up to a point; all of that with costs so many times as high as they are.
    pub fn interval_doublings(&self, aggregation_us: u64, is_learning: bool, costs: f64) -> u32 {
        let doublings_for = |share: f64, us: f64| {
            // What updates take can't go into ends, too: half of what they leave is to see with.
            let updates = self.updating / (share * self.update_us);
            let us = costs * us / (1.0 - updates.min(MOST_FOR_UPDATES));
            doublings(share * aggregation_us as f64, us)
        };
        let ending = doublings_for(self.share, WAKES * self.wake + 2.0 * self.ending);
        // Of what is not put by, half of all that they take.
        let saving = doublings_for(self.coming_in(), 4.0 * self.wake + 2.0 * self.ending);
        let ending = ending.max(saving).min(MOST_FOR_ENDINGS);
        self.round_doublings(aggregation_us, is_learning, costs).max(ending)
    }

    /// The same of the time from one round to the next, which has no end that is dear.
    pub fn round_doublings(&self, aggregation_us: u64, is_learning: bool, costs: f64) -> u32 {
        let wakes = if is_learning { WAKES_WHILE_LEARNING } else { WAKES };
        let (beside, _) = self.readings.line();
        let beside = costs * (wakes * self.wake + BESIDE * beside);
        doublings(self.share * aggregation_us as f64, beside)
    }

    /// To be woken.
    pub fn wake(&self) -> Price {
        Price { wakes: 1.0, ..Price::default() }
    }

    /// To read a window of so many pages.
    pub fn reading(&self, pages: u64) -> Price {
        let Prices { read_window, read_page, .. } = self.prices;
        let reading = read_window + WINDOW_US + (read_page + PAGE_US) * pages as f64;
        Price { reading, ..Price::default() }
    }

    /// To arm a window of so many pages, and to read it later; `rate` of its pages are
    /// accessed in between.
    pub fn sampling(&self, pages: u64, rate: f64) -> Price {
        let Prices { arm_run, interrupt, arm_page, set_again, .. } = self.prices;
        // An arming reads first.
        let Price { reading, .. } = self.reading(pages);
        Price {
            reading,
            reading_later: reading,
            arming: arm_run + arm_page * pages as f64,
            target: interrupt + set_again * rate * pages as f64,
            wakes: 0.0,
        }
    }

    /// To arm the pages of `set` in a window of `pages`, and to read the window later; `rate`
    /// of those armed are accessed in between.
    pub fn arming(&self, set: &Pages, pages: u64, rate: f64) -> Price {
        let Prices { arm_run, interrupt, arm_page, arm_gap, set_again, .. } = self.prices;
        let Price { reading, .. } = self.reading(pages);
        let (runs, gaps) = set.bridged(self.prices.most_gap());
        let nr = f64::from(set.len());
        let arming = arm_run * f64::from(runs) + arm_gap * f64::from(gaps) + arm_page * nr;
        let target = interrupt * f64::from(runs) + set_again * rate * nr;
        Price { reading, reading_later: reading, arming, target, wakes: 0.0 }
    }
}

/// Takes in what an end of an interval, or an update of targets, took.
fn learn(known: &mut f64, took: f64) {
    *known = *known * KEEP_ENDINGS + took.max(0.0) * (1.0 - KEEP_ENDINGS);
}

/// How often what an interval allows, in microseconds, must be doubled for so many.
fn doublings(mut allowed_us: f64, us: f64) -> u32 {
    let mut doubled = 0;
    while allowed_us < us && doubled < 20 {
        allowed_us *= 2.0;
        doubled += 1;
    }
    doubled
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn costs_correct_the_prediction() {
        let mut budget = Budget::new(0.01);
        // Three times as much as predicted, and something beside that.
        for nr in 0..200 {
            let expected = f64::from(nr % 7) * 100.0;
            budget.expect(Price { reading: expected, ..Price::default() });
            budget.note_sampling();
            let monitor_us = budget.wake + 50.0 + 3.0 * expected;
            budget.charge(CpuCost { monitor_us, target_us: 0.0 });
        }
        let (beside, factor) = budget.readings.line();
        assert!(
            (2.7..3.1).contains(&factor) && (30.0..90.0).contains(&beside),
            "{factor}, {beside}"
        );
    }

    #[test]
    fn reading_and_arming_are_corrected_each_by_itself() {
        let mut budget = Budget::new(0.01);
        // Four times as much as predicted, and half as much.
        for nr in 0..200 {
            let reading = f64::from(nr % 7) * 400.0;
            let arming = if nr % 2 == 0 { 800.0 } else { 0.0 };
            budget.expect(Price { reading, arming, ..Price::default() });
            budget.note_sampling();
            let monitor_us = budget.wake + 4.0 * reading + 0.5 * arming;
            budget.charge(CpuCost { monitor_us, target_us: 0.0 });
        }
        let factors = (budget.factor_of_reading(), budget.factor_of_arming());
        assert!((3.7..4.1).contains(&factors.0) && (0.4..0.9).contains(&factors.1), "{factors:?}");
        let later = Price { reading_later: 10.0, arming: 10.0, ..Price::default() };
        assert_eq!(budget.real(later), 10.0 * (factors.0 + factors.1));
    }

    #[test]
    fn reading_takes_its_share_while_page_tables_are_learned() {
        // First for ten seconds in which none are.
        let read = |is_learning: bool| {
            let mut budget = Budget::new(0.005 / PLANNED);
            let mut read_us = 0.0;
            for tick in 1..=200 {
                let is_learning = is_learning && tick > 100;
                if tick == 101 {
                    read_us = 0.0;
                }
                budget.fill(tick * 100_000);
                let price = Price { reading: 20.0, ..Price::default() };
                budget.note_sampling();
                while budget.reserve_reading(price, 0.0, is_learning) {
                    read_us += 20.0;
                }
                let monitor_us = budget.wake + budget.expected.reading;
                budget.charge(CpuCost { monitor_us, target_us: 0.0 });
            }
            read_us
        };
        // Of 50 ms in ten seconds.
        let (learning, else_all) = (read(true), read(false));
        assert!((11_000.0..15_000.0).contains(&learning), "{learning} us");
        assert!(else_all > 40_000.0, "{else_all} us");
    }

    #[test]
    fn what_was_lent_is_put_by_later_and_no_more_is_lent_than_was_not_spent() {
        let mut budget = Budget::new(0.005 / PLANNED);
        budget.fill(1_000_000);
        assert!(!budget.has_saved(40_000.0, 0.0) && budget.can_lend(40_000.0));
        assert!(!budget.can_lend(LENT * 50_000.0 + 1.0));
        budget.save_for(40_000.0, 0.8);
        budget.spend_saved(40_000.0, 10_000.0);
        budget.charge(CpuCost { monitor_us: 30_000.0, target_us: 10_000.0 });
        assert_eq!((budget.saved, budget.debt), (-40_000.0, 0.0));
        assert!(!budget.can_lend(40_000.0), "twice in ten seconds");
        budget.save_for(0.0, 0.8);
        (2..=9).for_each(|second| budget.fill(second * 1_000_000));
        assert!((-20_000.0..-1_000.0).contains(&budget.saved), "{}", budget.saved);
        assert!(budget.left > 0.0);
        (10..=12).for_each(|second| budget.fill(second * 1_000_000));
        assert!(budget.can_lend(40_000.0), "{}", budget.spent_lately());
    }

    #[test]
    fn ends_that_are_dear_each_time_come_less_often() {
        // Of 10 ms a second each takes 0.9, whether there is a tick behind it or another end, and though it is not usual.
        for ticks_behind in [0, 1, 3] {
            let mut budget = Budget::new(0.01 / PLANNED);
            let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
            (0..100).for_each(|_| budget.charge(cost(40.0)));
            let doublings: Vec<u32> = (0..30)
                .map(|_| {
                    budget.note_ending(false);
                    budget.charge(cost(940.0));
                    (0..ticks_behind).for_each(|_| budget.charge(cost(40.0)));
                    budget.interval_doublings(100_000, false, 1.0)
                })
                .collect();
            assert_eq!((doublings[0], doublings[29]), (0, 2), "{doublings:?}");
        }
    }

    #[test]
    fn ends_of_intervals_share_with_updates_of_targets() {
        // Of 5 ms a second, an end takes one, and an update, each second, two and a half.
        let doublings = |updating: f64| {
            let mut budget = Budget::new(0.005 / PLANNED);
            let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
            (0..100).for_each(|_| budget.charge(cost(40.0)));
            for _ in 0..100 {
                budget.note_ending(true);
                budget.charge(cost(1_040.0));
                budget.charge(cost(1_040.0));
                budget.note_update(1_000_000);
                budget.charge(cost(40.0 + updating));
            }
            budget.interval_doublings(100_000, false, 1.0)
        };
        assert_eq!((doublings(0.0), doublings(2_500.0)), (4, 5));
    }

    #[test]
    fn what_is_put_by_is_not_for_ends_of_intervals_nor_before_there_is_enough_to_read() {
        let mut budget = Budget::new(0.005 / PLANNED);
        let cost = |monitor_us| CpuCost { monitor_us, target_us: 0.0 };
        for _ in 0..100 {
            budget.note_ending(true);
            budget.charge(cost(340.0));
            budget.charge(cost(40.0));
        }
        let before = budget.interval_doublings(100_000, false, 1.0);
        budget.save_for(20_000.0, 0.6);
        assert_eq!(budget.interval_doublings(100_000, false, 1.0), before + 1);
        budget.left = 0.0;
        budget.fill(200_000);
        assert_eq!((budget.saved, budget.left), (0.0, 1_000.0));
        budget.fill(1_000_000);
        assert!(budget.saved == 0.0 && budget.left > FIRST * budget.capacity());
        budget.fill(2_000_000);
        assert_eq!(budget.saved, 0.6 * 5_000.0);
        budget.news_wait = true;
        budget.fill(3_000_000);
        assert_eq!(budget.saved, (0.6 + PUT_BY_BESIDE_NEWS) * 5_000.0, "news come first");
    }

    #[test]
    fn what_a_tick_with_samples_takes_beside_them_is_no_cost_of_an_end() {
        let mut budget = Budget::new(0.01);
        for tick in 0..400 {
            if tick % 10 == 0 {
                budget.note_ending(true);
            }
            let reading = f64::from(20 + 30 * (tick % 3));
            budget.expect(Price { reading, ..Price::default() });
            budget.note_sampling();
            let ending = if tick % 10 == 0 { 100.0 } else { 0.0 };
            let monitor_us = budget.wake + 120.0 + reading + ending;
            budget.charge(CpuCost { monitor_us, target_us: 0.0 });
        }
        assert!((80.0..150.0).contains(&budget.ending), "{}", budget.ending);
    }

    #[test]
    fn what_was_put_by_is_spent_beside_the_rest() {
        let mut budget = Budget::new(0.01);
        budget.save_for(10_000.0, 0.5);
        for second in 1..=4 {
            let before = budget.saved;
            budget.fill(second * 1_000_000);
            // Nothing is put by beyond what is wanted.
            assert!((budget.saved - before - 4_500.0).abs() < 1.0 || budget.saved == 10_000.0);
        }
        assert!(budget.has_saved(10_000.0, 1.0) && !budget.has_saved(30_000.0, 0.0));
        let left = budget.left;
        budget.spend_saved(8_000.0, 3_000.0);
        assert_eq!((budget.saved, budget.left - left), (2_000.0, 5_000.0));
        // The targets' side is paid for, up to there.
        budget.charge(CpuCost { monitor_us: 5_000.0, target_us: 4_000.0 });
        assert_eq!((budget.left, budget.debt), (left, 1_000.0));
    }

    proptest! {
        #[test]
        fn the_bound_is_kept_over_any_ten_seconds(
            share in 0.001f64..0.05,
            off in 0.5f64..4.0,
            waits in prop::collection::vec(1_000u64..200_000, 300..400),
        ) {
            let mut budget = Budget::new(share);
            let mut costs = Vec::new();
            let mut now_us = 0;
            for wait in waits {
                now_us += wait;
                budget.fill(now_us);
                let price = budget.sampling(16, 0.5);
                let mut spent = CpuCost::default();
                budget.note_sampling();
                while budget.reserve(price, 0.0) {
                    spent.monitor_us += off * price.monitor();
                    spent.target_us += off * price.target;
                }
                budget.charge(spent);
                costs.push((now_us, spent.monitor_us + spent.target_us));
            }
            // The guess is off by a factor at first.
            for (at, _) in costs.iter().filter(|b| b.0 > 5_000_000) {
                let window = |b: &&(u64, f64)| b.0 > *at && b.0 <= *at + 10_000_000;
                let spent: f64 = costs.iter().filter(window).map(|b| b.1).sum();
                prop_assert!(spent <= 1.1 * share * 10e6 + 60.0, "{spent} of {}", share * 10e6);
            }
        }
    }
}
