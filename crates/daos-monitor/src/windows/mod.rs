//! The windows monitor: a page table at a time.
//!
//! Ours. The reference samples one page of each region twenty times in an aggregation
//! interval; a page-table window answers for up to 512 pages at once, and cold memory,
//! once armed, is proven cold by reading alone. So this monitor samples a few times in an
//! interval, at many places, and arms few of them:
//!
//! - A target's memory is divided into *subregions* with a probe each: some neighbouring
//!   pages that stand for all of it. Where nothing is in use the probe was armed long ago,
//!   and it is *rechecked*: reading it costs next to nothing. Where something is, a few
//!   pages are armed and checked a sampling interval later.
//! - *Exploration* samples between the probes, at places that cover the space evenly
//!   however long one goes on (multiples of the golden ratio).
//! - What contradicts a subregion is split out of it and sampled again; an edge between
//!   subregions is narrowed down by splitting the gap between their probes, and read off
//!   the bitmap at last.
//! - All of it heeds a budget: what is most in doubt comes first, and exploration takes
//!   what is left.
//!
//! At the end of an aggregation interval neighbouring subregions are merged into regions
//! by a test of whether their rates differ.
//!
//! | module | holds |
//! |---|---|
//! | this one | the state, and the ticks that tie the rest together |
//! | `round` | a sampling round: what is armed, in the order of doubt |
//! | `recheck` | its first step: probes that were armed long ago are read |
//! | `check` | its end: what was armed is checked, and what is known is updated |
//! | `interval_end`, `regions` | the end of an aggregation interval: aggregation into regions |
//! | `subregion`, `target`, `edges` | the subregions of a target, and where those that differ meet |
//! | `estimate`, `segment` | the statistics: of rates, and of bitmaps |
//! | `page_map` | memory that is known page by page |
//! | `budget`, `intervals` | what it may cost, and how often to sample |

mod budget;
mod check;
mod edges;
mod estimate;
mod interval_end;
mod intervals;
mod page_map;
mod recheck;
mod regions;
mod round;
mod segment;
mod subregion;
mod target;

use super::{Monitor, MonitorOptions};
use budget::Budget;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{
    AccessCheck, AddrRange, AttrsError, Cost, CpuCost, MonitorAttrs, Observation, PAGE_SIZE, Rng,
    Snapshot, Window,
};
use target::{EDGE_PAGES, TargetSubregions};

/// Bound on the overhead unless the user says otherwise, as a share of one CPU. Chosen:
/// half of what the paper's monitor takes on average.
pub const DEFAULT_MAX_OVERHEAD: f64 = 0.005;

/// Pages in the probe of a subregion where nothing is in use. Chosen: their entries are one
/// cache line, which costs as much to read as one of them.
const IDLE_PROBE_PAGES: u64 = 8;
/// Pages in the probe of a subregion where something is. Chosen: each costs the target
/// something, and fewer could not show a change at once.
const USED_PROBE_PAGES: u64 = 4;
/// The access rate from which on a subregion counts as in use. Chosen: at the
/// default sampling interval, some four accesses of a page in a second.
const USED_RATE: f64 = 0.02;
/// Aggregation intervals from one sample of a subregion to the next. Chosen: changes show
/// within two intervals, for half the cost of sampling in each.
const SAMPLE_EVERY: u64 = 2;
/// Subregions to be sampled soon from which on a round for them alone is worth its wake-ups.
/// Measured: with a round for fewer, wake-ups took a third of a bound of 1 %.
const UNSURE_FOR_ROUND: usize = 16;
/// Most rounds in an aggregation interval. Chosen: at two ticks each they fit the default
/// one, which has twenty.
const MAX_ROUNDS: u32 = 8;

/// What some pages are sampled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// They are the probe of the subregion that they lie in.
    Probe,
    /// To see whether their subregion is what it is thought to be.
    Explore,
    /// An edge lies among them.
    Edge,
    /// To know each of them.
    PageMap,
}

/// Pages that were armed, to be checked a sampling interval later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    target: usize,
    pages: AddrRange,
    purpose: Purpose,
}

