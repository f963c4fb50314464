//! The pages of one page table, each known for itself.

use super::ages::AGES_ALIKE_US;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::pages::{Pages, page_range};
use daos_core::{PageRun, Rng};

/// A page that waits for this many times the mean time between accesses is not in use any more: one
/// in fifty waits that long by chance.
const WAITS: f64 = 4.0;
/// The shortest such time, whatever the rate, in microseconds: before that, no page is given up.
/// Chosen: half an aggregation interval.
const LEAST_WAIT_US: f64 = 50_000.0;
/// The longest such time, whatever the rate, in microseconds. Chosen: a little more than the least
/// age of the seeds' reclaim scheme.
const LONGEST_WAIT_US: f64 = 6_000_000.0;
/// That time if the rate is 0, in microseconds. Chosen.
const NONE_WAIT_US: f64 = 1_000_000.0;
/// Microseconds in a unit of the times that are kept for each page. Chosen: 32 bits are a year
/// then.
const UNIT_US: u64 = 10_000;
/// First mean time from one arming of all pages in use to the next, in microseconds. Chosen: it
/// doubles while nothing changes.
const FIRST_PERIOD_US: u64 = 2_000_000;
/// Longest such time, in microseconds. Chosen: as for [`FIRST_PERIOD_US`].
const LONGEST_PERIOD_US: u64 = 16_000_000;
/// Longest such time while no page is in use, as where all are hidden for as long as the target
/// runs, in microseconds. Chosen: so gigabytes of such memory take a quarter of the default budget.
const LONGEST_PERIOD_OF_NONE_US: u64 = 128_000_000;
/// Much changed if a reading finds more than one page newly in use for this many that were. Chosen.
const MUCH_NEW: u32 = 4;
/// The share of pages from which on most are known. A fraction: numerator, denominator. Chosen.
const MOST_KNOWN: (u32, u32) = (7, 8);
/// Most parts that a table is told by; with more, it is told by runs of pages. Chosen: a block that
/// begins or ends in it, or lies in it.
const MOST_PARTS: usize = 3;

/// Neighbouring pages, all of which are in use, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TablePart {
    pub is_used: bool,
    /// The first page's number, and the number behind the last page's.
    pub from: u32,
    pub to: u32,
    /// Since when all are idle, where they are.
    pub since_us: u64,
}

/// What regions need to know of a table. It is kept apart from the table, in the subregion: to
/// touch each table takes longer than all else.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Summary {
    /// Pages in use.
    pub used: u32,
    /// Pages of which anything is known.
    pub known: u32,
    /// Most pages are known, or known to be unobservable.
    pub is_known: bool,
    /// When the idle page that was left alone for the shortest time was last in use.
    pub youngest_us: u64,
    /// Its pages as a few parts; none if they are more.
    parts: [Option<TablePart>; MOST_PARTS],
}

impl Summary {
    /// Whether it tells of as many pages as the table knows by now.
    pub fn is_of(&self, table: &Table) -> bool {
        self.known == table.known.len()
    }

    /// The share of its pages that are in use, 0 to 1. Those of which nothing is known yet
    /// are taken to be as the others, or in use where those are few.
    pub fn used_share(&self) -> f64 {
        if self.is_known { f64::from(self.used) / f64::from(self.known.max(1)) } else { 1.0 }
    }

    /// Whether some are in use and some are not.
    pub fn is_mixed(&self) -> bool {
        self.is_known && self.used > 0 && self.used < self.known
    }

    /// Its pages as a few parts; none if they are more.
    pub fn parts(&self) -> impl Iterator<Item = TablePart> {
        self.parts.into_iter().flatten()
    }
}

/// What is known of each page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Table {
    /// Accessed after they had been armed, and not left alone for long since.
    used: Pages,
    /// Pages of which anything is known: armed, or seen to be clear.
    known: Pages,
    /// Pages that can't be observed.
    unknown: Pages,
    /// Since when each page is known to be left alone, in units of [`UNIT_US`].
    since: [u32; MAX_WINDOW_PAGES as usize],
    /// A run of pages that were in use, some of which turned out to be idle. It is armed next, to
    /// see whether all of them are.
    pub suspect: Option<(u32, u32)>,
    /// Mean time from one arming of all pages in use to the next.
    period_us: u64,
    /// Pages in use when all were last armed.
    used_then: Pages,
    /// Since when it is idle, as a few of its pages told, until it is armed for the first time.
    idle_since_us: Option<u64>,
}

