//! Neighbouring page frames that are alike.

use super::kind::Kind;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Part};
use std::ops::RangeInclusive;

/// Most of them. Chosen: as many as a gigabyte has in which every other page is in use; they take
/// some fifteen megabytes while they are found.
pub(super) const MOST: usize = 1 << 18;
/// Idle frames are alike if one has been for no more than four times as long, and used ones if one
/// is used no more than 1.7 times as often. Chosen.
const IDLE_ALIKE: u8 = 4;
const USED_ALIKE: u8 = 3;
/// The same of used ones, where there are too many.
const USED_ALIKE_OF_MANY: u8 = 8;

/// Sums over pages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub pages: f64,
    /// Of access rates.
    rates: f64,
    /// Of when their ages began, in microseconds.
    since_us: f64,
    /// Those that could not be observed.
    unobserved: f64,
}

impl Sums {
    /// So many pages of a part of a snapshot that ended at `now_us`.
    pub fn of(part: &Part, pages: u64, now_us: u64) -> Self {
        let nr = pages as f64;
        Self {
            pages: nr,
            rates: nr * part.access_rate,
            since_us: nr * (now_us as f64 - part.age_us as f64),
            unobserved: nr * part.unobserved,
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.pages += other.pages;
        self.rates += other.rates;
        self.since_us += other.since_us;
        self.unobserved += other.unobserved;
    }

    /// Of one page, on average.
    pub fn of_a_page(&self) -> Self {
        self.times(1.0 / self.pages.max(1.0))
    }

    fn times(&self, by: f64) -> Self {
        Self {
            pages: self.pages * by,
            rates: self.rates * by,
            since_us: self.since_us * by,
            unobserved: self.unobserved * by,
        }
    }

    /// The mean rate over so many pages, of which the others are idle.
    pub fn rate_over(&self, pages: f64) -> f64 {
        (self.rates / pages).clamp(0.0, 1.0)
    }

    /// The share that could not be observed, of so many pages.
    pub fn unobserved_over(&self, pages: f64) -> f64 {
        (self.unobserved / pages).clamp(0.0, 1.0)
    }

    /// The mean age, in microseconds; of nothing, it is as old as can be.
    pub fn age_us(&self, now_us: u64) -> u64 {
        if self.pages == 0.0 {
            return now_us;
        }
        (now_us as f64 - self.since_us / self.pages).max(0.0) as u64
    }
}

/// Frames that follow each other and are alike. Some of them may be nobody's: those are taken for
/// idle, as nobody uses them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    pub range: AddrRange,
    /// Of the first that is somebody's.
    pub kind: Kind,
    /// Of those that are somebody's.
    pub sums: Sums,
}

impl Segment {
    pub fn is_unobserved(&self) -> bool {
        self.kind.is_unobserved()
    }
}

/// What counts as alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Coarseness(u32);

impl Coarseness {
    pub fn coarser(self) -> Self {
        Self(self.0 + 1)
    }

    pub fn finer(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The kinds that are alike to this one, beside those that are nobody's.
    fn alike(self, kind: Kind) -> RangeInclusive<u8> {
        let off = match self.0 {
            _ if kind.is_nothing() || kind.is_unobserved() => 0,
            0 if kind.is_idle() => IDLE_ALIKE,
            0 => USED_ALIKE,
            1 if kind.is_used() => USED_ALIKE_OF_MANY,
            _ => u8::MAX,
        };
        let (low, high) = kind.sort();
        kind.0.saturating_sub(off).max(low)..=kind.0.saturating_add(off).min(high)
    }

    pub fn kinds_are_alike(self, a: Kind, b: Kind) -> bool {
        match (a, b) {
            _ if a.is_nothing() || b.is_nothing() => !a.is_used() && !b.is_used(),
            _ => self.alike(a).contains(&b.0),
        }
    }

    /// Whether two that touch are one.
    fn are_one(self, before: &Segment, kind: Kind, start: u64) -> bool {
        // Beyond that, what lies in the same block is one, of mean rate: first 2 MiB, then more.
        let unit = self.0.checked_sub(3).map(|more| HUGE_PAGE_SIZE << more.min(20));
        let same = |unit: u64| before.range.start / unit == start / unit;
        self.kinds_are_alike(before.kind, kind) || unit.is_some_and(same)
    }
}

/// Segments by rising address, found one by one.
#[derive(Debug, Default)]
pub(super) struct Segments {
    pub all: Vec<Segment>,
    pub coarseness: Coarseness,
    /// Frames that are nobody's, behind the last segment.
    gap_end: Option<u64>,
}

impl Segments {
    /// Begins anew: where there were too many for as much as is told, a little more may be.
    pub fn begin_again(&mut self) {
        self.coarseness = self.coarseness.finer();
        self.gap_end = None;
        self.all.clear();
    }

