//! A subregion: a part of a target's memory that is taken to be alike, and the pages of it
//! that are looked at.
//!
//! Subregions are small where there is something to find out and large where there is not,
//! and they are aggregated into regions.

use super::curve::{CountedRate, Counts, Curve, LEAST_TOLD};
use super::estimate::{Estimate, Look, SATURATED};
use super::page_runs::Told;
use super::seen::{Accessed, Seen, Waiting};
use super::table::{Summary, Table};
use super::together::LookAtAll;
use daos_core::access::shifted_pages;
use daos_core::pages::{Pages, page_range};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, PageBits, WITHIN_US};

/// Accesses a second and page below which memory counts as idle. Chosen: one in a minute and
/// a half.
pub(super) const IDLE_RATE: f64 = 0.01;
/// The chance from which on an access that did not come is suspicious. Chosen.
const LIKELY: f64 = 0.6;
/// The share of the pages of a probe that were accessed at once from which on all are taken to be in use. Chosen: all but one of eight.
const MOST: f32 = 0.85;
/// Exposure in seconds that is short: few of the pages in use are accessed in it.
const SHORT: f64 = 0.05;
/// Rates that differ by no more than this part have one curve. Chosen.
const CURVES_ALIKE: f64 = 0.05;
/// Accesses that a rate rests on which was counted. Chosen: some looks at other pages change it.
const MOST_COUNTED: f64 = 16.0;
/// Accesses that a rate rests on from which on pages are idle by it; until then by this one at most, in accesses a second. Chosen: two
/// looks at most of a table may have come while its user went over it.
const SURE: f64 = 32.0;
const SURE_RATE: f64 = 10.0;
/// Standard deviations by which a rate of which it is not known yet whether it is too low is to be higher than
/// one that rests on more. Chosen: one in fifty is by chance.
const CHANCE: f64 = 2.0;
/// Pages of a table that a look counts for at most. Chosen: as many as are armed of it, so that a
/// look at all does not decide what those have told in minutes.
const MOST_PAGES: f64 = 16.0;
/// Accesses a second up to which pages that come all at once may be gone over again and again: what was
/// counted until then holds. Chosen: of what is used more often, most would have come before.
const SELDOM: f64 = 1.0;
/// So many pages at the end of what is known to be alike may not be. Chosen: as many as there are at a place that is
/// looked at to find out.
const MARGIN_PAGES: u64 = 16;
/// Microseconds after arming from which on a reading that finds nothing tells whether memory is in use. Chosen: what is used five
/// times a second is mostly accessed by then.
const TELLS_US: u64 = 200_000;
/// How many times as long as it was seen to be idle, memory is told to be. Chosen: idle memory is read when four times as
/// much time has passed, if there is enough to spend.
const HOLDS_FOR: u64 = 4;
/// Ages that differ by no more than this are alike, in microseconds. Chosen: one regions
/// update interval by default.
pub(super) const AGES_ALIKE_US: u64 = 1_000_000;

/// Pages of a probe that were armed last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Armed {
    /// By number, in the probe.
    pub from: u32,
    pub to: u32,
    /// When that was, in microseconds.
    pub at_us: u64,
    /// When they were read last.
    pub read_us: u64,
    /// That was since they are overdue: of what comes in turns, their turn is about to come.
    pub is_overdue: bool,
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Taken {
    /// The rate turned out to be another one.
    pub changed: bool,
    /// It was at all pages in use that were armed last, none of which had been accessed before.
    pub at_all: Option<LookAtAll>,
}

/// A part of memory, and what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subregion {
    /// Page-aligned, never empty.
    pub range: AddrRange,
    /// The pages that are looked at: inside the range, of one page table.
    pub probe: AddrRange,
    /// Pages of the probe whose bits were clear when they were last read or armed.
    pub waiting: Pages,
    /// When all pages of the probe that wait were last read, and when all of it was.
    pub read_us: u64,
    pub whole_read_us: u64,
    /// What was armed last.
    pub armed: Armed,
    /// Of all its pages or, where each is known, of those in use.
    pub estimate: Estimate,
    /// Since when the rate is what it is.
    pub since_us: u64,
    /// Since when none of the pages that are looked at was accessed; 0 if one was when they
    /// were read last.
    pub quiet_since_us: u64,
    /// When it is to be looked at next.
    pub due_us: u64,
    /// There is nothing to be read of it until it was armed.
    pub is_to_be_armed: bool,
    /// What is known of it does not hold, or too little is: it comes first.
    pub unsure: bool,
    /// When it was read last nearly all had been accessed, after so long that it says little of
    /// the rate: it is higher than was thought.
    pub is_saturated: bool,
    /// The part of the range that was seen to be alike.
    pub known: AddrRange,
    /// As it was before its probe was moved, until it is seen that it is like that where it is now.
    pub moved_from: Option<Box<Self>>,
    /// It is in use where its probe is, but not all of it.
    pub is_cut: bool,
    /// Some of it was read at some time, though nothing may have been there.
    pub was_read: bool,
    /// Nothing is in memory here.
    pub absent: bool,
    /// A huge page maps the probe.
    pub huge: bool,
    /// The share of the probe that could not be observed, 0 to 1.
    pub unobserved: f64,
    /// The share of its pages that can be observed that were in memory when all were read last.
    pub present: f32,
    /// Its pages are known one by one: then the probe is all of it.
    pub table: Option<Box<Table>>,
    /// Of the table, as it was when it was last read.
    pub summary: Summary,
    /// The runs of its pages as they were told, if nothing else is known since.
    pub told: Option<Told>,
    /// How many of the pages that are looked at are accessed within which time, as counted.
    pub counts: Box<Counts>,
    /// The same of all its pages; the rate when that was worked out last, if it was.
    pub curve: Curve,
    pub curve_of: f64,
    /// Which share of its pages was accessed when any last were, and when that was.
    pub accessed: Accessed,
    /// Those of its pages in use that wait for an access now: those that were armed last, with all that
    /// they stand for; and others.
    pub now_waiting: [Waiting; 2],
    /// When all pages in use of the table are to be armed next; 0 for as soon as can be.
    pub arm_all_us: u64,
    /// When it was not mapped yet, until it is armed; else 0.
    pub unmapped_us: u64,
    /// The same, also afterwards.
    pub new_since_us: u64,
}

