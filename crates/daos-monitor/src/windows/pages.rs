//! What is known page by page, where regions are too coarse.
//!
//! Some memory is used in a pattern finer than any region: every tenth page, one object
//! in each of many pages. There the same pages are accessed again and again, and the
//! others are not, which a mean rate does not tell. Such memory is mapped a page table at
//! a time: a window of 512 pages is armed and checked twice, and the pages that were
//! accessed in either look are in use. Where one window is like that, its neighbours are
//! looked at next.

use daos_core::access::{PageBits, has_page};
use daos_core::addr::{AddrRange, PAGE_SIZE};
use daos_core::snapshot::PageRun;
use std::collections::{BTreeMap, VecDeque};

/// Bytes that a map describes: what one page of page table maps.
pub(super) const WINDOW: u64 = 2 << 20;
/// Most windows that are mapped at a time, and runs of pages in them: every snapshot has
/// them all.
const MOST: usize = 8192;
const MOST_RUNS: usize = 65_536;
/// Looks after which a map says what its pages are.
const ENOUGH: u8 = 2;
/// Where pages in use have neighbours in use, so many on average, cells describe them.
const LONG_RUN: u32 = 8;
/// By how much a page that was accessed must be likelier than others to be accessed again,
/// for pages to be told apart.
const TELLING: f64 = 0.3;
/// Windows remembered that need no map.
const DISMISSED: usize = 1024;

/// The pages of one window.
#[derive(Debug, Clone, Copy)]
struct PageMap {
    /// What was looked at: the part of the window that is mapped.
    range: AddrRange,
    /// Pages accessed in the last look, and in the one before.
    last: PageBits,
    before: PageBits,
    looks: u8,
    /// When it was looked at first.
    since_us: u64,
    /// Runs of pages that are alike, as of the last look.
    nr_runs: usize,
}

impl PageMap {
    fn is_used(&self, page: u32) -> bool {
        has_page(&self.last, page) || has_page(&self.before, page)
    }

    /// Pages in use, and hits in both looks.
    fn counts(&self) -> (u32, u32) {
        let count = |bits: &PageBits| bits.iter().map(|word| word.count_ones()).sum::<u32>();
        let either = self.last.iter().zip(&self.before).map(|(a, b)| (a | b).count_ones()).sum();
        (either, count(&self.last) + count(&self.before))
    }

    /// Whether the same pages were accessed in both looks, more than by chance.
    fn tells(&self) -> bool {
        let count = |bits: &PageBits| f64::from(bits.iter().map(|w| w.count_ones()).sum::<u32>());
        let both: u32 = self.last.iter().zip(&self.before).map(|(a, b)| (a & b).count_ones()).sum();
        let (one, other) = (count(&self.last), count(&self.before));
        let likely = one.max(other) / self.range.pages() as f64;
        one.min(other) > 0.0 && f64::from(both) / one.min(other) > likely + TELLING
    }

    /// The share of the looks at pages in use that found them accessed.
    fn rate(&self) -> f64 {
        let (used, hits) = self.counts();
        f64::from(hits) / f64::from(2 * used.max(1))
    }

    /// Runs of pages that are alike: whether they are in use, from, to.
    fn runs(&self) -> impl Iterator<Item = (bool, AddrRange)> + '_ {
        let pages = self.range.pages() as u32;
        let mut start = 0;
        std::iter::from_fn(move || {
            let used = (start < pages).then(|| self.is_used(start))?;
            let end = (start..pages).find(|page| self.is_used(*page) != used).unwrap_or(pages);
            let at = |page: u32| self.range.start + u64::from(page) * PAGE_SIZE;
            let run = AddrRange::new(at(start), at(end));
            start = end;
            Some((used, run))
        })
    }
}

/// What a look at a window showed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// It takes another look.
    Unsure,
    /// Pages that differ, too finely for cells: hits, and pages looked at.
    Grain(f64, f64),
    /// Some runs that are in use, or nothing: cells can say that.
    Runs(Vec<AddrRange>),
    /// Pages that can't be told apart: hits, and pages looked at.
    Alike(f64, f64),
}

/// The windows of one target that are mapped page by page, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct PageMaps {
    maps: BTreeMap<u64, PageMap>,
    wanted: VecDeque<u64>,
    dismissed: VecDeque<u64>,
    nr_runs: usize,
    /// Where refreshing goes on.
    turn: u64,
}

