//! The windows monitor: a page table at a time.
//!
//! Ours. The reference asks one page of each region twenty times in an aggregation
//! interval; a page-table window answers for up to 512 pages at once, and cold memory,
//! once armed, is proven cold by reading alone. So this monitor looks a few times in an
//! interval, at many places, and arms few of them:
//!
//! - Memory is divided into `cell`s with a probe each. Where nothing is in use the
//!   probe was armed long ago, and reading it costs next to nothing. Where something is,
//!   a few pages are armed and checked a sampling interval later.
//! - *Explorers* look between the probes, at places that cover the space evenly however
//!   long one goes on (multiples of the golden ratio).
//! - What contradicts a cell is cut out of it and looked at again; an edge between
//!   cells is narrowed down by cutting the gap between their probes, and read off the
//!   bitmap at last.
//! - All of it heeds a `budget`: what is most in doubt comes first, and exploring
//!   takes what is left.
//!
//! Cells add up to `regions` by a test of what the evidence says.
//!
//! | module | holds |
//! |---|---|
//! | this one | the state, and the ticks that tie the rest together |
//! | `watch`, `choose`, `judge` | a round: read what was idle, arm what is in doubt, learn from what it shows |
//! | `close`, `regions` | the end of an aggregation interval, and what is handed out |
//! | `cell`, `mesh`, `edges` | the cells of a target, and where those that differ meet |
//! | `evidence`, `segment` | the statistics: of rates, and of bitmaps |
//! | `pages` | memory that is known page by page |
//! | `budget`, `intervals` | what it may cost, and how often to look |

mod budget;
mod cell;
mod choose;
mod close;
mod edges;
mod evidence;
mod intervals;
mod judge;
mod mesh;
mod pages;
mod regions;
mod segment;
mod watch;

use super::{Monitor, MonitorOptions};
use budget::Budget;
use daos_core::access::{AccessCheck, CpuCost, MAX_WINDOW_PAGES, Observation, Window};
use daos_core::addr::{AddrRange, PAGE_SIZE};
use daos_core::attrs::{AttrsError, MonitorAttrs};
use daos_core::rng::Rng;
use daos_core::snapshot::{Cost, Snapshot};
use mesh::{FINE, Mesh};

/// Bound on the overhead unless the user says otherwise, as a share of one CPU.
pub const DEFAULT_MAX_OVERHEAD: f64 = 0.005;

/// Pages in the probe of a cell where nothing is in use.
const COLD_PROBE: u64 = 8;
/// Pages in the probe of a cell where something is: each costs the target.
const WARM_PROBE: u64 = 4;
/// A rate from which on a cell counts as in use.
const WARM: f64 = 0.02;
/// Aggregation intervals between two looks at a cell.
const PERIOD: u64 = 2;
/// Fresh cells from which on a wake-up for them is worth it.
const WORTH_A_ROUND: usize = 16;
/// Most rounds in an aggregation interval.
const MAX_ROUNDS: u32 = 8;

/// Why some pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// They are the probe of the cell that they lie in.
    Probe,
    /// To see whether their cell is what it is thought to be.
    Explore,
    /// An edge lies among them.
    Edge,
    /// To know each of them.
    Map,
}

/// Pages that were armed, to be checked a sampling interval later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    mesh: usize,
    pages: AddrRange,
    why: Why,
}