impl Subregion {
    /// A subregion of which nothing is known, to be looked at at once: at so many pages in
    /// its middle.
    pub fn new(range: AddrRange, pages: u64, now_us: u64) -> Self {
        Self::mapped_since(0, range, pages, now_us)
    }

    /// The same of memory that was not mapped yet at `unmapped_us`, or for 0 may have been. A page
    /// that is not there waits for an access as one does that was armed: it is there from the first
    /// one on.
    pub fn mapped_since(unmapped_us: u64, range: AddrRange, pages: u64, now_us: u64) -> Self {
        debug_assert!(!range.is_empty());
        let mut new = Self {
            range,
            probe: range,
            waiting: Pages::default(),
            read_us: now_us,
            whole_read_us: now_us,
            armed: Armed::default(),
            estimate: Estimate::default(),
            since_us: now_us,
            quiet_since_us: 0,
            due_us: now_us,
            is_to_be_armed: false,
            unsure: true,
            is_saturated: false,
            known: range,
            moved_from: None,
            is_cut: false,
            was_read: false,
            absent: false,
            huge: false,
            unobserved: 0.0,
            present: 1.0,
            table: None,
            summary: Summary::default(),
            told: None,
            counts: Box::default(),
            curve: Curve::default(),
            curve_of: f64::INFINITY,
            accessed: Accessed::default(),
            now_waiting: Default::default(),
            arm_all_us: 0,
            unmapped_us,
            new_since_us: unmapped_us,
        };
        new.centre_probe(pages);
        new
    }

    /// Puts the probe, of at most so many pages, into the middle of the range or of the page
    /// table that is there.
    pub fn centre_probe(&mut self, pages: u64) {
        let middle = self.range.start + self.range.pages() / 2 * PAGE_SIZE;
        self.place_probe(middle - pages.min(self.range.pages()) / 2 * PAGE_SIZE, pages);
    }

    /// Puts the probe to an address in the range, and forgets what is known of its bits. It
    /// ends with the range and with the page table.
    pub fn place_probe(&mut self, start: u64, pages: u64) {
        let table_end = (start / HUGE_PAGE_SIZE + 1) * HUGE_PAGE_SIZE;
        let end = (start + pages * PAGE_SIZE).min(self.range.end).min(table_end);
        self.probe = AddrRange::new(start, end);
        (self.known, self.moved_from) = (self.probe, None);
        (self.waiting, self.now_waiting) = Default::default();
        self.armed = Armed::default();
        self.quiet_since_us = 0;
        if self.table.is_some() {
            (self.table, self.summary, self.told) = (None, Summary::default(), None);
            *self.counts = Counts::default();
            self.curve_of = f64::INFINITY;
        }
        self.counts.end();
        let unmapped_us = self.unmapped_us;
        if unmapped_us > 0 {
            self.arm(0, self.nr_pages(), unmapped_us);
            self.unmapped_us = unmapped_us;
        }
        debug_assert!(self.probe.intersect(&self.range) == Some(self.probe) && start < end);
    }

    /// Puts the probe to another address that may stand for all of it as well.
    pub fn move_probe(&mut self, start: u64, pages: u64) {
        let (known, before) = (self.known, self.moved_from.take());
        let is_used = self.estimate.rate() >= IDLE_RATE;
        let before = is_used.then(|| before.unwrap_or_else(|| Box::new(self.clone())));
        self.place_probe(start, pages);
        self.moved_from = before;
        if known.intersect(&self.probe).is_some() {
            self.known.start = self.known.start.min(known.start);
            self.known.end = self.known.end.max(known.end);
        }
    }

    /// Looks at another place next, where there is one: none of the probe's pages is in memory, or none can be
    /// observed, so they say nothing of the others.
    pub fn leave_probe(&mut self) {
        if self.table.is_none() && self.range.pages() > self.probe.pages() {
            (self.waiting, self.now_waiting) = Default::default();
            self.unsure = false;
        }
    }

    /// Puts a probe back that turned out not to be like where it was before. Returns what is where it was, if
    /// that is still of it.
    pub fn move_back(&mut self) -> Option<Self> {
        let before = *self.moved_from.take()?;
        let (range, probe) = (self.range, before.probe);
        // Borders move, too.
        if range.intersect(&probe) != Some(probe) {
            return None;
        }
        let mut there = std::mem::replace(self, Self { range, ..before });
        (there.range, there.known) = (there.probe, there.probe);
        if there.accessed.to_us <= there.armed.at_us {
            // That was where it was before.
            there.accessed = Accessed::default();
        }
        self.place_probe(probe.start, probe.pages());
        (self.due_us, self.unsure) = (there.due_us, true);
        Some(there)
    }

    /// Whether it was never armed.
    pub fn is_new(&self) -> bool {
        self.unmapped_us > 0 || self.armed.at_us == 0 && self.estimate.is_empty()
    }