impl PageMaps {
    /// Asks for a window to be mapped. `false` when it was not long ago, in vain, or when
    /// there are too many.
    pub fn want(&mut self, window: u64) -> bool {
        if self.maps.contains_key(&window) || self.wanted.contains(&window) {
            return true;
        }
        let room = self.len() < MOST && self.nr_runs < MOST_RUNS;
        let may = room && !self.dismissed.contains(&window);
        if may {
            self.wanted.push_back(window);
        }
        may
    }

    /// The window to look at next: one that is wanted, or the next to be refreshed.
    pub fn next(&mut self) -> Option<u64> {
        if let Some(window) = self.wanted.pop_front() {
            return Some(window);
        }
        let next = self.maps.range(self.turn..).next().or_else(|| self.maps.iter().next());
        let window = next.map(|(window, _)| *window)?;
        self.turn = window + 1;
        Some(window)
    }

    /// Whether all of `range` is mapped page by page.
    pub fn covers(&self, range: AddrRange) -> bool {
        let windows = range.start / WINDOW..range.end.div_ceil(WINDOW);
        windows.into_iter().all(|window| {
            let here = AddrRange::new(window * WINDOW, (window + 1) * WINDOW).intersect(&range);
            let map = self.maps.get(&window).map(|map| map.range);
            here.is_some() && map.and_then(|map| map.intersect(&range)) == here
        })
    }

    /// Asks for windows again that were to be looked at and could not be.
    pub fn want_again(&mut self, window: u64) {
        self.wanted.push_back(window);
    }

    /// How many windows there are to look at.
    pub fn len(&self) -> usize {
        self.maps.len() + self.wanted.len()
    }

    /// Takes in a look at all pages of `range`, which lies in one window.
    pub fn look(&mut self, range: AddrRange, bits: &PageBits, now_us: u64) -> Found {
        let window = range.start / WINDOW;
        let new = PageMap {
            range,
            last: PageBits::default(),
            before: PageBits::default(),
            looks: 0,
            since_us: now_us,
            nr_runs: 0,
        };
        let map = self.maps.entry(window).or_insert(new);
        if map.range != range {
            self.nr_runs -= map.nr_runs;
            *map = new;
        }
        map.before = map.last;
        map.last = *bits;
        map.looks = map.looks.saturating_add(1);
        if map.looks < ENOUGH {
            self.wanted.push_front(window);
            return Found::Unsure;
        }
        self.nr_runs -= map.nr_runs;
        map.nr_runs = map.runs().count();
        self.nr_runs += map.nr_runs;
        let (used, hits) = map.counts();
        let mut runs: Vec<AddrRange> = Vec::new();
        for (_, run) in map.runs().filter(|(used, _)| *used) {
            match runs.last_mut() {
                // A page or two that both looks missed.
                Some(last) if (run.start - last.end) / PAGE_SIZE <= 2 => last.end = run.end,
                _ => runs.push(run),
            }
        }
        let tells = map.tells();
        if tells && used < LONG_RUN * runs.len() as u32 {
            return Found::Grain(f64::from(hits) / 2.0, range.pages() as f64);
        }
        self.nr_runs -= map.nr_runs;
        self.maps.remove(&window);
        if !tells {
            self.dismissed.push_back(window);
            if self.dismissed.len() > DISMISSED {
                self.dismissed.pop_front();
            }
            return Found::Alike(f64::from(hits) / 2.0, range.pages() as f64);
        }
        Found::Runs(runs)
    }

    /// Forgets what is outside of `ranges`, sorted.
    pub fn keep(&mut self, ranges: &[AddrRange]) {
        self.maps.retain(|_, map| {
            let at = ranges.partition_point(|r| r.end <= map.range.start);
            ranges.get(at).is_some_and(|r| r.intersect(&map.range) == Some(map.range))
        });
        self.nr_runs = self.maps.values().map(|map| map.nr_runs).sum();
    }

    /// Runs of pages that are alike, of windows that were looked at often enough.
    pub fn runs(&self, now_us: u64) -> Vec<PageRun> {
        let mut runs: Vec<PageRun> = Vec::new();
        for map in self.maps.values().filter(|map| map.looks >= ENOUGH) {
            let (rate, idle_us) = (map.rate(), now_us.saturating_sub(map.since_us));
            runs.extend(map.runs().map(|(used, range)| PageRun {
                range,
                access_rate: if used { rate } else { 0.0 },
                age_us: if used { 0 } else { idle_us },
            }));
        }
        runs
    }
}

