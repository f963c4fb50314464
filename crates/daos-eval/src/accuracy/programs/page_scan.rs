//! The yardstick for real programs: every page, again and again, from the program's start on.
//!
//! Each scan reads the accessed bits of all pages and arms those that were set, some page tables
//! at a time, so that next to nothing is accessed between the one and the other. So it is known of
//! each page in which of the times between two scans it was accessed. What that costs grows with
//! the memory, and nothing bounds it.

use super::scan::{Scan, ScannedProcess, ScannedTable};
use crate::under_test::present_pages;
use daos_core::access::{MAX_WINDOW_PAGES, has_page};
use daos_core::{
    AccessCheck, AddrRange, Cost, CpuCost, HUGE_PAGE_SIZE, MonitorAttrs, Observation, PageBits,
    Snapshot, TargetId, TargetInfo, Window, huge_page_start,
};
use daos_monitor::Monitor;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::mpsc::Sender;

/// Page tables that are read, and then armed, at a time. Chosen: to arm one takes up to a third
/// of a millisecond, so in between are a few.
const BATCH: usize = 16;

/// Scans all pages, and sends what it found.
#[derive(Debug)]
pub struct PageScan {
    attrs: MonitorAttrs,
    /// Scans without an access from which on a page is idle.
    idle_scans: u32,
    processes: Vec<Known>,
    infos: BTreeMap<TargetId, TargetInfo>,
    /// Scans so far.
    scans: u32,
    interval_start_us: u64,
    cost: Cost,
    to: Sender<Found>,
}

/// What it sends.
#[derive(Debug)]
pub enum Found {
    /// A scan, with its time since scanning began.
    Scan(Scan),
    /// A process that is new, or known better.
    Process(TargetInfo),
}

/// A process and what is known of it.
#[derive(Debug)]
struct Known {
    id: TargetId,
    ranges: Vec<AddrRange>,
    /// Which of its pages are in memory, in the kernel's own words.
    pagemap: Option<File>,
    /// By the address of each page table: for each page the last scan in which it was accessed,
    /// or not in memory yet.
    last: BTreeMap<u64, Box<[u32; MAX_WINDOW_PAGES as usize]>>,
}

impl PageScan {
    /// One that scans every `every_us` microseconds, and calls idle what was not accessed for
    /// `idle_us`.
    pub fn new(every_us: u64, idle_us: u64, to: Sender<Found>) -> Self {
        let usual = MonitorAttrs::default();
        let (sample_us, aggregation_us, update_us) = (every_us, every_us, every_us);
        Self {
            attrs: MonitorAttrs { sample_us, aggregation_us, update_us, ..usual },
            idle_scans: idle_us.div_ceil(every_us).try_into().unwrap_or(u32::MAX),
            processes: Vec::new(),
            infos: BTreeMap::new(),
            scans: 0,
            interval_start_us: 0,
            cost: Cost::default(),
            to,
        }
    }

    fn scan<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<Scan, A::Error> {
        let mut scan = Scan::default();
        for process in &mut self.processes {
            let parts = process.ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
            let windows: Vec<_> = parts.map(|part| Window::over(process.id, part)).collect();
            let mut tables: Vec<ScannedTable> = Vec::new();
            let mut found: Vec<Observation> = Vec::new();
            for batch in windows.chunks(BATCH) {
                found.clear();
                access.check(batch, &mut found)?;
                let young = batch.iter().zip(&found).filter(|(_, seen)| seen.accessed > 0);
                let young: Vec<Window> = young.map(|(window, _)| *window).collect();
                access.arm(&young)?;
                self.cost.pages += batch.iter().map(|window| u64::from(window.pages)).sum::<u64>();
                for (window, seen) in batch.iter().zip(&found) {
                    process.take(window, seen, &mut tables);
                }
            }
            let gone = |start: &u64| tables.binary_search_by_key(start, |table| table.start);
            process.last.retain(|start, _| gone(start).is_ok());
            for table in &mut tables {
                process.judge(table, self.scans, self.idle_scans);
            }
            scan.processes.push(ScannedProcess { id: process.id, tables });
        }
        self.scans += 1;
        Ok(scan)
    }
}

impl Known {
    /// Adds what was seen of a part of a page table.
    fn take(&self, window: &Window, seen: &Observation, tables: &mut Vec<ScannedTable>) {
        if seen.present == 0 {
            return;
        }
        let start = huge_page_start(window.start);
        let first = ((window.start - start) / daos_core::PAGE_SIZE) as u32;
        let in_memory = match (seen.present == window.pages, &self.pagemap) {
            (false, Some(pagemap)) => present_pages(pagemap, window.start, window.pages),
            _ => (0..window.pages).collect(),
        };
        if tables.last().is_none_or(|table| table.start != start) {
            let none = PageBits::default();
            tables.push(ScannedTable { start, present: none, accessed: none, idle: none });
        }
        let Some(table) = tables.last_mut() else { return };
        let is_in = |bits: &Option<PageBits>, page| bits.is_some_and(|bits| has_page(&bits, page));
        for page in in_memory.into_iter().filter(|&page| !is_in(&seen.unknown, page)) {
            let (word, bit) = ((first + page) as usize / 64, 1 << ((first + page) % 64));
            table.present[word] |= bit;
            if is_in(&seen.pages, page) {
                table.accessed[word] |= bit;
            }
        }
    }