    /// Whether nothing is known of how it is used, nor of what it is a part of.
    pub fn is_unknown(&self) -> bool {
        self.estimate.is_empty() && self.table.is_none() && !self.absent
    }

    /// Whether nobody looked at it yet. Where somebody did and nothing was there, it is unknown all the same.
    pub fn is_unseen(&self) -> bool {
        self.is_unknown() && !self.was_read
    }

    /// When it was seen to be filled, if that is all that is known of it: it was mapped while it was watched, was read, and was
    /// not armed since.
    pub fn only_filled_us(&self) -> Option<u64> {
        (self.unmapped_us > 0 && self.accessed.to_us > 0).then_some(self.accessed.to_us)
    }

    /// Whether it was mapped no longer than so many microseconds ago, and is known not to be accessed since it was armed for as long
    /// as tells something, or to be.
    pub fn was_looked_at_since_filled(&self, for_us: u64, now_us: u64) -> bool {
        let Armed { at_us, read_us, .. } = self.armed;
        let is_new = self.new_since_us > 0 && now_us < self.new_since_us + for_us;
        let tells = read_us >= at_us + TELLS_US || self.accessed.to_us > at_us;
        is_new && self.unmapped_us == 0 && tells
    }

    /// Whether some of its pages in use were not accessed when they should have been.
    pub fn is_suspect(&self) -> bool {
        self.table.as_ref().is_some_and(|table| table.suspect.is_some())
    }

    /// Whether it lies in one page table, so that its pages can be known one by one.
    pub fn is_in_one_table(&self) -> bool {
        self.range.start / HUGE_PAGE_SIZE == (self.range.end - 1) / HUGE_PAGE_SIZE
    }

    /// Pages of the probe.
    pub fn nr_pages(&self) -> u32 {
        self.probe.pages() as u32
    }

    /// Whether as many pages of the probe as not wait for an access.
    pub fn is_waiting(&self) -> bool {
        self.waiting.len() * 2 > self.nr_pages()
    }

    /// Notes that the pages with these numbers are being armed.
    pub fn arm(&mut self, from: u32, to: u32, now_us: u64) {
        self.unmapped_us = 0;
        let window = Pages::range(from, to);
        let is_overdue = self.is_suspect();
        if let Some(table) = &mut self.table {
            table.arm(&window.without(&self.waiting), now_us);
        }
        if to - from == self.probe.pages() as u32 && !is_overdue {
            self.counts.begin(now_us);
        } else {
            self.counts.lose(&window.and(&self.waiting));
        }
        if self.estimate.is_empty() && self.waiting.is_empty() {
            self.since_us = now_us;
        }
        // What was read of the others is as old as it was.
        if self.waiting.is_empty() {
            self.read_us = now_us;
        }
        self.waiting = self.waiting.or(&window);
        self.armed = Armed { from, to, at_us: now_us, read_us: now_us, is_overdue };
        self.is_to_be_armed = false;
        self.count_waiting();
    }

    /// Corrects when it was armed, once that is over.
    pub fn was_armed(&mut self, at_us: u64) {
        let all = (self.armed.from, self.armed.to) == (0, self.nr_pages());
        if all {
            self.counts.begun(at_us);
        }
        self.armed.at_us = at_us;
        self.armed.read_us = self.armed.read_us.max(at_us);
        self.count_waiting();
    }