/// `above` laid over `below`: both are sorted and disjoint, and so is the result.
pub(super) fn overlay(below: Vec<PageRun>, above: Vec<PageRun>) -> Vec<PageRun> {
    if above.is_empty() {
        return below;
    }
    let mut all = Vec::with_capacity(below.len() + above.len());
    for run in below {
        let mut start = run.range.start;
        let first = above.partition_point(|a| a.range.end <= start);
        for over in above[first..].iter().take_while(|a| a.range.start < run.range.end) {
            if start < over.range.start {
                all.push(PageRun { range: AddrRange::new(start, over.range.start), ..run });
            }
            start = over.range.end;
        }
        if start < run.range.end {
            all.push(PageRun { range: AddrRange::new(start, run.range.end), ..run });
        }
    }
    all.extend(above);
    all.sort_unstable_by_key(|run| run.range.start);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(start: u64, end: u64) -> AddrRange {
        AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE)
    }

    fn bits(pages: &[u32]) -> PageBits {
        let mut bits = PageBits::default();
        pages.iter().for_each(|page| bits[(page / 64) as usize] |= 1 << (page % 64));
        bits
    }

    #[test]
    fn two_looks_tell_pages_in_use() {
        let mut maps = PageMaps::default();
        assert_eq!(maps.look(pages(0, 8), &bits(&[1, 5]), 10), Found::Unsure);
        assert!(maps.runs(20).is_empty(), "one look is not enough");
        assert_eq!(maps.look(pages(0, 8), &bits(&[1, 5, 6]), 20), Found::Grain(2.5, 8.0));
        let runs = maps.runs(110);
        let found: Vec<_> = runs
            .iter()
            .map(|r| {
                let permille = (r.access_rate * 1000.0).round() as u32;
                (r.range.start / PAGE_SIZE, r.range.end / PAGE_SIZE, permille, r.age_us)
            })
            .collect();
        let expected =
            [(0, 1, 0, 100), (1, 2, 833, 0), (2, 5, 0, 100), (5, 7, 833, 0), (7, 8, 0, 100)];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_cells_can_say_is_not_mapped() {
        let mut maps = PageMaps::default();
        let block: Vec<u32> = (100..140).collect();
        maps.look(pages(0, 512), &bits(&block), 10);
        assert_eq!(maps.next(), Some(0), "the second look that the first one asked for");
        let found = maps.look(pages(0, 512), &bits(&block), 20);
        assert_eq!(found, Found::Runs(vec![pages(100, 140)]));
        maps.look(pages(512, 1024), &bits(&[]), 10);
        maps.next();
        assert_eq!(maps.look(pages(512, 1024), &bits(&[]), 20), Found::Alike(0.0, 512.0));
        assert_eq!(maps.len(), 0);
        assert!(!maps.want(1) && maps.want(2), "in vain is not tried again soon");
    }

    #[test]
    fn wanted_windows_come_first_and_others_take_turns() {
        let mut maps = PageMaps::default();
        for window in [3, 7] {
            maps.want(window);
            maps.want(window);
        }
        let order: Vec<u64> = (0..8)
            .map(|_| {
                let window = maps.next().unwrap();
                maps.look(pages(window * 512, window * 512 + 512), &bits(&[1, 9, 33]), 0);
                window
            })
            .collect();
        assert_eq!(order, [3, 3, 7, 7, 3, 7, 3, 7]);
        maps.keep(&[pages(7 * 512, 9 * 512)]);
        assert_eq!((maps.len(), maps.next()), (1, Some(7)));
    }

    #[test]
    fn overlaid_runs_are_disjoint() {
        let run =
            |start, end, access_rate| PageRun { range: pages(start, end), access_rate, age_us: 0 };
        let below = vec![run(0, 10, 0.1), run(20, 30, 0.2)];
        let all = overlay(below, vec![run(4, 6, 0.3), run(8, 22, 0.4)]);
        let expected =
            [run(0, 4, 0.1), run(4, 6, 0.3), run(6, 8, 0.1), run(8, 22, 0.4), run(22, 30, 0.2)];
        assert_eq!(all, expected);
    }
}
