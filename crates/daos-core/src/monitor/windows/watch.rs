//! Watching: reading the probes of what was not in use.

use super::{PERIOD, Windows, evidence};
use crate::access::{AccessCheck, Window};

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
                let pages = cell.probe.pages().min(self.most_pages);
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
            // What befell this one may have befallen its neighbours.
            for near in index.saturating_sub(1)..=(index + 1).min(cells.len() - 1) {
                cells[near].due = cells[near].due.min(interval);
            }
            self.curious = true;
        }
        Ok(())
    }
}
