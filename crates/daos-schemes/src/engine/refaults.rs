//! What was paged out and came back, and what follows from it: a scheme with a bound on that
//! ([`RefaultBound`]) asks for a longer age where it is not kept.
//!
//! The tables are read for it, a few each pass: a page that is in memory again was accessed,
//! and taken wrongly. While no more comes back than may, nothing follows. Else
//!
//! - each block of 2 MiB of which pages came back is asked for twice the time that they were
//!   idle, and for less and less again as time goes by, since what it is used for may change;
//! - the whole target is asked for a longer age, and for less again while the bound is kept: memory
//!   that has not come back yet may be of the same kind.
//!
//! That far memory should be judged by how much of the working set comes back from it in a
//! minute, and the age follow from that, is from Lagar-Cavilla et al., "Software-Defined Far
//! Memory in Warehouse-Scale Computers" (ASPLOS 2019).

use crate::scheme::RefaultBound;
use daos_core::pages::Pages;
use daos_core::{
    ActionSink, AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Snapshot, TargetId, TargetSnapshot,
    huge_page_start,
};
use std::collections::BTreeMap;

/// Times the least age that a target is asked for at most. Chosen: with five seconds, some five
/// minutes.
const MOST_FACTOR: f64 = 64.0;
/// The factor that it rises by each time that it is judged and the bound was not kept. Chosen: of
/// what a program does not use for a while, the most is never used again; doubled at once, two
/// thirds of what `prcl` saves of a Java program was lost, with half as much again a fifth.
const RAISED: f64 = 1.5;
/// How often it is judged anew, in microseconds. Chosen: several times as long as it takes to
/// find out that memory came back.
const JUDGED_US: u64 = 10_000_000;
/// What it falls to in that time while the bound is kept. Chosen: by half in 40 s, more than
/// twice as slow as it rises.
const RELAXED: f64 = 0.84;
/// For how long the age that a block is asked for stays above half of what it was, as a
/// multiple of it. Chosen: memory that is used at intervals comes back once in some twenty of
/// them, and seldomer each time.
const KEPT_FOR: f64 = 8.0;
/// Longest age that a block is asked for, in microseconds. Chosen: after an hour, a program is
/// another one.
const MOST_AGE_US: u64 = 3_600_000_000;
/// How often it is reckoned what may come back, in microseconds: to know the working set, all
/// parts of a snapshot are gone over. Chosen: as often as memory may come back.
const CREDITED_US: u64 = 1_000_000;
/// For how long what may come back, and does not, is saved up, in microseconds. Chosen: a
/// minute's worth at once is as good as over the minute.
const SAVED_UP_US: u64 = 60_000_000;
/// Page tables that are read in a pass at most. Chosen: some 0.3 ms.
const READ_AT_ONCE: usize = 256;
/// The share of a CPU that reading them may take. Chosen: little beside what monitoring may.
const READING: f64 = 0.001;
/// Microseconds between two times that the same table is read, at least. Chosen: how long
/// memory was away is known to a second.
const READ_EVERY_US: u64 = 1_000_000;

/// What a scheme has learned, of all targets.
#[derive(Debug, Clone, Default)]
pub(super) struct Refaults {
    targets: BTreeMap<TargetId, OfTarget>,
}

#[derive(Debug, Clone)]
struct OfTarget {
    /// By the start of each block, what was paged out of it and still is.
    out: BTreeMap<u64, Out>,
    /// By its start, what each block is asked for whose pages came back.
    blocks: BTreeMap<u64, Asked>,
    /// Times the least age.
    factor: f64,
    /// Bytes that may come back before anything follows.
    credit: f64,
    /// Whether more did since the factor was judged.
    is_exceeded: bool,
    judged_us: u64,
    credited_us: u64,
    /// Where to go on reading.
    next: u64,
    read_due_us: u64,
    round_began_us: u64,
}

/// Pages of a block that are paged out, on the monitor's clock.
#[derive(Debug, Clone, Copy, Default)]
struct Out {
    pages: Pages,
    /// When they were, on average.
    since_us: u64,
    /// When the last of them were.
    last_us: u64,
}

impl Out {
    /// Takes in pages that are now.
    fn add(&mut self, pages: &Pages, now_us: u64) {
        let (before, more) = (self.pages.len(), pages.without(&self.pages).len());
        let share = f64::from(more) / f64::from((before + more).max(1));
        self.since_us += (now_us.saturating_sub(self.since_us) as f64 * share) as u64;
        (self.pages, self.last_us) = (self.pages.or(pages), now_us);
    }
}

