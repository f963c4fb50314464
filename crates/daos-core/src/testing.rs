//! Memory for tests of what stands on the seams: monitors, schemes, drivers.
//!
//! The test knows and sets what each page is; nothing here takes time. With the feature
//! `testing` alone, for `[dev-dependencies]`.

use crate::access::{
    AccessCheck, Capabilities, CpuCost, MAX_WINDOW_PAGES, Observation, PageBits, Prices, Window,
};
use crate::action::{Action, Refusal};
use crate::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use crate::sink::{ActionReport, ActionSink, Residence};
use crate::snapshot::{RegionSnapshot, TargetSnapshot};
use crate::target::{Mapping, Target, TargetId};
use std::convert::Infallible;
use std::ops::Range;

/// Pages in a huge page.
const HUGE_PAGES: usize = (HUGE_PAGE_SIZE / PAGE_SIZE) as usize;

/// One page of a [`TestMemory`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Whether it is in memory.
    pub present: bool,
    /// Whether it is part of a huge page: the accessed bit of the first page is for all.
    pub huge: bool,
    /// Whether [`TestMemory::use_pages`] accesses it.
    pub used: bool,
    /// Whether it can't be armed, so that nothing can be said of it.
    pub stuck: bool,
    /// Its accessed bit.
    pub young: bool,
}

impl Page {
    /// In memory, and written before anybody came to look.
    pub const WRITTEN: Self =
        Self { present: true, huge: false, used: false, stuck: false, young: true };
}

/// What a [`TestMemory`] was asked to do to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acted {
    /// When, by [`TestMemory::now_us`].
    pub at_us: u64,
    /// What was to be done.
    pub action: Action,
    /// Where.
    pub range: AddrRange,
    /// How many bytes of it were changed.
    pub bytes: u64,
}

/// Memory whose every page the test knows, shared by all targets that map it.
#[derive(Debug, Clone)]
pub struct TestMemory {
    /// The live targets.
    pub targets: Vec<Target>,
    /// Files that nobody maps: of the same pages, at other addresses.
    pub files: Vec<Target>,
    /// The pages, from address 0 on.
    pub pages: Vec<Page>,
    /// Pages of a large folio: each has a bit of its own, but who arms one clears all. 1
    /// where there are none.
    pub folio_pages: usize,
    /// What each target is said to have mapped.
    pub mappings: Vec<Mapping>,
    /// The largest window that is taken, in pages.
    pub max_window_pages: u32,
    /// Whether windows may lie where nothing is mapped, as the reference monitor's do.
    pub takes_gaps: bool,
    /// What arming and checking cost.
    pub prices: Prices,
    /// Microseconds that acting on a page takes.
    pub page_us: f64,
    /// The time, for the log alone.
    pub now_us: u64,
    /// The clock of [`ActionSink::clock_us`]: 1 µs for each window, and what arming and acting
    /// take.
    pub clock_us: f64,
    /// What was spent by the prices since it was last taken.
    pub spent: CpuCost,
    /// The targets as they were last asked for.
    pub listed: Vec<Target>,
    /// All windows that were armed.
    pub armed: Vec<Window>,
    /// Whether targets can be armed at once.
    pub arms_targets: bool,
    /// All that were.
    pub armed_targets: Vec<TargetId>,
    /// Whether it says then that it could not be done.
    pub refuses_targets: bool,
    /// What others have as well.
    pub shared: Vec<AddrRange>,
    /// Whether there is no room for what is paged out.
    pub is_full: bool,
    /// The most windows that were armed or checked at once.
    pub most_windows: usize,
    /// What was done to it.
    pub log: Vec<Acted>,
    /// Where set bits were cleared, from when somebody wants to know.
    pub cleared: Option<Vec<(TargetId, AddrRange)>>,
}

impl Default for TestMemory {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            files: Vec::new(),
            pages: Vec::new(),
            folio_pages: 1,
            mappings: Vec::new(),
            max_window_pages: MAX_WINDOW_PAGES,
            takes_gaps: false,
            prices: Prices::default(),
            page_us: 1.0,
            now_us: 0,
            clock_us: 0.0,
            spent: CpuCost::default(),
            listed: Vec::new(),
            armed: Vec::new(),
            arms_targets: false,
            armed_targets: Vec::new(),
            refuses_targets: false,
            shared: Vec::new(),
            is_full: false,
            most_windows: 0,
            log: Vec::new(),
            cleared: None,
        }
    }
}