impl Table {
    /// A table of which nothing is known but, if a few of its pages told that it is idle, since
    /// when.
    pub fn new(idle_since_us: Option<u64>) -> Self {
        Self {
            idle_since_us,
            used: Pages::default(),
            known: Pages::default(),
            unknown: Pages::default(),
            since: [0; MAX_WINDOW_PAGES as usize],
            suspect: None,
            period_us: FIRST_PERIOD_US,
            used_then: Pages::default(),
        }
    }

    pub fn used(&self) -> &Pages {
        &self.used
    }

    /// Notes that these pages, whose bits were set, are armed now. What a few pages told of the
    /// whole holds for each page until it turns out to be in use: a closer look makes no memory
    /// younger.
    pub fn arm(&mut self, pages: &Pages, now_us: u64) {
        let since_us = self.idle_since_us.take().unwrap_or(now_us);
        self.set_since(pages, since_us);
        self.known = self.known.or(pages);
        self.suspect = None;
    }

    /// Notes that all pages in use were armed. Returns when to do that next, in microseconds: later
    /// if the same pages were in use the last time. Random, so that it never keeps time with what
    /// comes by turns.
    pub fn armed_all(&mut self, now_us: u64, rng: &mut Rng) -> u64 {
        let differ =
            self.used.without(&self.used_then).len() + self.used_then.without(&self.used).len();
        let settled = differ * 10 <= self.used.len().max(10);
        let longest_us =
            if self.used.is_empty() { LONGEST_PERIOD_OF_NONE_US } else { LONGEST_PERIOD_US };
        self.period_us =
            if settled { (self.period_us * 2).min(longest_us) } else { FIRST_PERIOD_US };
        self.used_then = self.used;
        now_us + self.period_us / 2 + rng.below(self.period_us)
    }

    /// Takes in a reading: pages that waited and were accessed, pages that were clear and not
    /// known to be, and all that are clear. `rate`: of pages in use, accesses a second.
    /// Returns whether much changed.
    pub fn take(
        &mut self,
        fresh: &Pages,
        found_clear: &Pages,
        clear: &Pages,
        rate: f64,
        now_us: u64,
    ) -> bool {
        self.set_since(found_clear, now_us);
        self.known = self.known.or(clear);
        let new = fresh.without(&self.used);
        let before = self.used.len();
        self.used = self.used.or(fresh);
        let wait_us = if rate > 0.0 {
            (WAITS / rate * 1e6).clamp(LEAST_WAIT_US, LONGEST_WAIT_US)
        } else {
            // No page that was looked at is in use any more.
            NONE_WAIT_US
        };
        let given_up: u32 = (now_us.saturating_sub(wait_us as u64) / UNIT_US) as u32;
        let waiting = self.used.and(clear);
        for page in waiting.iter().filter(|page| self.since[*page as usize] < given_up) {
            self.used.0[page as usize / 64] &= !(1 << (page % 64));
        }
        new.len() * MUCH_NEW > before
    }

    /// Notes that these pages are not in memory any more: they are not in use then.
    pub fn lose(&mut self, absent: &Pages, now_us: u64) {
        let gone = self.used.and(absent);
        self.set_since(&gone, now_us);
        self.used = self.used.without(&gone);
    }

    /// Notes that the pages `from..to`, which were in use, were not accessed when they should have
    /// been. The pages in use around them become suspect.
    pub fn suspect_around(&mut self, (from, to): (u32, u32), pages: u32) {
        let start = (0..from).rev().take_while(|page| self.used.has(*page)).last();
        let end = (to..pages).take_while(|page| self.used.has(*page)).last();
        let run = (start.unwrap_or(from), end.map_or(to, |page| page + 1));
        self.suspect = (run != (from, to)).then_some(run);
    }

    /// Notes which of the pages that were read can't be observed.
    pub fn set_unknown(&mut self, read: &Pages, unknown: &Pages) {
        self.unknown = self.unknown.without(read).or(unknown);
        self.known = self.known.without(&self.unknown);
        self.used = self.used.without(&self.unknown);
    }

    /// Since when these pages are left alone, on average, in microseconds; `None` for no pages.
    pub fn mean_since_us(&self, pages: &Pages) -> Option<u64> {
        let sum: u64 = pages.iter().map(|page| u64::from(self.since[page as usize])).sum();
        sum.checked_div(pages.len().into()).map(|mean| mean * UNIT_US)
    }