    /// Takes in what was found in the pages `from..to`, which were read now.
    pub fn take(&mut self, (from, to): (u32, u32), seen: &Observation, now_us: u64) -> Taken {
        let read = Pages::range(from, to);
        let shifted = |bits: &PageBits| Pages(shifted_pages(bits, from)).and(&read);
        let set =
            seen.pages.as_ref().map_or_else(|| Pages::range(from, from + seen.accessed), shifted);
        let unknown = match &seen.unknown {
            Some(unknown) => shifted(unknown),
            None if seen.unobservable > 0 => read,
            None => Pages::default(),
        };
        let absent = seen.absent.as_ref().map(shifted);
        let used_before = self.table.as_ref().map(|table| *table.used());
        if let (Some(table), Some(absent)) = (&mut self.table, &absent) {
            table.lose(absent, now_us);
        }
        self.was_read = true;
        let all_read = self.waiting.without(&read).is_empty();
        let pages = f64::from(to - from);
        let is_whole = to - from == self.nr_pages();
        if is_whole {
            self.whole_read_us = now_us;
            let observable = (to - from - seen.unobservable).max(1);
            let there =
                absent.map_or(seen.present, |absent| observable.saturating_sub(absent.len()));
            self.present = there as f32 / observable as f32;
        }
        if is_whole || self.table.is_none() {
            self.unobserved = f64::from(seen.unobservable) / pages;
            self.huge = seen.is_huge(to - from);
        }
        // Entries for each page that waits, and for each that was accessed.
        let (_, entries) = seen.trials();
        let present = f64::from(seen.present.max(1));
        let (per_page, per_accessed) = (entries / pages, entries / present);

        let window = Pages::range(self.armed.from, self.armed.to);
        let waiting = self.waiting.and(&read).without(&unknown);
        let armed = (waiting.and(&window), self.armed.read_us.max(self.armed.at_us));
        // Of a table they would be those that are accessed seldom.
        let others = self.table.is_none().then(|| (waiting.without(&window), self.read_us));
        let at_all = self.look_at_all(&armed.0, &set, armed.1, now_us);
        let (mut changed, mut raised) = (false, false);
        self.is_saturated = false;
        for (group, since_us) in std::iter::once(armed).chain(others) {
            // Only pages that are in use tell how often those are accessed.
            let tell = self.table.as_ref().map_or(group, |table| group.and(table.used()));
            let accessed = f64::from(tell.and(&set).len());
            let (per_page, per_accessed) = if self.table.is_some() {
                // What is swept is accessed all at once.
                let weight = MOST_PAGES / f64::from(tell.len()).max(MOST_PAGES);
                (weight, weight)
            } else {
                (per_page, per_accessed)
            };
            let waiting = (f64::from(tell.len()) * per_page).max(accessed * per_accessed);
            let look = Look {
                waiting,
                accessed: accessed * per_accessed,
                exposure: now_us.saturating_sub(since_us) as f64 / 1e6,
            };
            self.is_saturated |=
                accessed > SATURATED * f64::from(tell.len()) && look.exposure > SHORT;
            let missed = accessed == 0.0 && self.estimate.chance(look.exposure) > LIKELY;
            let raises = self.estimate.raise(look);
            raised |= raises;
            changed |= !raises && seen.present > 0 && self.estimate.add(look);
            changed |= self.table.is_none() && accessed == 0.0 && self.estimate.give_up(look);
            if let Some(table) = self.table.as_mut().filter(|_| missed && !tell.is_empty()) {
                table.suspect_around((self.armed.from, self.armed.to), self.probe.pages() as u32);
            }
        }
        let fresh = waiting.and(&set);
        if !fresh.is_empty() {
            self.quiet_since_us = 0;
        } else if self.quiet_since_us == 0 {
            self.quiet_since_us = armed.1;
        }
        let clear = read.without(&set).without(&unknown);
        if let Some(table) = &mut self.table {
            let found_clear = clear.without(&self.waiting);
            let exposure = now_us.saturating_sub(self.armed.at_us) as f64 / 1e6;
            let nr_fresh = f64::from(fresh.len());
            if nr_fresh > 0.0 && self.estimate.rate() < IDLE_RATE {
                // Of the first that are found in use it is not known whether the others that
                // were armed with them are used as well, but more seldom.
                let share =
                    if exposure > SHORT { 0.63 } else { nr_fresh / f64::from(waiting.len()) };
                let waiting = nr_fresh / share;
                let look = Look { waiting, accessed: nr_fresh, exposure };
                self.estimate = Estimate::of_first_in_use(look);
                self.is_saturated |= exposure > SHORT;
            }
            let rate = self.estimate.rate();
            let sure_rate = if self.estimate.rests_on(SURE) { rate } else { rate.min(SURE_RATE) };
            let differs = table.take(&fresh, &found_clear, &clear, sure_rate, now_us);
            // What is found by the first look was not otherwise before.
            changed |= differs && self.summary.is_known;
            table.set_unknown(&read, &unknown);
            let is_news = Some(*table.used()) != used_before || !found_clear.is_empty();
            if is_news || !self.summary.is_of(table) {
                self.summary = table.summary(self.probe.pages() as u32);
                self.outdate_runs();
            }
        }
        if !fresh.is_empty() {
            let are_of_window = fresh.without(&window).is_empty();
            let from_us = if are_of_window { armed.1 } else { armed.1.min(self.read_us) };
            self.note_accessed(&fresh, from_us, now_us);
        }
        self.count(changed || raised, &fresh, all_read, now_us);
        self.waiting = self.waiting.without(&read).or(&clear);
        self.armed.read_us = now_us;
        self.is_to_be_armed = false;
        if all_read {
            self.read_us = now_us;
        }
        self.count_waiting();
        if changed {
            let is_idle = self.estimate.rate() == 0.0 && self.quiet_since_us > 0;
            self.since_us = if is_idle { self.quiet_since_us } else { now_us };
        }
        Taken { changed, at_all }
    }

    /// What was read of the pages that were armed last and wait, since they were read before, if it is all of
    /// those in use.
    fn look_at_all(
        &self,
        waiting: &Pages,
        set: &Pages,
        since_us: u64,
        now_us: u64,
    ) -> Option<LookAtAll> {
        let window = Pages::range(self.armed.from, self.armed.to);
        let in_use = self.table.as_ref().map_or(window, |table| window.and(table.used()));
        let tell = waiting.and(&in_use);
        // The pages of a huge page are one.
        if self.huge || self.armed.is_overdue || tell != in_use || tell.is_empty() {
            return None;
        }
        let armed_for = |us: u64| us.saturating_sub(self.armed.at_us) as f64 / 1e6;
        let (pages, accessed) = (f64::from(tell.len()), f64::from(tell.and(set).len()));
        let (from, to) = (armed_for(since_us), armed_for(now_us));
        Some(LookAtAll { pages, share: accessed / pages, from, to })
    }

