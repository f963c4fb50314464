//! A scheme at work: which memory it is up for now.

use super::charge::Charge;
use super::look::look;
use super::pieces::Piece;
use super::priority;
use super::spans::Spans;
use crate::filter::{self, Known};
use crate::scheme::Scheme;
use crate::watermarks::Watch;
use daos_core::action::{Action, SchemeStats};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE};
use daos_core::metrics::Metrics;
use daos_core::sink::ActionSink;
use daos_core::snapshot::Snapshot;
use daos_core::target::TargetId;
use std::collections::BTreeMap;

/// How long memory rests whose mapping by huge pages was looked into, in microseconds.
const REST_US: u64 = 10_000_000;
/// The part of the least age from which on each page is watched by itself: memory that
/// rests between two uses is not armed each time.
const WATCHED_FROM: u64 = 8;

/// A scheme and what it has done.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) scheme: Scheme,
    pub(super) stats: SchemeStats,
    pub(super) charge: Charge,
    watch: Watch,
    /// When it is up next.
    due_us: u64,
    /// Where the last pass stopped, if it did not come to its end.
    pub(super) resume: Option<(TargetId, u64)>,
    /// Memory whose mapping was looked into, and when.
    rests: BTreeMap<TargetId, Spans>,
}

/// Memory to be acted on, or to be watched page by page because it soon will.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) target: TargetId,
    pub(super) range: AddrRange,
    /// When its age began, in microseconds since monitoring began.
    pub(super) since_us: u64,
    /// Whether it fits; else it lacks age.
    pub(super) fits: bool,
    /// What comes first where not everything may be acted on.
    score: f64,
}

