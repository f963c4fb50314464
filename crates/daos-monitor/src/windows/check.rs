//! The end of a round: samples are checked, and what is known is updated by them.

use super::estimate::RateEstimate;
use super::page_map::PagePattern;
use super::subregion::Subregion;
use super::target::EDGE_PAGES;
use super::{
    IDLE_PROBE_PAGES, Purpose, SAMPLE_EVERY, Sample, USED_PROBE_PAGES, USED_RATE, Windows,
    page_map, segment,
};
use daos_core::access::has_page;
use daos_core::{AccessCheck, AddrRange, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, PageBits};

/// More subregions than this that change at once are parts of something larger. Chosen: the
/// edges of one region change two or three.
const MANY_CHANGES: u32 = 4;
/// Rounds of an interval in which a change may spread before its edges are looked for.
/// Chosen: by then what changed was sampled.
const SPREADING_ROUNDS: u32 = 3;

impl Windows {
    /// Checks what was armed, and updates subregions by it.
    pub(super) fn check_samples<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
        armed_us: u64,
    ) -> Result<(), A::Error> {
        self.observations.clear();
        access.check(&self.windows, &mut self.observations)?;
        self.count_check();
        let (samples, found) =
            (std::mem::take(&mut self.samples), std::mem::take(&mut self.observations));
        let mut split_out: Vec<(usize, Subregion)> = Vec::new();
        for (sample, seen) in samples.iter().zip(&found) {
            match sample.purpose {
                Purpose::Probe => {
                    self.update_by_probe(sample, seen, now_us, armed_us, &mut split_out)
                }
                Purpose::Explore => {
                    self.update_by_exploration(sample, seen, now_us, &mut split_out)
                }
                Purpose::PageMap => self.update_by_page_map(sample, seen, now_us),
                Purpose::Edge => self.update_by_edge(sample, seen),
            }
        }
        (self.samples, self.observations) = (samples, found);
        self.samples.clear();
        split_out.truncate(self.room());
        // While a change spreads, edges are between what was sampled and what was not.
        let many = std::mem::take(&mut self.changes) > MANY_CHANGES;
        self.is_widespread = many && self.rounds <= SPREADING_ROUNDS;
        for at in 0..self.targets.len() {
            let pieces: Vec<Subregion> = split_out
                .iter()
                .filter(|(target, _)| *target == at)
                .map(|(_, subregion)| *subregion)
                .collect();
            self.targets[at].split_out(pieces);
            if self.is_widespread {
                self.wants_round = true;
                continue;
            }
            let room = self.room().min(self.max_samples());
            self.wants_round |= self.targets[at].split_at_edges(room, self.interval) > 0;
        }
        Ok(())
    }

    /// Takes in a sample of a probe: the rate of its subregion, and where that should be
    /// split.
    fn update_by_probe(
        &mut self,
        sample: &Sample,
        seen: &Observation,
        now_us: u64,
        armed_us: u64,
        split_out: &mut Vec<(usize, Subregion)>,
    ) {
        let interval = self.interval;
        let target = &mut self.targets[sample.target];
        let Some(index) = target.find(sample.pages.start) else { return };
        let subregion = &mut target.subregions[index];
        if subregion.probe != sample.pages {
            return;
        }
        let pages = sample.pages.pages() as f64;
        subregion.unobserved = f64::from(seen.unobservable) / pages;
        let was_unsure = std::mem::replace(&mut subregion.unsure, false);
        // Half of them in one interval, half in the next.
        subregion.due =
            interval + if was_unsure { 1 + index as u64 % SAMPLE_EVERY } else { SAMPLE_EVERY };
        subregion.nr_samples = subregion.nr_samples.saturating_add(1);
        let is_first_sample = was_unsure && subregion.nr_samples == 1;
        subregion.armed_us = (seen.accessed == 0 && seen.unobservable == 0).then_some(armed_us);
        if seen.present == 0 {
            // Nothing is in memory: in the probe, or in all of the subregion?
            subregion.absent = subregion.is_in_hole(sample.pages.start, seen.empty_bytes);
            if seen.unobservable > 0 {
                subregion.place_probe(IDLE_PROBE_PAGES, &mut self.rng);
            } else if is_first_sample {
                subregion.estimate = RateEstimate::of(0.0, pages);
            } else {
                subregion.estimate.add(0.0, pages);
            }
            return;
        }
        let (hits, tries) = seen.trials();
        subregion.huge = tries < f64::from(seen.present);
        if let Some(bits) = &seen.pages {
            subregion.compare(bits[0]);
            if subregion.is_mixed() {
                target.maps.want(sample.pages.start / page_map::WINDOW);
            }
        }
        let subregion = &mut target.subregions[index];
        let before = subregion.estimate;
        let changed = if is_first_sample {
            let now = RateEstimate::of(hits, tries);
            subregion.estimate = now;
            before.tries() == 0.0 || before.differs(&now)
        } else {
            subregion.estimate.add(hits, tries)
        };
        if changed || before.saw_no_access() != subregion.estimate.saw_no_access() {
            subregion.since_us = now_us;
        }
        let too_few = (was_unsure || changed) && !subregion.estimate.is_enough();
        let odd = !changed && tries < 3.0 && (hits / tries - before.rate()).abs() > 0.5;
        if too_few || odd {
            // A page or two, or a huge page, proves little: again, and soon.
            subregion.unsure = too_few;
            subregion.due = interval;
            subregion.armed_us = None;
            subregion.nr_samples = 1;
            self.wants_round = true;
        }
        let whole = subregion.probe == subregion.range && subregion.range.pages() <= EDGE_PAGES;
        let mixed = 0 < seen.accessed && seen.accessed < seen.present;
        if let (true, Some(bits)) = (whole && mixed, &seen.pages) {
            let cuts = if tries < f64::from(seen.present) {
                // Huge pages have an edge in common, if any.
                let edge = subregion.range.end / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
                Some((0, (edge.saturating_sub(subregion.range.start) / PAGE_SIZE) as u32))
            } else {
                segment::best_run(bits, sample.pages.pages() as u32)
            };
            if let Some((start, end)) = cuts {
                let (subregion, weight) = (*subregion, tries / f64::from(seen.present));
                let parts = parts(&subregion, bits, &[start, end], weight);
                split_out.extend(parts.map(|part| (sample.target, part)));
            }
        }
        if changed {
            self.changes += 1;
            // Its edges are elsewhere, or none any more.
            subregion.edge_seen = 0;
            subregion.repeats = [0.0; 3];
            if let Some(right) = target.subregions.get_mut(index + 1) {
                right.edge_seen = 0;
            }
            target.make_due_around(index, interval);
            self.wants_round = true;
        }
    }

    /// Takes in a sample of the pages around an edge: it moves, or it is not there any more.
    fn update_by_edge(&mut self, sample: &Sample, seen: &Observation) {
        let target = &mut self.targets[sample.target];
        let edge = target.subregions.partition_point(|c| c.range.start <= sample.pages.start);
        let held = edge < target.subregions.len()
            && target.is_edge(edge)
            && target.subregions[edge].range.start < sample.pages.end
            && seen.unobservable == 0;
        if let (true, Some(bits)) = (held, &seen.pages) {
            let weight = seen.trials().1 / f64::from(seen.present.max(1));
            target.settle_edge(edge, sample.pages, bits, weight, self.interval);
        } else if let Some(subregion) = target.subregions.get_mut(edge) {
            subregion.edge_seen = 0;
        }
    }

    /// Takes in a sample from between the probes: what contradicts its subregion is split out.
    fn update_by_exploration(
        &mut self,
        sample: &Sample,
        seen: &Observation,
        now_us: u64,
        split_out: &mut Vec<(usize, Subregion)>,
    ) {
        let target = &mut self.targets[sample.target];
        let Some(index) = target.find(sample.pages.start) else { return };
        let subregion = &mut target.subregions[index];
        if subregion.unsure
            || seen.present == 0
            || subregion.range.intersect(&sample.pages) != Some(sample.pages)
        {
            return;
        }
        let (hits, tries) = seen.trials();
        let now = RateEstimate::of(hits, tries);
        let rate = subregion.estimate.rate();
        if let Some(bits) = &seen.pages
            && rate < USED_RATE
            && tries > 1.0
            && (1.0..=3.0).contains(&hits)
            && bits[0] & (bits[0] << 1) == 0
        {
            // Single pages: there is no edge to be found.
            if !target.maps.want(sample.pages.start / page_map::WINDOW) {
                subregion.estimate.add(hits, tries);
            }
            return;
        }
        let was_used = hits > 0.0 && (rate < USED_RATE || hits / tries > rate + 0.5);
        if (was_used || now.differs(&subregion.estimate)) && sample.pages != subregion.range {
            let huge = tries < f64::from(seen.present);
            let mut piece = subregion.part(if huge {
                whole_pages(sample.pages, subregion.range)
            } else {
                sample.pages
            });
            piece.estimate = now;
            piece.since_us = now_us;
            piece.huge = huge;
            piece.set_probe(sample.pages.start, sample.pages.pages());
            split_out.push((sample.target, piece));
            self.wants_round = true;
        } else {
            subregion.estimate.add(hits, tries);
        }
    }

    /// Takes in a sample of a whole page table: pages that differ, or subregions.
    fn update_by_page_map(&mut self, sample: &Sample, seen: &Observation, now_us: u64) {
        let room = self.room() / 2;
        let target = &mut self.targets[sample.target];
        let (Some(bits), Some(index)) = (&seen.pages, target.find(sample.pages.start)) else {
            return;
        };
        let known = target.subregions[index];
        let had_page_map =
            known.has_page_map && known.range.intersect(&sample.pages) == Some(sample.pages);
        match target.maps.update(sample.pages, bits, now_us) {
            PagePattern::Undecided => {}
            PagePattern::Scattered(hits, tries) if had_page_map => {
                target.subregions[index].estimate.add(hits, tries);
            }
            PagePattern::Scattered(hits, tries) => {
                let estimate = RateEstimate::of(hits, tries);
                let subregion = Subregion::new(sample.pages, now_us);
                target.replace_with(Subregion {
                    estimate,
                    has_page_map: true,
                    unsure: false,
                    ..subregion
                });
                let window = sample.pages.start / page_map::WINDOW;
                for near in [window.wrapping_sub(1), window + 1] {
                    if target.mapped_part(near).is_some() {
                        target.maps.want(near);
                    }
                }
            }
            PagePattern::Uniform(hits, tries) if hits >= USED_RATE * tries => {
                let mut subregion = Subregion::new(sample.pages, now_us);
                subregion.estimate = RateEstimate::of(hits, tries);
                subregion.unsure = false;
                subregion.place_probe(USED_PROBE_PAGES, &mut self.rng);
                target.replace_with(subregion);
            }
            PagePattern::Uniform(hits, tries) if !had_page_map => {
                target.subregions[index].estimate.add(hits, tries);
            }
            PagePattern::Uniform(..) => {
                let mut subregion = Subregion::new(sample.pages, now_us);
                subregion.place_probe(IDLE_PROBE_PAGES, &mut self.rng);
                target.replace_with(subregion);
            }
            PagePattern::Blocks(runs) => {
                if had_page_map {
                    let mut subregion = Subregion::new(sample.pages, now_us);
                    subregion.estimate = RateEstimate::of(0.0, sample.pages.pages() as f64);
                    subregion.place_probe(IDLE_PROBE_PAGES, &mut self.rng);
                    target.replace_with(subregion);
                }
                let rate = seen.accessed.min(1);
                for run in runs.into_iter().take(room) {
                    let mut subregion = Subregion::new(run, now_us);
                    subregion.estimate = RateEstimate::of(f64::from(rate), 1.0);
                    subregion.centre_probe(EDGE_PAGES);
                    target.replace_with(subregion);
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

/// The parts of a subregion that is sampled as a whole, cut before these of its pages, each of
/// which is worth `weight` trials.
fn parts<'a>(
    subregion: &'a Subregion,
    bits: &'a PageBits,
    cuts: &[u32; 2],
    weight: f64,
) -> impl Iterator<Item = Subregion> + 'a {
    let pages = subregion.range.pages() as u32;
    let cuts = [0, cuts[0], cuts[1], pages];
    (0..3).filter(move |i| cuts[*i] < cuts[i + 1]).map(move |i| {
        let (start, end) = (cuts[i], cuts[i + 1]);
        let at = |page: u32| subregion.range.start + u64::from(page) * PAGE_SIZE;
        let hits = (start..end).filter(|page| has_page(bits, *page)).count();
        let mut part = subregion.part(AddrRange::new(at(start), at(end)));
        part.estimate = RateEstimate::of(hits as f64 * weight, f64::from(end - start) * weight);
        part.nr_samples = 1;
        part.unsure = weight < 1.0;
        part.due = subregion.due;
        part.edge_seen = if i == 0 { subregion.edge_seen } else { 0 };
        part
    })
}
