//! What a look says, and what follows from it.

use super::cell::Cell;
use super::evidence::Evidence;
use super::mesh::FINE;
use super::{COLD_PROBE, Look, PERIOD, WARM, WARM_PROBE, Why, Windows, pages, segment};
use daos_core::access::{AccessCheck, Observation, PageBits, has_page};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};

/// So many cells that change at once are parts of something larger.
const MANY: u32 = 4;

impl Windows {
    /// Checks what was armed, and learns from it.
    pub(super) fn look<A: AccessCheck + ?Sized>(
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
                Why::Edge => self.judge_edge(look, seen),
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
        let was_unsure = std::mem::replace(&mut cell.fresh, false);
        // Half of them in one interval, half in the next.
        cell.due = interval + if was_unsure { 1 + index as u64 % PERIOD } else { PERIOD };
        cell.looks = cell.looks.saturating_add(1);
        let is_first_look = was_unsure && cell.looks == 1;
        cell.armed_us = (seen.accessed == 0 && seen.unobservable == 0).then_some(armed_us);
        if seen.present == 0 {
            // Nothing to look at: there, or anywhere in here?
            cell.void = cell.is_in_hole(look.pages.start, seen.empty_bytes);
            if seen.unobservable > 0 {
                cell.place_probe(COLD_PROBE, &mut self.rng);
            } else if is_first_look {
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
        let changed = if is_first_look {
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
                let edge = cell.range.end / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
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
            mesh.wake_around(index, interval);
            self.curious = true;
        }
    }

    fn judge_edge(&mut self, look: &Look, seen: &Observation) {
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
        let room = self.room() / 2;
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
                for run in runs.into_iter().take(room) {
                    let mut cell = Cell::new(run, now_us);
                    cell.evidence = Evidence::of(f64::from(rate), 1.0);
                    cell.centre_probe(FINE);
                    mesh.overwrite(cell);
                }
            }
        }
    }
}

/// The huge pages around `pages`, as far as they lie in `range`.
fn whole_pages(pages: AddrRange, range: AddrRange) -> AddrRange {
    let start = pages.start / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
    let end = pages.end.div_ceil(HUGE_PAGE_SIZE) * HUGE_PAGE_SIZE;
    AddrRange::new(start.max(range.start), end.min(range.end))
}

/// The parts of a cell that is looked at whole, cut before these of its pages, each of
/// which is worth `weight` trials.
fn parts<'a>(
    cell: &'a Cell,
    bits: &'a PageBits,
    cuts: &[u32; 2],
    weight: f64,
) -> impl Iterator<Item = Cell> + 'a {
    let pages = cell.range.pages() as u32;
    let cuts = [0, cuts[0], cuts[1], pages];
    (0..3).filter(move |i| cuts[*i] < cuts[i + 1]).map(move |i| {
        let (start, end) = (cuts[i], cuts[i + 1]);
        let at = |page: u32| cell.range.start + u64::from(page) * PAGE_SIZE;
        let hits = (start..end).filter(|page| has_page(bits, *page)).count();
        let mut part = cell.part(AddrRange::new(at(start), at(end)));
        part.evidence = Evidence::of(hits as f64 * weight, f64::from(end - start) * weight);
        part.looks = 1;
        part.fresh = weight < 1.0;
        part.due = cell.due;
        part.edge_seen = if i == 0 { cell.edge_seen } else { 0 };
        part
    })
}