    /// Takes in frames from the physical address `start` on, behind all that are there.
    /// `of_a_page`: what is known of a frame of each kind.
    pub fn push(&mut self, start: u64, kinds: &[Kind], of_a_page: &[Sums]) {
        let mut first = 0;
        while let Some(&kind) = kinds.get(first) {
            let alike = self.coarseness.alike(kind);
            let is_alike =
                |other: Kind| alike.contains(&other.0) || (other.is_nothing() && !kind.is_used());
            let (mut sums, mut end) = (Sums::default(), first);
            while let Some(&next) = kinds.get(end).filter(|next| is_alike(**next)) {
                sums.add(&of_a_page[usize::from(next.0)]);
                end += 1;
            }
            let nothing = kinds[first..end].iter().rev().take_while(|kind| kind.is_nothing());
            let somebodys = end - nothing.count();
            let addr = |page: usize| start + page as u64 * PAGE_SIZE;
            if first < somebodys {
                self.push_alike(AddrRange::new(addr(first), addr(somebodys)), kind, sums);
            }
            if somebodys < end {
                let nobodys = AddrRange::new(addr(somebodys.max(first)), addr(end));
                self.push_alike(nobodys, Kind::NOTHING, Sums::default());
            }
            first = end;
        }
    }

    fn push_alike(&mut self, range: AddrRange, kind: Kind, sums: Sums) {
        let behind = self.gap_end.or(self.all.last().map(|last| last.range.end));
        let touches = behind == Some(range.start);
        if kind.is_nothing() {
            // Only what has a neighbour on both sides matters.
            self.gap_end = touches.then_some(range.end);
            return;
        }
        let gap = self.gap_end.take().filter(|_| touches);
        let mut start = range.start;
        if let (Some(end), Some(last)) = (gap, self.all.last_mut()) {
            if !last.kind.is_used() {
                last.range.end = end;
            } else if !kind.is_used() {
                start = last.range.end;
            } else {
                let between = AddrRange::new(last.range.end, end);
                self.add(between, Kind::NOTHING, Sums::default());
            }
        }
        self.add(AddrRange::new(start, range.end), kind, sums);
    }