/// The pages `from..to`, as addresses.
pub fn pages(from: u64, to: u64) -> AddrRange {
    AddrRange::new(from * PAGE_SIZE, to * PAGE_SIZE)
}

/// The mebibytes `from..to`, as addresses.
pub fn mib(from: u64, to: u64) -> AddrRange {
    AddrRange::new(from << 20, to << 20)
}

/// A target with these ranges.
pub fn target(id: u32, ranges: &[AddrRange]) -> Target {
    Target { id: TargetId(id), ranges: ranges.to_vec(), is_listed: true, resident_bytes: None }
}

impl TestMemory {
    /// Target 0 has these `ranges` mapped, all present, and uses those in `used`.
    pub fn new(ranges: &[AddrRange], used: &[AddrRange]) -> Self {
        let mut memory = Self { targets: vec![target(0, ranges)], ..Self::default() };
        memory.set(used, |page, inside| page.used = inside);
        memory
    }

    /// Calls `change` with each page and whether it lies in `ranges`.
    pub fn set(&mut self, ranges: &[AddrRange], change: impl Fn(&mut Page, bool)) {
        self.grow();
        self.pages.iter_mut().for_each(|page| change(page, false));
        for range in ranges {
            let end = ((range.end / PAGE_SIZE) as usize).min(self.pages.len());
            let start = ((range.start / PAGE_SIZE) as usize).min(end);
            self.pages[start..end].iter_mut().for_each(|page| change(page, true));
        }
    }

    /// Exactly what lies in `ranges` is used from now on.
    pub fn set_used(&mut self, ranges: &[AddrRange]) {
        self.set(ranges, |page, inside| page.used = inside);
    }

    /// The pages in use are accessed: absent ones come into memory.
    pub fn use_pages(&mut self) {
        self.grow();
        for at in 0..self.pages.len() {
            if self.pages[at].used {
                self.pages[at].present = true;
                let entry = self.entry(at);
                if !std::mem::replace(&mut self.pages[entry].young, true) {
                    self.spent.target_us += self.prices.set_again;
                }
            }
        }
    }

    /// How many pages are in memory.
    pub fn present(&self) -> u64 {
        self.pages.iter().filter(|page| page.present).count() as u64
    }

    /// Takes what was spent since this was last asked, and a wake-up.
    pub fn take_spent(&mut self) -> CpuCost {
        let mut spent = std::mem::take(&mut self.spent);
        spent.monitor_us += self.prices.wake;
        spent
    }

    /// Makes room for the pages of all targets.
    fn grow(&mut self) {
        let ends = self.targets.iter().chain(&self.files).flat_map(|t| &t.ranges).map(|r| r.end);
        let pages = (ends.max().unwrap_or(0) / PAGE_SIZE) as usize;
        self.pages.resize(pages.max(self.pages.len()), Page::WRITTEN);
    }

    /// The page whose accessed bit is for the page `at`.
    fn entry(&self, at: usize) -> usize {
        if self.pages[at].huge { at / HUGE_PAGES * HUGE_PAGES } else { at }
    }

    /// The pages that are armed with the page `at`: its huge page, or its folio.
    fn armed_with(&self, at: usize) -> Range<usize> {
        let pages = if self.pages[at].huge { HUGE_PAGES } else { self.folio_pages };
        let start = at / pages * pages;
        start..(start + pages).min(self.pages.len())
    }

    /// Arms the page `at`, with all that is armed with it: how many bits were cleared.
    fn arm_page(&mut self, target: TargetId, at: usize) -> u32 {
        let (entry, with) = (self.entry(at), self.armed_with(at));
        if self.pages[at].stuck || !self.pages[at].present || !self.pages[entry].young {
            return 0;
        }
        let place = (target, pages(with.start as u64, with.end as u64));
        self.cleared.iter_mut().for_each(|all| all.push(place));
        if self.pages[at].huge {
            self.pages[entry].young = false;
            return 1;
        }
        let armed = self.pages[with].iter_mut().filter(|page| page.present && !page.stuck);
        armed.map(|page| u32::from(std::mem::take(&mut page.young))).sum()
    }

