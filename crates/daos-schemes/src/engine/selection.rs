//! What a scheme selects: candidates that fit its pattern and pass its filters, what matters
//! most first if it is bounded.

use super::candidates::Candidate;
use super::filters::{self, FilteredTarget};
use super::quota::priority;
use super::sample::sample;
use super::scheme_state::SchemeState;
use crate::scheme::{Bounds, Scheme};
use daos_core::{
    Action, ActionSink, AddrRange, HUGE_PAGE_SIZE, Snapshot, TargetId, huge_page_start,
};
use std::collections::BTreeMap;

/// Memory to be acted on, or to be armed page by page because it soon will.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Selected {
    pub(super) target: TargetId,
    pub(super) range: AddrRange,
    /// When its age began, in microseconds since monitoring began.
    pub(super) since_us: u64,
    /// The age that is asked of it, in microseconds.
    pub(super) asked_us: u64,
    /// Whether it fits; else it lacks age.
    pub(super) fits: bool,
    /// What comes first where not everything may be acted on, 0 to 1.
    priority: f64,
}

/// Whether the filters of a scheme are asked when it selects.
enum Filtering {
    /// There are none, or they are asked when its owners are known, right before memory is acted
    /// on.
    NotHere,
    /// They are; the cgroup of each target that has one, if a filter goes by that.
    Here(BTreeMap<TargetId, String>),
}

impl SchemeState {
    /// Selects from `candidates`, those of `snapshot`, and counts what fits.
    pub(super) fn select<S: ActionSink>(
        &mut self,
        candidates: &[Candidate],
        snapshot: &Snapshot,
        sink: &mut S,
    ) -> Result<Vec<Selected>, S::Error> {
        let pattern = self.scheme.pattern;
        let min_us = pattern.age.min.us(snapshot.aggregation_us);
        let max_us = pattern.age.max.us(snapshot.aggregation_us);
        let rates = Bounds {
            min: pattern.rate.min.share(snapshot.sample_us),
            max: pattern.rate.max.share(snapshot.sample_us),
        };
        let armed_from_us = self.armed_from_us(min_us);
        let takes_files = self.takes_unmapped_files();
        let has_pattern = |candidate: &&Candidate| {
            (takes_files || !candidate.target.is_file())
                && rates.holds(candidate.rate)
                && candidate.age_us <= max_us
                && candidate.age_us >= armed_from_us
                && pattern.size.holds(candidate.region_bytes)
        };
        let is_bounded = self.is_bounded();
        let filtering = self.filtering(snapshot, sink);
        let mut found = Vec::new();
        self.stats.fitting_bytes = 0;
        let mut asked = Vec::new();
        for candidate in candidates.iter().filter(has_pattern) {
            let priority = if is_bounded { self.priority(candidate) } else { 0.0 };
            asked.clear();
            let Candidate { target, range, age_us, .. } = *candidate;
            self.refaults.asked(target, range, min_us, snapshot.end_us, &mut asked);
            for &(range, asked_us) in &asked {
                if age_us < self.armed_from_us(asked_us) {
                    continue;
                }
                let since_us = snapshot.end_us.saturating_sub(age_us);
                let fits = age_us >= asked_us;
                let selected = Selected { target, range, since_us, asked_us, fits, priority };
                if let Filtering::Here(cgroups) = &filtering {
                    let cgroup = cgroups.get(&target).map(String::as_str);
                    for range in self.allowed(selected, cgroup, sink)? {
                        self.take(Selected { range, ..selected }, snapshot.end_us, &mut found);
                    }
                } else {
                    self.take(selected, snapshot.end_us, &mut found);
                }
            }
        }
        if let Some((target, addr)) = self.resume {
            begin_at(&mut found, target, addr);
        }
        if is_bounded {
            // What fits goes first, in any case.
            found.sort_by(|a, b| b.fits.cmp(&a.fits).then(b.priority.total_cmp(&a.priority)));
        }
        Ok(found)
    }

    /// Whether it matters what is acted on first, since not all that fits may be.
    fn is_bounded(&self) -> bool {
        self.scheme.quota.is_limited()
            || self.scheme.goal.is_some()
            || self.scheme.action == Action::Lock
    }