impl Rule {
    pub(super) fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            stats: SchemeStats::default(),
            charge: Charge::default(),
            watch: Watch::default(),
            due_us: 0,
            resume: None,
            rests: BTreeMap::new(),
        }
    }

    /// Whether it is to be applied now.
    pub(super) fn is_up(&mut self, now_us: u64, metrics: &mut dyn Metrics) -> bool {
        if now_us < self.due_us {
            return false;
        }
        self.due_us = now_us.saturating_add(self.scheme.apply_interval_us.unwrap_or(0));
        if let Some(marks) = &self.scheme.watermarks
            && !self.watch.is_awake(marks, now_us, metrics)
        {
            self.stats.slept += 1;
            return false;
        }
        self.charge.begin(&self.scheme.quota, self.scheme.goal, now_us, metrics);
        self.stats.passes += 1;
        true
    }

    /// Whether it does anything but count.
    pub(super) fn acts(&self) -> bool {
        self.scheme.action != Action::Stat
    }

    /// Whether each page must have been idle for itself, and not only its region.
    pub(super) fn wants_proof(&self) -> bool {
        self.scheme.action == Action::Pageout && self.scheme.pattern.is_of_idle()
    }

    /// How long a page must have been watched to be proven idle, in microseconds.
    pub(super) fn proof_us(&self, aggregation_us: u64) -> u64 {
        self.scheme.pattern.age.min.us(aggregation_us).max(aggregation_us)
    }

    /// How long it matters when something was done to memory, in microseconds.
    pub(super) fn longest_us(&self, aggregation_us: u64) -> u64 {
        let age = self.scheme.pattern.age;
        let bounds = [age.min, age.max].map(|age| age.us(aggregation_us));
        let longest_us = bounds.into_iter().filter(|&us| us != u64::MAX).max().unwrap_or(0);
        let between_us = self.scheme.apply_interval_us.unwrap_or(0).max(aggregation_us);
        longest_us.saturating_mul(2).saturating_add(between_us.saturating_mul(2))
    }

    /// The memory that fits, what matters most first if there is a quota. Counts it.
    pub(super) fn candidates<S: ActionSink>(
        &mut self,
        pieces: &[Piece],
        snapshot: &Snapshot,
        sink: &mut S,
    ) -> Result<Vec<Candidate>, S::Error> {
        let pattern = self.scheme.pattern;
        let (min_us, max_us) = (
            pattern.age.min.us(snapshot.aggregation_us),
            pattern.age.max.us(snapshot.aggregation_us),
        );
        let watched_from_us = min_us / WATCHED_FROM;
        let proof = self.wants_proof();
        let is_bounded = self.scheme.quota.is_limited()
            || self.scheme.goal.is_some()
            || self.scheme.action == Action::Lock;
        let mut found = Vec::new();
        let mut cgroups = Vec::new();
        if filter::asks_for_cgroup(&self.scheme.filters) {
            let ids = snapshot.targets.iter().map(|target| target.id);
            cgroups.extend(ids.map(|id| (id, sink.cgroup(id))));
        }
        self.stats.fitting_bytes = 0;
        for piece in pieces {
            let fits = piece.age_us >= min_us;
            if !pattern.rate.holds(piece.rate)
                || piece.age_us > max_us
                || !(fits || (proof && piece.age_us >= watched_from_us))
                || !pattern.size.holds(piece.region_bytes)
            {
                continue;
            }
            let candidate = Candidate {
                target: piece.target,
                range: piece.range,
                since_us: snapshot.end_us.saturating_sub(piece.age_us),
                fits,
                score: if is_bounded { self.score(piece) } else { 0.0 },
            };
            if self.scheme.filters.is_empty() {
                self.count(candidate);
                self.add(candidate, snapshot.end_us, &mut found);
                continue;
            }
            let cgroup = cgroups.iter().find(|(target, _)| *target == piece.target);
            let cgroup = cgroup.and_then(|(_, path)| path.as_deref());
            for range in self.allowed(candidate, cgroup, sink)? {
                let candidate = Candidate { range, ..candidate };
                self.count(candidate);
                self.add(candidate, snapshot.end_us, &mut found);
            }
        }
        if let Some((target, addr)) = self.resume {
            begin_at(&mut found, target, addr);
        }
        if is_bounded {
            // What fits goes first, in any case.
            found.sort_by(|a, b| b.fits.cmp(&a.fits).then(b.score.total_cmp(&a.score)));
        }
        Ok(found)
    }

    fn score(&self, piece: &Piece) -> f64 {
        let Piece { region_bytes, rate, age_us, .. } = *piece;
        let Scheme { quota, action, .. } = &self.scheme;
        priority::score(&quota.weights, action.prefers_hot(), region_bytes, rate, age_us)
    }

    fn count(&mut self, candidate: Candidate) {
        if candidate.fits {
            self.stats.tried_regions += 1;
            self.stats.tried_bytes += candidate.range.len();
            self.stats.fitting_bytes += candidate.range.len();
        }
    }

    /// Adds what is not at rest; for huge pages, the blocks of which most lies in it.
    fn add(&self, candidate: Candidate, now_us: u64, found: &mut Vec<Candidate>) {
        if !matches!(self.scheme.action, Action::Hugepage | Action::Nohugepage) {
            return found.push(candidate);
        }
        let range = if self.scheme.filters.is_empty() {
            let nearest = |addr: u64| (addr + HUGE_PAGE_SIZE / 2) / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
            AddrRange::new(nearest(candidate.range.start), nearest(candidate.range.end))
        } else {
            // What the filters left out stays out.
            candidate.range.whole_blocks(HUGE_PAGE_SIZE)
        };
        let none = Spans::default();
        let rests = self.rests.get(&candidate.target).unwrap_or(&none);
        let awake = |(_, at_us): &(AddrRange, Option<u64>)| {
            at_us.is_none_or(|at_us| now_us >= at_us + REST_US)
        };
        let parts = rests.over(range).filter(awake);
        found.extend(parts.map(|(range, _)| Candidate { range, ..candidate }));
    }

    /// Lets a block rest.
    pub(super) fn rest(&mut self, target: TargetId, range: AddrRange, now_us: u64) {
        self.rests.entry(target).or_default().set(range, now_us);
    }

    pub(super) fn forget(&mut self, now_us: u64, lives: impl Fn(&TargetId) -> bool) {
        self.rests.retain(|id, _| lives(id));
        for spans in self.rests.values_mut() {
            spans.retain(|at_us| now_us < at_us + REST_US);
        }
    }

    /// What the filters let through.
    fn allowed<S: ActionSink>(
        &self,
        candidate: Candidate,
        cgroup: Option<&str>,
        sink: &mut S,
    ) -> Result<Vec<AddrRange>, S::Error> {
        let filters = &self.scheme.filters;
        let mut parts = Vec::new();
        let mappings = sink.mappings(candidate.target);
        filter::cut(filters, candidate.range, Known { mappings, cgroup }, |part| parts.push(part));
        let mut huge = vec![false; parts.len()];
        if filter::asks_for_huge(filters) {
            let looks = look(sink, candidate.target, &parts)?;
            parts = looks.iter().map(|(window, _)| window.range()).collect();
            huge = looks.iter().map(|(window, seen)| seen.is_huge(window.pages)).collect();
        }
        let known = Known { mappings: sink.mappings(candidate.target), cgroup };
        let mut huge = huge.into_iter();
        parts.retain(|part| filter::allows(filters, *part, known, huge.next().unwrap_or(false)));
        Ok(parts)
    }
}

/// Turns candidates that are by address so that `addr` comes first, and what lies before it
/// last: each gets its turn.
fn begin_at(candidates: &mut Vec<Candidate>, target: TargetId, addr: u64) {
    let mut first = candidates.partition_point(|c| (c.target, c.range.end) <= (target, addr));
    if let Some(around) = candidates.get_mut(first)
        && around.target == target
        && around.range.start < addr
    {
        let behind = Candidate { range: AddrRange::new(addr, around.range.end), ..*around };
        around.range.end = addr;
        first += 1;
        candidates.insert(first, behind);
    }
    candidates.rotate_left(first);
}
