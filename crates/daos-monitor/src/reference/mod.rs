//! The reference monitor: region-based sampling, a tick at a time.
//!
//! The algorithm of the seeds (DAOS paper §3.1, cover letter's Appendix C) with
//! the semantics of the kernel's `kdamond_fn`, bar its defects, which
//! [`adjust`] names; another is that it shares the region count of its last split
//! between all monitors. Whoever drives this one calls [`tick`](Monitor::tick) once a
//! sampling interval.
//!
//! | module | holds |
//! |---|---|
//! | this one | the state, and the ticks |
//! | [`layout`] | the three ranges of a process that are worth monitoring |
//! | [`region`] | a region with its counters |
//! | [`adjust`] | ageing, merging and splitting regions, fitting them to the mappings |

pub mod adjust;
pub mod layout;
pub mod region;

pub use region::Region;

use super::Monitor;
use daos_core::{
    AccessCheck, AddrRange, AttrsError, Cost, CpuCost, MonitorAttrs, Observation, PAGE_SIZE,
    RegionSnapshot, Rng, Snapshot, Target, TargetId, TargetSnapshot, Window,
};

/// The regions of one target.
#[derive(Debug, Clone)]
struct TargetRegions {
    id: TargetId,
    resident_bytes: Option<u64>,
    regions: Vec<Region>,
}

/// A page that was armed, and the region that it speaks for.
#[derive(Debug, Clone, Copy)]
struct Sample {
    target: usize,
    region: usize,
}

/// The reference monitor.
#[derive(Debug, Clone)]
pub struct Reference {
    attrs: MonitorAttrs,
    /// Whether regions are merged and split. Else there are as many as may be, of equal
    /// size: what adjusting them is worth is measured against that.
    adjusts: bool,
    rng: Rng,
    /// Ticks whose checks are done.
    ticks: u64,
    targets: Vec<TargetRegions>,
    /// What the last tick armed: `samples[i]` is of `windows[i]`.
    samples: Vec<Sample>,
    windows: Vec<Window>,
    /// What the last check found, kept for its allocation.
    observations: Vec<Observation>,
    started: bool,
    /// Regions are merged up to this many bytes, and cut above it at an update.
    size_limit: u64,
    /// Number of regions before the last split.
    last_split: usize,
    /// The region at which the next tick starts when there are more than may be checked.
    first_region: usize,
    interval_start_us: u64,
    cost: Cost,
}

impl Monitor for Reference {
    fn attrs(&self) -> &MonitorAttrs {
        &self.attrs
    }

    fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Checks the pages that the tick before armed, closes the aggregation
    /// interval when it is over, follows the targets' mappings when that is due,
    /// and arms a random page of each region.
    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error> {
        let mut snapshot = None;
        if self.started {
            self.check(access)?;
            self.ticks += 1;
            if self.ticks.is_multiple_of(self.attrs.ticks_per_aggregation()) {
                snapshot = Some(self.aggregate(now_us));
            }
            if self.ticks.is_multiple_of(self.attrs.ticks_per_update()) {
                self.update(access)?;
            }
        } else {
            self.update(access)?;
            self.started = true;
            self.interval_start_us = now_us;
        }
        self.arm(access)?;
        Ok(snapshot)
    }

    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        let sparse = access.capabilities().sparse;
        let live = access.targets()?;
        self.forget_samples();
        self.follow(live, sparse);
        Ok(())
    }

    fn wait_us(&self) -> u64 {
        self.attrs.sample_us
    }

    /// Its cost is bounded by the number of regions, whatever a check costs.
    fn charge(&mut self, spent: CpuCost, _over_us: u64) {
        self.cost.charge(spent);
    }

    fn charge_beside(&mut self, spent: CpuCost) {
        self.cost.charge(spent);
    }
}

