//! A sampling round: what is armed, in the order of doubt, as far as the budget goes.
//!
//! A round is checked a sampling interval later.

use super::{IDLE_PROBE_PAGES, Purpose, Sample, USED_PROBE_PAGES, USED_RATE, Windows, page_map};
use daos_core::{AccessCheck, AddrRange, PAGE_SIZE, Window};

/// Pages that are explored at a place where nothing is in use. Measured: a window of 16 pages
/// costs 8 % more to read than one of a single page.
const EXPLORE_PAGES: u64 = 16;
/// Pages between two explored places above which fewer are sampled at each. Chosen:
/// when places lie far apart, how wide each is matters little.
const FAR_APART: u64 = 256;
/// Aggregation intervals after which an edge is sampled again. Chosen: once a second by
/// default.
const EDGE_EVERY: u64 = 10;
/// The access rate that the price of sampling an edge is worked out for: one half is in use.
const RATE_AT_EDGES: f64 = 0.5;
/// The access rate that the price of mapping a page table is worked out for. Chosen: single
/// pages in use among many that are not.
const RATE_IN_MAPS: f64 = 0.1;
/// The share of the budget that the probes of a first round leave. Chosen: some for what
/// they find.
const KEPT_BY_PROBES: f64 = 0.05;
/// The share of the budget that edges leave. Chosen: for page maps and exploration.
const KEPT_BY_EDGES: f64 = 0.2;
/// The share of the budget that exploration leaves for what it finds. Chosen.
const KEPT_BY_EXPLORING: f64 = 0.4;
/// The same once all memory was explored. Chosen: the rest keeps it so.
const KEPT_ONCE_EXPLORED: f64 = 0.8;
/// The share of the budget that further rounds leave. Chosen: for the first round of the
/// next interval.
const KEPT_BY_FURTHER_ROUNDS: f64 = 0.2;
/// 2^64 divided by the golden ratio: multiples of it, modulo 2^64, cover the range evenly
/// (Fibonacci hashing, Knuth, TAOCP 3, §6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Windows {
    /// Rechecks what was armed long ago, selects what to sample, and arms it.
    pub(super) fn begin_round<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        self.rounds += 1;
        self.wants_round = false;
        self.samples.clear();
        // To be woken for the check.
        let kept = if self.rounds == 1 { 0.0 } else { KEPT_BY_FURTHER_ROUNDS };
        if !self.budget.reserve(self.budget.wake(), kept) {
            return Ok(());
        }
        self.recheck(access, now_us)?;
        self.select_probes();
        if self.rounds == 1 {
            self.select_edges();
            self.select_page_maps();
        }
        self.explore();

        let maps: Vec<Sample> =
            self.samples.iter().filter(|s| s.purpose == Purpose::PageMap).copied().collect();
        self.samples.sort_unstable_by_key(|s| (s.target, s.pages.start, s.pages.end));
        self.samples
            .dedup_by(|next, left| next.target == left.target && next.pages.start < left.pages.end);
        for map in maps.iter().filter(|map| !self.samples.contains(map)) {
            self.targets[map.target].maps.want_again(map.pages.start / page_map::WINDOW);
        }
        self.windows.clear();
        self.windows.extend(self.samples.iter().map(|s| Window {
            target: self.targets[s.target].id,
            start: s.pages.start,
            pages: s.pages.pages().min(self.most_pages) as u32,
        }));
        if !self.windows.is_empty() {
            self.budget.note_sampling();
            access.arm(&self.windows)?;
            self.cost.armed += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
            self.armed_us = Some(now_us);
        }
        Ok(())
    }

    /// The probes of subregions that are due, those of unsure ones first.
    fn select_probes(&mut self) {
        let kept = if self.rounds == 1 { KEPT_BY_PROBES } else { KEPT_BY_FURTHER_ROUNDS };
        let most = self.max_samples();
        let interval = self.interval;
        for unsure in [true, false] {
            for (at, target) in self.targets.iter_mut().enumerate() {
                let nr = target.subregions.len();
                for offset in 0..nr {
                    let index = (self.first_probe + offset) % nr;
                    let beside_open_edge = !unsure && target.is_beside_open_edge(index);
                    let subregion = &mut target.subregions[index];
                    let due = subregion.unsure == unsure
                        && subregion.due <= interval
                        && !subregion.absent
                        && !subregion.has_page_map
                        && (unsure || !subregion.can_be_rechecked());
                    if !due {
                        continue;
                    }
                    let rate = subregion.estimate.rate();
                    let pages = if rate >= USED_RATE { USED_PROBE_PAGES } else { IDLE_PROBE_PAGES };
                    if !unsure
                        && !beside_open_edge
                        && (subregion.nr_samples >= 2 || subregion.probe.pages() > pages)
                    {
                        subregion.place_probe(pages, &mut self.rng);
                    }
                    let price = self.budget.sampling(subregion.probe.pages(), rate);
                    if self.samples.len() >= most || !self.budget.reserve(price, kept) {
                        self.first_probe = self.first_probe.wrapping_add(offset);
                        return;
                    }
                    self.samples.push(Sample {
                        target: at,
                        pages: subregion.probe,
                        purpose: Purpose::Probe,
                    });
                }
            }
        }
    }

    /// The pages around edges that were not sampled for long.
    fn select_edges(&mut self) {
        let reach = IDLE_PROBE_PAGES * PAGE_SIZE;
        let most = self.max_samples();
        for at in 0..self.targets.len() {
            for index in 1..self.targets[at].subregions.len() {
                let target = &mut self.targets[at];
                let seen = target.subregions[index].edge_seen;
                if seen == 0 || seen + EDGE_EVERY > self.interval || !target.is_edge(index) {
                    continue;
                }
                let (left, right) =
                    (target.subregions[index - 1].range, target.subregions[index].range);
                let start = right.start.saturating_sub(reach).max(left.start);
                let pages = AddrRange::new(start, (right.start + reach).min(right.end));
                let price = self.budget.sampling(pages.pages(), RATE_AT_EDGES);
                if self.samples.len() >= most || !self.budget.reserve(price, KEPT_BY_EDGES) {
                    return;
                }
                self.samples.push(Sample { target: at, pages, purpose: Purpose::Edge });
            }
        }
    }

    /// Whole page tables where pages differ. Half of what is left goes into that, half
    /// into exploring.
    fn select_page_maps(&mut self) {
        let most = self.max_samples();
        let kept = (KEPT_BY_EXPLORING + self.budget.fullness()) / 2.0;
        for at in 0..self.targets.len() {
            let target = &mut self.targets[at];
            let windows = target.maps.len();
            let mut chosen = 0;
            while self.samples.len() < most && chosen < windows {
                let price = self.budget.sampling(512, RATE_IN_MAPS);
                if !self.budget.can_afford(price, kept) {
                    break;
                }
                let Some(window) = target.maps.next() else { break };
                chosen += 1;
                if let Some(pages) = target.mapped_part(window) {
                    self.budget.expect(price);
                    self.samples.push(Sample { target: at, pages, purpose: Purpose::PageMap });
                }
            }
        }
    }

    /// Places between the probes, as evenly as multiples of the golden ratio lie.
    fn explore(&mut self) {
        let mut ends = Vec::new();
        let mut total = 0u64;
        for (at, target) in self.targets.iter().enumerate() {
            for subregion in target.subregions.iter().filter(|c| !c.absent && !c.has_page_map) {
                total += subregion.range.pages();
                ends.push((
                    total,
                    at,
                    subregion.range,
                    subregion.estimate.rate(),
                    subregion.unsure,
                ));
            }
        }
        if total == 0 {
            return;
        }
        let settled = self.explored_pages >= total;
        let kept = if settled { KEPT_ONCE_EXPLORED } else { KEPT_BY_EXPLORING };
        let most = self.max_samples();
        let apart = total / self.nr_explored.max(1);
        let idle_pages = if apart > FAR_APART { USED_PROBE_PAGES } else { EXPLORE_PAGES };
        for _ in self.samples.len()..most {
            let fraction = self.explore_place.wrapping_mul(GOLDEN);
            let place = ((u128::from(fraction) * u128::from(total)) >> 64) as u64;
            let index = ends.partition_point(|&(end, ..)| end <= place);
            let (end, at, range, rate, unsure) = ends[index];
            let start = range.end - (end - place) * PAGE_SIZE;
            let pages = if rate >= USED_RATE { USED_PROBE_PAGES } else { idle_pages };
            let pages = AddrRange::new(start, (start + pages * PAGE_SIZE).min(range.end));
            let price = self.budget.sampling(pages.pages(), rate);
            if !self.budget.reserve(price, kept) {
                break;
            }
            self.explore_place = self.explore_place.wrapping_add(1);
            self.nr_explored += 1;
            self.explored_pages += pages.pages();
            if !unsure {
                self.samples.push(Sample { target: at, pages, purpose: Purpose::Explore });
            }
        }
    }
}
