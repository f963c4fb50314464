//! The pages of a subregion that are looked at: where they are, and where else they may be.

use super::super::curve::Counts;
use super::super::seen::Accessed;
use super::super::table::Summary;
use super::{Armed, IDLE_RATE, Subregion};
use daos_core::pages::page_range;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, evenly};

/// So many pages at each end of what is known to be alike may not be alike. Chosen: as many as a
/// scout looks at to find out.
const MARGIN_PAGES: u64 = 16;

impl Subregion {
    /// Puts the probe, of at most so many pages, near the middle of the range, which stands for
    /// most of it. It is not the same place in each page table: what is in use at regular distances
    /// would be met in all of them, or in none.
    pub fn put_probe_near_middle(&mut self, pages: u64) {
        // Entries of aligned pages are read together.
        let places = self.range.pages().saturating_sub(pages) / pages + 1;
        let nth =
            evenly::part_of(evenly::place(self.range.start / HUGE_PAGE_SIZE), places.div_ceil(4));
        self.place_probe(self.range.start + (places * 3 / 8 + nth) * pages * PAGE_SIZE, pages);
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
            self.arm_all_us = 0;
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

    /// Puts the probe to another address that may stand for the whole range as well.
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

    /// Has another place looked at next, if there is one: no page of the probe is in memory, or
    /// none can be observed, so they say nothing of the others.
    pub fn leave_probe(&mut self) {
        if self.table.is_none() && self.range.pages() > self.probe.pages() {
            (self.waiting, self.now_waiting) = Default::default();
            self.unsure = false;
        }
    }

    /// Puts a probe back that turned out not to be like where it was before. Returns what is at its
    /// present place, if the former one is still part of the range.
    pub fn move_back(&mut self) -> Option<Self> {
        let before = *self.moved_from.take()?;
        let (range, probe) = (self.range, before.probe);
        // Borders may have moved since.
        if range.intersect(&probe) != Some(probe) {
            return None;
        }
        let mut there = std::mem::replace(self, Self { range, ..before });
        (there.range, there.known) = (there.probe, there.probe);
        if there.accessed.to_us <= there.armed.at_us {
            // These accesses were at its former place.
            there.accessed = Accessed::default();
        }
        self.place_probe(probe.start, probe.pages());
        (self.due_us, self.unsure) = (there.due_us, true);
        Some(there)
    }

    /// Where pages lie that may stand for the whole range. If it is in use, much of it may not be,
    /// where it is not yet known to be alike; and the end of what is known to be alike is known to
    /// a few pages only.
    pub fn alike(&self) -> AddrRange {
        if self.estimate.rate() < IDLE_RATE {
            return self.range;
        }
        let margin = MARGIN_PAGES.min(self.known.pages() / 3) * PAGE_SIZE;
        AddrRange::new(self.known.start + margin, self.known.end - margin)
    }

    /// The addresses of the probe's pages with these numbers.
    pub fn pages(&self, from: u32, to: u32) -> AddrRange {
        page_range(self.probe.start, from, to)
    }
}
