//! The windows monitor: a page table at a time.
//!
//! Ours. The reference asks one page of each region twenty times in an aggregation
//! interval; a page-table window answers for up to 512 pages at once, and cold memory,
//! once armed, is proven cold by reading alone. So this monitor looks a few times in an
//! interval, at many places, and arms few of them:
//!
//! - Memory is divided into [`cell`]s with a probe each. Where nothing is in use the
//!   probe was armed long ago, and reading it costs next to nothing. Where something is,
//!   a few pages are armed and checked a sampling interval later.
//! - *Explorers* look between the probes, at places that cover the space evenly however
//!   long one goes on (multiples of the golden ratio).
//! - What contradicts a cell is cut out of it and looked at again; an edge between
//!   cells is narrowed down by cutting the gap between their probes, and read off the
//!   bitmap at last.
//! - All of it heeds a [`budget`]: what is most in doubt comes first, and exploring
//!   takes what is left.
//!
//! Cells add up to [`regions`] by a test of what the evidence says.

mod budget;
mod cell;
mod evidence;
mod intervals;
mod mesh;
mod pages;
mod regions;
mod segment;

use super::{Monitor, MonitorOptions};
use crate::access::{AccessCheck, Observation, Spent, Window};
use crate::addr::{AddrRange, PAGE_SIZE};
use crate::attrs::{AttrsError, MonitorAttrs};
use crate::rng::Rng;
use crate::snapshot::{Cost, Snapshot, TargetSnapshot};
use budget::Budget;
use cell::Cell;
use evidence::Evidence;
use mesh::{FINE, Mesh};

/// Bound on the overhead unless the user says otherwise, as a share of one CPU.
pub const DEFAULT_MAX_OVERHEAD: f64 = 0.005;