/// Watches targets a page table at a time.
#[derive(Debug, Clone)]
pub struct Windows {
    attrs: MonitorAttrs,
    auto_intervals: bool,
    rng: Rng,
    budget: Budget,
    meshes: Vec<Mesh>,
    /// What was armed last, and when.
    looks: Vec<Look>,
    armed_us: Option<u64>,
    /// Number of the aggregation interval, from 1.
    interval: u64,
    start_us: u64,
    end_us: u64,
    next_update_us: u64,
    /// When the next round begins, and rounds that this interval has had.
    round_us: u64,
    rounds: u32,
    /// Something was found that is worth another round at once.
    curious: bool,
    /// Cells changed in the last look, and whether they are parts of something larger.
    changes: u32,
    spreads: bool,
    /// The aggregation interval is as many times doubled.
    stretch: u32,
    /// The cell at which the budget for watching ended last, 0 if it did not.
    unwatched: usize,
    /// The next place for an explorer, and how many there were and what they looked at.
    explored: u64,
    explorers: u64,
    explored_pages: u64,
    /// Bytes mapped when exploring began.
    explored_bytes: u64,
    /// The cell at which the next interval begins to look, so that all get their turn.
    turn: usize,
    /// Largest window that the primitive takes, in pages.
    most_pages: u64,
    started: bool,
    planned_us: u64,
    wait_us: u64,
    windows: Vec<Window>,
    found: Vec<Observation>,
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
        let explored = rng.below(1 << 32);
        Ok(Self {
            attrs: attrs.in_whole_ticks(),
            auto_intervals: options.auto_intervals,
            rng,
            budget: Budget::new(options.max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD)),
            meshes: Vec::new(),
            looks: Vec::new(),
            armed_us: None,
            interval: 0,
            start_us: 0,
            end_us: 0,
            next_update_us: 0,
            round_us: 0,
            rounds: 0,
            curious: false,
            changes: 0,
            spreads: false,
            stretch: 0,
            unwatched: 0,
            explored,
            explorers: 0,
            explored_pages: 0,
            explored_bytes: 0,
            turn: 0,
            most_pages: u64::from(MAX_WINDOW_PAGES),
            started: false,
            planned_us: 0,
            wait_us: 0,
            windows: Vec::new(),
            found: Vec::new(),
            cost: Cost::default(),
        })
    }

    /// Length of an aggregation interval, stretched if need be, in microseconds.
    fn aggregation_us(&self) -> u64 {
        self.attrs.aggregation_us << self.stretch
    }

    fn begin_interval(&mut self, start_us: u64) {
        self.interval += 1;
        self.start_us = start_us;
        self.end_us = start_us + self.aggregation_us();
        self.rounds = 0;
    }

    /// Bytes mapped, by all targets together.
    fn bytes(&self) -> u64 {
        self.meshes.iter().map(Mesh::bytes).sum()
    }

    /// Cells are cut to at most this many bytes.
    fn size_limit(&self) -> u64 {
        (self.bytes() / u64::from(self.attrs.max_regions / 2).max(3)).max(PAGE_SIZE)
    }

    /// How many cells more there may be.
    fn room(&self) -> usize {
        let cells: usize = self.meshes.iter().map(|m| m.cells.len()).sum();
        (4 * self.attrs.max_regions as usize).saturating_sub(cells)
    }

    /// Cells that nobody has looked at yet.
    fn fresh_cells(&self) -> usize {
        self.meshes.iter().flat_map(|m| &m.cells).filter(|c| c.fresh).count()
    }

    /// Looks that a tick may make.
    fn most_looks(&self) -> usize {
        self.attrs.max_regions as usize
    }

    fn count_check(&mut self) {
        self.budget.look();
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
        !self.meshes.is_empty()
    }

    /// Checks what the tick before armed, closes the aggregation interval when it is
    /// over, and, when a round is due, chooses what to look at and arms it.
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
            self.look(access, now_us, armed_us)?;
            let again = self.curious
                && (self.spreads || self.fresh_cells() >= WORTH_A_ROUND)
                && self.rounds < MAX_ROUNDS
                && now_us + 2 * sample_us <= self.end_us;
            if again {
                self.round_us = now_us;
            }
        }
        let mut snapshot = None;
        if self.armed_us.is_none() {
            if now_us >= self.end_us {
                snapshot = Some(self.close(now_us));
            }
            if now_us >= self.next_update_us {
                self.update(access)?;
                self.next_update_us = now_us + self.attrs.update_us;
            }
            if now_us >= self.round_us {
                self.draw_round();
                self.round(access, now_us)?;
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
        self.looks.clear();
        self.armed_us = None;
        self.meshes.retain(|m| live.iter().any(|l| l.id == m.id));
        for target in live {
            let at = match self.meshes.binary_search_by_key(&target.id, |m| m.id) {
                Ok(at) => at,
                Err(at) => {
                    self.meshes.insert(at, Mesh::new(target.id));
                    at
                }
            };
            let ranges = target.ranges.into_iter().filter(|r| r.pages() > 0).collect();
            self.meshes[at].resident_bytes = target.resident_bytes;
            self.meshes[at].fit(ranges, now_us);
        }
        let bytes = self.bytes();
        if bytes.abs_diff(self.explored_bytes) > self.explored_bytes / 8 {
            // There is much that nobody has seen.
            (self.explorers, self.explored_pages, self.explored_bytes) = (0, 0, bytes);
        }
        let limit = self.size_limit();
        for at in 0..self.meshes.len() {
            let most = self.meshes[at].cells.len() + self.room();
            self.meshes[at].cut_large(limit, most);
            let (rng, interval) = (&mut self.rng, self.interval);
            for cell in self.meshes[at].cells.iter_mut().filter(|c| c.fresh && c.looks == 0) {
                if cell.probe.pages() > FINE {
                    cell.place_probe(COLD_PROBE, rng);
                    cell.due = interval;
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