impl Reference {
    /// A monitor that draws its pages from a stream given by `seed`.
    ///
    /// Same seed and same observations give the same regions, on every machine.
    pub fn new(attrs: MonitorAttrs, seed: u64) -> Result<Self, AttrsError> {
        attrs.validate()?;
        Ok(Self {
            attrs: attrs.in_whole_ticks(),
            adjusts: true,
            rng: Rng::new(seed),
            ticks: 0,
            targets: Vec::new(),
            samples: Vec::new(),
            windows: Vec::new(),
            observations: Vec::new(),
            started: false,
            size_limit: u64::MAX,
            last_split: 0,
            first_region: 0,
            interval_start_us: 0,
            cost: Cost::default(),
        })
    }

    /// The same with regions of equal size that are never merged or split, as many as
    /// the bound allows.
    pub fn with_equal_regions(attrs: MonitorAttrs, seed: u64) -> Result<Self, AttrsError> {
        Ok(Self { adjusts: false, ..Self::new(attrs, seed)? })
    }

    /// Ticks whose checks are done.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The regions of `target` as they are now, sorted.
    pub fn regions(&self, target: TargetId) -> Option<&[Region]> {
        self.targets.iter().find(|t| t.id == target).map(|t| t.regions.as_slice())
    }

    /// Draws a page of each region and arms it. When there are more regions than
    /// may be checked in a tick, they take turns: the bound holds whatever the
    /// targets do.
    fn arm<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        self.forget_samples();
        let total = self.nr_regions();
        let max = self.attrs.max_regions as usize;
        let skip = if total > max { self.first_region % total } else { 0 };
        self.first_region = skip + max;

