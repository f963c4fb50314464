//! A round: what to look at, in the order of doubt, as far as the budget goes.

use super::{COLD_PROBE, Look, WARM, WARM_PROBE, Why, Windows, pages};
use daos_core::access::{AccessCheck, Window};
use daos_core::addr::{AddrRange, PAGE_SIZE};

/// Pages that an explorer looks at where nothing is in use.
const EXPLORER: u64 = 16;
/// Pages between two places from which on explorers look at few of them.
const FAR_APART: u64 = 256;
/// Aggregation intervals after which an edge is looked at again.
const EDGE_PERIOD: u64 = 10;
/// The share of the budget that exploring leaves for what it finds.
const KEPT_BY_EXPLORING: f64 = 0.4;
/// The share of the budget that further rounds leave for the next interval's first.
const KEPT_BY_FOLLOWING: f64 = 0.2;

impl Windows {
    /// Chooses what to look at and arms it.
    pub(super) fn round<A: AccessCheck + ?Sized>(
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
            self.choose_maps();
        }
        self.explore();

        let maps: Vec<Look> = self.looks.iter().filter(|l| l.why == Why::Map).copied().collect();
        self.looks.sort_unstable_by_key(|l| (l.mesh, l.pages.start, l.pages.end));
        self.looks
            .dedup_by(|next, left| next.mesh == left.mesh && next.pages.start < left.pages.end);
        for map in maps.iter().filter(|map| !self.looks.contains(map)) {
            self.meshes[map.mesh].maps.want_again(map.pages.start / pages::WINDOW);
        }
        self.windows.clear();
        self.windows.extend(self.looks.iter().map(|l| Window {
            target: self.meshes[l.mesh].id,
            start: l.pages.start,
            pages: l.pages.pages().min(self.most_pages) as u32,
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
        let most = self.most_looks();
        for at in 0..self.meshes.len() {
            for index in 1..self.meshes[at].cells.len() {
                let mesh = &mut self.meshes[at];
                let seen = mesh.cells[index].edge_seen;
                if seen == 0 || seen + EDGE_PERIOD > self.interval || !mesh.is_edge(index) {
                    continue;
                }
                let (left, right) = (mesh.cells[index - 1].range, mesh.cells[index].range);
                let start = right.start.saturating_sub(reach).max(left.start);
                let pages = AddrRange::new(start, (right.start + reach).min(right.end));
                let price = self.budget.sampling(pages.pages(), 0.5);
                if self.looks.len() >= most || !self.budget.afford(price, 0.2) {
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
            let windows = mesh.maps.len();
            let mut chosen = 0;
            while self.looks.len() < most && chosen < windows {
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
        for _ in self.looks.len()..most {
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
}
