//! The full scan: every page, every aggregation interval. The brute force that cleverer
//! monitors are compared with.
//!
//! All pages in use are armed when an aggregation interval begins, and all pages are read
//! one sampling interval later: a sample for each page. A rate is the share of the last few
//! samples ([`SAMPLES`]) in which the page was accessed. What it costs grows with the memory,
//! and nothing bounds it.

mod regions;
mod table;

use daos_core::{
    AccessCheck, AttrsError, Cost, CpuCost, MonitorAttrs, Observation, Snapshot, TargetId,
    TargetSnapshot, Window,
};
use daos_monitor::Monitor;
use table::Table;

/// Samples that a rate is the mean of. Chosen: with four, what is accessed in half of them
/// is told from what is accessed in a quarter, and a change shows in four intervals.
pub const SAMPLES: usize = 4;
/// The highest access frequency: they are in percent.
const HIGHEST: u32 = 100;
/// Windows in a batch. Chosen: their observations take about 100 KiB.
const BATCH: usize = 1024;

/// The page tables of one target.
#[derive(Debug, Clone)]
struct ScannedTarget {
    id: TargetId,
    resident_bytes: Option<u64>,
    tables: Vec<Table>,
}

/// What the next tick is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The first: to read the targets.
    Start,
    /// To check what was armed.
    Check,
    /// To end the aggregation interval, and to arm.
    EndInterval,
}

/// Reads all pages twice an aggregation interval: to arm those in use, and to check.
#[derive(Debug, Clone)]
pub struct FullScan {
    attrs: MonitorAttrs,
    targets: Vec<ScannedTarget>,
    next: Next,
    intervals: u64,
    interval_start_us: u64,
    cost: Cost,
    /// Kept for their allocations.
    windows: Vec<Window>,
    found: Vec<Observation>,
}

impl FullScan {
    /// A monitor with these intervals and so many regions at most.
    pub fn new(attrs: MonitorAttrs) -> Result<Self, AttrsError> {
        attrs.validate()?;
        Ok(Self {
            attrs: attrs.in_whole_ticks(),
            targets: Vec::new(),
            next: Next::Start,
            intervals: 0,
            interval_start_us: 0,
            cost: Cost::default(),
            windows: Vec::new(),
            found: Vec::new(),
        })
    }

    /// Reads all pages, and gives what was found to each table.
    fn read<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        mut take: impl FnMut(&mut Table, &Observation),
    ) -> Result<(), A::Error> {
        for target in &mut self.targets {
            for tables in target.tables.chunks_mut(BATCH) {
                self.windows.clear();
                self.windows.extend(tables.iter().map(|table| table.window(target.id)));
                self.found.clear();
                access.check(&self.windows, &mut self.found)?;
                debug_assert_eq!(self.found.len(), self.windows.len());
                tables.iter_mut().zip(&self.found).for_each(|(table, seen)| take(table, seen));
                self.cost.pages += tables.iter().map(|table| u64::from(table.pages)).sum::<u64>();
            }
        }
        Ok(())
    }

    /// Arms the tables in which a page is in use.
    fn arm<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        self.read(access, |table, seen| table.young = seen.accessed)?;
        for target in &self.targets {
            let young = target.tables.iter().filter(|table| table.young > 0);
            self.windows.clear();
            self.windows.extend(young.clone().map(|table| table.window(target.id)));
            access.arm(&self.windows)?;
            self.cost.armed += young.map(|table| u64::from(table.young)).sum::<u64>();
        }
        Ok(())
    }

    fn snapshot(&mut self, now_us: u64) -> Snapshot {
        let most = self.attrs.max_regions as usize;
        let all: usize = self.targets.iter().map(|target| target.tables.len()).sum();
        let targets = self.targets.iter().map(|target| {
            // Each target has its share of the regions, at least one.
            let share = (most * target.tables.len()).checked_div(all).unwrap_or(0).max(1);
            let (regions, pages) =
                regions::regions_of(&target.tables, share, self.attrs.aggregation_us);
            let (id, resident_bytes) = (target.id, target.resident_bytes);
            TargetSnapshot { id, resident_bytes, regions, pages: pages.into(), working_sets: None }
        });
        Snapshot {
            start_us: std::mem::replace(&mut self.interval_start_us, now_us),
            end_us: now_us,
            aggregation_us: self.attrs.aggregation_us,
            sample_us: self.attrs.sample_us,
            targets: targets.collect(),
            cost: std::mem::take(&mut self.cost),
        }
    }
}

impl Monitor for FullScan {
    fn attrs(&self) -> &MonitorAttrs {
        &self.attrs
    }

    fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error> {
        if self.next == Next::Start {
            self.update(access)?;
            self.interval_start_us = now_us;
            self.arm(access)?;
            self.next = Next::Check;
            return Ok(None);
        }
        if self.next == Next::Check {
            self.read(access, Table::take)?;
            let tables: usize = self.targets.iter().map(|target| target.tables.len()).sum();
            self.cost.checks.push(u32::try_from(tables).unwrap_or(u32::MAX));
            self.next = Next::EndInterval;
            if self.wait_us() > 0 {
                return Ok(None);
            }
        }
        let snapshot = self.snapshot(now_us);
        self.intervals += 1;
        if self.intervals.is_multiple_of(self.attrs.update_us / self.attrs.aggregation_us) {
            self.update(access)?;
        }
        self.arm(access)?;
        self.next = Next::Check;
        Ok(Some(snapshot))
    }

    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        let before = std::mem::take(&mut self.targets);
        let mut before: std::collections::BTreeMap<_, _> =
            before.into_iter().map(|target| (target.id, target.tables)).collect();
        let live = access.targets()?;
        self.targets = live
            .into_iter()
            .map(|target| {
                let known = before.remove(&target.id).unwrap_or_default();
                let tables = table::follow(known, &target.ranges);
                ScannedTarget { id: target.id, resident_bytes: target.resident_bytes, tables }
            })
            .collect();
        self.targets.sort_by_key(|target| target.id);
        Ok(())
    }

    fn wait_us(&self) -> u64 {
        match self.next {
            Next::Start | Next::Check => self.attrs.sample_us,
            Next::EndInterval => self.attrs.aggregation_us - self.attrs.sample_us,
        }
    }

    fn charge(&mut self, spent: CpuCost, _over_us: u64) {
        self.cost.charge(spent);
    }

    fn charge_beside(&mut self, spent: CpuCost) {
        self.cost.charge(spent);
    }
}

#[cfg(test)]
mod tests;