    fn set_since(&mut self, pages: &Pages, now_us: u64) {
        // Rounded up, so that no more is claimed.
        let now = now_us.div_ceil(UNIT_US) as u32;
        pages.ranges().for_each(|(from, to)| self.since[from as usize..to as usize].fill(now));
    }

    /// The summary of the first `pages` pages, which are all that there are.
    pub fn summary(&self, pages: u32) -> Summary {
        let known = self.known.len();
        let (share, of) = MOST_KNOWN;
        let idle = self.known.without(&self.used);
        let youngest = idle.ranges().map(|(from, to)| self.youngest(from, to)).max();
        Summary {
            used: self.used.len(),
            known,
            is_known: (known + self.unknown.without(&self.known).len()) * of >= pages * share,
            youngest_us: u64::from(youngest.unwrap_or(0)) * UNIT_US,
            parts: self.parts(pages),
        }
    }

    /// Since when the page of `from..to` is left alone that was in use last, in units.
    fn youngest(&self, from: u32, to: u32) -> u32 {
        self.since[from as usize..to as usize].iter().copied().max().unwrap_or(0)
    }

    /// Runs of pages that are known, by rising number: each all in use, or all idle.
    fn segments(&self) -> impl Iterator<Item = (bool, u32, u32)> {
        let idle = self.known.without(&self.used);
        let segments = |pages: Pages, is_used| {
            let mut ranges = Vec::with_capacity(pages.runs() as usize);
            ranges.extend(pages.ranges().map(|(from, to)| (is_used, from, to)));
            ranges
        };
        let mut used = segments(self.used.and(&self.known), true).into_iter().peekable();
        let mut idle = segments(idle, false).into_iter().peekable();
        std::iter::from_fn(move || match (used.peek(), idle.peek()) {
            (Some(one), Some(other)) if other.1 < one.1 => idle.next(),
            (None, _) => idle.next(),
            _ => used.next(),
        })
    }

    /// Its pages as a few parts, or none if they are more. Pages of which nothing is known belong
    /// to the part before.
    fn parts(&self, pages: u32) -> [Option<TablePart>; MOST_PARTS] {
        let mut parts = [None; MOST_PARTS];
        if self.used.runs() > self.known.runs() + MOST_PARTS as u32 {
            return parts;
        }
        let mut nr = 0;
        for (is_used, from, to) in self.segments() {
            let since_us = u64::from(self.youngest(from, to)) * UNIT_US;
            match parts[..nr].last_mut() {
                Some(Some(TablePart { is_used: alike, since_us: since, .. }))
                    if *alike == is_used =>
                {
                    *since = (*since).max(since_us);
                    continue;
                }
                Some(Some(before)) => before.to = from,
                _ => {}
            }
            if nr == MOST_PARTS {
                return [None; MOST_PARTS];
            }
            let from = if nr == 0 { 0 } else { from };
            parts[nr] = Some(TablePart { is_used, from, to: pages, since_us });
            nr += 1;
        }
        parts
    }

    /// Adds runs of pages that are alike. `start`: the address of the first page; `chance`: the
    /// chance that a page in use is accessed in a sampling interval.
    pub fn runs(&self, start: u64, chance: f64, now_us: u64, runs: &mut Vec<PageRun>) {
        let used_rate = chance.max(f64::MIN_POSITIVE);
        for (is_used, from, to) in self.segments() {
            let mut from = from;
            while from < to {
                let rest = &self.since[from as usize..to as usize];
                let alike = |since: &&u32| is_used || alike(rest[0], **since, now_us);
                let end = from + rest.iter().take_while(alike).count() as u32;
                let idle_us = now_us.saturating_sub(u64::from(self.youngest(from, end)) * UNIT_US);
                runs.push(PageRun {
                    range: page_range(start, from, end),
                    access_rate: if is_used { used_rate } else { 0.0 },
                    age_us: if is_used { 0 } else { idle_us },
                });
                from = end;
            }
        }
    }
}

/// Whether pages left alone since then are of about one age.
fn alike(one: u32, other: u32, now_us: u64) -> bool {
    let age = |since: u32| now_us.saturating_sub(u64::from(since) * UNIT_US);
    let (young, old) = (age(one).min(age(other)), age(one).max(age(other)));
    old <= young + young / 4 + AGES_ALIKE_US
}