    fn add(&mut self, range: AddrRange, kind: Kind, sums: Sums) {
        let coarseness = self.coarseness;
        match self.all.last_mut() {
            Some(last)
                if last.range.end == range.start && coarseness.are_one(last, kind, range.start) =>
            {
                absorb(last, range.end, kind, &sums);
            }
            _ => self.all.push(Segment { range, kind, sums }),
        }
        while self.all.len() > MOST {
            self.coarseness = self.coarseness.coarser();
            let coarseness = self.coarseness;
            self.all.dedup_by(|next, before| {
                let is_one = before.range.end == next.range.start
                    && coarseness.are_one(before, next.kind, next.range.start);
                if is_one {
                    absorb(before, next.range.end, next.kind, &next.sums);
                }
                is_one
            });
        }
    }
}

fn absorb(last: &mut Segment, end: u64, kind: Kind, sums: &Sums) {
    last.range.end = end;
    // Of those that are not alike, what is used counts.
    let is_more = last.kind.is_nothing() || (kind.is_used() && !last.kind.is_used());
    last.kind = if is_more { kind } else { last.kind };
    last.sums.add(sums);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(access_rate: f64, age_us: u64) -> Part {
        let range = AddrRange::new(0, PAGE_SIZE);
        Part { range, access_rate, unobserved: 0.0, age_us, alike_bytes: PAGE_SIZE, is_run: true }
    }

    const NOW_US: u64 = 100_000_000;

    /// Of frames given as (first, end, rate, age in seconds); a negative rate: nobody's.
    fn segments(frames: &[(u64, u64, f64, u64)]) -> Vec<(u64, u64, f64, u64)> {
        let mut segments = Segments::default();
        for &(start, end, rate, age_s) in frames {
            let part = part(rate, age_s * 1_000_000);
            let kind = if rate < 0.0 { Kind::NOTHING } else { Kind::of(&part) };
            let mut of_a_page = vec![Sums::default(); 256];
            if !kind.is_nothing() {
                of_a_page[usize::from(kind.0)] = Sums::of(&part, 1, NOW_US);
            }
            let kinds = vec![kind; (end - start) as usize];
            segments.push(start * PAGE_SIZE, &kinds, &of_a_page);
        }
        let tell = |s: &Segment| {
            let rate = s.sums.rate_over(s.sums.pages.max(1.0));
            let (start, end) = (s.range.start / PAGE_SIZE, s.range.end / PAGE_SIZE);
            (start, end, (rate * 100.0).round() / 100.0, s.sums.age_us(NOW_US) / 1_000_000)
        };
        segments.all.iter().map(tell).collect()
    }

    #[test]
    fn what_is_alike_is_one_and_what_is_nobodys_joins_idle_frames() {
        let frames = [
            (0, 4, -1.0, 0),
            (4, 6, 0.0, 10),
            (6, 8, -1.0, 0),
            (8, 10, 0.0, 20),
            (10, 11, 0.5, 3),
            (11, 12, 0.4, 3),
            (12, 20, -1.0, 0),
            (20, 21, 0.1, 3),
            (21, 22, 0.0, 1),
            (22, 23, 0.0, 60),
            (23, 30, -1.0, 0),
            (40, 41, 0.0, 60),
        ];
        let expected = [
            (4, 10, 0.0, 15),
            (10, 12, 0.45, 3),
            (12, 20, 0.0, 100),
            (20, 21, 0.1, 3),
            (21, 22, 0.0, 1),
            (22, 23, 0.0, 60),
            (40, 41, 0.0, 60),
        ];
        assert_eq!(segments(&frames), expected);
    }

    #[test]
    fn of_too_many_those_that_differ_least_are_one_and_nothing_is_lost() {
        // Every other frame is used, at very different rates: only whole blocks can be one.
        let frames = 4 * MOST as u64;
        let rate =
            |page: u64| if page.is_multiple_of(2) { 0.0 } else { 0.5 / (page % 7 + 1) as f64 };
        let mut segments = Segments::default();
        let (mut used, mut most) = (0.0, 0);
        let mut of_a_page = vec![Sums::default(); 256];
        for page in 0..frames {
            let part = part(rate(page), 1_000_000);
            used += part.access_rate;
            let kind = Kind::of(&part);
            of_a_page[usize::from(kind.0)] = Sums::of(&part, 1, NOW_US);
            segments.push(page * PAGE_SIZE, &[kind], &of_a_page);
            most = most.max(segments.all.len());
        }
        assert!(most <= MOST && segments.coarseness > Coarseness(2), "{most}");
        let sum: f64 = segments.all.iter().map(|s| s.sums.rates).sum();
        assert!((sum - used).abs() < 1e-6 * used, "{sum} of {used}");
        let whole: u64 = segments.all.iter().map(|s| s.range.pages()).sum();
        assert_eq!(whole, frames);
    }
}