/// Watches targets a page table at a time.
#[derive(Debug, Clone)]
pub struct Windows {
    attrs: MonitorAttrs,
    auto_intervals: bool,
    rng: Rng,
    budget: Budget,
    targets: Vec<TargetSubregions>,
    /// What was armed last.
    samples: Vec<Sample>,
    /// When that was; `None` once it was checked.
    armed_us: Option<u64>,
    /// Number of the aggregation interval, from 1.
    interval: u64,
    start_us: u64,
    end_us: u64,
    next_update_us: u64,
    /// When the next round begins.
    round_us: u64,
    /// Rounds that this interval has had.
    rounds: u32,
    /// Something was found that is worth another round at once.
    wants_round: bool,
    /// Subregions whose rate changed in the last check.
    changes: u32,
    /// Whether they are so many that they are parts of something larger.
    is_widespread: bool,
    /// How often the aggregation interval is doubled to keep to the budget.
    doublings: u32,
    /// The subregion at which the budget for rechecks ended last, 0 if it did not.
    recheck_from: usize,
    /// The number of the next place to explore.
    explore_place: u64,
    /// Places explored since exploration began.
    nr_explored: u64,
    /// Pages sampled there.
    explored_pages: u64,
    /// Bytes mapped when exploration began.
    explored_bytes: u64,
    /// The subregion at which the next selection of probes begins, so that each is sampled
    /// in turn.
    first_probe: usize,
    /// Largest window that the primitive takes, in pages.
    most_pages: u64,
    started: bool,
    planned_us: u64,
    wait_us: u64,
    windows: Vec<Window>,
    observations: Vec<Observation>,
    cost: Cost,
}

impl Windows {
    /// A monitor that draws from a stream given by `seed`.
    ///
    /// Same seed and same observations give the same regions, on every machine.
    pub fn new(
        attrs: MonitorAttrs,
        options: MonitorOptions,
        seed: u64,
    ) -> Result<Self, AttrsError> {
        attrs.validate()?;
        let mut rng = Rng::new(seed);
        let explore_place = rng.below(1 << 32);
        Ok(Self {
            attrs: attrs.in_whole_ticks(),
            auto_intervals: options.auto_intervals,
            rng,
            budget: Budget::new(options.max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD)),
            targets: Vec::new(),
            samples: Vec::new(),
            armed_us: None,
            interval: 0,
            start_us: 0,
            end_us: 0,
            next_update_us: 0,
            round_us: 0,
            rounds: 0,
            wants_round: false,
            changes: 0,
            is_widespread: false,
            doublings: 0,
            recheck_from: 0,
            explore_place,
            nr_explored: 0,
            explored_pages: 0,
            explored_bytes: 0,
            first_probe: 0,
            most_pages: u64::from(MAX_WINDOW_PAGES),
            started: false,
            planned_us: 0,
            wait_us: 0,
            windows: Vec::new(),
            observations: Vec::new(),
            cost: Cost::default(),
        })
    }

    /// Length of an aggregation interval in microseconds, doubled as often as need be.
    fn aggregation_us(&self) -> u64 {
        self.attrs.aggregation_us << self.doublings
    }

    fn begin_interval(&mut self, start_us: u64) {
        self.interval += 1;
        self.start_us = start_us;
        self.end_us = start_us + self.aggregation_us();
        self.rounds = 0;
    }

    /// Bytes mapped, by all targets together.
    fn bytes(&self) -> u64 {
        self.targets.iter().map(TargetSubregions::bytes).sum()
    }

    /// Most bytes of a subregion; larger ones are split.
    fn size_limit(&self) -> u64 {
        (self.bytes() / u64::from(self.attrs.max_regions / 2).max(3)).max(PAGE_SIZE)
    }

    /// How many subregions more there may be: in total, four for each region.
    fn room(&self) -> usize {
        let subregions: usize = self.targets.iter().map(|m| m.subregions.len()).sum();
        (4 * self.attrs.max_regions as usize).saturating_sub(subregions)
    }

    /// Subregions that are to be sampled soon.
    fn nr_unsure(&self) -> usize {
        self.targets.iter().flat_map(|m| &m.subregions).filter(|c| c.unsure).count()
    }

    /// Most windows that may be armed or read in a tick.
    fn max_samples(&self) -> usize {
        self.attrs.max_regions as usize
    }

    fn count_check(&mut self) {
        self.budget.note_sampling();
        self.cost.checks.push(self.windows.len() as u32);
        self.cost.pages += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
    }

    /// Draws when the first round of the next interval begins.
    fn draw_round(&mut self) {
        let ticks = self.aggregation_us() / self.attrs.sample_us;
        let offset = self.rng.below(ticks.saturating_sub(2).max(1));
        self.round_us = self.end_us + offset * self.attrs.sample_us;
    }
}