    /// Makes regular pages of the huge page around `at`: each has the bit that was for all.
    fn split(&mut self, at: usize) {
        let young = self.pages[self.entry(at)].young;
        let block = self.armed_with(at);
        for page in self.pages[block].iter_mut().filter(|page| page.huge) {
            (page.huge, page.young) = (false, young);
        }
    }

    /// Does `action` to the page `at`: how many bytes it changed.
    fn act(&mut self, action: Action, at: usize) -> u64 {
        let before = self.pages[at];
        match action {
            Action::Pageout => {
                if before.huge && before.present {
                    self.split(at);
                }
                self.pages[at].present = false;
            }
            // The bit of a new huge page is set.
            Action::Hugepage => {
                self.pages[at] = Page { present: true, huge: true, young: true, ..before };
            }
            Action::Nohugepage => {
                let young = self.pages[self.entry(at)].young;
                self.pages[at] = Page { huge: false, young, ..before };
            }
            Action::Cold if !before.huge => self.pages[at].young = false,
            Action::Cold | Action::Willneed | Action::Lock | Action::Stat => {}
        }
        let after = self.pages[at];
        let counts = matches!(action, Action::Lock | Action::Willneed | Action::Cold);
        let changed = (after.present, after.huge) != (before.present, before.huge);
        if counts || changed { PAGE_SIZE } else { 0 }
    }

    /// Asserts what holds for every window, and charges for reading them.
    fn read(&mut self, windows: &[Window]) {
        self.most_windows = self.most_windows.max(windows.len());
        for window in windows {
            assert!((1..=self.max_window_pages).contains(&window.pages), "{window:?}");
            assert_eq!(window.start % PAGE_SIZE, 0, "{window:?}");
            if let Some(target) = self.listed.iter().find(|t| t.id == window.target) {
                let range = window.range();
                let mapped = AddrRange::joined(target.ranges.iter().copied());
                let inside = mapped.iter().any(|r| r.intersect(&range) == Some(range));
                assert!(inside || self.takes_gaps, "{window:?} is not mapped");
            }
            self.spent.monitor_us +=
                self.prices.read_window + self.prices.read_page * f64::from(window.pages);
            self.clock_us += 1.0;
        }
    }

    /// Size of the aligned block around `address` in which nothing is in memory, or 0.
    fn empty_bytes(&self, ranges: &[AddrRange], address: u64) -> u64 {
        let is_empty = |size: u64| {
            let start = address / size * size;
            let block = AddrRange::new(start, start + size);
            let mapped = ranges.iter().filter_map(|r| r.intersect(&block));
            mapped.into_iter().all(|m| {
                let pages = (m.start / PAGE_SIZE) as usize..(m.end / PAGE_SIZE) as usize;
                self.pages[pages].iter().all(|page| !page.present)
            })
        };
        [1 << 30, HUGE_PAGE_SIZE].into_iter().find(|size| is_empty(*size)).unwrap_or(0)
    }
}

