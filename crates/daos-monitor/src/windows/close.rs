//! The end of an aggregation interval: cells are tidied up and summed up.

use super::mesh::Mesh;
use super::{Windows, intervals, pages, regions};
use daos_core::snapshot::{Snapshot, TargetSnapshot};

/// Aggregation intervals after which the intervals themselves are looked at.
const INTERVALS_TUNED: u64 = 10;
/// Most times that the aggregation interval is doubled to keep to the budget.
const MAX_STRETCH: u32 = 6;

impl Windows {
    /// Closes the aggregation interval.
    pub(super) fn close(&mut self, now_us: u64) -> Snapshot {
        let (limit, interval) = (self.size_limit(), self.interval);
        let room = self.room() > 2 * self.attrs.max_regions as usize;
        for mesh in &mut self.meshes {
            mesh.merge_alike(limit, (interval, now_us), room);
        }
        let aggregation_us = self.aggregation_us();
        // Whoever calls late closes all that is over at once.
        let end_us = if now_us < self.end_us + aggregation_us { self.end_us } else { now_us };
        let bounds = (self.attrs.min_regions as usize, self.attrs.max_regions as usize);
        let regions = regions::sum_up(&self.meshes, bounds, end_us);
        let target = |(mesh, (regions, runs)): (&Mesh, (Vec<_>, Vec<_>))| TargetSnapshot {
            id: mesh.id,
            resident_bytes: mesh.resident_bytes,
            regions,
            pages: pages::overlay(runs, mesh.maps.runs(end_us)),
        };
        let snapshot = Snapshot {
            start_us: self.start_us,
            end_us,
            aggregation_us,
            sample_us: self.attrs.sample_us,
            targets: self.meshes.iter().zip(regions).map(target).collect(),
            cost: std::mem::take(&mut self.cost),
        };
        if self.auto_intervals && self.interval.is_multiple_of(INTERVALS_TUNED) {
            self.tune_intervals();
        }
        self.stretch = self.budget.stretch(self.attrs.aggregation_us).min(MAX_STRETCH);
        self.begin_interval(end_us);
        snapshot
    }

    /// Changes the intervals if others fit better, and what is known of rates with them.
    fn tune_intervals(&mut self) {
        let cells = || self.meshes.iter().flat_map(|m| &m.cells).filter(|c| !c.void);
        let pages: f64 = cells().map(|c| c.range.pages() as f64).sum();
        let rates: f64 = cells().map(|c| c.range.pages() as f64 * c.evidence.rate()).sum();
        let Some(attrs) = intervals::better(&self.attrs, rates / pages.max(1.0)) else { return };
        let factor = attrs.sample_us as f64 / self.attrs.sample_us as f64;
        self.attrs = attrs;
        for cell in self.meshes.iter_mut().flat_map(|m| &mut m.cells) {
            cell.evidence = cell.evidence.rescaled(factor);
        }
    }
}