/// Pages in the probe of a cell where nothing is in use.
const COLD_PROBE: u64 = 8;
/// Pages in the probe of a cell where something is: each costs the target.
const WARM_PROBE: u64 = 4;
/// Pages that an explorer looks at where nothing is in use.
const EXPLORER: u64 = 16;
/// Pages between two places from which on explorers look at few of them.
const FAR_APART: u64 = 256;
/// A rate from which on a cell counts as in use.
const WARM: f64 = 0.02;
/// Trials that a page is worth that was watched since the last look and not accessed: it
/// was left alone in many sampling intervals, but it is one page.
const WATCHED: f64 = 16.0;
/// Aggregation intervals between two looks at a cell.
const PERIOD: u64 = 2;
/// Aggregation intervals after which an edge is looked at again.
const EDGE_PERIOD: u64 = 10;
/// Size of the pages that one level-2 entry maps.
const HUGE_PAGE: u64 = 2 << 20;
/// Aggregation intervals after which the intervals themselves are looked at.
const INTERVALS_TUNED: u64 = 10;
/// So many cells that change at once are parts of something larger.
const MANY: u32 = 4;
/// Fresh cells from which on a wake-up for them is worth it.
const WORTH_A_ROUND: usize = 16;
/// Most rounds in an aggregation interval.
const MAX_ROUNDS: u32 = 8;
/// The share of the budget that exploring leaves for what it finds.
const KEPT_BY_EXPLORING: f64 = 0.4;
/// The share of the budget that watching leaves for looking closer.
const KEPT_BY_WATCHING: f64 = 0.2;
/// The share of the budget that further rounds leave for the next interval's first.
const KEPT_BY_FOLLOWING: f64 = 0.2;
/// Most times that the aggregation interval is doubled to keep to the budget.
const MAX_STRETCH: u32 = 6;

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
#[derive(Debug, Clone, Copy)]
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
    /// The cell at which the next interval begins to look, so that all get their turn.
    turn: usize,
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
            turn: 0,
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

    /// Cells are cut to at most this many bytes.
    fn size_limit(&self) -> u64 {
        let total: u64 = self.meshes.iter().map(Mesh::bytes).sum();
        (total / u64::from(self.attrs.max_regions / 2).max(3)).max(PAGE_SIZE)
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

    /// Reads the probes of what was not in use: those that were touched since are to be
    /// armed in this round.
    fn watch<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        let mut watched = Vec::new();
        self.windows.clear();
        let interval = self.interval;
        // Where the last interval had to stop, this one begins.
        let all: usize = self.meshes.iter().map(|m| m.cells.len()).sum();
        let skip = if all > 0 { self.unwatched % all } else { 0 };
        self.unwatched = 0;
        let places: Vec<(usize, usize)> = self
            .meshes
            .iter()
            .enumerate()
            .flat_map(|(at, mesh)| (0..mesh.cells.len()).map(move |index| (at, index)))
            .collect();
        for place in 0..all {
            let (at, index) = places[(skip + place) % all];
            let target = self.meshes[at].id;
            let cell = &mut self.meshes[at].cells[index];
            {
                let known = (cell.can_be_watched() || cell.void) && !cell.fresh && !cell.mapped;
                if !known || cell.due > interval {
                    continue;
                }
                if cell.void {
                    cell.place_probe(1, &mut self.rng);
                }
                let pages = cell.probe.pages();
                let full = watched.len() >= self.attrs.max_regions as usize;
                if full || !self.budget.afford(self.budget.reading(pages), KEPT_BY_WATCHING) {
                    self.unwatched = skip + place;
                    break;
                }
                watched.push((at, index));
                self.windows.push(Window { target, start: cell.probe.start, pages: pages as u32 });
            }
        }
        if watched.is_empty() {
            return Ok(());
        }
        self.found.clear();
        access.check(&self.windows, &mut self.found)?;
        self.count_check();
        for (&(at, index), seen) in watched.iter().zip(&self.found) {
            let cells = &mut self.meshes[at].cells;
            let cell = &mut cells[index];
            if cell.void {
                cell.due = interval + PERIOD;
                if seen.present + seen.unobservable > 0 {
                    cell.void = false;
                    cell.fresh = true;
                }
                continue;
            }
            let since_us = cell.armed_us.unwrap_or(now_us);
            let (hits, tries) = seen.trials();
            if seen.accessed == 0 {
                cell.due = interval + PERIOD;
                if cell.evidence.add(0.0, WATCHED * tries) {
                    cell.since_us = now_us;
                    cell.edge_seen = 0;
                    cell.fresh = true;
                    self.curious = true;
                }
                continue;
            }
            // Accessed at some time in a long while: how often, the next look tells.
            let share = hits / tries;
            let times = self.attrs.sample_us as f64 / now_us.saturating_sub(since_us).max(1) as f64;
            cell.evidence.add(evidence::rate_in(share, times.min(1.0)) * tries, tries);
            cell.armed_us = None;
            // What befell this one may have befallen its neighbours.
            for near in index.saturating_sub(1)..=(index + 1).min(cells.len() - 1) {
                cells[near].due = cells[near].due.min(interval);
            }
            self.curious = true;
        }
        Ok(())
    }

    fn count_check(&mut self) {
        self.budget.look();
        self.cost.checks.push(self.windows.len() as u32);
        self.cost.pages += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
    }

    /// Chooses what to look at and arms it.
    fn round<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        self.rounds += 1;
        self.curious = false;
        self.looks.clear();
        // To be woken for the check.
        let kept = if self.rounds == 1 { 0.0 } else { KEPT_BY_FOLLOWING };
        if !self.budget.afford(self.budget.wake(), kept) {
            return Ok(());
        }
        self.watch(access, now_us)?;
        self.choose_probes();
        if self.rounds == 1 {
            self.choose_edges();
        }
        if self.rounds == 1 {
            self.choose_maps();
        }
        self.explore();

        self.looks.sort_unstable_by_key(|l| (l.mesh, l.pages.start, l.pages.end));
        self.looks
            .dedup_by(|next, left| next.mesh == left.mesh && next.pages.start < left.pages.end);
        self.windows.clear();
        self.windows.extend(self.looks.iter().map(|l| Window {
            target: self.meshes[l.mesh].id,
            start: l.pages.start,
            pages: l.pages.pages() as u32,
        }));
        if !self.windows.is_empty() {
            self.budget.look();
            access.arm(&self.windows)?;
            self.cost.armed += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
            self.armed_us = Some(now_us);
        }
        Ok(())
    }

    /// The probes of cells that are due: fresh ones first.
    fn choose_probes(&mut self) {
        let kept = if self.rounds == 1 { 0.05 } else { KEPT_BY_FOLLOWING };
        let most = self.most_looks();
        let interval = self.interval;
        for fresh in [true, false] {
            for (at, mesh) in self.meshes.iter_mut().enumerate() {
                let nr = mesh.cells.len();
                for offset in 0..nr {
                    let index = (self.turn + offset) % nr;
                    let searched = !fresh && mesh.is_searched(index);
                    let cell = &mut mesh.cells[index];
                    let due = cell.fresh == fresh
                        && cell.due <= interval
                        && !cell.void
                        && !cell.mapped
                        && (fresh || !cell.can_be_watched());
                    if !due {
                        continue;
                    }
                    let rate = cell.evidence.rate();
                    let pages = if rate >= WARM { WARM_PROBE } else { COLD_PROBE };
                    if !fresh && !searched && (cell.looks >= 2 || cell.probe.pages() > pages) {
                        cell.place_probe(pages, &mut self.rng);
                    }
                    let price = self.budget.sampling(cell.probe.pages(), rate);
                    if self.looks.len() >= most || !self.budget.afford(price, kept) {
                        self.turn = self.turn.wrapping_add(offset);
                        return;
                    }
                    self.looks.push(Look { mesh: at, pages: cell.probe, why: Why::Probe });
                }
            }
        }
    }

    /// Edges that were not looked at for long.
    fn choose_edges(&mut self) {
        let reach = COLD_PROBE * PAGE_SIZE;
        for at in 0..self.meshes.len() {
            for index in 1..self.meshes[at].cells.len() {
                let mesh = &mut self.meshes[at];
                let seen = mesh.cells[index].edge_seen;
                if seen == 0 || seen + EDGE_PERIOD > self.interval {
                    continue;
                }
                if !mesh.is_edge(index) {
                    continue;
                }
                let (left, right) = (mesh.cells[index - 1].range, mesh.cells[index].range);
                let start = right.start.saturating_sub(reach).max(left.start);
                let pages = AddrRange::new(start, (right.start + reach).min(right.end));
                let price = self.budget.sampling(pages.pages(), 0.5);
                let full = self.looks.len() >= self.attrs.max_regions as usize;
                if full || !self.budget.afford(price, 0.2) {
                    return;
                }
                self.looks.push(Look { mesh: at, pages, why: Why::Edge });
            }
        }
    }

    /// Whole page tables where pages differ. Half of what is left goes into that, half
    /// into exploring.
    fn choose_maps(&mut self) {
        let most = self.most_looks();
        let kept = (KEPT_BY_EXPLORING + self.budget.fullness()) / 2.0;
        for at in 0..self.meshes.len() {
            let mesh = &mut self.meshes[at];
            mesh.keep_maps();
            let mut chosen = 0;
            while self.looks.len() < most && chosen < mesh.maps.len() {
                let price = self.budget.sampling(512, 0.1);
                if !self.budget.can_afford(price, kept) {
                    break;
                }
                let Some(window) = mesh.maps.next() else { break };
                chosen += 1;
                if let Some(pages) = mesh.mapped_part(window) {
                    self.budget.expect(price);
                    self.looks.push(Look { mesh: at, pages, why: Why::Map });
                }
            }
        }
    }

    /// Looks between the probes, as evenly as multiples of the golden ratio lie.
    fn explore(&mut self) {
        let mut ends = Vec::new();
        let mut total = 0u64;
        for (at, mesh) in self.meshes.iter().enumerate() {
            for cell in mesh.cells.iter().filter(|c| !c.void && !c.mapped) {
                total += cell.range.pages();
                ends.push((total, at, cell.range, cell.evidence.rate(), cell.fresh));
            }
        }
        if total == 0 {
            return;
        }
        // Once all is explored, a quarter of the effort keeps it so.
        let settled = self.explored_pages >= total;
        let kept = if settled { 0.8 } else { KEPT_BY_EXPLORING };
        let most = self.most_looks();
        // As long as places lie far apart, how wide each is matters little.
        let apart = total / self.explorers.max(1);
        let cold = if apart > FAR_APART { WARM_PROBE } else { EXPLORER };
        while self.looks.len() < most {
            let fraction = self.explored.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let place = ((u128::from(fraction) * u128::from(total)) >> 64) as u64;
            let index = ends.partition_point(|&(end, ..)| end <= place);
            let (end, at, range, rate, fresh) = ends[index];
            let start = range.end - (end - place) * PAGE_SIZE;
            let pages = if rate >= WARM { WARM_PROBE } else { cold };
            let pages = AddrRange::new(start, (start + pages * PAGE_SIZE).min(range.end));
            let price = self.budget.sampling(pages.pages(), rate);
            if !self.budget.afford(price, kept) {
                break;
            }
            self.explored = self.explored.wrapping_add(1);
            self.explorers += 1;
            self.explored_pages += pages.pages();
            if !fresh {
                self.looks.push(Look { mesh: at, pages, why: Why::Explore });
            }
        }
    }

    /// Checks what was armed, and learns from it.
    fn look<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
        armed_us: u64,
    ) -> Result<(), A::Error> {
        self.found.clear();
        access.check(&self.windows, &mut self.found)?;
        self.count_check();
        let (looks, found) = (std::mem::take(&mut self.looks), std::mem::take(&mut self.found));
        let mut carved: Vec<(usize, Cell)> = Vec::new();
        for (look, seen) in looks.iter().zip(&found) {
            match look.why {
                Why::Probe => self.judge_probe(look, seen, now_us, armed_us, &mut carved),
                Why::Explore => self.judge_explorer(look, seen, now_us, &mut carved),
                Why::Map => self.judge_map(look, seen, now_us),
                Why::Edge => {
                    let mesh = &mut self.meshes[look.mesh];
                    let edge = mesh.cells.partition_point(|c| c.range.start <= look.pages.start);
                    let held = edge < mesh.cells.len()
                        && mesh.is_edge(edge)
                        && mesh.cells[edge].range.start < look.pages.end
                        && seen.unobservable == 0;
                    if let (true, Some(bits)) = (held, &seen.pages) {
                        let weight = seen.trials().1 / f64::from(seen.present.max(1));
                        mesh.settle_edge(edge, look.pages, bits, weight, self.interval);
                    } else if let Some(cell) = mesh.cells.get_mut(edge) {
                        cell.edge_seen = 0;
                    }
                }
            }
        }
        (self.looks, self.found) = (looks, found);
        self.looks.clear();
        carved.truncate(self.room());
        // While a change spreads, edges are between what was looked at and what was not.
        let many = std::mem::take(&mut self.changes) > MANY;
        self.spreads = many && self.rounds <= 3;
        for at in 0..self.meshes.len() {
            let pieces: Vec<Cell> =
                carved.iter().filter(|(mesh, _)| *mesh == at).map(|(_, cell)| *cell).collect();
            self.meshes[at].carve(pieces);
            if self.spreads {
                self.curious = true;
                continue;
            }
            let room = self.room().min(self.most_looks());
            self.curious |= self.meshes[at].refine(room, self.interval) > 0;
        }
        Ok(())
    }

    fn judge_probe(
        &mut self,
        look: &Look,
        seen: &Observation,
        now_us: u64,
        armed_us: u64,
        carved: &mut Vec<(usize, Cell)>,
    ) {
        let interval = self.interval;
        let mesh = &mut self.meshes[look.mesh];
        let Some(index) = mesh.find(look.pages.start) else { return };
        let cell = &mut mesh.cells[index];
        if cell.probe != look.pages {
            return;
        }
        let pages = look.pages.pages() as f64;
        cell.unobserved = f64::from(seen.unobservable) / pages;
        let was_fresh_before = cell.fresh;
        // Half of them in one interval, half in the next.
        cell.due = interval + if was_fresh_before { 1 + index as u64 % PERIOD } else { PERIOD };
        cell.looks = cell.looks.saturating_add(1);
        let was_fresh = cell.fresh && cell.looks == 1;
        let was_unsure = std::mem::replace(&mut cell.fresh, false);
        cell.armed_us = (seen.accessed == 0 && seen.unobservable == 0).then_some(armed_us);
        if seen.present == 0 {
            // Nothing to look at: there, or anywhere in here?
            cell.void = seen.empty_bytes >= cell.range.len();
            if seen.unobservable > 0 {
                cell.place_probe(COLD_PROBE, &mut self.rng);
            } else if was_fresh {
                cell.evidence = Evidence::of(0.0, pages);
            } else {
                cell.evidence.add(0.0, pages);
            }
            return;
        }
        let (hits, tries) = seen.trials();
        cell.huge = tries < f64::from(seen.present);
        if let Some(bits) = &seen.pages {
            cell.compare(bits[0]);
            if cell.is_mixed() {
                mesh.maps.want(look.pages.start / pages::WINDOW);
            }
        }
        let cell = &mut mesh.cells[index];
        let before = cell.evidence;
        let changed = if was_fresh {
            let now = Evidence::of(hits, tries);
            cell.evidence = now;
            before.tries() == 0.0 || before.differs(&now)
        } else {
            cell.evidence.add(hits, tries)
        };
        if changed || before.is_quiet() != cell.evidence.is_quiet() {
            cell.since_us = now_us;
        }
        let too_few = (was_unsure || changed) && !cell.evidence.is_enough();
        let odd = !changed && tries < 3.0 && (hits / tries - before.rate()).abs() > 0.5;
        if too_few || odd {
            // A page or two, or a huge page, proves little: again, and soon.
            cell.fresh = too_few;
            cell.due = interval;
            cell.armed_us = None;
            cell.looks = 1;
            self.curious = true;
        }
        let whole = cell.probe == cell.range && cell.range.pages() <= FINE;
        let mixed = 0 < seen.accessed && seen.accessed < seen.present;
        if let (true, Some(bits)) = (whole && mixed, &seen.pages) {
            let cuts = if tries < f64::from(seen.present) {
                // Huge pages have an edge in common, if any.
                let edge = cell.range.end / HUGE_PAGE * HUGE_PAGE;
                Some((0, (edge.saturating_sub(cell.range.start) / PAGE_SIZE) as u32))
            } else {
                segment::best_run(bits, look.pages.pages() as u32)
            };
            if let Some((start, end)) = cuts {
                let (cell, weight) = (*cell, tries / f64::from(seen.present));
                let parts = parts(&cell, bits, &[start, end], weight);
                carved.extend(parts.map(|part| (look.mesh, part)));
            }
        }
        if changed {
            self.changes += 1;
            // Its edges are elsewhere, or none any more.
            cell.edge_seen = 0;
            cell.again = [0.0; 3];
            if let Some(right) = mesh.cells.get_mut(index + 1) {
                right.edge_seen = 0;
            }
            for near in index.saturating_sub(1)..=(index + 1).min(mesh.cells.len() - 1) {
                mesh.cells[near].due = mesh.cells[near].due.min(interval);
            }
            self.curious = true;
        }
    }

    fn judge_explorer(
        &mut self,
        look: &Look,
        seen: &Observation,
        now_us: u64,
        carved: &mut Vec<(usize, Cell)>,
    ) {
        let mesh = &mut self.meshes[look.mesh];
        let Some(index) = mesh.find(look.pages.start) else { return };
        let cell = &mut mesh.cells[index];
        if cell.fresh || seen.present == 0 || cell.range.intersect(&look.pages) != Some(look.pages)
        {
            return;
        }
        let (hits, tries) = seen.trials();
        let now = Evidence::of(hits, tries);
        let rate = cell.evidence.rate();
        if let Some(bits) = &seen.pages
            && rate < WARM
            && tries > 1.0
            && (1.0..=3.0).contains(&hits)
            && bits[0] & (bits[0] << 1) == 0
        {
            // Single pages: no edge to be looked for.
            if !mesh.maps.want(look.pages.start / pages::WINDOW) {
                cell.evidence.add(hits, tries);
            }
            return;
        }
        let awake = hits > 0.0 && (rate < WARM || hits / tries > rate + 0.5);
        if (awake || now.differs(&cell.evidence)) && look.pages != cell.range {
            let huge = tries < f64::from(seen.present);
            let mut piece =
                cell.part(if huge { whole_pages(look.pages, cell.range) } else { look.pages });
            piece.evidence = now;
            piece.since_us = now_us;
            piece.huge = huge;
            piece.set_probe(look.pages.start, look.pages.pages());
            carved.push((look.mesh, piece));
            self.curious = true;
        } else {
            cell.evidence.add(hits, tries);
        }
    }

    /// What a look at a whole page table says: pages that differ, or runs for cells.
    fn judge_map(&mut self, look: &Look, seen: &Observation, now_us: u64) {
        let mesh = &mut self.meshes[look.mesh];
        let (Some(bits), Some(index)) = (&seen.pages, mesh.find(look.pages.start)) else { return };
        let known = mesh.cells[index];
        let was_mapped = known.mapped && known.range.intersect(&look.pages) == Some(look.pages);
        match mesh.maps.look(look.pages, bits, now_us) {
            pages::Found::Unsure => {}
            pages::Found::Grain(hits, tries) if was_mapped => {
                mesh.cells[index].evidence.add(hits, tries);
            }
            pages::Found::Grain(hits, tries) => {
                let evidence = Evidence::of(hits, tries);
                let cell = Cell::new(look.pages, now_us);
                mesh.overwrite(Cell { evidence, mapped: true, fresh: false, ..cell });
                let window = look.pages.start / pages::WINDOW;
                for near in [window.wrapping_sub(1), window + 1] {
                    if mesh.mapped_part(near).is_some() {
                        mesh.maps.want(near);
                    }
                }
            }
            pages::Found::Alike(hits, tries) if hits >= WARM * tries => {
                let mut cell = Cell::new(look.pages, now_us);
                cell.evidence = Evidence::of(hits, tries);
                cell.fresh = false;
                cell.place_probe(WARM_PROBE, &mut self.rng);
                mesh.overwrite(cell);
            }
            pages::Found::Alike(hits, tries) if !was_mapped => {
                mesh.cells[index].evidence.add(hits, tries);
            }
            pages::Found::Alike(..) => {
                let mut cell = Cell::new(look.pages, now_us);
                cell.place_probe(COLD_PROBE, &mut self.rng);
                mesh.overwrite(cell);
            }
            pages::Found::Runs(runs) => {
                if was_mapped {
                    let mut cell = Cell::new(look.pages, now_us);
                    cell.evidence = Evidence::of(0.0, look.pages.pages() as f64);
                    cell.place_probe(COLD_PROBE, &mut self.rng);
                    mesh.overwrite(cell);
                }
                let rate = seen.accessed.min(1);
                for run in runs {
                    let mut cell = Cell::new(run, now_us);
                    cell.evidence = Evidence::of(f64::from(rate), 1.0);
                    cell.centre_probe(FINE);
                    mesh.overwrite(cell);
                }
            }
        }
    }

    /// Closes the aggregation interval.
    fn close(&mut self, now_us: u64) -> Snapshot {
        let (limit, interval) = (self.size_limit(), self.interval);
        let room = self.room() > 2 * self.attrs.max_regions as usize;
        for mesh in &mut self.meshes {
            mesh.merge_alike(limit, (interval, now_us), room);
        }
        let aggregation_us = self.aggregation_us();
        // Whoever calls late closes all that is over at once.
        let end_us = if now_us < self.end_us + aggregation_us { self.end_us } else { now_us };
        let bounds = (self.attrs.min_regions as usize, self.attrs.max_regions as usize);
        let age = |since_us: u64| {
            u32::try_from(end_us.saturating_sub(since_us) / aggregation_us).unwrap_or(u32::MAX)
        };
        let regions = regions::sum_up(&self.meshes, bounds, end_us, age);
        let target = |(mesh, (regions, runs)): (&Mesh, (Vec<_>, Vec<_>))| TargetSnapshot {
            id: mesh.id,
            resident_bytes: mesh.resident_bytes,
            regions,
            pages: pages::overlay(runs, mesh.maps.runs(regions::MAX_NR_ACCESSES, age)),
        };
        let snapshot = Snapshot {
            start_us: self.start_us,
            end_us,
            aggregation_us,
            sample_us: self.attrs.sample_us,
            max_nr_accesses: regions::MAX_NR_ACCESSES,
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

    /// Draws when the first round of the next interval begins.
    fn draw_round(&mut self) {
        let ticks = self.aggregation_us() / self.attrs.sample_us;
        let offset = self.rng.below(ticks.saturating_sub(2).max(1));
        self.round_us = self.end_us + offset * self.attrs.sample_us;
    }
}

/// The huge pages around `pages`, as far as they lie in `range`.
fn whole_pages(pages: AddrRange, range: AddrRange) -> AddrRange {
    let start = pages.start / HUGE_PAGE * HUGE_PAGE;
    let end = pages.end.div_ceil(HUGE_PAGE) * HUGE_PAGE;
    AddrRange::new(start.max(range.start), end.min(range.end))
}

/// The parts of a cell that is looked at whole, cut before these of its pages, each of
/// which is worth `weight` trials.
fn parts<'a>(
    cell: &'a Cell,
    bits: &'a crate::access::PageBits,
    cuts: &[u32; 2],
    weight: f64,
) -> impl Iterator<Item = Cell> + 'a {
    let pages = cell.range.pages() as u32;
    let cuts = [0, cuts[0], cuts[1], pages];
    (0..3).filter(move |i| cuts[*i] < cuts[i + 1]).map(move |i| {
        let (start, end) = (cuts[i], cuts[i + 1]);
        let at = |page: u32| cell.range.start + u64::from(page) * PAGE_SIZE;
        let hits = (start..end).filter(|page| segment::has(bits, *page)).count();
        let mut part = cell.part(AddrRange::new(at(start), at(end)));
        part.evidence = Evidence::of(hits as f64 * weight, f64::from(end - start) * weight);
        part.looks = 1;
        part.fresh = weight < 1.0;
        part.due = cell.due;
        part.edge_seen = if i == 0 { cell.edge_seen } else { 0 };
        part
    })
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

    fn charge(&mut self, spent: Spent) {
        self.cost.charge(spent);
        self.budget.charge(spent);
    }
}

#[cfg(test)]
mod tests;
