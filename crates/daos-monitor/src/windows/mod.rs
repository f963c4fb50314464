//! The windows monitor: a page table at a time.
//!
//! Ours. The reference samples one page of each region twenty times in an aggregation
//! interval; a page-table window answers for up to 512 pages at once, and what was armed and
//! not accessed goes on waiting, so that reading alone proves memory cold. So this monitor
//! looks at many places, each for as long as tells most about it, and arms few of them:
//!
//! - A target's memory is divided into *subregions*, each with a probe: some neighbouring
//!   pages that stand for all of it. A look at them says how many of those that waited for
//!   an access had one, and from looks of any length the rate is *estimated*, in accesses a
//!   second. Often accessed memory is armed for a sampling interval, seldom accessed memory
//!   for seconds, and idle memory stays armed and is only read.
//! - If all page tables can be read often enough (`FOR_TABLES`), each is a subregion of its own,
//!   and its *table* says which pages are in use and since when each of the others was left
//!   alone.
//! - Otherwise *scouts* look between the probes. Some explore all of the memory: a place that
//!   differs from its subregion is split out. Others search the border between two subregions
//!   that differ.
//! - A *budget* bounds what all of this costs, from the first tick on.
//!
//! At the end of an aggregation interval neighbouring subregions that are alike become
//! regions.
//!
//! A *tick* is one call of [`Monitor::tick`]. A *round* reads what is due and arms what is to be
//! read next: it takes one tick, or two if something is to be read a sampling interval later.
//!
//! | module | holds |
//! |---|---|
//! | this one | the state, and the ticks that tie the rest together |
//! | `round` | what is read, and what comes of it |
//! | `arming` | what is armed |
//! | `at_once` | arming all of a target at once |
//! | `peers` | what page tables tell of each other after all were armed at once |
//! | `looks` | when a subregion is looked at next |
//! | `scout` | places between the probes |
//! | `subregion` | a subregion |
//! | `subregion/probe` | which of its pages are looked at |
//! | `subregion/look` | what arming and reading them tells |
//! | `subregion/counting` | how many of them are accessed within which time, as counted |
//! | `subregion/told` | what is told of it: how much is accessed how often, and since when |
//! | `subregion/runs` | the runs of its pages, as they were last found |
//! | `subregion/bursts` | use that comes in bursts |
//! | `subregion/turns` | when it comes into use, and falls idle, as a whole |
//! | `target` | the subregions of a target |
//! | `table` | the pages of a page table, each for itself |
//! | `evidence` | what looks tell of a rate |
//! | `estimate` | from looks to rates |
//! | `together` | pages that are accessed all at once, as in a sweep: how often |
//! | `turns` | page tables that come into use as a whole, where that is expensive |
//! | `ages` | whether memory has been idle for about as long |
//! | `curve` | how many pages are accessed within which time |
//! | `seen` | how many were accessed of late, as far as was seen |
//! | `survey` | how much is accessed, from an even sample of all memory |
//! | `working_set` | how much of a target is accessed within which time |
//! | `growth` | how much memory was filled of late, from resident sizes |
//! | `regions`, `page_runs` | aggregation: from subregions to regions, and to runs of pages |
//! | `budget` | what monitoring may cost, and what it does cost |
//! | `intervals` | sampling and aggregation intervals that fit the workload |

mod ages;
mod arming;
mod at_once;
mod budget;
mod curve;
mod estimate;
mod evidence;
mod growth;
mod intervals;
mod looks;
mod page_runs;
mod peers;
mod regions;
mod round;
mod scout;
mod seen;
mod subregion;
mod survey;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod together;
mod turns;
mod working_set;

use super::{Monitor, MonitorOptions};
use at_once::AtOnce;
use budget::{Budget, KEPT_FOR_CHANGE};
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{
    AccessCheck, AttrsError, Cost, CpuCost, MonitorAttrs, Observation, PAGE_SIZE, Rng, Snapshot,
    TargetId, TargetSnapshot, Window,
};
use page_runs::FoundAt;
use round::{Place, Who};
use scout::Scout;
use std::cmp::Reverse;
use std::collections::HashMap;
use target::TargetSubregions;

