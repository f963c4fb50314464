//! What is learned of a subregion when pages of it are armed and read.

use super::super::estimate::Estimate;
use super::super::evidence::{Look, SATURATED};
use super::super::together::LookAtAll;
use super::bursts::LEAST_APART_US;
use super::{Armed, IDLE_RATE, Subregion, Taken};
use daos_core::access::shifted_pages;
use daos_core::pages::Pages;
use daos_core::{Observation, PageBits};

/// If an access was likelier than this and did not come, that is suspicious. Chosen.
const LIKELY: f64 = 0.6;
/// An exposure up to this is short, in seconds: few of the pages in use are accessed in it.
const SHORT: f64 = 0.05;
/// Accesses that a rate must rest on for pages to be given up by it. Chosen: two looks at most of a
/// table may have come while its user swept it.
const SURE: f64 = 32.0;
/// Until then, the highest rate by which pages are given up, in accesses a second. Chosen: as for
/// [`SURE`].
const SURE_RATE: f64 = 10.0;
/// A pass of a sweep over the same pages takes no more than one part in this many of its period:
/// what is accessed again later is used more often. Chosen.
const PASS: u64 = 4;
/// Longest time that such a pass takes, in microseconds. Chosen.
const MOST_PASS_US: u64 = 300_000;
/// A pass came by if more than this share of the pages that waited was accessed. Chosen.
const PASSED: f32 = 0.9;
/// Accesses that the rate of bursts rests on, of a probe. Chosen: to tell that there are no bursts
/// any more takes about three times as long as they are apart.
const BURSTS_WEIGH: f64 = 8.0;
/// The same where pages are known one by one. Chosen: as for [`BURSTS_WEIGH`].
const BURSTS_WEIGH_IN_TABLES: f64 = 64.0;
/// Pages of a table that a look counts for at most. Chosen: as many as are usually armed of it, so
/// that a look at all of them does not outweigh what those have told in minutes.
const MOST_PAGES: f64 = 16.0;
/// The first pages of a table that are found in use after a long exposure are taken to be this
/// share of all in use: 1 − 1/e, as if the exposure were one mean time between accesses.
const FIRST_SHARE: f64 = 0.63;

/// What was found in some pages of a probe, by their numbers in it.
struct Found {
    read: Pages,
    /// Pages that were accessed since their bits were cleared.
    set: Pages,
    clear: Pages,
    /// Pages that can't be observed.
    unknown: Pages,
    /// Pages that are not in memory, if the primitive tells.
    absent: Option<Pages>,
}

impl Found {
    fn of((from, to): (u32, u32), seen: &Observation) -> Self {
        let read = Pages::range(from, to);
        let shifted = |bits: &PageBits| Pages(shifted_pages(bits, from)).and(&read);
        let set =
            seen.pages.as_ref().map_or_else(|| Pages::range(from, from + seen.accessed), shifted);
        let unknown = match &seen.unknown {
            Some(unknown) => shifted(unknown),
            None if seen.unobservable > 0 => read,
            None => Pages::default(),
        };
        let clear = read.without(&set).without(&unknown);
        Self { read, set, clear, unknown, absent: seen.absent.as_ref().map(shifted) }
    }
}

impl Subregion {
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
        // Of pages that wait already, the last reading is as old as it was.
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
        let found = Found::of((from, to), seen);
        let rate_before = self.estimate.rate();
        let used_before = self.table.as_ref().map(|table| *table.used());
        if let (Some(table), Some(absent)) = (&mut self.table, &found.absent) {
            table.lose(absent, now_us);
        }
        self.note_what_is_there(to - from, seen, &found, now_us);
        let all_read = self.waiting.without(&found.read).is_empty();

