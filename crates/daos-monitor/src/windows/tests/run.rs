//! Drives a monitor as the real driver does, and keeps what came of it.

use crate::windows::Windows;
use crate::{Monitor, MonitorOptions};
use daos_core::testing::{TestMemory, pages};
use daos_core::{AddrRange, HOT_RATE, MonitorAttrs, PAGE_SIZE, RegionSnapshot, Snapshot, Target};

/// A monitor and its memory on the way.
pub struct Run {
    pub monitor: Windows,
    pub memory: TestMemory,
    /// When the next tick is due.
    pub due_us: u64,
    /// When the last tick was.
    pub now_us: u64,
    pub snapshots: Vec<Snapshot>,
    /// Microseconds that each tick takes beside what it does to the memory.
    pub tick_us: f64,
    /// The targets that the monitor knew when it made each snapshot.
    pub listed: Vec<Vec<Target>>,
    /// When how many microseconds were spent, both sides.
    pub costs: Vec<(u64, f64)>,
}

pub fn attrs(min_regions: u32, max_regions: u32) -> MonitorAttrs {
    MonitorAttrs { min_regions, max_regions, ..MonitorAttrs::default() }
}

impl Run {
    pub fn new(
        memory: TestMemory,
        attrs: MonitorAttrs,
        max_overhead: Option<f64>,
        seed: u64,
    ) -> Self {
        let options = MonitorOptions { max_overhead, ..MonitorOptions::default() };
        Self {
            tick_us: 0.0,
            monitor: Windows::new(attrs, options, seed).unwrap(),
            memory,
            due_us: 0,
            now_us: 0,
            snapshots: Vec::new(),
            listed: Vec::new(),
            costs: Vec::new(),
        }
    }

    /// With a bound that leaves room for everything.
    pub fn of(memory: TestMemory) -> Self {
        Self::new(memory, MonitorAttrs::default(), Some(0.01), 42)
    }

    /// Ticks whenever one is due, up to this time.
    pub fn until(&mut self, seconds: f64) -> &mut Self {
        while self.due_us <= (seconds * 1e6) as u64 {
            self.tick_at(self.due_us);
        }
        self
    }

    /// The next tick, with memory that is gone over in so many microseconds, again and again.
    pub fn sweep_and_tick(&mut self, all: AddrRange, period_us: u64) {
        let (first, last) = (all.start / PAGE_SIZE, all.end / PAGE_SIZE);
        let at = |us: u64| first + us % period_us * all.pages() / period_us;
        let (from, to) = (at(self.now_us), at(self.due_us));
        match from <= to {
            true => self.memory.set_used(&[pages(from, to)]),
            false => self.memory.set_used(&[pages(first, to), pages(from, last)]),
        }
        self.tick_at(self.due_us);
    }

    /// The next tick, at this time or, if that has passed, now.
    pub fn tick_at(&mut self, now_us: u64) {
        let now_us = now_us.max(self.now_us);
        self.now_us = now_us;
        self.memory.use_pages();
        let listed = self.memory.listed.clone();
        if let Some(snapshot) = self.monitor.tick(&mut self.memory, now_us).unwrap() {
            self.snapshots.push(snapshot);
            self.listed.push(listed);
        }
        let mut spent = self.memory.take_spent();
        spent.monitor_us += self.tick_us;
        self.costs.push((now_us, spent.monitor_us + spent.target_us));
        self.monitor.charge(spent, now_us);
        let wait_us = self.monitor.wait_us();
        assert!(wait_us > 0, "a tick at {now_us} us that is due again at once");
        self.due_us += wait_us;
        let sample_us = self.monitor.attrs().sample_us;
        // What was missed is left out.
        self.due_us += now_us.saturating_sub(self.due_us) / sample_us * sample_us;
    }

    pub fn last(&self) -> &Snapshot {
        self.snapshots.last().expect("a snapshot")
    }
}

/// All regions, of all targets.
pub fn regions(snapshot: &Snapshot) -> impl Iterator<Item = &RegionSnapshot> {
    snapshot.targets.iter().flat_map(|t| &t.regions)
}

/// What is hot of the only target, as few ranges as possible.
pub fn hot(snapshot: &Snapshot) -> Vec<AddrRange> {
    let hot = regions(snapshot).filter(|r| r.access_rate >= HOT_RATE);
    AddrRange::joined(hot.map(|r| r.range))
}

/// The share of `range` that is hot.
pub fn hot_share(snapshot: &Snapshot, range: AddrRange) -> f64 {
    let pages: u64 =
        hot(snapshot).iter().filter_map(|r| r.intersect(&range)).map(|r| r.pages()).sum();
    pages as f64 / range.pages() as f64
}

/// The region around an address.
pub fn region_at(snapshot: &Snapshot, address: u64) -> &RegionSnapshot {
    regions(snapshot).find(|r| r.range.contains(address)).expect("all is covered")
}

/// Address of the page in the middle.
pub fn middle(range: AddrRange) -> u64 {
    range.start + range.pages() / 2 * PAGE_SIZE
}