impl Monitor for Windows {
    fn attrs(&self) -> &MonitorAttrs {
        &self.attrs
    }

    fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Checks what the tick before armed, ends the aggregation interval when it is over,
    /// and, when a round is due, selects what to sample and arms it.
    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error> {
        self.budget.fill(now_us);
        self.budget.expect(self.budget.wake());
        if !self.started {
            self.started = true;
            self.budget.set_prices(access.prices());
            self.most_pages = u64::from(access.capabilities().max_window_pages);
            self.begin_interval(now_us);
            self.planned_us = now_us;
            self.round_us = now_us;
            self.next_update_us = now_us;
        }
        let sample_us = self.attrs.sample_us;
        if let Some(armed_us) = self.armed_us
            && now_us >= armed_us + sample_us * 3 / 4
        {
            self.armed_us = None;
            self.check_samples(access, now_us, armed_us)?;
            let again = self.wants_round
                && (self.is_widespread || self.nr_unsure() >= UNSURE_FOR_ROUND)
                && self.rounds < MAX_ROUNDS
                && now_us + 2 * sample_us <= self.end_us;
            if again {
                self.round_us = now_us;
            }
        }
        let mut snapshot = None;
        if self.armed_us.is_none() {
            if now_us >= self.end_us {
                snapshot = Some(self.end_interval(now_us));
            }
            if now_us >= self.next_update_us {
                self.update(access)?;
                self.next_update_us = now_us + self.attrs.update_us;
            }
            if now_us >= self.round_us {
                self.draw_round();
                self.begin_round(access, now_us)?;
            }
        }
        // Where the driver thinks we are: it leaves out ticks that were missed.
        let late_us = now_us.saturating_sub(self.planned_us) / sample_us * sample_us;
        let due_us = if now_us < self.planned_us { now_us } else { self.planned_us + late_us };
        let next_us =
            self.armed_us.map_or(self.round_us, |armed_us| armed_us.min(due_us) + sample_us);
        self.planned_us = next_us.max(due_us + sample_us / 4);
        self.wait_us = self.planned_us - due_us;
        Ok(snapshot)
    }

    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        let live = access.targets()?;
        let now_us = self.start_us;
        self.samples.clear();
        self.armed_us = None;
        self.targets.retain(|m| live.iter().any(|l| l.id == m.id));
        for target in live {
            let at = match self.targets.binary_search_by_key(&target.id, |m| m.id) {
                Ok(at) => at,
                Err(at) => {
                    self.targets.insert(at, TargetSubregions::new(target.id));
                    at
                }
            };
            let ranges = target.ranges.into_iter().filter(|r| r.pages() > 0).collect();
            self.targets[at].resident_bytes = target.resident_bytes;
            self.targets[at].fit(ranges, now_us);
        }
        let bytes = self.bytes();
        if bytes.abs_diff(self.explored_bytes) > self.explored_bytes / 8 {
            // There is much that was never sampled.
            (self.nr_explored, self.explored_pages, self.explored_bytes) = (0, 0, bytes);
        }
        let limit = self.size_limit();
        for at in 0..self.targets.len() {
            let most = self.targets[at].subregions.len() + self.room();
            self.targets[at].split_large(limit, most);
            let (rng, interval) = (&mut self.rng, self.interval);
            for subregion in
                self.targets[at].subregions.iter_mut().filter(|c| c.unsure && c.nr_samples == 0)
            {
                if subregion.probe.pages() > EDGE_PAGES {
                    subregion.place_probe(IDLE_PROBE_PAGES, rng);
                    subregion.due = interval;
                }
            }
        }
        Ok(())
    }

    fn wait_us(&self) -> u64 {
        self.wait_us
    }

    fn charge(&mut self, spent: CpuCost) {
        self.cost.charge(spent);
        self.budget.charge(spent);
    }
}

#[cfg(test)]
mod tests;