/// An age that is asked for, which shrinks.
#[derive(Debug, Clone, Copy)]
struct Asked {
    age_us: u64,
    since_us: u64,
}

impl Asked {
    fn at(self, now_us: u64) -> u64 {
        let passed = now_us.saturating_sub(self.since_us) as f64;
        (self.age_us as f64 * (-passed / (KEPT_FOR * self.age_us as f64)).exp2()) as u64
    }
}

impl OfTarget {
    fn new(now_us: u64) -> Self {
        Self {
            out: BTreeMap::new(),
            blocks: BTreeMap::new(),
            factor: 1.0,
            credit: 0.0,
            is_exceeded: false,
            judged_us: now_us,
            credited_us: now_us,
            next: 0,
            read_due_us: 0,
            round_began_us: 0,
        }
    }

    /// What `bound` allows by now, and what follows from how it was kept.
    fn judge(&mut self, bound: &RefaultBound, working_set: f64, min_us: u64, now_us: u64) {
        let bytes_per_us = working_set * bound.share / bound.per_us as f64;
        let passed_us = (now_us - self.credited_us) as f64;
        self.credit += bytes_per_us * passed_us;
        self.credit = self.credit.min(bytes_per_us * SAVED_UP_US as f64);
        self.credited_us = now_us;
        if now_us < self.judged_us + JUDGED_US {
            return;
        }
        self.judged_us = now_us;
        let change = if std::mem::take(&mut self.is_exceeded) { RAISED } else { RELAXED };
        self.factor = (self.factor * change).clamp(1.0, MOST_FACTOR);
        self.blocks.retain(|_, asked| asked.at(now_us) > min_us);
    }

    /// Counts pages of a block that came back after those that were `out` had been away.
    fn came_back(&mut self, block: u64, bytes: u64, out: Out, min_us: u64, now_us: u64) {
        self.credit -= bytes as f64;
        if self.credit >= 0.0 {
            return;
        }
        self.credit = 0.0;
        self.is_exceeded = true;
        let idle_us = now_us.saturating_sub(out.since_us) + min_us;
        let asked = self.blocks.entry(block).or_insert(Asked { age_us: 0, since_us: now_us });
        // What was paged out before more was asked for says nothing against that.
        let is_news = out.last_us > asked.since_us;
        let enough_us = 2 * idle_us.max(if is_news { asked.age_us } else { 0 });
        if is_news || enough_us > asked.age_us {
            *asked = Asked { age_us: enough_us.min(MOST_AGE_US), since_us: now_us };
        }
    }

    /// Reads the next tables, and says how many bytes came back.
    fn find_back<S: ActionSink>(
        &mut self,
        target: TargetId,
        min_us: u64,
        now_us: u64,
        sink: &mut S,
    ) -> Result<u64, S::Error> {
        if self.next == 0 {
            self.round_began_us = now_us;
        }
        let mut blocks: Vec<AddrRange> = self
            .out
            .range(self.next..)
            .take(READ_AT_ONCE + 1)
            .map(|(&start, _)| block(start))
            .collect();
        // Where to go on, or from the first on again.
        let next = if blocks.len() > READ_AT_ONCE { blocks.pop() } else { None };
        let next = next.map_or(0, |block| block.start);
        let begun_us = sink.clock_us();
        let found = sink.residence(target, &blocks)?;
        let mut bytes = 0;
        for (block, present) in by_block(&found.present) {
            let Some(out) = self.out.get_mut(&block) else { continue };
            let back = u64::from(out.pages.and(&present).len()) * PAGE_SIZE;
            out.pages = out.pages.without(&present);
            let out = *out;
            if back > 0 {
                self.came_back(block, back, out, min_us, now_us);
                bytes += back;
            }
        }
        for (block, empty) in by_block(&found.empty) {
            if let Some(out) = self.out.get_mut(&block) {
                out.pages = out.pages.without(&empty);
            }
        }
        for block in &blocks {
            if self.out.get(&block.start).is_some_and(|out| out.pages.is_empty()) {
                self.out.remove(&block.start);
            }
        }
        let took_us = (sink.clock_us() - begun_us).max(0.0);
        self.next = next;
        self.read_due_us = now_us + (took_us / READING) as u64;
        if next == 0 {
            self.read_due_us = self.read_due_us.max(self.round_began_us + READ_EVERY_US);
        }
        Ok(bytes)
    }
}