pub use daos_core::DEFAULT_MAX_OVERHEAD;

/// Pages in the probe of a subregion of which nothing is known, or which is idle. Chosen: their
/// page-table entries are one cache line, which costs as much to read as one entry.
const IDLE_PAGES: u64 = 8;
/// Most subregions for each region that the attributes allow. Chosen.
const SUBREGIONS_PER_REGION: usize = 4;
/// The share of the budget that reading all page tables may take, for them to be known one by one.
/// Chosen.
const FOR_TABLES: f64 = 0.4;
/// The time in seconds in which that share of the budget has to pay for reading all page tables
/// once. Chosen.
const TABLES_READ_IN: f64 = 4.0;
/// Hysteresis: once page tables are known one by one, this many times the affordable number is
/// allowed before that is given up. Chosen: programs map and unmap some of what they have.
const STILL_FITS: f64 = 1.25;
/// Most rounds run back to back: the first, and repeats because something changed. Chosen: 8 rounds
/// of two ticks fit a default aggregation interval (20 ticks).
const MAX_ROUNDS: u32 = 8;
/// A round is repeated at once only if more than this share of a full bucket is left beside the
/// reserve. Chosen: what is left is for the first round of the next interval.
const FOR_FURTHER_ROUNDS: f64 = 0.2;
/// An end of an interval is *unusual* (see `Budget::note_ending`) if finding runs of pages in it
/// cost more than this many seconds of their share of the budget. Chosen: one interval.
const RUNS_FOUND_S: f64 = 0.1;
/// The intervals are tuned once in this many aggregation intervals. Chosen: by then the estimates
/// are of the intervals in force.
const INTERVALS_TUNED: u64 = 10;
/// The share of a full bucket kept in reserve while little of a large memory is explored, or while
/// in debt (otherwise `KEPT_FOR_CHANGE`). Chosen.
const KEPT_WHILE_UNKNOWN: f64 = 0.1;
/// Memory counts as little explored for at most this time after exploring began anew, in
/// microseconds. Chosen.
const MOST_UNKNOWN_US: u64 = 30_000_000;
/// Most times that the aggregation interval is doubled to keep to the budget. Chosen: 6.4 s by
/// default.
const MAX_DOUBLINGS: u32 = 6;
/// A doubled aggregation interval is halved again only if the half would do even with costs this
/// many times as high. Chosen: costs vary, and a change of the interval records the ages of runs of
/// pages anew.
const SPARE: f64 = 1.5;
/// Targets are updated at most this many times as often as usual while one of them grows. Chosen: a
/// gigabyte is mostly filled in a few seconds.
const SOONER: u64 = 4;
/// The share of the budget that updates of targets may take while one of them grows. Chosen: as for
/// `SOONER`.
const FOR_UPDATES: f64 = 0.2;
/// Room for further subregions is scarce if less than one part in this many of the most that there
/// may be is left. Chosen.
const SCARCE_ROOM: usize = 8;
/// Exploring begins anew once mapped memory has grown by more than one part in this many since it
/// last did. Chosen.
const MUCH_NEW: u64 = 8;

