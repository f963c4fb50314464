//! What checking and arming cost on this machine, measured on memory of our own.
//!
//! Some milliseconds at the start, so that a monitor that keeps within a budget has
//! prices to plan by before its first round. They are of the right size, not exact:
//! caches are colder next to a real target, and the monitor corrects them by what it
//! is charged. What can't be measured, or comes out absurd, is as
//! [`Prices::default`] says.

use crate::programs::{Facts, Task};
use crate::reader::Reader;
use crate::scratch::ScratchMemory;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, Prices, Window, median};
use daos_linux::cpu;
use daos_linux::madvise::{self, Advice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// CPU time to be woken by a timer, to tick and to read a few windows. It can't be
/// measured without a target that fills the caches meanwhile; this was, with one
/// (`docs/performance.md`).
const WAKE_US: f64 = 40.0;
/// An interrupt for a flush of the TLB, where it can't be measured: what a virtual
/// machine took when it was measured.
const INTERRUPT_US: f64 = 14.0;
/// Measurements of which the median is taken. This and the numbers below are chosen: all of
/// it takes some milliseconds, and one disturbed measurement does not matter.
const REPEATS: usize = 5;
/// A price measured this many times below or above the default is absurd.
const ABSURD: f64 = 20.0;
/// Page tables that are read, a page in each.
const TABLES: usize = 256;
/// Pages that are armed in one run.
const RUN: u64 = 512;
/// Runs of one page that are armed together, every third page.
const SINGLES: u64 = 48;
/// Ranges that are armed against a thread of ours on another CPU, a measurement.
const INTERRUPTS: u64 = 16;
/// A gap in the time of a thread that looks at the clock without pause is an interrupt.
const GAP: Duration = Duration::from_micros(1);

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredPrices {
    pub(crate) prices: Prices,
    /// What an interrupt for a flush of the TLB costs the target, in microseconds.
    pub(crate) interrupt_us: f64,
}

/// Measures all of it, in some milliseconds.
pub(crate) fn measure(reader: &mut Reader) -> MeasuredPrices {
    let default = Prices { wake: WAKE_US, ..Prices::default() };
    let mut prices = default;
    let mut interrupt_us = INTERRUPT_US;
    if let Some(mut armer) = PageArmer::new(reader) {
        if let Some((window, page)) = reading(&mut armer) {
            prices.read_window = believable(window, default.read_window);
            prices.read_page = believable(page, default.read_page);
        }
        if let Some((run, page)) = armer.price() {
            prices.arm_run = believable(run, default.arm_run);
            prices.arm_page = believable(page, default.arm_page);
            if let Some(gap) = armer.gap(run, page) {
                prices.arm_gap = believable(gap, default.arm_gap);
            }
        }
        if let Some(set_again) = armer.set_again() {
            prices.set_again = believable(set_again, default.set_again);
        }
        if let Some(interrupt) = armer.interrupt() {
            interrupt_us = believable(interrupt, INTERRUPT_US);
        }
    }
    MeasuredPrices { prices, interrupt_us }
}

fn believable(measured: f64, default: f64) -> f64 {
    if (default / ABSURD..default * ABSURD).contains(&measured) { measured } else { default }
}

/// The median of the measurements; `None` when one fails.
fn median_of(measure: impl FnMut() -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = std::iter::repeat_with(measure).take(REPEATS).collect();
    median(all?)
}

fn us(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e6
}

/// A page in each of some page tables.
fn one_page_a_table() -> Option<(ScratchMemory, Vec<AddrRange>)> {
    let own = ScratchMemory::map((TABLES as u64 + 1) * HUGE_PAGE_SIZE)?;
    let first = own.start().next_multiple_of(HUGE_PAGE_SIZE);
    let starts = (first..).step_by(HUGE_PAGE_SIZE as usize).take(TABLES);
    let pages: Vec<_> = starts.map(|start| AddrRange::new(start, start + PAGE_SIZE)).collect();
    pages.iter().for_each(|page| own.write(page.start));
    Some((own, pages))
}

/// What a window costs, and a page in it. A page table by itself for each window, as
/// in a large target.
fn reading(armer: &mut PageArmer) -> Option<(f64, f64)> {
    let (_own, pages) = one_page_a_table()?;
    let mut read = |nr| {
        let windows = pages.iter().map(|page| Window {
            target: Default::default(),
            start: page.start,
            pages: nr,
        });
        let began = Instant::now();
        let there = armer.reader.read(&armer.me, windows, Facts::None, |_, _| {}).ok()?;
        there.map(|_| us(began) / TABLES as f64)
    };
    let short = median_of(|| read(1))?;
    let long = median_of(|| read(512))?;
    let page = (long - short) / 511.0;
    Some((short - page, page))
}

/// Arms pages of ours, all in one mapping, and takes the time.
struct PageArmer<'a> {
    reader: &'a mut Reader,
    me: Task,
    pidfd: std::os::fd::OwnedFd,
    own: ScratchMemory,
}