        let everyone = self.targets.iter().enumerate().flat_map(|(target, monitored)| {
            monitored
                .regions
                .iter()
                .enumerate()
                .map(move |(region, r)| (Sample { target, region }, monitored.id, r.range))
        });
        // Twice round, so that a tick that reaches the end goes on at the start.
        let wrapped = if total > max { total } else { 0 };
        for (sample, target, range) in
            everyone.clone().chain(everyone.take(wrapped)).skip(skip).take(total.min(max))
        {
            let page = self.rng.below(range.pages());
            self.samples.push(sample);
            self.windows.push(Window { target, start: range.start + page * PAGE_SIZE, pages: 1 });
        }
        access.arm(&self.windows)
    }

    fn check<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        self.observations.clear();
        access.check(&self.windows, &mut self.observations)?;
        debug_assert_eq!(self.observations.len(), self.windows.len());
        for (sample, seen) in self.samples.iter().zip(&self.observations) {
            let region = &mut self.targets[sample.target].regions[sample.region];
            region.nr_accesses += u32::from(seen.accessed > 0);
            region.nr_unobserved += u32::from(seen.unobservable > 0);
        }
        self.cost.checks.push(self.windows.len() as u32);
        self.cost.pages += self.windows.len() as u64;
        self.cost.armed += self.windows.len() as u64;
        self.forget_samples();
        Ok(())
    }

    /// Samples point at regions by place, so whatever moves regions drops them.
    fn forget_samples(&mut self) {
        self.samples.clear();
        self.windows.clear();
    }

    /// Age, merge, hand out, reset, split.
    fn aggregate(&mut self, now_us: u64) -> Snapshot {
        let highest = self.regions_mut().map(|r| r.nr_accesses).max().unwrap_or(0);
        // As in the kernel's `kdamond_fn`.
        let threshold = highest / 10;
        for target in &mut self.targets {
            adjust::age(&mut target.regions, threshold);
        }
        if self.adjusts {
            self.merge(threshold, |r| r.nr_accesses);
            // A region that found no room at the update may find it now.
            self.cut_large();
        }
        let snapshot = self.snapshot(now_us);
        for region in self.regions_mut() {
            region.last_nr_accesses = region.nr_accesses;
            region.nr_accesses = 0;
            region.nr_unobserved = 0;
        }
        if self.adjusts {
            self.split();
        }
        snapshot
    }

    /// Merges once with `threshold`, and again with a doubled one while there
    /// are more regions than the bound allows. Where merging those of any count is not
    /// enough, since any two are above the size limit together, that is doubled as well.
    fn merge(&mut self, mut threshold: u32, count: impl Fn(&Region) -> u32 + Copy) {
        let highest = self.attrs.ticks_per_aggregation();
        let total: u64 = self.regions_mut().map(|r| r.range.len()).sum();
        let mut size_limit = self.size_limit;
        loop {
            for target in &mut self.targets {
                adjust::merge(&mut target.regions, threshold, size_limit, count);
            }
            if self.nr_regions() <= self.attrs.max_regions as usize {
                break;
            }
            if u64::from(threshold) < highest {
                threshold = (threshold * 2).max(1);
            } else if size_limit < total {
                size_limit = size_limit.saturating_mul(2);
            } else {
                break;
            }
        }
    }

    fn snapshot(&mut self, now_us: u64) -> Snapshot {
        let highest = self.attrs.ticks_per_aggregation() as f64;
        let targets = self.targets.iter().map(|t| TargetSnapshot {
            id: t.id,
            resident_bytes: t.resident_bytes,
            regions: t
                .regions
                .iter()
                .map(|r| RegionSnapshot {
                    range: r.range,
                    access_rate: f64::from(r.nr_accesses) / highest,
                    unobserved: f64::from(r.nr_unobserved) / highest,
                    age_us: u64::from(r.age) * self.attrs.aggregation_us,
                })
                .collect(),
            pages: Default::default(),
            working_sets: None,
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

    /// In two; in three when the last split changed nothing and there is room. The bounds are
    /// those of the kernel's `kdamond_split_regions`.
    fn split(&mut self) {
        let before = self.nr_regions();
        let max = self.attrs.max_regions as usize;
        if before > max / 2 {
            return;
        }
        let parts = if before == self.last_split && before < max / 3 { 3 } else { 2 };
        for target in &mut self.targets {
            adjust::split(&mut target.regions, parts, &mut self.rng);
        }
        self.last_split = before;
    }

    /// Takes over the targets that live now and fits the regions to their ranges.
    ///
    /// A region larger than `total / min_regions` is cut evenly: so a new target
    /// starts with about `min_regions`, and the lower bound holds also when a
    /// target grows (as the kernel's does since 7.1).
    fn follow(&mut self, live: Vec<Target>, sparse: bool) {
        self.targets.retain(|t| live.iter().any(|l| l.id == t.id));
        for Target { id, ranges, resident_bytes, .. } in live {
            let ranges = if sparse { layout::three_ranges(&ranges) } else { ranges };
            let ranges: Vec<AddrRange> = ranges.into_iter().filter(|r| r.pages() > 0).collect();
            let at = match self.targets.binary_search_by_key(&id, |t| t.id) {
                Ok(at) => at,
                Err(at) => {
                    self.targets
                        .insert(at, TargetRegions { id, resident_bytes, regions: Vec::new() });
                    at
                }
            };
            self.targets[at].resident_bytes = resident_bytes;
            adjust::fit(&mut self.targets[at].regions, &ranges);
        }

        let total: u64 = self.regions_mut().map(|r| r.range.len()).sum();
        let MonitorAttrs { min_regions, max_regions, .. } = self.attrs;
        let regions = if self.adjusts { min_regions } else { max_regions };
        self.size_limit = (total / u64::from(regions)).max(PAGE_SIZE);
        self.cut_large();
        if self.nr_regions() > self.attrs.max_regions as usize {
            // Counts of this interval may be reset already; the last ones are not.
            self.merge(0, |r| r.last_nr_accesses.max(r.nr_accesses));
            self.cut_large();
        }
    }

    /// Cuts regions above the size limit while there is room for more: with none
    /// above it there are at least `min_regions`.
    fn cut_large(&mut self) {
        for at in 0..self.targets.len() {
            let others = self.nr_regions() - self.targets[at].regions.len();
            let room = (self.attrs.max_regions as usize).saturating_sub(others);
            adjust::split_evenly(&mut self.targets[at].regions, self.size_limit, room);
        }
    }

    fn nr_regions(&self) -> usize {
        self.targets.iter().map(|t| t.regions.len()).sum()
    }

    fn regions_mut(&mut self) -> impl Iterator<Item = &mut Region> {
        self.targets.iter_mut().flat_map(|t| &mut t.regions)
    }
}

#[cfg(test)]
mod tests;