/// Watches targets a page table at a time.
#[derive(Debug, Clone)]
pub struct Windows {
    attrs: MonitorAttrs,
    auto_intervals: bool,
    rng: Rng,
    budget: Budget,
    targets: Vec<TargetSubregions>,
    scouts: Vec<Scout>,
    /// Access rate (accesses a second) that most scouts look for.
    sought: f64,
    /// Whether each page table is a subregion of its own.
    fits_tables: bool,
    /// Some page tables are not known page by page yet, but could be.
    is_learning: bool,
    /// Looks wait for long after they are due, since the budget is too small for all of them.
    is_behind: bool,
    /// When there was last enough to arm something.
    could_arm_us: u64,
    at_once: AtOnce,
    /// The windows that are read or were armed in this tick.
    places: Vec<Place>,
    /// When something was last armed.
    armed_us: u64,
    /// Something was armed in the last tick, whose cost is not charged yet.
    just_armed: bool,
    /// When what was armed for one sampling interval is to be read; `None` if nothing was.
    check_us: Option<u64>,
    /// What was armed for one sampling interval.
    to_check: Vec<Who>,
    /// Number of the aggregation interval, from 1.
    interval: u64,
    start_us: u64,
    end_us: u64,
    next_update_us: u64,
    /// When the next round begins.
    round_us: u64,
    /// Rounds run back to back so far, the first included.
    rounds: u32,
    /// Something was found in this round that is worth another one at once.
    wants_round: bool,
    /// Some page table came into use as a whole since `leave_what_turns` last ran.
    has_turned: bool,
    /// Until when page tables that come into use as a whole count as expensive.
    turns_dear_until_us: u64,
    /// Subregions that turned out to be other than they were thought to be, in the rounds that
    /// `rounds` counts.
    changes: u64,
    /// Windows read in the same rounds.
    looks: u64,
    /// Until when the reserve may be spent, since much has just changed.
    astir_until_us: u64,
    /// Until when the last phase that began counts as recent: others may follow.
    in_phases_until_us: u64,
    /// How often the aggregation interval is doubled to keep to the budget.
    doublings: u32,
    /// The number of the next place to explore, from a random start.
    explore_place: u64,
    /// Places explored since exploring last began anew.
    nr_explored: u64,
    /// Bytes mapped when exploring last began anew, or the least since.
    explored_bytes: u64,
    /// When exploring last began anew.
    explored_from_us: u64,
    /// Largest window that the primitive takes, in pages.
    most_pages: u32,
    /// When the first tick began.
    begun_us: Option<u64>,
    /// When the last tick began.
    now_us: u64,
    /// When the next tick is to begin.
    planned_us: u64,
    /// How long the driver is to wait until then, from when this tick was due.
    wait_us: u64,
    /// Buffers, kept for their allocations.
    due: Vec<Reverse<(u64, Who)>>,
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
            scouts: Vec::new(),
            sought: 0.0,
            fits_tables: false,
            is_learning: false,
            is_behind: false,
            could_arm_us: 0,
            at_once: AtOnce::default(),
            places: Vec::new(),
            armed_us: 0,
            just_armed: false,
            check_us: None,
            to_check: Vec::new(),
            interval: 0,
            start_us: 0,
            end_us: 0,
            next_update_us: 0,
            round_us: 0,
            rounds: 0,
            wants_round: false,
            has_turned: false,
            turns_dear_until_us: 0,
            changes: 0,
            looks: 0,
            astir_until_us: 0,
            in_phases_until_us: 0,
            doublings: 0,
            explore_place,
            nr_explored: 0,
            explored_bytes: 0,
            explored_from_us: 0,
            most_pages: MAX_WINDOW_PAGES,
            begun_us: None,
            now_us: 0,
            planned_us: 0,
            wait_us: 0,
            due: Vec::new(),
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
    }

    /// Bytes mapped, by all targets together.
    fn bytes(&self) -> u64 {
        self.targets.iter().map(TargetSubregions::bytes).sum()
    }

    /// How long until targets are updated again. It is shorter in the first moments, in which
    /// programs map most of what they have, and while a target grows.
    fn until_update_us(&self, now_us: u64) -> u64 {
        let since_us = now_us.saturating_sub(self.begun_us.unwrap_or(now_us));
        let grows = self.targets.iter().any(|target| target.growth.is_growing(now_us));
        let usual_us = self.attrs.update_us;
        let paid_us = (self.budget.update_paid_in_us() / FOR_UPDATES) as u64;
        let most_us = if grows { paid_us.clamp(usual_us / SOONER, usual_us) } else { usual_us };
        since_us.max(self.attrs.aggregation_us).min(most_us)
    }

    /// Most bytes of a subregion; larger ones are split.
    fn size_limit(&self) -> u64 {
        (self.bytes() / u64::from(self.attrs.max_regions / 2).max(3)).max(PAGE_SIZE)
    }

    /// Most subregions: one for each range that is mapped, and `SUBREGIONS_PER_REGION` for each
    /// region.
    fn max_subregions(&self) -> usize {
        let ranges: usize = self.targets.iter().map(TargetSubregions::nr_ranges).sum();
        SUBREGIONS_PER_REGION * self.attrs.max_regions as usize + ranges
    }

    /// A target, by index.
    fn index_of(&self, target: TargetId) -> Option<usize> {
        self.targets.binary_search_by_key(&target, |target| target.id).ok()
    }

    fn nr_subregions(&self) -> usize {
        self.targets.iter().map(|target| target.subregions.len()).sum()
    }

    /// How many subregions more there may be.
    fn room(&self) -> usize {
        self.max_subregions().saturating_sub(self.nr_subregions())
    }

    /// Most windows that may be armed or read in a tick.
    fn max_windows(&self) -> usize {
        self.attrs.max_regions as usize
    }

    /// Most scouts that may be out.
    fn max_scouts(&self) -> usize {
        2 * self.attrs.max_regions as usize
    }

    fn count_check(&mut self) {
        self.budget.note_sampling();
        self.cost.checks.push(self.windows.len() as u32);
        self.cost.pages += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
    }

    /// Draws when the next round begins: in the next interval or, if the interval was doubled more
    /// often than rounds need, in the next part of this one.
    fn draw_round(&mut self, now_us: u64) {
        let doublings = self
            .budget
            .round_doublings(self.attrs.aggregation_us, self.lacks_tables(), 1.0)
            .min(self.doublings);
        let part_us = self.attrs.aggregation_us << doublings;
        let passed = now_us.saturating_sub(self.start_us) / part_us;
        let next_us = (self.start_us + (passed + 1) * part_us).min(self.end_us);
        let offset = self.rng.below((part_us / self.attrs.sample_us).saturating_sub(2).max(1));
        self.round_us = next_us + offset * self.attrs.sample_us;
        // No tick is woken for nothing while what was spent is not paid for.
        self.round_us = self.round_us.max(self.budget.paid_us(now_us).min(self.end_us));
        // What was armed at once is read when that tells most, even if something else called for a
        // round.
        let reading_us = self.next_reading_us(now_us);
        if reading_us > 0 {
            self.round_us = self.round_us.min(reading_us);
        }
    }

    /// Whether so much has just changed that the reserve for that may be spent.
    fn is_astir(&self, now_us: u64) -> bool {
        now_us < self.astir_until_us
    }

    /// Whether a phase began within the time over which the bound is promised.
    fn phase_began_lately(&self, now_us: u64) -> bool {
        now_us < self.in_phases_until_us
    }

    /// The share of a full bucket that is not to be spent now.
    fn kept(&self, now_us: u64) -> f64 {
        if self.is_astir(now_us) {
            0.0
        } else if self.knows_little(now_us) || self.budget.is_in_debt() {
            // Where little is known, or nothing waits for an access, a change is not seen anyway: a
            // large reserve is of no use.
            KEPT_WHILE_UNKNOWN
        } else {
            KEPT_FOR_CHANGE
        }
    }

    /// Whether memory is too large to be known page by page, and hardly any of it was explored yet.
    fn knows_little(&self, now_us: u64) -> bool {
        let is_new = now_us < self.explored_from_us + MOST_UNKNOWN_US;
        is_new && !self.fits_tables && self.nr_explored < u64::from(self.attrs.max_regions / 2)
    }

    /// Whether some page tables are not known page by page yet, but could be.
    fn lacks_tables(&self) -> bool {
        self.fits_tables && self.is_learning
    }

    /// Ends the aggregation interval, and begins the next.
    fn end_interval(&mut self, now_us: u64) -> Snapshot {
        if !self.fits_tables {
            let limit = self.size_limit();
            let is_scarce = self.room() * SCARCE_ROOM < self.max_subregions();
            let targets = self.targets.iter_mut();
            targets.for_each(|target| target.merge_alike(limit, is_scarce, now_us));
        }
        let aggregation_us = self.aggregation_us();
        // A caller who comes late ends all intervals that are over at once.
        let end_us = if now_us < self.end_us + aggregation_us { self.end_us } else { now_us };
        // Before runs of pages are found: these are kept for seconds.
        self.end_at_once(end_us);
        let per_second = self.budget.per_second();
        let sample_s = self.attrs.sample_us as f64 / 1e6;
        let nr_regions = (self.attrs.min_regions as usize, self.attrs.max_regions as usize);
        let found_at = FoundAt { sample_s, per_second, now_us: end_us };
        let regions = regions::aggregate(&mut self.targets, nr_regions, found_at);
        for target in &mut self.targets {
            target.add_up_working_sets(per_second, end_us);
        }
        let target = |(target, regions): (&TargetSubregions, _)| TargetSnapshot {
            id: target.id,
            resident_bytes: target.resident_bytes,
            regions,
            pages: target.runs.pages.clone(),
            working_sets: target.working_sets,
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
        self.doublings = self.doublings.clamp(self.doublings_at(1.0), self.doublings_at(SPARE));
        self.begin_interval(end_us);
        snapshot
    }

    /// How often the aggregation interval is to be doubled if all costs are `costs` times as high
    /// as they are.
    fn doublings_at(&self, costs: f64) -> u32 {
        let (interval_us, is_learning) = (self.attrs.aggregation_us, self.lacks_tables());
        self.budget.interval_doublings(interval_us, is_learning, costs).min(MAX_DOUBLINGS)
    }

    /// Changes the intervals if others fit better.
    fn tune_intervals(&mut self) {
        let seconds = self.attrs.sample_us as f64 / 1e6;
        let subregions = || self.targets.iter().flat_map(|t| &t.subregions).filter(|s| !s.absent);
        let pages: f64 = subregions().map(|s| s.range.pages() as f64).sum();
        let sum: f64 = subregions().map(|s| s.range.pages() as f64 * s.mean_chance(seconds)).sum();
        if let Some(attrs) = intervals::better(&self.attrs, sum / pages.max(1.0)) {
            self.attrs = attrs;
        }
    }
}