impl<'a> PageArmer<'a> {
    fn new(reader: &'a mut Reader) -> Option<Self> {
        let me = reader.myself().ok()?;
        let pidfd = crate::reader::my_pidfd().ok()?;
        let own = ScratchMemory::map(2 * RUN * PAGE_SIZE)?;
        let mut armer = Self { reader, me, pidfd, own };
        // Pages just faulted in may not be on a list yet, and are skipped once.
        for _ in 0..2 {
            armer.touch(0, 2 * RUN);
            armer.arm(&[armer.run(0, RUN), armer.run(RUN, RUN)])?;
        }
        Some(armer)
    }

    fn run(&self, first: u64, pages: u64) -> AddrRange {
        let start = self.own.start() + first * PAGE_SIZE;
        AddrRange::new(start, start + pages * PAGE_SIZE)
    }

    /// Every third page, so that no two are neighbours.
    fn singles(&self, nr: u64) -> Vec<AddrRange> {
        (0..nr).map(|i| self.run(3 * i, 1)).collect()
    }

    /// Accesses the pages once each. Returns the microseconds that it took.
    fn touch(&self, first: u64, pages: u64) -> f64 {
        let run = self.run(first, pages);
        let began = Instant::now();
        (run.start..run.end).step_by(PAGE_SIZE as usize).for_each(|addr| self.own.write(addr));
        us(began)
    }

    /// Reads what is young there and clears it, as an arming does. Returns microseconds.
    fn arm(&mut self, ranges: &[AddrRange]) -> Option<f64> {
        let windows = ranges.iter().map(|range| Window::over(Default::default(), *range));
        let began = Instant::now();
        self.reader.read(&self.me, windows, Facts::OfYoung { most_gap: 2 }, |_, _| {}).ok()??;
        clear(self.pidfd.as_fd(), ranges)?;
        Some(us(began))
    }

    /// What a run costs, and a page in it.
    fn price(&mut self) -> Option<(f64, f64)> {
        let long = median_of(|| {
            self.touch(0, RUN);
            self.arm(&[self.run(0, RUN)])
        })?;
        let singles = self.singles(SINGLES);
        let single = median_of(|| {
            self.touch(0, 3 * SINGLES);
            self.arm(&singles)
        })? / SINGLES as f64;
        let page = (long - single) / (RUN - 1) as f64;
        Some((single - page, page))
    }

    /// What a page costs that is passed over between two that are armed, where a run costs so
    /// much, and a page in it.
    fn gap(&mut self, run: f64, page: f64) -> Option<f64> {
        let bridged = self.run(0, 3 * SINGLES);
        let all = median_of(|| {
            self.singles(SINGLES).iter().for_each(|single| self.own.write(single.start));
            self.arm(&[bridged])
        })?;
        Some((all - run - page * SINGLES as f64) / (2 * SINGLES) as f64)
    }