    /// Counts those that were accessed, and keeps what is known of how many are. `changed`: the rate is another, or higher than it
    /// was known to be at least.
    fn count(&mut self, changed: bool, fresh: &Pages, all_read: bool, now_us: u64) {
        let rate = self.estimate.rate();
        let rate = if rate < IDLE_RATE { 0.0 } else { rate };
        let is_other = (rate - self.curve_of).abs() > CURVES_ALIKE * rate.min(self.curve_of);
        let has_table = self.table.is_some();
        let (pages, used_share) = match has_table {
            true => (self.summary.known, self.summary.used_share()),
            false => (self.nr_pages(), 1.0),
        };
        // What is accessed seldom may be gone over again and again.
        let is_new_use = (self.estimate.rate() > SELDOM || self.counts.are_of_idle())
            && match has_table {
                true => changed,
                // Others of its pages may be looked at, which are used in another way though nothing
                // changed; and most of them are used where use has begun.
                false => self.counts.has_use_begun() && fresh.len() * 2 > pages,
            };
        if changed && fresh.is_empty() {
            self.counts.end_use();
        } else if is_new_use {
            self.counts.outdate(now_us);
        }
        let was_over = self.counts.is_over();
        self.counts.take(fresh, all_read.then_some(pages), rate, now_us);
        // Probes tell of a few pages at a time; this, of all.
        // What is gone over comes at no random times, by which that tells.
        let is_at_random = !self.estimate.is_together();
        let may_tell = all_read && has_table && !self.counts.is_over() && is_at_random;
        let counted = if may_tell { self.counts.new_rate() } else { None };
        if let Some(CountedRate { rate, pages, is_over, came, within }) = counted {
            let accesses = pages.min(MOST_COUNTED);
            // A look by whose end all came tells only that they came sooner.
            // Of a few pages more may have come by chance.
            let by_chance = libm::exp(CHANCE / accesses.sqrt());
            let is_more = !self.estimate.rests_on(accesses)
                || !is_over && rate > by_chance * self.estimate.rate();
            // While most are still to come, that some came early tells no higher rate unless they are more than usual.
            let (came, used) = (f64::from(came), f64::from(self.summary.used));
            let usual = used * self.estimate.chance(within);
            let is_usual = came <= usual + CHANCE * usual.sqrt();
            let is_chance = 2.0 * came < used && is_usual && rate > self.estimate.rate();
            if is_more && !is_chance {
                self.estimate.set_rate(rate, accesses);
            }
        }
        if has_table && self.summary.used == 0 {
            self.curve = Curve::default();
        } else if self.estimate.is_together() {
            let share = |us: u64| self.mean_chance(us as f64 / 1e6) as f32;
            (self.curve, self.curve_of) = (Curve { shares: WITHIN_US.map(share) }, rate);
        } else if all_read || changed || was_over || (self.counts.is_empty() && is_other) {
            (self.curve, self.curve_of) = (self.counts.curve(rate, used_share), rate);
        }
    }

    /// Takes the rate that others tell for its own.
    pub fn learn(&mut self, rate: f64) {
        self.estimate.set_rate(rate, LEAST_TOLD);
        (self.curve, self.curve_of) = (self.counts.curve(rate, self.summary.used_share()), rate);
    }

    /// The pages in use that were armed last, and how many of those in use they stand for: all but those
    /// that wait since before.
    fn sample(&self) -> (Pages, u32) {
        let window = Pages::range(self.armed.from, self.armed.to);
        let Some(table) = &self.table else { return (window, self.nr_pages()) };
        let window = window.and(table.used());
        let others_wait = self.waiting.and(table.used()).without(&window);
        (window, table.used().len() - others_wait.len())
    }

    /// Notes that these pages were accessed, at some time between these.
    fn note_accessed(&mut self, pages: &Pages, from_us: u64, to_us: u64) {
        let (sample, stands_for) = self.sample();
        let all = self.nr_pages() as f32;
        let of_sample = pages.and(&sample).len();
        let each = stands_for as f32 / sample.len().max(1) as f32;
        let share = (of_sample as f32 * each + (pages.len() - of_sample) as f32) / all;
        let armed_us = self.armed.at_us.min(from_us);
        // Of a table these may be others than those before; of a probe they are the same.
        let most = self.table.as_ref().map(|table| table.used().len() as f32 / all);
        let now = Accessed { share, armed_us, from_us, to_us };
        self.accessed = now.after(self.accessed, most);
    }

    /// Counts its pages in use that wait: here, where the table is at hand.
    fn count_waiting(&mut self) {
        let Armed { at_us, read_us, .. } = self.armed;
        let (sample, stands_for) = self.sample();
        let of_sample = self.waiting.and(&sample);
        let waits = of_sample.len() as f32 / sample.len().max(1) as f32;
        let mut armed = Waiting { part: waits, since_us: at_us, read_us };
        let mut others = Waiting::default();
        if let Some(table) = &self.table {
            let part = |pages: u32| pages as f32 / table.used().len().max(1) as f32;
            armed.part *= part(stands_for);
            armed.since_us = table.mean_since_us(&of_sample).unwrap_or(at_us);
            let of_others = self.waiting.and(table.used()).without(&sample);
            if let Some(since_us) = table.mean_since_us(&of_others) {
                let read_us = self.read_us.max(since_us);
                others = Waiting { part: part(of_others.len()), since_us, read_us };
            }
        }
        self.now_waiting = [armed, others];
    }

    /// The shares of its pages that were accessed within each of [`daos_core::WITHIN_US`], and are in memory still.
    pub fn shares_within(&self, now_us: u64) -> impl Iterator<Item = f32> {
        self.shares_if(self.curve, now_us)
    }

    /// The same if so many are usually.
    pub fn shares_if(&self, usual: Curve, now_us: u64) -> impl Iterator<Item = f32> {
        // A few pages are not all.
        let in_use = if self.table.is_some() { self.summary.used_share() as f32 } else { 1.0 };
        // Since all were read last, others may have come.
        let most = if self.absent { 0.0 } else { self.present.max(in_use) };
        let (armed_us, waiting) = (self.armed.at_us, self.now_waiting);
        let accessed = self.accessed;
        let seen = Seen { accessed, armed_us, waiting, in_use, usual };
        seen.shares_within(now_us).map(move |share| share.min(most))
    }

    /// Accesses a second of a page, on average over its pages; 0 where there is as good as
    /// none.
    pub fn mean_rate(&self) -> f64 {
        let rate = self.estimate.rate();
        let rate = if rate < IDLE_RATE { 0.0 } else { rate };
        if self.table.is_some() { rate * self.summary.used_share() } else { rate }
    }