    fn filtering<S: ActionSink>(&self, snapshot: &Snapshot, sink: &mut S) -> Filtering {
        let filters = &self.scheme.filters;
        // Who has it is asked right before it is acted on.
        let is_decided_later = sink.has_owners() && filters::are_by_owner(&self.scheme);
        let has_none = filters.is_empty() && !filters::spare_shared_files(&self.scheme);
        if is_decided_later || has_none {
            return Filtering::NotHere;
        }
        let mut cgroups = BTreeMap::new();
        if filters::need_cgroup(filters) {
            let ids = snapshot.targets.iter().map(|target| target.id);
            cgroups.extend(ids.filter_map(|id| Some((id, sink.cgroup(id)?))));
        }
        Filtering::Here(cgroups)
    }

    /// Whether files that nobody maps are meant, too: where idle pages are paged out, and it does
    /// not matter in which cgroup their process is.
    pub(super) fn takes_unmapped_files(&self) -> bool {
        self.needs_proof() && !filters::need_cgroup(&self.scheme.filters)
    }

    fn priority(&self, candidate: &Candidate) -> f64 {
        let Candidate { region_bytes, rate, age_us, .. } = *candidate;
        let Scheme { quota, action, .. } = &self.scheme;
        priority(&quota.weights, action.prefers_hot(), region_bytes, rate, age_us)
    }

    /// Counts what was selected if it fits, and adds it to `found`.
    fn take(&mut self, selected: Selected, now_us: u64, found: &mut Vec<Selected>) {
        if selected.fits {
            let bytes = selected.range.len();
            self.stats.tried_regions += 1;
            // Of terabytes that are reserved, in a day.
            self.stats.tried_bytes = self.stats.tried_bytes.saturating_add(bytes);
            self.stats.fitting_bytes = self.stats.fitting_bytes.saturating_add(bytes);
        }
        self.add(selected, now_us, found);
    }

    /// What the filters let through.
    fn allowed<S: ActionSink>(
        &self,
        selected: Selected,
        cgroup: Option<&str>,
        sink: &mut S,
    ) -> Result<Vec<AddrRange>, S::Error> {
        let filters = &self.scheme.filters;
        let mut parts = Vec::new();
        let target = FilteredTarget { mappings: sink.mappings(selected.target), cgroup };
        let ranges = match filters::spare_shared_files(&self.scheme) {
            true => filters::without_shared_files(selected.range, target.mappings),
            false => vec![selected.range],
        };
        for range in ranges {
            filters::cut(filters, range, target, |part| parts.push(part));
        }
        let mut huge = vec![false; parts.len()];
        // No huge page maps what nobody maps.
        if filters::need_huge(filters) && !selected.target.is_file() {
            let samples = sample(sink, selected.target, &parts)?;
            parts = samples.iter().map(|(window, _)| window.range()).collect();
            huge = samples.iter().map(|(window, seen)| seen.is_huge(window.pages)).collect();
        }
        let target = FilteredTarget { mappings: sink.mappings(selected.target), cgroup };
        let mut huge = huge.into_iter();
        parts.retain(|part| filters::allows(filters, *part, target, huge.next().unwrap_or(false)));
        Ok(parts)
    }

    /// Adds what was selected to `found`. To make huge pages, or small ones, that is the
    /// blocks of which most lies in it, without those examined lately.
    fn add(&self, selected: Selected, now_us: u64, found: &mut Vec<Selected>) {
        if !matches!(self.scheme.action, Action::Hugepage | Action::Nohugepage) {
            return found.push(selected);
        }
        let range = if self.scheme.filters.is_empty() {
            let nearest = |addr: u64| huge_page_start(addr + HUGE_PAGE_SIZE / 2);
            AddrRange::new(nearest(selected.range.start), nearest(selected.range.end))
        } else {
            // What the filters left out stays out.
            selected.range.whole_blocks(HUGE_PAGE_SIZE)
        };
        let parts = self.unexamined(selected.target, range, now_us).into_iter();
        found.extend(parts.map(|range| Selected { range, ..selected }));
    }
}

/// Turns what is by address so that `addr` comes first, and what lies before it last: each
/// gets its turn.
fn begin_at(found: &mut Vec<Selected>, target: TargetId, addr: u64) {
    let mut first = found.partition_point(|one| (one.target, one.range.end) <= (target, addr));
    if let Some(around) = found.get_mut(first)
        && around.target == target
        && around.range.start < addr
    {
        let behind = Selected { range: AddrRange::new(addr, around.range.end), ..*around };
        around.range.end = addr;
        first += 1;
        found.insert(first, behind);
    }
    found.rotate_left(first);
}