    /// Notes which pages were accessed in scan number `now`, and says which are idle.
    fn judge(&mut self, table: &mut ScannedTable, now: u32, idle_scans: u32) {
        let new = || Box::new([now; MAX_WINDOW_PAGES as usize]);
        let last = self.last.entry(table.start).or_insert_with(new);
        for page in 0..MAX_WINDOW_PAGES {
            let last = &mut last[page as usize];
            if !has_page(&table.present, page) || has_page(&table.accessed, page) {
                *last = now;
            } else if now - *last >= idle_scans {
                table.idle[page as usize / 64] |= 1 << (page % 64);
            }
        }
    }
}

impl Monitor for PageScan {
    fn attrs(&self) -> &MonitorAttrs {
        &self.attrs
    }

    fn has_targets(&self) -> bool {
        !self.processes.is_empty()
    }

    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error> {
        let since_us = now_us - self.interval_start_us;
        if self.scans > 0 && since_us < self.attrs.sample_us / 10 * 9 {
            // At the end: what was accessed in a part of the time says nothing of all of it.
            return Ok(None);
        }
        self.update(access)?;
        let mut scan = self.scan(access)?;
        scan.at_us = now_us;
        // Who listens no more wants to know no more.
        let _ = self.to.send(Found::Scan(scan));
        let start_us = std::mem::replace(&mut self.interval_start_us, now_us);
        Ok(Some(Snapshot {
            start_us,
            end_us: now_us,
            aggregation_us: self.attrs.aggregation_us,
            sample_us: self.attrs.sample_us,
            targets: Vec::new(),
            cost: std::mem::take(&mut self.cost),
        }))
    }

    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        let live = access.targets()?;
        for info in access.changed_targets() {
            self.infos.insert(info.id, info.clone());
            let _ = self.to.send(Found::Process(info));
        }
        let mut before: BTreeMap<TargetId, Known> =
            self.processes.drain(..).map(|known| (known.id, known)).collect();
        for target in live {
            let (id, ranges) = (target.id, target.ranges);
            let known = before.remove(&id).unwrap_or_else(|| {
                let pid = self.infos.get(&id).and_then(|info| info.pid);
                let pagemap = pid.and_then(|pid| File::open(format!("/proc/{pid}/pagemap")).ok());
                Known { id, ranges: Vec::new(), pagemap, last: BTreeMap::new() }
            });
            self.processes.push(Known { ranges, ..known });
        }
        self.processes.sort_by_key(|process| process.id);
        Ok(())
    }

    fn wait_us(&self) -> u64 {
        self.attrs.sample_us
    }

    fn charge(&mut self, spent: CpuCost, _over_us: u64) {
        self.cost.charge(spent);
    }

    fn charge_beside(&mut self, spent: CpuCost) {
        self.cost.charge(spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::SnapshotSource;
    use daos_session::SimSource;
    use daos_sim::{CostModel, SimOptions, SimSpace};
    use daos_workload::Config;
    use std::sync::mpsc;

    #[test]
    fn each_page_is_found_and_its_idle_time_counted() {
        // A single page of every four of 8 MiB in the first three seconds, then nothing.
        let text = "cold, 4M\nstore, 8M\n\nbusy\n3s\nstore, singles, 16K, 1\n\nrest\n20s\n";
        let config = Config::parse("t.cfg", text).unwrap();
        let options = SimOptions { accesses_per_sec: 100_000, ..SimOptions::default() };
        let space = SimSpace::new(config, options);
        let (to, found) = mpsc::channel();
        let scan = PageScan::new(1_000_000, 2_000_000, to);
        let mut source = SimSource::new(scan, space, CostModel::SAME_CPU, 7_500_000);
        let mut cost = Cost::default();
        while let Ok(Some(snapshot)) = source.next_snapshot() {
            cost.cpu_us += snapshot.cost.cpu_us;
        }
        drop(source);
        let found = found.iter().filter_map(|found| match found {
            Found::Scan(scan) => Some(scan),
            Found::Process(_) => None,
        });
        let kib = |scan: &Scan| {
            assert_eq!(scan.bytes(|table| &table.present), 12 << 20);
            [scan.bytes(|table| &table.accessed), scan.bytes(|table| &table.idle)].map(|b| b >> 10)
        };
        let all: Vec<(u64, [u64; 2])> =
            found.map(|scan| (scan.at_us / 1_000_000, kib(&scan))).collect();
        // All was written before; what was not accessed since is idle two scans later.
        let (all_of_it, singles) = (12 << 10, 2 << 10);
        let expected = [
            (0, [all_of_it, 0]),
            (1, [singles, 0]),
            (2, [singles, all_of_it - singles]),
            (3, [singles, all_of_it - singles]),
            (4, [0, all_of_it - singles]),
            (5, [0, all_of_it]),
            (6, [0, all_of_it]),
            (7, [0, all_of_it]),
        ];
        assert_eq!(all, expected);
        assert!(cost.cpu_us > 0);
    }
}
