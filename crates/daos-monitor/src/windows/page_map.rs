//! What is known page by page, where regions are too coarse.
//!
//! Some memory is used in a pattern finer than any region: every tenth page, one object
//! in each of many pages. There the same pages are accessed again and again, and the
//! others are not, which a mean rate does not tell. Such memory is mapped a page table at
//! a time: a window of 512 pages is armed and checked twice, and the pages that were
//! accessed in either sample are in use. Where one window is like that, its neighbours are
//! sampled next.

use daos_core::access::has_page;
use daos_core::{AddrRange, PAGE_SIZE, PageBits, PageRun};
use std::collections::{BTreeMap, VecDeque};

/// Bytes that a map describes: what one page of page table maps.
pub(super) const WINDOW: u64 = 2 << 20;
/// Most windows that are mapped at a time. Chosen: 16 GiB.
const MAX_WINDOWS: usize = 8192;
/// Most runs of pages in them. Chosen: every snapshot has them all.
const MAX_RUNS: usize = 65_536;
/// Samples after which a map says what its pages are: two tell a page that is in use from
/// one that was accessed by chance.
const ENOUGH: u8 = 2;
/// Pages in use with so many neighbours in use, on average, are described by subregions.
/// Chosen: as many as a probe has.
const LONG_RUN: u32 = 8;
/// By how much a page that was accessed must be likelier than others to be accessed again,
/// for pages to be told apart. Chosen.
const REPEAT_EXCESS: f64 = 0.3;
/// Windows remembered that need no map. Chosen: each costs two samples to find out.
const MAX_DISMISSED: usize = 1024;

/// The pages of one window.
#[derive(Debug, Clone, Copy)]
struct PageMap {
    /// What was sampled: the part of the window that is mapped.
    range: AddrRange,
    /// Pages accessed in the last sample.
    last: PageBits,
    /// Pages accessed in the one before.
    before: PageBits,
    nr_samples: u8,
    /// When it was sampled first.
    since_us: u64,
    /// Runs of pages that are alike, as of the last sample.
    nr_runs: usize,
}

impl PageMap {
    fn is_used(&self, page: u32) -> bool {
        has_page(&self.last, page) || has_page(&self.before, page)
    }

    /// Pages in use, and hits in both samples.
    fn counts(&self) -> (u32, u32) {
        let count = |bits: &PageBits| bits.iter().map(|word| word.count_ones()).sum::<u32>();
        let either = self.last.iter().zip(&self.before).map(|(a, b)| (a | b).count_ones()).sum();
        (either, count(&self.last) + count(&self.before))
    }

    /// Whether the same pages were accessed in both samples, more than by chance.
    fn tells(&self) -> bool {
        let count = |bits: &PageBits| f64::from(bits.iter().map(|w| w.count_ones()).sum::<u32>());
        let both: u32 = self.last.iter().zip(&self.before).map(|(a, b)| (a & b).count_ones()).sum();
        let (one, other) = (count(&self.last), count(&self.before));
        let likely = one.max(other) / self.range.pages() as f64;
        one.min(other) > 0.0 && f64::from(both) / one.min(other) > likely + REPEAT_EXCESS
    }

    /// The share of the samples of pages in use that found them accessed.
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

/// What samples of a window showed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PagePattern {
    /// It takes another sample.
    Undecided,
    /// Pages that differ, too finely for subregions: hits, and pages sampled.
    Scattered(f64, f64),
    /// Some runs that are in use, or nothing: subregions can say that.
    Blocks(Vec<AddrRange>),
    /// Pages that can't be told apart: hits, and pages sampled.
    Uniform(f64, f64),
}

/// The windows of one target that are mapped page by page, by their number.
#[derive(Debug, Clone, Default)]
pub(super) struct PageMaps {
    maps: BTreeMap<u64, PageMap>,
    wanted: VecDeque<u64>,
    dismissed: VecDeque<u64>,
    nr_runs: usize,
    /// The window at which refreshing goes on.
    next_refresh: u64,
}

impl PageMaps {
    /// Asks for a window to be mapped. `false` when it was not long ago, in vain, or when
    /// there are too many.
    pub fn want(&mut self, window: u64) -> bool {
        if self.maps.contains_key(&window) || self.wanted.contains(&window) {
            return true;
        }
        let room = self.len() < MAX_WINDOWS && self.nr_runs < MAX_RUNS;
        let may = room && !self.dismissed.contains(&window);
        if may {
            self.wanted.push_back(window);
        }
        may
    }

