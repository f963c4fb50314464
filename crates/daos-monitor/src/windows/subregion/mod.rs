//! A subregion: a part of a target's memory that is taken to be alike, and those of its pages that
//! are looked at: its *probe*.
//!
//! Subregions are small where there is something to find out and large where there is not,
//! and they are aggregated into regions.

mod bursts;
mod counting;
mod look;
mod probe;
mod runs;
mod told;
mod turns;

use super::curve::{Counts, Curve};
use super::estimate::Estimate;
use super::seen::{Accessed, Waiting};
use super::table::{Summary, Table};
use super::together::LookAtAll;
use bursts::Bursts;
use daos_core::pages::Pages;
use daos_core::{AddrRange, HUGE_PAGE_SIZE};
use runs::Told;
use turns::Turns;

/// Accesses a second and page below which memory counts as idle. Chosen: one in a minute and a
/// half.
pub(super) const IDLE_RATE: f64 = 0.01;
/// Time after arming from which on a reading that finds no access tells that memory is not in use,
/// in microseconds. Chosen: what is used five times a second is mostly accessed by then.
const TELLS_US: u64 = 200_000;

/// The pages of a probe that were armed last.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Armed {
    /// The first page's number in the probe, and the number behind the last page's.
    pub from: u32,
    pub to: u32,
    /// When they were armed, in microseconds.
    pub at_us: u64,
    /// When they were last read, or else armed.
    pub read_us: u64,
    /// They were armed because they are overdue: of what comes by turns, the turn is about to come.
    pub is_overdue: bool,
}

impl Armed {
    /// Those pages.
    pub fn pages(&self) -> Pages {
        Pages::range(self.from, self.to)
    }
}

/// What came of a look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Taken {
    /// The rate turned out to be another one.
    pub changed: bool,
    /// The look, if it was at all pages in use that were armed last, and none of them had been
    /// accessed before.
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
    /// When all pages of the probe that wait were last read.
    pub read_us: u64,
    /// When the whole probe was last read.
    pub whole_read_us: u64,
    /// What was armed last.
    pub armed: Armed,
    /// The access rate of its pages or, where pages are known one by one, of those in use.
    pub estimate: Estimate,
    /// Since when the rate is what it is.
    pub since_us: u64,
    /// Since when none of the pages that are looked at was accessed; 0 if one was when they
    /// were read last.
    pub quiet_since_us: u64,
    /// When it is to be looked at next.
    pub due_us: u64,
    /// Nothing can be read of it until it is armed.
    pub is_to_be_armed: bool,
    /// When the current pass of a sweep began: pages were accessed after a pause.
    pub pass_from_us: u64,
    /// When its use began and ended, if it comes in bursts.
    pub bursts: Bursts,
    /// When it came into use, or fell idle, as a whole.
    pub turns: Turns,
    /// What is known of it may not hold, or is too little: it is looked at first.
    pub unsure: bool,
    /// The last reading found nearly all pages accessed after a long exposure: the rate is higher
    /// than was thought, and hardly known.
    pub is_saturated: bool,
    /// The part of the range that was seen to be alike.
    pub known: AddrRange,
    /// The subregion as it was before its probe was moved, until its new place proves to be like
    /// the old one.
    pub moved_from: Option<Box<Self>>,
    /// It is in use where its probe is, but not all of it.
    pub is_cut: bool,
    /// Some of it was read at some time, though nothing may have been there.
    pub was_read: bool,
    /// Nothing of it is in memory.
    pub absent: bool,
    /// A huge page maps the probe.
    pub huge: bool,
    /// The share of the probe that could not be observed, 0 to 1.
    pub unobserved: f64,
    /// Of the pages of the probe that can be observed, the share that was in memory when all were
    /// last read.
    pub present: f32,
    /// What is known of each page, if its pages are known one by one: then the probe is the whole
    /// range.
    pub table: Option<Box<Table>>,
    /// The summary of the table, as of its last reading.
    pub summary: Summary,
    /// The runs of its pages as they were last found.
    pub told: Option<Told>,
    /// How many of the pages that are looked at are accessed within which time, as counted.
    pub counts: Box<Counts>,
    /// How many of all its pages are accessed within which time.
    pub curve: Curve,
    /// The rate for which that was last worked out; infinite if it never was.
    pub curve_of: f64,
    /// Which share of its pages was accessed when any last were, and when that was.
    pub accessed: Accessed,
    /// Its pages in use that wait for an access now: those that were armed last, with all that they
    /// stand for; and others.
    pub now_waiting: [Waiting; 2],
    /// When all pages in use of the table are to be armed next; 0 for as soon as possible.
    pub arm_all_us: u64,
    /// When it was known not to be mapped yet; 0 if it may always have been, or once it was armed.
    pub unmapped_us: u64,
    /// The same, kept after it was armed.
    pub new_since_us: u64,
    /// When it was last found accessed before it was first armed: those accesses brought its pages
    /// into memory. 0 if never.
    pub filled_us: u64,
}