    /// What touching a page costs more when its bit was cleared. The TLB is flushed
    /// before both; the pages lie in a table each, as those of a large target may.
    fn set_again(&mut self) -> Option<f64> {
        let (own, tables) = one_page_a_table()?;
        let touch = || {
            let began = Instant::now();
            tables.iter().for_each(|page| own.read(page.start));
            us(began) / tables.len() as f64
        };
        let elsewhere = [self.run(0, RUN)];
        let after = |cleared: &[AddrRange]| {
            median_of(|| {
                touch();
                self.touch(0, RUN);
                // What makes it dear is that accesses which miss the caches then wait
                // for each other.
                tables.iter().for_each(|page| own.evict(page.start));
                clear(self.pidfd.as_fd(), cleared)?;
                // As many pages as this flush all of the TLB.
                clear(self.pidfd.as_fd(), &elsewhere)?;
                Some(touch())
            })
        };
        after(&tables)?;
        Some(after(&tables)? - after(&[])?)
    }

    /// What an interrupt costs who is interrupted: a thread of ours on another CPU.
    fn interrupt(&self) -> Option<f64> {
        let (here, there) = cpu::two_cpus()?;
        let singles = self.singles(INTERRUPTS);
        let clock = Clock::default();
        std::thread::scope(|scope| {
            let watching = scope.spawn(|| clock.watch(there));
            let lost = cpu::Pinned::to(here).and_then(|_here| self.interrupts(&clock, &singles));
            clock.stop.store(true, Ordering::Relaxed);
            watching.join().ok()?.and(lost)
        })
    }

    /// Microseconds that `clock` loses to the flush of each of `ranges`.
    fn interrupts(&self, clock: &Clock, ranges: &[AddrRange]) -> Option<f64> {
        let began = Instant::now();
        while !clock.runs.load(Ordering::Relaxed) {
            if began.elapsed() > Duration::from_millis(20) {
                return None;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        median_of(|| {
            self.touch(0, 3 * INTERRUPTS);
            let before = clock.lost_ns.load(Ordering::Relaxed);
            clear(self.pidfd.as_fd(), ranges)?;
            let lost_ns = clock.lost_ns.load(Ordering::Relaxed) - before;
            Some(lost_ns as f64 / 1e3 / ranges.len() as f64)
        })
    }
}

fn clear(pidfd: BorrowedFd<'_>, ranges: &[AddrRange]) -> Option<()> {
    let advised = madvise::advise(pidfd, ranges, Advice::Cold);
    (advised.refused.is_empty() && advised.stopped.is_none()).then_some(())
}

/// A thread that does nothing but to look at the clock, and so knows what it missed.
#[derive(Default)]
struct Clock {
    runs: AtomicBool,
    stop: AtomicBool,
    lost_ns: AtomicU64,
}

impl Clock {
    fn watch(&self, on: u32) -> Option<()> {
        let _pinned = cpu::Pinned::to(on)?;
        let mut last = Instant::now();
        self.runs.store(true, Ordering::Relaxed);
        while !self.stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            let gap = now - last;
            last = now;
            if gap > GAP {
                self.lost_ns.fetch_add(gap.as_nanos() as u64, Ordering::Relaxed);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_tag::tag;

    #[test]
    fn absurd_prices_are_not_believed() {
        assert_eq!(believable(0.5, 1.0), 0.5);
        assert_eq!(believable(-0.5, 1.0), 1.0);
        assert_eq!(believable(f64::NAN, 1.0), 1.0);
        assert_eq!(believable(21.0, 1.0), 1.0);
    }

    #[tag(root, quiet)]
    #[test]
    fn every_price_can_be_measured() {
        let mut reader = Reader::new().unwrap();
        let mut armer = PageArmer::new(&mut reader).unwrap();
        let (window, page) = reading(&mut armer).unwrap();
        assert!(window > 0.0 && page > 0.0 && page < window, "{window} {page}");
        let (run, page) = armer.price().unwrap();
        assert!(run > 0.0 && page > 0.0 && page < run, "{run} {page}");
        assert!(armer.gap(run, page).unwrap() < run);
        assert!(armer.set_again().unwrap() > 0.0);
    }
}