    /// The window to sample next: one that is wanted, or the next to be refreshed.
    pub fn next(&mut self) -> Option<u64> {
        if let Some(window) = self.wanted.pop_front() {
            return Some(window);
        }
        let next = self.maps.range(self.next_refresh..).next().or_else(|| self.maps.iter().next());
        let window = next.map(|(window, _)| *window)?;
        self.next_refresh = window + 1;
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

    /// Asks for windows again that were to be sampled and could not be.
    pub fn want_again(&mut self, window: u64) {
        self.wanted.push_back(window);
    }

    /// How many windows there are to sample.
    pub fn len(&self) -> usize {
        self.maps.len() + self.wanted.len()
    }

    /// Takes in a sample of all pages of `range`, which lies in one window.
    pub fn update(&mut self, range: AddrRange, bits: &PageBits, now_us: u64) -> PagePattern {
        let window = range.start / WINDOW;
        let new = PageMap {
            range,
            last: PageBits::default(),
            before: PageBits::default(),
            nr_samples: 0,
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
        map.nr_samples = map.nr_samples.saturating_add(1);
        if map.nr_samples < ENOUGH {
            self.wanted.push_front(window);
            return PagePattern::Undecided;
        }
        self.nr_runs -= map.nr_runs;
        map.nr_runs = map.runs().count();
        self.nr_runs += map.nr_runs;
        let (used, hits) = map.counts();
        let mut runs: Vec<AddrRange> = Vec::new();
        for (_, run) in map.runs().filter(|(used, _)| *used) {
            match runs.last_mut() {
                // A page or two that both samples missed.
                Some(last) if (run.start - last.end) / PAGE_SIZE <= 2 => last.end = run.end,
                _ => runs.push(run),
            }
        }
        let tells = map.tells();
        if tells && used < LONG_RUN * runs.len() as u32 {
            return PagePattern::Scattered(f64::from(hits) / 2.0, range.pages() as f64);
        }
        self.nr_runs -= map.nr_runs;
        self.maps.remove(&window);
        if !tells {
            self.dismissed.push_back(window);
            if self.dismissed.len() > MAX_DISMISSED {
                self.dismissed.pop_front();
            }
            return PagePattern::Uniform(f64::from(hits) / 2.0, range.pages() as f64);
        }
        PagePattern::Blocks(runs)
    }

    /// Forgets what is outside of `ranges`, sorted.
    pub fn keep(&mut self, ranges: &[AddrRange]) {
        self.maps.retain(|_, map| {
            let at = ranges.partition_point(|r| r.end <= map.range.start);
            ranges.get(at).is_some_and(|r| r.intersect(&map.range) == Some(map.range))
        });
        self.nr_runs = self.maps.values().map(|map| map.nr_runs).sum();
    }

    /// Runs of pages that are alike, of windows that were sampled often enough.
    pub fn runs(&self, now_us: u64) -> Vec<PageRun> {
        let mut runs: Vec<PageRun> = Vec::new();
        for map in self.maps.values().filter(|map| map.nr_samples >= ENOUGH) {
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
    fn two_samples_tell_pages_in_use() {
        let mut maps = PageMaps::default();
        assert_eq!(maps.update(pages(0, 8), &bits(&[1, 5]), 10), PagePattern::Undecided);
        assert!(maps.runs(20).is_empty(), "one sample is not enough");
        assert_eq!(
            maps.update(pages(0, 8), &bits(&[1, 5, 6]), 20),
            PagePattern::Scattered(2.5, 8.0)
        );
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
        maps.update(pages(0, 512), &bits(&block), 10);
        assert_eq!(maps.next(), Some(0), "the second sample that the first one asked for");
        let found = maps.update(pages(0, 512), &bits(&block), 20);
        assert_eq!(found, PagePattern::Blocks(vec![pages(100, 140)]));
        maps.update(pages(512, 1024), &bits(&[]), 10);
        maps.next();
        assert_eq!(maps.update(pages(512, 1024), &bits(&[]), 20), PagePattern::Uniform(0.0, 512.0));
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
                maps.update(pages(window * 512, window * 512 + 512), &bits(&[1, 9, 33]), 0);
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
