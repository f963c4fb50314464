//! Memory whose every bit the test knows. What it does costs what its price list says.

use daos_core::access::{
    AccessCheck, Capabilities, CpuCost, MAX_WINDOW_PAGES, Observation, PageBits, Prices, Window,
};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use daos_core::target::{Target, TargetId};
use std::convert::Infallible;

/// Everything is in memory and was written before the monitor came, unless the test
/// says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    pub targets: Vec<Target>,
    /// What all targets access all the time.
    pub hot: Vec<AddrRange>,
    pub unobservable: Vec<AddrRange>,
    pub absent: Vec<AddrRange>,
    /// Huge pages map all of it.
    pub huge: bool,
    pub prices: Prices,
    /// Whether the bit of a page is clear, by target and page; of huge pages, the first's.
    pub clear: Vec<Vec<bool>>,
    /// The targets as the monitor knows them.
    pub listed: Vec<Target>,
    pub spent: CpuCost,
    pub most_windows: usize,
    pub most_pages: u32,
    pub windows_checked: usize,
}

pub fn mib(start: u64, end: u64) -> AddrRange {
    AddrRange::new(start << 20, end << 20)
}

pub fn pages(start: u64, end: u64) -> AddrRange {
    AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE)
}

pub fn target(id: u32, ranges: &[AddrRange]) -> Target {
    Target { id: TargetId(id), ranges: ranges.to_vec(), resident_bytes: None }
}

fn page(address: u64) -> usize {
    (address / PAGE_SIZE) as usize
}

fn within(ranges: &[AddrRange], address: u64) -> bool {
    ranges.iter().any(|r| r.contains(address))
}

impl Memory {
    pub fn one(ranges: &[AddrRange], hot: &[AddrRange]) -> Self {
        Self { targets: vec![target(0, ranges)], hot: hot.to_vec(), ..Self::default() }
    }

    /// The targets access what is hot.
    pub fn run(&mut self) {
        let touched: Vec<_> = self.hot.iter().map(|r| self.page(r.start)..page(r.end)).collect();
        for target in &self.targets {
            let Some(clear) = self.clear.get_mut(target.id.0 as usize) else { continue };
            for pages in &touched {
                let (start, end) = (pages.start.min(clear.len()), pages.end.min(clear.len()));
                let armed = clear[start..end].iter().filter(|clear| **clear).count();
                clear[start..end].fill(false);
                self.spent.target_us += self.prices.set_again * armed as f64;
            }
        }
    }

    /// The bill since this was last asked, for one tick more.
    pub fn take_bill(&mut self) -> CpuCost {
        let mut spent = std::mem::take(&mut self.spent);
        spent.monitor_us += self.prices.wake;
        spent
    }

    /// The page whose bit stands for `address`.
    fn page(&self, address: u64) -> usize {
        page(if self.huge { address / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE } else { address })
    }

    fn is_clear(&self, target: TargetId, page: usize) -> bool {
        let clear = self.clear.get(target.0 as usize);
        clear.is_some_and(|clear| clear.get(page).copied().unwrap_or_default())
    }

    /// Clears a bit. Returns whether it was set.
    fn set_clear(&mut self, target: TargetId, page: usize) -> bool {
        let target = target.0 as usize;
        let targets = self.clear.len().max(target + 1);
        self.clear.resize_with(targets, Vec::new);
        let clear = &mut self.clear[target];
        clear.resize(clear.len().max(page + 1), false);
        !std::mem::replace(&mut clear[page], true)
    }

    /// Asserts what holds for every window.
    fn take(&mut self, windows: &[Window]) {
        self.most_windows = self.most_windows.max(windows.len());
        for window in windows {
            assert!((1..=MAX_WINDOW_PAGES).contains(&window.pages), "{window:?}");
            assert_eq!(window.start % PAGE_SIZE, 0, "{window:?}");
            let target = self.listed.iter().find(|t| t.id == window.target).expect("a target");
            let range = window.range();
            let inside = AddrRange::joined(target.ranges.iter().copied())
                .iter()
                .any(|r| r.intersect(&range) == Some(range));
            assert!(inside, "{window:?} is not mapped");
            self.most_pages = self.most_pages.max(window.pages);
            self.spent.monitor_us +=
                self.prices.read_window + self.prices.read_page * f64::from(window.pages);
        }
    }

    /// Size of the block around `address` in which nothing is in memory, or 0.
    fn empty_bytes(&self, ranges: &[AddrRange], address: u64) -> u64 {
        let is_empty = |size: u64| {
            let block = AddrRange::new(address / size * size, address / size * size + size);
            let mapped = ranges.iter().filter_map(|r| r.intersect(&block));
            mapped.into_iter().all(|m| self.absent.iter().any(|a| a.intersect(&m) == Some(m)))
        };
        [1 << 30, HUGE_PAGE_SIZE].into_iter().find(|size| is_empty(*size)).unwrap_or(0)
    }
}

impl AccessCheck for Memory {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "test",
            max_window_pages: MAX_WINDOW_PAGES,
            page_bits: true,
            sparse: true,
        }
    }

    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        self.listed = self.targets.clone();
        Ok(self.targets.clone())
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), Infallible> {
        self.take(windows);
        let mut sorted: Vec<_> = windows.iter().map(|w| (w.target, w.range())).collect();
        sorted.sort_unstable_by_key(|(target, range)| (*target, range.start));
        for pair in sorted.windows(2) {
            let overlap = pair[0].0 == pair[1].0 && pair[0].1.end > pair[1].1.start;
            assert!(!overlap, "armed twice: {pair:?}");
        }
        for (target, range) in sorted {
            let mut cleared = 0;
            for address in (range.start..range.end).step_by(PAGE_SIZE as usize) {
                if !within(&self.unobservable, address) && !within(&self.absent, address) {
                    cleared += u32::from(self.set_clear(target, self.page(address)));
                }
            }
            if cleared > 0 {
                self.spent.monitor_us +=
                    self.prices.arm_run + self.prices.arm_page * f64::from(cleared);
            }
        }
        Ok(())
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        self.take(windows);
        self.windows_checked += windows.len();
        for window in windows {
            let live = self.targets.iter().find(|t| t.id == window.target);
            let ranges = live.map_or(&[][..], |t| &t.ranges);
            let mut seen = Observation::default();
            let mut bits = PageBits::default();
            let mut last = None;
            let whole = ranges.iter().any(|r| r.intersect(&window.range()) == Some(window.range()));
            for page in 0..window.pages {
                let address = window.start + u64::from(page) * PAGE_SIZE;
                if !(whole || within(ranges, address)) || within(&self.absent, address) {
                    continue;
                }
                if within(&self.unobservable, address) {
                    seen.unobservable += 1;
                    continue;
                }
                let entry = self.page(address);
                seen.entries += u32::from(last.replace(entry) != Some(entry));
                seen.present += 1;
                if !self.is_clear(window.target, entry) {
                    seen.accessed += 1;
                    bits[(page / 64) as usize] |= 1 << (page % 64);
                }
            }
            seen.pages = Some(bits);
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