    /// Whether some pages of its probe were accessed while others wait since.
    pub fn is_probe_mixed(&self) -> bool {
        self.table.is_none() && self.is_waiting() && self.accessed.to_us > self.armed.at_us
    }

    /// Whether some of its pages were accessed when others were not.
    pub fn is_seen_mixed(&self) -> bool {
        match self.table {
            Some(_) => self.is_mixed(),
            None => self.accessed.share > 0.0 && self.accessed.share < MOST,
        }
    }

    /// Whether its pages may differ one by one, as far as is known. Where they don't, as in what is gone over, a few tell
    /// as much as all.
    pub fn may_differ(&self) -> bool {
        match self.table {
            Some(_) => self.summary.parts().next().is_none(),
            None => self.estimate.rate() < IDLE_RATE || self.accessed.share < MOST,
        }
    }

    /// The chance that a page is accessed within so many seconds, on average over its pages.
    pub fn mean_chance(&self, seconds: f64) -> f64 {
        let is_idle = self.estimate.rate() < IDLE_RATE;
        let one = if is_idle { 0.0 } else { self.estimate.chance(seconds) };
        if self.table.is_some() { one * self.summary.used_share() } else { one }
    }

    /// Since when it is as it is: where pages are known one by one, since all of those idle
    /// are.
    pub fn settled_us(&self) -> u64 {
        if self.table.is_some() && self.summary.used == 0 {
            self.summary.youngest_us.max(self.since_us)
        } else {
            self.since_us
        }
    }

    /// Since when pages that are idle since `since_us` are told to be: a look proves that they were until then, and it is taken
    /// to hold until the next is due, but no longer.
    pub fn told_since_us(&self, since_us: u64, now_us: u64) -> u64 {
        if self.absent {
            return since_us;
        }
        let proven_us = self.read_us.max(self.armed.read_us).saturating_sub(since_us);
        since_us.max(now_us.saturating_sub(HOLDS_FOR * proven_us))
    }

    /// Whether the memory at its end, or at its beginning, is in use, as far as is known.
    pub fn is_used_at(&self, end: bool) -> Option<bool> {
        if self.table.is_some() {
            let mut parts = self.summary.parts();
            let part = if end { parts.last() } else { parts.next() };
            return part.map(|part| part.is_used);
        }
        (!self.estimate.is_empty()).then(|| self.mean_rate() > 0.0)
    }

    /// Whether its pages differ, so that they are told one by one.
    pub fn is_mixed(&self) -> bool {
        !self.huge && self.summary.is_mixed()
    }

    /// Cuts it to what lies in `range`, of which some does.
    pub fn clip(&mut self, range: AddrRange, pages: u64) {
        let Some(inside) = self.range.intersect(&range) else { return };
        self.range = inside;
        if self.probe.intersect(&inside) != Some(self.probe) {
            self.centre_probe(pages);
            self.unsure = true;
            self.due_us = 0;
        }
        self.known = self.known.intersect(&inside).unwrap_or(self.probe);
    }

    /// Takes in the neighbour on the right, which is alike.
    pub fn absorb(&mut self, next: Self) {
        let (left, right) = (self.range.pages(), next.range.pages());
        let share = right as f64 / (left + right) as f64;
        self.unobserved += (next.unobserved - self.unobserved) * share;
        let ages = u128::from(self.since_us) * u128::from(left)
            + u128::from(next.since_us) * u128::from(right);
        self.since_us = (ages / u128::from(left + right)) as u64;
        self.estimate = self.estimate.with(&next.estimate);
        let range = AddrRange::new(self.range.start, next.range.end);
        let known = AddrRange::new(self.known.start, next.known.end);
        let are_quiet = self.quiet_since_us > 0 && next.quiet_since_us > 0;
        self.quiet_since_us =
            if are_quiet { self.quiet_since_us.max(next.quiet_since_us) } else { 0 };
        if right > left {
            let Self { estimate, since_us, quiet_since_us, unobserved, .. } = *self;
            *self = Self { estimate, since_us, quiet_since_us, unobserved, ..next };
        }
        (self.range, self.known, self.moved_from) = (range, known, None);
    }

    /// Whether both are idle, but one has been so much longer: what turned cold a moment
    /// ago is not as old as the cold memory around it.
    pub fn is_of_another_age(&self, other: &Self, now_us: u64) -> bool {
        let age = |subregion: &Self| now_us.saturating_sub(subregion.settled_us());
        let (young, old) = (age(self).min(age(other)), age(self).max(age(other)));
        let idle = self.mean_rate() == 0.0 && other.mean_rate() == 0.0;
        idle && old > 2 * young + AGES_ALIKE_US
    }

    /// Whether places in it are looked at beside its probe.
    pub fn may_be_explored(&self) -> bool {
        !self.absent && self.table.is_none() && !self.unsure
    }

    /// Where pages lie that may stand for all of it. Of one in use much may not be, as far as it is not
    /// known yet to be alike, and where that ends is known to a few pages only.
    pub fn alike(&self) -> AddrRange {
        if self.estimate.rate() < IDLE_RATE {
            return self.range;
        }
        let margin = MARGIN_PAGES.min(self.known.pages() / 3) * PAGE_SIZE;
        AddrRange::new(self.known.start + margin, self.known.end - margin)
    }

    /// Whether all of it lies in the aligned block of so many bytes around `address`, in
    /// which nothing is in memory.
    pub fn is_in_hole(&self, address: u64, bytes: u64) -> bool {
        bytes > 0
            && address / bytes == self.range.start / bytes
            && (self.range.end - 1) / bytes == self.range.start / bytes
    }