impl AccessCheck for TestMemory {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        let max_window_pages = self.max_window_pages;
        Capabilities { name: "test", max_window_pages, page_bits: true, sparse: true }
    }

    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        self.grow();
        self.listed = self.targets.clone();
        Ok(self.targets.clone())
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), Infallible> {
        self.read(windows);
        self.armed.extend(windows);
        for window in windows {
            let first = (window.start / PAGE_SIZE) as usize;
            let mut cleared = 0;
            for at in first..first + window.pages as usize {
                cleared += self.arm_page(window.target, at);
            }
            if cleared > 0 {
                let took_us = self.prices.arm_run + self.prices.arm_page * f64::from(cleared);
                self.spent.monitor_us += took_us;
                self.clock_us += took_us;
                self.spent.target_us += self.prices.interrupt;
            }
        }
        Ok(())
    }

    fn can_arm_target(&self, _: TargetId) -> bool {
        self.arms_targets
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, Infallible> {
        let live = self.targets.iter().find(|live| live.id == target);
        for range in live.map_or(Vec::new(), |live| live.ranges.clone()) {
            for at in (range.start / PAGE_SIZE) as usize..(range.end / PAGE_SIZE) as usize {
                self.arm_page(target, at);
                self.spent.monitor_us += self.prices.arm_target_page;
            }
        }
        self.armed_targets.push(target);
        Ok(!self.refuses_targets)
    }

    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        self.targets.iter().find(|live| live.id == target)?.resident_bytes
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        self.read(windows);
        for window in windows {
            let live = self.targets.iter().chain(&self.files).find(|t| t.id == window.target);
            let ranges = live.map_or(&[][..], |t| &t.ranges);
            let whole = ranges.iter().any(|r| r.intersect(&window.range()) == Some(window.range()));
            let mut seen = Observation::default();
            let (mut bits, mut unknown) = (PageBits::default(), PageBits::default());
            let mut absent = PageBits::default();
            let mut last = None;
            for page in 0..window.pages {
                let address = window.start + u64::from(page) * PAGE_SIZE;
                let at = (address / PAGE_SIZE) as usize;
                let Page { present, stuck, .. } = self.pages[at];
                let (word, bit) = (page as usize / 64, 1 << (page % 64));
                if !(whole || ranges.iter().any(|r| r.contains(address))) || !present {
                    absent[word] |= bit;
                    continue;
                }
                if stuck {
                    seen.unobservable += 1;
                    unknown[word] |= bit;
                    continue;
                }
                let entry = self.entry(at);
                seen.entries += u32::from(last.replace(entry) != Some(entry));
                seen.present += 1;
                if self.pages[entry].young {
                    seen.accessed += 1;
                    bits[word] |= bit;
                }
            }
            seen.pages = Some(bits);
            seen.unknown = (seen.unobservable > 0).then_some(unknown);
            seen.absent = (seen.present + seen.unobservable < window.pages).then_some(absent);
            if seen.present + seen.unobservable == 0 {
                seen.empty_bytes = self.empty_bytes(ranges, window.start);
            }
            found.push(seen);
        }
        Ok(())
    }

    fn prices(&self) -> Prices {
        self.prices
    }
}

impl ActionSink for TestMemory {
    fn supports(&self, _: Action) -> Result<(), String> {
        Ok(())
    }

    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, Infallible> {
        let mut known = self.targets.iter().chain(&self.files);
        assert!(known.any(|t| t.id == target), "{target:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
        let mut report = ActionReport::default();
        for range in ranges {
            assert!(!range.is_empty() && *range == range.page_aligned());
            let mut bytes = 0;
            if self.is_full && action == Action::Pageout {
                report.refuse(Refusal::NoRoom, range.len());
                continue;
            }
            for at in (range.start / PAGE_SIZE) as usize..(range.end / PAGE_SIZE) as usize {
                let was_present = self.pages[at].present;
                bytes += self.act(action, at);
                if self.pages[at].present && !was_present {
                    report.bloat_bytes += PAGE_SIZE as i64;
                }
            }
            self.clock_us += self.page_us * range.pages() as f64;
            self.log.push(Acted { at_us: self.now_us, action, range: *range, bytes });
            report.applied_bytes += bytes;
            if bytes > 0 {
                report.applied.push(*range);
            } else {
                report.refuse(Refusal::Kept, range.len());
            }
        }
        Ok(report)
    }

    fn residence(&mut self, _: TargetId, ranges: &[AddrRange]) -> Result<Residence, Infallible> {
        let mut found = Residence::default();
        for page in ranges.iter().flat_map(|range| range.blocks(PAGE_SIZE)) {
            if self.pages.get((page.start / PAGE_SIZE) as usize).is_some_and(|page| page.present) {
                page.push_joined(&mut found.present);
            }
        }
        Ok(found)
    }

    fn shared(&mut self, _: TargetId, ranges: &[AddrRange]) -> Result<Vec<AddrRange>, Infallible> {
        let shared = ranges.iter().flat_map(|r| self.shared.iter().map(|s| r.intersect(s)));
        Ok(shared.flatten().collect())
    }

    fn unmapped_files(&mut self) -> Result<Vec<TargetSnapshot>, Infallible> {
        let age_us = self.now_us;
        let region =
            |&range: &_| RegionSnapshot { range, access_rate: 0.0, unobserved: 0.0, age_us };
        let file = |file: &Target| TargetSnapshot {
            id: file.id,
            regions: file.ranges.iter().map(region).collect(),
            ..TargetSnapshot::default()
        };
        Ok(self.files.iter().map(file).collect())
    }

    fn clock_us(&self) -> f64 {
        self.clock_us
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        std::mem::take(self.cleared.get_or_insert_default())
    }

    fn mappings(&self, _: TargetId) -> &[Mapping] {
        &self.mappings
    }

    fn cgroup(&self, _: TargetId) -> Option<String> {
        Some("/test".into())
    }
}