        let window = self.armed.pages();
        let waiting = self.waiting.and(&found.read).without(&found.unknown);
        let armed = (waiting.and(&window), self.armed.read_us);
        // In a table, these would mostly be pages that are accessed seldom.
        let others = self.table.is_none().then(|| (waiting.without(&window), self.read_us));
        let fresh = waiting.and(&found.set);
        let (mut at_all, mut changed, mut raised) = (None, false, false);
        self.is_saturated = false;
        if !self.is_same_pass(&fresh, &waiting, now_us) {
            at_all = self.look_at_all(&armed.0, &found.set, armed.1, now_us);
            for (group, since_us) in std::iter::once(armed).chain(others) {
                let (is_other, raises) = self.take_rate(&group, since_us, seen, &found, now_us);
                changed |= is_other;
                raised |= raises;
            }
        }
        if !fresh.is_empty() {
            self.quiet_since_us = 0;
        } else if self.quiet_since_us == 0 {
            self.quiet_since_us = armed.1;
        }
        changed |= self.note_bursts(rate_before, now_us);
        changed |= self.take_pages(&found, &waiting, &fresh, used_before, now_us);
        if !fresh.is_empty() {
            let are_of_window = fresh.without(&window).is_empty();
            let from_us = if are_of_window { armed.1 } else { armed.1.min(self.read_us) };
            self.note_accessed(&fresh, from_us, now_us);
            if self.unmapped_us > 0 {
                self.filled_us = now_us;
            }
        }
        self.count(changed || raised, &fresh, all_read, now_us);
        self.waiting = self.waiting.without(&found.read).or(&found.clear);
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

    /// Whether these accesses belong to the last pass of a sweep, which goes on: that pages are
    /// accessed again in it says nothing of when the next pass comes.
    fn is_same_pass(&mut self, fresh: &Pages, waiting: &Pages, now_us: u64) -> bool {
        if fresh.is_empty() {
            return false;
        }
        let period_us = (1e6 / self.estimate.rate()) as u64;
        let pass_us =
            if period_us < LEAST_APART_US { 0 } else { (period_us / PASS).min(MOST_PASS_US) };
        let was_quiet = self.quiet_since_us > 0 && now_us >= self.quiet_since_us + pass_us;
        if was_quiet {
            self.pass_from_us = now_us;
        }
        let in_use = |pages| self.those_in_use(pages).len() as f32;
        let is_whole = in_use(fresh) > PASSED * in_use(waiting);
        !was_quiet
            && is_whole
            && self.estimate.is_settled_together()
            && now_us < self.pass_from_us + pass_us
    }

    /// Notes how much of the probe is in memory and can be observed, if that is told.
    fn note_what_is_there(&mut self, pages: u32, seen: &Observation, found: &Found, now_us: u64) {
        self.was_read = true;
        let is_whole = pages == self.nr_pages();
        if is_whole {
            self.whole_read_us = now_us;
            let observable = (pages - seen.unobservable).max(1);
            let absent = found.absent.as_ref().map(Pages::len);
            let there = absent.map_or(seen.present, |absent| observable.saturating_sub(absent));
            self.present = there as f32 / observable as f32;
        }
        if is_whole || self.table.is_none() {
            self.unobserved = f64::from(seen.unobservable) / f64::from(pages);
            self.huge = seen.is_huge(pages);
        }
    }

    /// Takes in what pages that waited since `since_us` tell of the rate. Returns whether it is
    /// another one, and whether it is higher than a lower bound that was known.
    fn take_rate(
        &mut self,
        group: &Pages,
        since_us: u64,
        seen: &Observation,
        found: &Found,
        now_us: u64,
    ) -> (bool, bool) {
        // Only pages in use tell how often pages in use are accessed.
        let tell = self.those_in_use(group);
        let (pages, accessed) = (f64::from(tell.len()), f64::from(tell.and(&found.set).len()));
        let (per_page, per_accessed) = if self.table.is_some() {
            // What is swept is accessed all at once.
            let weight = MOST_PAGES / pages.max(MOST_PAGES);
            (weight, weight)
        } else {
            // Page-table entries for each page that waits, and for each that was accessed.
            let (_, entries) = seen.trials();
            let present = f64::from(seen.present.max(1));
            (entries / f64::from(found.read.len()), entries / present)
        };
        let look = Look {
            waiting: (pages * per_page).max(accessed * per_accessed),
            accessed: accessed * per_accessed,
            exposure: now_us.saturating_sub(since_us) as f64 / 1e6,
        };
        self.is_saturated |= accessed > SATURATED * pages && look.exposure > SHORT;
        let missed = accessed == 0.0 && self.estimate.chance(look.exposure) > LIKELY;
        let raises = self.estimate.raise(look);
        let mut changed = !raises && seen.present > 0 && self.estimate.add(look);
        changed |= self.table.is_none() && accessed == 0.0 && self.estimate.give_up(look);
        if let Some(table) = self.table.as_mut().filter(|_| missed && !tell.is_empty()) {
            table.suspect_around((self.armed.from, self.armed.to), self.probe.pages() as u32);
        }
        (changed, raises)
    }