    /// The addresses of the probe's pages with these numbers.
    pub fn pages(&self, from: u32, to: u32) -> AddrRange {
        page_range(self.probe.start, from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(accessed: u64) -> Observation {
        let mut pages = PageBits::default();
        pages[0] = accessed;
        Observation {
            present: 8,
            accessed: accessed.count_ones(),
            pages: Some(pages),
            ..Observation::default()
        }
    }

    #[test]
    fn pages_of_a_probe_tell_how_many_are_in_use() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.arm(0, 8, 1_000);
        // Of eight pages one is accessed often, the others never.
        for (at_us, accessed) in [(6_000, 0), (1_001_000, 1), (2_600_000, 1)] {
            subregion.take((0, 8), &seen(accessed), at_us);
        }
        assert!((subregion.curve.shares[4] - 0.125).abs() < 0.02, "{:?}", subregion.curve);
        // If that was all, it is over some time.
        subregion.take((0, 8), &seen(1), 30_000_000);
        assert_eq!(subregion.curve, Curve::default());
    }

    #[test]
    fn pages_of_a_table_that_are_gone_are_in_use_no_longer() {
        let mut subregion = Subregion::new(AddrRange::new(0, 8 * PAGE_SIZE), 8, 0);
        subregion.make_table();
        subregion.arm(0, 8, 1_000);
        subregion.take((0, 8), &seen(0xff), 6_000);
        assert_eq!(subregion.summary.used, 8);
        let mut gone = PageBits::default();
        gone[0] = 0x3f;
        let seen = Observation { present: 2, absent: Some(gone), ..seen(0xc0) };
        subregion.take((0, 8), &seen, 1_006_000);
        assert_eq!(subregion.summary.used, 2);
        let within = |subregion: &Subregion| subregion.shares_within(1_006_000).last();
        assert_eq!(within(&subregion), Some(0.25));
        subregion.absent = true;
        assert_eq!(within(&subregion), Some(0.0));
    }

    #[test]
    fn a_probe_is_mixed_while_some_of_its_pages_wait_and_others_were_accessed() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        let mut is_mixed_with = |accessed| {
            subregion.arm(0, 8, subregion.armed.read_us + 1_000);
            subregion.take((0, 8), &seen(accessed), subregion.armed.at_us + 5_000);
            subregion.is_probe_mixed()
        };
        assert_eq!([0, 3, 0, 0xff].map(&mut is_mixed_with), [false, true, false, false]);
    }