impl Subregion {
    /// A subregion of which nothing is known, to be looked at at once, at so many of its pages.
    pub fn new(range: AddrRange, pages: u64, now_us: u64) -> Self {
        Self::mapped_since(0, range, pages, now_us)
    }

    /// The same for memory that was not mapped yet at `unmapped_us`; 0 if it may have been. A page
    /// that is not there waits for an access as an armed one does: the first access brings it into
    /// memory.
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
            pass_from_us: 0,
            bursts: Bursts::default(),
            turns: Turns::default(),
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
            filled_us: 0,
        };
        new.put_probe_near_middle(pages);
        new
    }

    /// Whether it was never armed.
    pub fn is_new(&self) -> bool {
        self.unmapped_us > 0 || self.armed.at_us == 0 && self.estimate.is_empty()
    }

    /// Whether nothing is known of how it is used, nor of what it is a part of.
    pub fn is_unknown(&self) -> bool {
        self.estimate.is_empty() && self.table.is_none() && !self.absent
    }

    /// Whether it was never read. If it was read and nothing was there, it is unknown all the same.
    pub fn is_unseen(&self) -> bool {
        self.is_unknown() && !self.was_read
    }

    /// Whether it is known only that it was filled: it was mapped while it was watched, was read,
    /// and was never armed.
    pub fn is_only_filled(&self) -> bool {
        self.unmapped_us > 0 && self.accessed.to_us > 0
    }

    /// Whether it was mapped no longer than `for_us` ago, was armed since, and a reading after that
    /// tells how it is used: it found an access, or came late enough for none to say something.
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

    /// Those of some pages of the probe that are in use, where pages are known one by one;
    /// elsewhere all of them, since each may be.
    pub fn those_in_use(&self, pages: &Pages) -> Pages {
        self.table.as_ref().map_or(*pages, |table| pages.and(table.used()))
    }

    /// Whether most pages of the probe wait for an access.
    pub fn is_waiting(&self) -> bool {
        self.waiting.len() * 2 > self.nr_pages()
    }

    /// Cuts it to the part that lies in `range`, which must not be empty.
    pub fn clip(&mut self, range: AddrRange, pages: u64) {
        let Some(inside) = self.range.intersect(&range) else { return };
        self.range = inside;
        if self.probe.intersect(&inside) != Some(self.probe) {
            self.put_probe_near_middle(pages);
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
        self.present += (next.present - self.present) * share as f32;
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
            let Self { estimate, since_us, quiet_since_us, unobserved, present, .. } = *self;
            *self = Self { estimate, since_us, quiet_since_us, unobserved, present, ..next };
        }
        (self.range, self.known, self.moved_from) = (range, known, None);
    }

    /// Whether scouts may look at places in it beside its probe.
    pub fn may_be_explored(&self) -> bool {
        !self.absent && self.table.is_none() && !self.unsure
    }

    /// Whether all of it lies in the aligned block of `bytes` bytes around `address`, in which
    /// nothing is in memory.
    pub fn is_in_hole(&self, address: u64, bytes: u64) -> bool {
        bytes > 0
            && address / bytes == self.range.start / bytes
            && (self.range.end - 1) / bytes == self.range.start / bytes
    }
}

#[cfg(test)]
mod tests;