    /// If a burst of use is over, and others came before, memory is still in use: as often as
    /// bursts come. Returns whether it is so.
    fn note_bursts(&mut self, rate_before: f64, now_us: u64) -> bool {
        let rate = self.estimate.rate();
        let often = self.bursts.note(rate_before, rate, self.quiet_since_us, now_us);
        if let Some(often) = often {
            // Pages that are known one by one are given up one by one.
            let weigh = if self.table.is_some() { BURSTS_WEIGH_IN_TABLES } else { BURSTS_WEIGH };
            self.estimate.set_rate(often, weigh);
            // Use differs by the time of the look, so this is not because the probe was moved.
            self.moved_from = None;
        }
        often.is_some()
    }

    /// Takes in which pages are in use, where pages are known one by one: those of `waiting` that
    /// are `fresh`. Returns whether the pages in use changed much.
    fn take_pages(
        &mut self,
        found: &Found,
        waiting: &Pages,
        fresh: &Pages,
        used_before: Option<Pages>,
        now_us: u64,
    ) -> bool {
        let Some(table) = &mut self.table else { return false };
        let found_clear = found.clear.without(&self.waiting);
        let exposure = now_us.saturating_sub(self.armed.at_us) as f64 / 1e6;
        let nr_fresh = f64::from(fresh.len());
        if nr_fresh > 0.0 && self.estimate.rate() < IDLE_RATE {
            // When the first pages are found in use, it is not known whether others that were armed
            // with them are used as well, but more seldom.
            let share =
                if exposure > SHORT { FIRST_SHARE } else { nr_fresh / f64::from(waiting.len()) };
            let waiting = nr_fresh / share;
            let look = Look { waiting, accessed: nr_fresh, exposure };
            self.estimate = Estimate::of_first_in_use(look);
            self.is_saturated |= exposure > SHORT;
        }
        let rate = self.estimate.rate();
        let sure_rate = if self.estimate.rests_on(SURE) { rate } else { rate.min(SURE_RATE) };
        let differs = table.take(fresh, &found_clear, &found.clear, sure_rate, now_us);
        // What the first look finds was not known to be otherwise before.
        let changed = differs && self.summary.is_known;
        table.set_unknown(&found.read, &found.unknown);
        let is_news = Some(*table.used()) != used_before || !found_clear.is_empty();
        if is_news || !self.summary.is_of(table) {
            self.summary = table.summary(self.probe.pages() as u32);
            self.outdate_runs();
        }
        changed
    }

    /// The reading as a look at all pages in use that were armed last, for the time since they were
    /// read before; `None` if some of them did not wait.
    fn look_at_all(
        &self,
        waiting: &Pages,
        set: &Pages,
        since_us: u64,
        now_us: u64,
    ) -> Option<LookAtAll> {
        let in_use = self.those_in_use(&self.armed.pages());
        let tell = waiting.and(&in_use);
        // A huge page has one bit for all its pages.
        if self.huge || self.armed.is_overdue || tell != in_use || tell.is_empty() {
            return None;
        }
        let armed_for = |us: u64| us.saturating_sub(self.armed.at_us) as f64 / 1e6;
        let (pages, accessed) = (f64::from(tell.len()), f64::from(tell.and(set).len()));
        let (from, to) = (armed_for(since_us), armed_for(now_us));
        Some(LookAtAll { pages, share: accessed / pages, from, to })
    }
}