impl Monitor for Windows {
    fn attrs(&self) -> &MonitorAttrs {
        &self.attrs
    }

    fn has_targets(&self) -> bool {
        !self.targets.is_empty()
    }

    /// Reads what the tick before armed for a short time, ends the aggregation interval when
    /// it is over, and begins a round when one is due.
    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error> {
        self.now_us = now_us;
        self.budget.fill(now_us);
        self.budget.expect(self.budget.wake());
        if self.begun_us.is_none() {
            self.begun_us = Some(now_us);
            self.budget.set_prices(access.prices());
            self.most_pages = access.capabilities().max_window_pages;
            self.begin_interval(now_us);
            self.planned_us = now_us;
            self.round_us = now_us;
            self.next_update_us = now_us;
            self.astir_until_us = now_us + round::ASTIR_US;
        }
        let sample_us = self.attrs.sample_us;
        self.places.clear();
        let mut is_further = false;
        if self.check_us.is_some_and(|check_us| now_us + sample_us / 4 >= check_us) {
            self.end_round(access, now_us)?;
            is_further = self.wants_round
                && self.rounds < MAX_ROUNDS
                && self.budget.fullness() > self.kept(now_us) + FOR_FURTHER_ROUNDS
                && now_us + 2 * sample_us <= self.end_us;
            if is_further {
                self.round_us = now_us;
            }
        }
        let mut snapshot = None;
        if self.check_us.is_none() {
            if now_us >= self.end_us {
                snapshot = Some(self.end_interval(now_us));
                // Where runs of pages, or new rates of runs, were found at some cost, none are
                // found again for long.
                let found_runs = self.targets.iter().any(|t| t.runs.found_s > RUNS_FOUND_S);
                self.budget.note_ending(!found_runs);
            }
            if now_us >= self.next_update_us {
                self.update(access)?;
                self.next_update_us = now_us + self.until_update_us(now_us);
            }
            if now_us >= self.round_us {
                self.draw_round(now_us);
                if !is_further {
                    (self.rounds, self.changes, self.looks) = (0, 0, 0);
                }
                self.begin_round(access, now_us)?;
            }
        }
        // When the driver takes this tick to have been due: it leaves out ticks that were missed.
        let late_us = now_us.saturating_sub(self.planned_us) / sample_us * sample_us;
        let due_us = if now_us < self.planned_us { now_us } else { self.planned_us + late_us };
        let next_us =
            self.check_us.map_or(self.round_us, |check_us| check_us.min(due_us + sample_us));
        self.planned_us = next_us.max(due_us + sample_us / 4);
        self.wait_us = self.planned_us - due_us;
        Ok(snapshot)
    }

    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error> {
        let now_us = self.now_us;
        self.places.clear();
        let all = access.targets()?;
        self.budget.note_update(self.attrs.update_us);
        self.budget.set_arming_prices(access.prices());
        let before = std::mem::take(&mut self.targets);
        let mut before: HashMap<_, _> = before.into_iter().map(|t| (t.id, t)).collect();
        for live in all {
            let known = before.remove(&live.id);
            let mut target = known.unwrap_or_else(|| TargetSubregions::new(live.id));
            target.set_resident(live.resident_bytes, now_us);
            let ranges = live.ranges.into_iter().filter(|range| range.pages() > 0).collect();
            target.fit(ranges, live.is_listed, now_us);
            self.targets.push(target);
        }
        self.targets.sort_by_key(|target| target.id);
        self.scouts.retain(|scout| {
            let at = self.targets.binary_search_by_key(&scout.target, |target| target.id);
            at.is_ok_and(|at| self.targets[at].is_mapped(scout.place.range))
        });
        let tables: u64 = self.targets.iter().map(TargetSubregions::nr_tables).sum();
        let price = self.budget.reading(u64::from(self.most_pages)).monitor();
        let affordable = self.budget.per_second() * FOR_TABLES * TABLES_READ_IN / price;
        let most = self.max_subregions();
        // What is known of all pages is not given up for a few page tables more.
        let affordable = if self.fits_tables { affordable * STILL_FITS } else { affordable };
        self.fits_tables = tables as usize <= most && tables as f64 <= affordable;
        let bytes = self.bytes();
        self.explored_bytes = self.explored_bytes.min(bytes);
        if bytes - self.explored_bytes > self.explored_bytes / MUCH_NEW {
            // Much of the memory was never looked at.
            (self.nr_explored, self.explored_bytes) = (0, bytes);
            self.explored_from_us = now_us;
            self.astir_until_us = self.astir_until_us.max(now_us + round::ASTIR_US);
        }
        if self.fits_tables {
            self.scouts.clear();
        } else {
            self.sought = self.rate_in_use();
        }
        let limit = self.size_limit();
        let mut room = self.room();
        for target in &mut self.targets {
            let before = target.subregions.len();
            let most = before + room;
            if self.fits_tables {
                target.survey = Default::default();
                target.split_at_tables(most, now_us);
            } else {
                target.drop_tables();
                target.split_large(limit, most, now_us);
            }
            room = (room + before).saturating_sub(target.subregions.len());
        }
        self.find_to_check();
        Ok(())
    }

    fn wait_us(&self) -> u64 {
        self.wait_us
    }

    fn charge(&mut self, spent: CpuCost, over_us: u64) {
        self.was_armed(over_us);
        self.cost.charge(spent);
        self.budget.charge(spent);
    }

    fn charge_beside(&mut self, spent: CpuCost) {
        self.cost.charge(spent);
        self.budget.charge_beside(spent);
    }
}