impl Refaults {
    /// Begins a pass: finds what came back, and says how many bytes that were.
    pub(super) fn begin_pass<S: ActionSink>(
        &mut self,
        bound: &RefaultBound,
        min_us: u64,
        snapshot: &Snapshot,
        sink: &mut S,
    ) -> Result<u64, S::Error> {
        let now_us = snapshot.end_us;
        let mut bytes = 0;
        for target in &snapshot.targets {
            let of = self.targets.entry(target.id).or_insert_with(|| OfTarget::new(now_us));
            if now_us >= of.credited_us + CREDITED_US {
                of.judge(bound, working_set(snapshot, target, min_us), min_us, now_us);
            }
            if now_us < of.read_due_us || of.out.is_empty() {
                continue;
            }
            bytes += of.find_back(target.id, min_us, now_us, sink)?;
        }
        Ok(bytes)
    }

    /// Appends how long memory in each part of `range` must have been idle, by rising address.
    pub(super) fn asked(
        &self,
        target: TargetId,
        range: AddrRange,
        min_us: u64,
        now_us: u64,
        parts: &mut Vec<(AddrRange, u64)>,
    ) {
        let Some(of) = self.targets.get(&target) else { return parts.push((range, min_us)) };
        let of_all = (min_us as f64 * of.factor) as u64;
        let first = huge_page_start(range.start);
        let mut at = range.start;
        for (&block, asked) in of.blocks.range(first..range.end) {
            let asked_us = asked.at(now_us);
            let block =
                AddrRange::new(block.max(range.start), (block + HUGE_PAGE_SIZE).min(range.end));
            if asked_us <= of_all {
                continue;
            }
            parts.push((AddrRange::new(at, block.start), of_all));
            parts.push((block, asked_us));
            at = block.end;
        }
        parts.push((AddrRange::new(at, range.end), of_all));
        parts.retain(|(range, _)| !range.is_empty());
    }

    /// Notes what was paged out. Returns how many bytes of it were noted as paged out already: they
    /// must have come back in between, though no page table was read in that time to find it out.
    pub(super) fn note_out(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        min_us: u64,
        now_us: u64,
    ) -> u64 {
        let Some(of) = self.targets.get_mut(&target) else { return 0 };
        let mut bytes = 0;
        for (block, pages) in by_block(ranges) {
            let out = of.out.entry(block).or_default();
            let again = out.pages.and(&pages);
            let before = *out;
            out.pages = out.pages.without(&again);
            out.add(&pages, now_us);
            if !again.is_empty() {
                let back = u64::from(again.len()) * PAGE_SIZE;
                of.came_back(block, back, before, min_us, now_us);
                bytes += back;
            }
        }
        bytes
    }

    /// The longest age that memory is asked for, in microseconds.
    pub(super) fn longest_us(&self, min_us: u64) -> u64 {
        let of_target = |of: &OfTarget| {
            let blocks = of.blocks.values().map(|asked| asked.age_us).max().unwrap_or(0);
            blocks.max((min_us as f64 * of.factor) as u64)
        };
        self.targets.values().map(of_target).max().unwrap_or(min_us)
    }

    /// Drops what is known of targets that have ended, and of files that nobody maps what was
    /// dropped long ago: of them nothing tells that pages will not come back.
    pub(super) fn forget(&mut self, now_us: u64, lives: impl Fn(&TargetId) -> bool) {
        self.targets.retain(|id, _| lives(id));
        for (_, of) in self.targets.iter_mut().filter(|(id, _)| id.is_file()) {
            of.out.retain(|_, out| now_us < out.last_us + MOST_AGE_US);
        }
    }
}

/// The block that starts at an address.
fn block(start: u64) -> AddrRange {
    AddrRange::new(start, start + HUGE_PAGE_SIZE)
}

/// The pages of ranges by the start of the block that they lie in.
fn by_block(ranges: &[AddrRange]) -> impl Iterator<Item = (u64, Pages)> {
    ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)).map(|part| {
        let start = huge_page_start(part.start);
        let page = |addr: u64| ((addr - start) / PAGE_SIZE) as u32;
        (start, Pages::range(page(part.start), page(part.end)))
    })
}

/// What of `target` is accessed within the least age, in bytes.
fn working_set(snapshot: &Snapshot, target: &TargetSnapshot, min_us: u64) -> f64 {
    snapshot.bytes_accessed(target, min_us.max(snapshot.aggregation_us))
}
