//! The end of an aggregation interval: subregions that are alike are merged, and
//! aggregated into the regions of a snapshot.

use super::target::TargetSubregions;
use super::{Windows, intervals, page_map, regions};
use daos_core::{Snapshot, TargetSnapshot};

/// Aggregation intervals after which the intervals themselves are tuned. Chosen: by then
/// the estimates are of the intervals in force.
const INTERVALS_TUNED: u64 = 10;
/// Most times that the aggregation interval is doubled to keep to the budget. Chosen: 6.4 s
/// by default.
const MAX_DOUBLINGS: u32 = 6;

impl Windows {
    /// Ends the aggregation interval, and begins the next.
    pub(super) fn end_interval(&mut self, now_us: u64) -> Snapshot {
        let (limit, interval) = (self.size_limit(), self.interval);
        let room = self.room() > 2 * self.attrs.max_regions as usize;
        for target in &mut self.targets {
            target.merge_alike(limit, (interval, now_us), room);
        }
        let aggregation_us = self.aggregation_us();
        // Whoever calls late ends all that is over at once.
        let end_us = if now_us < self.end_us + aggregation_us { self.end_us } else { now_us };
        let bounds = (self.attrs.min_regions as usize, self.attrs.max_regions as usize);
        let regions = regions::aggregate(&self.targets, bounds, end_us);
        let target =
            |(target, (regions, runs)): (&TargetSubregions, (Vec<_>, Vec<_>))| TargetSnapshot {
                id: target.id,
                resident_bytes: target.resident_bytes,
                regions,
                pages: page_map::overlay(runs, target.maps.runs(end_us)),
            };
        let snapshot = Snapshot {
            start_us: self.start_us,
            end_us,
            aggregation_us,
            sample_us: self.attrs.sample_us,
            targets: self.targets.iter().zip(regions).map(target).collect(),
            cost: std::mem::take(&mut self.cost),
        };
        if self.auto_intervals && self.interval.is_multiple_of(INTERVALS_TUNED) {
            self.tune_intervals();
        }
        self.doublings =
            self.budget.interval_doublings(self.attrs.aggregation_us).min(MAX_DOUBLINGS);
        self.begin_interval(end_us);
        snapshot
    }

    /// Changes the intervals if others fit better, and what is known of rates with them.
    fn tune_intervals(&mut self) {
        let subregions = || self.targets.iter().flat_map(|t| &t.subregions).filter(|s| !s.absent);
        let pages: f64 = subregions().map(|s| s.range.pages() as f64).sum();
        let rates: f64 = subregions().map(|s| s.range.pages() as f64 * s.estimate.rate()).sum();
        let Some(attrs) = intervals::better(&self.attrs, rates / pages.max(1.0)) else { return };
        let factor = attrs.sample_us as f64 / self.attrs.sample_us as f64;
        self.attrs = attrs;
        for subregion in self.targets.iter_mut().flat_map(|t| &mut t.subregions) {
            subregion.estimate = subregion.estimate.rescaled(factor);
        }
    }
}