    #[test]
    fn pages_of_a_huge_page_are_one_and_overdue_ones_come_soon() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        let tells = |subregion: &mut Subregion, entries| {
            subregion.arm(0, 8, subregion.armed.read_us + 1_000);
            let seen = Observation { entries, ..seen(0xff) };
            let taken = subregion.take((0, 8), &seen, subregion.armed.at_us + 5_000);
            taken.at_all.is_some()
        };
        assert_eq!([8, 1, 8].map(|entries| tells(&mut subregion, entries)), [true, false, true]);
        subregion.make_table();
        // The first look tells which are in use.
        tells(&mut subregion, 8);
        assert!(tells(&mut subregion, 8));
        subregion.table.as_mut().unwrap().suspect = Some((0, 8));
        assert!(!tells(&mut subregion, 8));
    }

    #[test]
    fn a_page_that_is_accessed_again_and_again_is_one_page() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        for at_us in (1..20).map(|nr| nr * 100_000) {
            subregion.arm(0, 8, at_us);
            subregion.take((0, 8), &seen(1), at_us + 50_000);
        }
        assert_eq!(subregion.accessed.share, 0.125);
    }

    #[test]
    fn a_table_that_is_used_again_tells_so_at_once() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.make_table();
        let table = |accessed: u32| {
            let mut pages = PageBits::default();
            pages[..accessed as usize / 64].fill(u64::MAX);
            Observation { present: 512, accessed, pages: Some(pages), ..Observation::default() }
        };
        // All of it once in three seconds; then not for long; then again, in a part that is read.
        for nr in 0..4 {
            subregion.arm(0, 512, nr * 3_000_000 + 1_000);
            subregion.take((0, 512), &table(0), nr * 3_000_000 + 1_000_000);
            subregion.take((0, 512), &table(512), nr * 3_000_000 + 2_000_000);
        }
        subregion.arm(0, 512, 12_001_000);
        while subregion.curve.shares[5] > 0.0 {
            subregion.take((0, 512), &table(0), subregion.armed.read_us + 1_000_000);
        }
        assert!(subregion.armed.read_us < 40_000_000);
        subregion.take((0, 64), &table(64), subregion.armed.read_us + 1_000_000);
        assert!(subregion.curve.shares[6] > 0.0, "{:?}", subregion.curve);
    }

    #[test]
    fn pages_wait_since_they_were_armed_though_others_are_armed_anew() {
        const S: u64 = 1_000_000;
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.make_table();
        let table = |accessed: u32| {
            let mut pages = PageBits::default();
            pages[..accessed as usize / 64].fill(u64::MAX);
            Observation { present: 512, accessed, pages: Some(pages), ..Observation::default() }
        };
        // All are in use; an eighth is accessed again, armed anew, and accessed.
        subregion.arm(0, 512, S);
        subregion.take((0, 512), &table(512), 2 * S);
        subregion.arm(0, 512, 3 * S);
        subregion.take((0, 512), &table(64), 4 * S);
        subregion.arm(0, 64, 5 * S);
        subregion.take((0, 64), &table(64), 6 * S);
        let [armed, others] = subregion.now_waiting;
        assert_eq!(
            (armed.part, others),
            (0.0, Waiting { part: 0.875, since_us: 3 * S, read_us: 4 * S })
        );
        subregion.arm(0, 64, 7 * S);
        subregion.was_armed(7 * S + 500_000);
        let [armed, others] = subregion.now_waiting;
        assert_eq!(armed, Waiting { part: 0.125, since_us: 7 * S, read_us: 7 * S + 500_000 });
        assert_eq!(others.read_us, 4 * S);
        subregion.take((0, 512), &table(0), 8 * S);
        let [armed, others] = subregion.now_waiting;
        assert_eq!((armed.read_us, others.read_us, others.since_us), (8 * S, 8 * S, 3 * S));
    }

    #[test]
    fn pages_that_come_early_tell_no_higher_rate_than_is_usual() {
        const S: u64 = 1_000_000;
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.make_table();
        let some = |from: u64, nr: u32| {
            let mut pages = PageBits::default();
            let numbers = (from..from + u64::from(nr)).map(|page| page as usize % 512);
            numbers.for_each(|page| pages[page / 64] |= 1 << (page % 64));
            Observation { present: 512, accessed: nr, pages: Some(pages), ..Observation::default() }
        };
        // All of it, at random times, every two seconds.
        subregion.arm(0, 512, S);
        subregion.take((0, 512), &some(0, 201), 2 * S);
        subregion.take((0, 512), &some(0, 512), 12 * S);
        for nr in 2..20 {
            subregion.arm(0, 512, 10 * nr * S);
            subregion.take((0, 512), &some(200 * nr, 201), (10 * nr + 1) * S);
        }
        let known = subregion.estimate.rate();
        assert!((0.2..0.7).contains(&known), "{known}");
        // Some of it by chance at once.
        subregion.arm(0, 512, 300 * S);
        subregion.take((0, 512), &some(0, 2), 300 * S + 5_000);
        subregion.take((0, 512), &some(0, 8), 300 * S + 85_000);
        let now = subregion.estimate.rate();
        assert!(now < 1.5 * known, "{now} of {known}");
    }

    #[test]
    fn memory_is_told_to_be_idle_for_as_long_as_a_look_holds() {
        const S: u64 = 1_000_000;
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, S);
        let told = |subregion: &Subregion, now_us| {
            now_us - subregion.told_since_us(subregion.settled_us(), now_us)
        };
        assert_eq!(told(&subregion, 9 * S), 0);
        subregion.arm(0, 8, S);
        subregion.take((0, 8), &seen(0), S + 5_000);
        assert_eq!((told(&subregion, S + 15_000), told(&subregion, 9 * S)), (15_000, 20_000));
        subregion.take((0, 8), &seen(0), 4 * S);
        assert_eq!((told(&subregion, 9 * S), told(&subregion, 99 * S)), (8 * S, 12 * S));
        subregion.absent = true;
        assert_eq!(told(&subregion, 99 * S), 98 * S);
    }

    #[test]
    fn one_look_that_came_while_all_were_gone_over_gives_no_page_up() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.make_table();
        let all = |from: u32, to: u32| Observation {
            present: 512,
            accessed: to - from,
            pages: Some(Pages::range(from, to).0),
            ..Observation::default()
        };
        subregion.arm(0, 512, 0);
        subregion.take((0, 512), &all(0, 512), 5_000);
        assert!(subregion.estimate.rate() > 100.0);
        subregion.arm(0, 512, 10_000);
        // Half of them come again within 100 ms, the others after it.
        subregion.take((0, 512), &all(0, 256), 110_000);
        assert_eq!(subregion.summary.used, 512);
        subregion.take((0, 512), &all(0, 256), 2_000_000);
        assert_eq!(subregion.summary.used, 256);
    }

    #[test]
    fn a_probe_that_is_moved_back_is_as_it_was() {
        const S: u64 = 1_000_000;
        let mut subregion = Subregion::new(AddrRange::new(0, 16 * HUGE_PAGE_SIZE), 8, 0);
        for nr in 1..20 {
            subregion.arm(0, 8, nr * S);
            subregion.take((0, 8), &seen(0xff), nr * S + 5_000);
        }
        let before = subregion.clone();
        subregion.move_probe(0, 4);
        subregion.arm(0, 4, 20 * S);
        let changed =
            (1..9).any(|nr| subregion.take((0, 4), &seen(0), 20 * S + nr * 100_000).changed);
        assert!(changed && subregion.since_us > before.since_us);
        let there = subregion.move_back().expect("it was moved");
        assert_eq!((there.range, there.accessed), (there.probe, Accessed::default()));
        assert!(there.estimate.rate() < 0.1 * before.estimate.rate());
        let state = |s: &Subregion| (s.range, s.probe, s.estimate, s.since_us, s.curve, s.accessed);
        assert_eq!(state(&subregion), state(&before));
        assert!(
            subregion.unsure && subregion.waiting.is_empty() && subregion.move_back().is_none()
        );
    }

    #[test]
    fn a_probe_that_comes_into_use_is_in_use() {
        let mut subregion = Subregion::new(AddrRange::new(0, HUGE_PAGE_SIZE), 8, 0);
        subregion.arm(0, 8, 1_000);
        for (at_us, accessed) in [(6_000, 0), (3_000_000, 0), (6_000_000, 0), (8_000_000, 0xff)] {
            subregion.take((0, 8), &seen(accessed), at_us);
        }
        // Once in eight seconds, as far as is known: the next look tells.
        assert!(subregion.curve.shares[4] < 0.3, "{:?}", subregion.curve);
        subregion.arm(0, 8, 8_001_000);
        subregion.take((0, 8), &seen(0xff), 8_006_000);
        assert!(subregion.curve.shares[4] > 0.9, "{:?}", subregion.curve);
    }
}
