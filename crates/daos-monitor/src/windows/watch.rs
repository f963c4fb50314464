//! Watching: reading the probes of what was not in use.

use super::{PERIOD, Windows, evidence};
use daos_core::access::{AccessCheck, Window};

/// Trials that a page is worth that was watched since the last look and not accessed: it
/// was left alone in many sampling intervals, but it is one page.
const WATCHED: f64 = 16.0;
/// The share of the budget that watching leaves for looking closer.
const KEPT_BY_WATCHING: f64 = 0.2;

impl Windows {
    /// Reads the probes of what was not in use: those that were touched since are to be
    /// armed in this round.
    pub(super) fn watch<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        let mut watched = Vec::new();
        self.windows.clear();
        let interval = self.interval;
        let places: Vec<(usize, usize)> = self
            .meshes
            .iter()
            .enumerate()
            .flat_map(|(at, mesh)| (0..mesh.cells.len()).map(move |index| (at, index)))
            .collect();
        // Where the last interval had to stop, this one begins.
        let skip = std::mem::take(&mut self.unwatched) % places.len().max(1);
        let most = self.most_looks();
        for place in 0..places.len() {
            let (at, index) = places[(skip + place) % places.len()];
            let target = self.meshes[at].id;
            let cell = &mut self.meshes[at].cells[index];
            let known = (cell.can_be_watched() || cell.void) && !cell.fresh && !cell.mapped;
            if !known || cell.due > interval {
                continue;
            }
            if cell.void {
                cell.place_probe(1, &mut self.rng);
            }
            let pages = cell.probe.pages().min(self.most_pages);
            if watched.len() >= most
                || !self.budget.afford(self.budget.reading(pages), KEPT_BY_WATCHING)
            {
                self.unwatched = skip + place;
                break;
            }
            watched.push((at, index));
            self.windows.push(Window { target, start: cell.probe.start, pages: pages as u32 });
        }
        if watched.is_empty() {
            return Ok(());
        }
        self.found.clear();
        access.check(&self.windows, &mut self.found)?;
        self.count_check();
        for (&(at, index), seen) in watched.iter().zip(&self.found) {
            let mesh = &mut self.meshes[at];
            let cell = &mut mesh.cells[index];
            if cell.void {
                cell.due = interval + PERIOD;
                let hole = cell.is_in_hole(cell.probe.start, seen.empty_bytes);
                if seen.present + seen.unobservable > 0 || !hole {
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
            mesh.wake_around(index, interval);
            self.curious = true;
        }
        Ok(())
    }
}
