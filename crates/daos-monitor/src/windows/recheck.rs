//! Rechecks: reading probes that were armed long ago, where nothing was in use.

use super::{SAMPLE_EVERY, Windows, estimate};
use daos_core::{AccessCheck, Window};

/// Trials that a page is worth that was armed all along and not accessed. Chosen: it was
/// left alone in many sampling intervals, but it is one page.
const RECHECK_TRIALS: f64 = 16.0;
/// The share of the budget that rechecks leave. Chosen: for sampling closer.
const KEPT_BY_RECHECKS: f64 = 0.2;

impl Windows {
    /// Reads the probes of what was not in use: those that were accessed since are to be
    /// armed in this round.
    pub(super) fn recheck<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        let mut rechecked = Vec::new();
        self.windows.clear();
        let interval = self.interval;
        let places: Vec<(usize, usize)> = self
            .targets
            .iter()
            .enumerate()
            .flat_map(|(at, target)| (0..target.subregions.len()).map(move |index| (at, index)))
            .collect();
        // Where the last interval had to stop, this one begins.
        let skip = std::mem::take(&mut self.recheck_from) % places.len().max(1);
        let most = self.max_samples();
        for place in 0..places.len() {
            let (at, index) = places[(skip + place) % places.len()];
            let target = self.targets[at].id;
            let subregion = &mut self.targets[at].subregions[index];
            let known = (subregion.can_be_rechecked() || subregion.absent)
                && !subregion.unsure
                && !subregion.has_page_map;
            if !known || subregion.due > interval {
                continue;
            }
            if subregion.absent {
                subregion.place_probe(1, &mut self.rng);
            }
            let pages = subregion.probe.pages().min(self.most_pages);
            if rechecked.len() >= most
                || !self.budget.reserve(self.budget.reading(pages), KEPT_BY_RECHECKS)
            {
                self.recheck_from = skip + place;
                break;
            }
            rechecked.push((at, index));
            self.windows.push(Window { target, start: subregion.probe.start, pages: pages as u32 });
        }
        if rechecked.is_empty() {
            return Ok(());
        }
        self.observations.clear();
        access.check(&self.windows, &mut self.observations)?;
        self.count_check();
        for (&(at, index), seen) in rechecked.iter().zip(&self.observations) {
            let target = &mut self.targets[at];
            let subregion = &mut target.subregions[index];
            if subregion.absent {
                subregion.due = interval + SAMPLE_EVERY;
                let hole = subregion.is_in_hole(subregion.probe.start, seen.empty_bytes);
                if seen.present + seen.unobservable > 0 || !hole {
                    subregion.absent = false;
                    subregion.unsure = true;
                }
                continue;
            }
            let since_us = subregion.armed_us.unwrap_or(now_us);
            let (hits, tries) = seen.trials();
            if seen.accessed == 0 {
                subregion.due = interval + SAMPLE_EVERY;
                if subregion.estimate.add(0.0, RECHECK_TRIALS * tries) {
                    subregion.since_us = now_us;
                    subregion.edge_seen = 0;
                    subregion.unsure = true;
                    self.wants_round = true;
                }
                continue;
            }
            // Accessed at some time in a long while: how often, the next sample tells.
            let share = hits / tries;
            let times = self.attrs.sample_us as f64 / now_us.saturating_sub(since_us).max(1) as f64;
            subregion.estimate.add(estimate::rate_in(share, times.min(1.0)) * tries, tries);
            subregion.armed_us = None;
            target.make_due_around(index, interval);
            self.wants_round = true;
        }
        Ok(())
    }
}
