//! Aggregation: from subregions to regions.
//!
//! Neighbours are one region unless the estimate says that their rates differ. When
//! that leaves more regions than may be, those that differ least are taken for one.

use super::subregion::Subregion;
use super::target::TargetSubregions;
use daos_core::{AddrRange, PAGE_SIZE, PageRun, RegionSnapshot};

/// Rates below this are taken for none. Chosen: an access in 2000 sampling intervals. What
/// is left in an estimate of accesses long ago is smaller.
const IDLE_RATE: f64 = 0.0005;

/// A rate that is 0 where there is as good as no access, and at most 1.
pub(super) fn stated_rate(rate: f64) -> f64 {
    if rate < IDLE_RATE { 0.0 } else { rate.min(1.0) }
}

/// Neighbouring subregions that are alike.
#[derive(Debug, Clone, Copy)]
struct Run {
    subregion: Subregion,
    /// Sums over its pages: the rate, and what could not be observed.
    rate: f64,
    unobserved: f64,
    /// Pages of its subregions, without the gaps between them.
    pages: f64,
}

impl Run {
    fn of(subregion: &Subregion) -> Self {
        let pages = subregion.range.pages() as f64;
        let rate = subregion.estimate.rate() * pages;
        Self { subregion: *subregion, rate, unobserved: subregion.unobserved * pages, pages }
    }

    fn mean_rate(&self) -> f64 {
        self.rate / self.pages
    }

    fn absorb(&mut self, next: &Self) {
        let share = next.pages / (self.pages + next.pages);
        let (old, new) = (self.subregion.since_us, next.subregion.since_us);
        // The mean age, weighted by size.
        let since = old as f64 + (new as f64 - old as f64) * share;
        self.subregion.since_us = since.max(0.0) as u64;
        self.subregion.range.end = next.subregion.range.end;
        self.subregion.estimate = self.subregion.estimate.with(&next.subregion.estimate, share);
        self.rate += next.rate;
        self.unobserved += next.unobserved;
        self.pages += next.pages;
    }

    /// Whether the rates may be the same; with `slack`, also when they differ by no more.
    fn is_like(&self, next: &Self, slack: f64, now_us: u64) -> bool {
        let hidden = |run: &Self| run.unobserved / run.pages;
        if slack < 1.0 && (hidden(self) - hidden(next)).abs() > 0.5 {
            return false;
        }
        if slack == 0.0 && self.subregion.is_of_another_age(&next.subregion, now_us) {
            return false;
        }
        let off = (self.mean_rate() - next.mean_rate()).abs();
        off <= slack || self.subregion.estimate.is_like(&next.subregion.estimate)
    }
}

/// The regions of each target, at most `max` and as a rule at least `min` in total, and what
/// they were made of where they had to be made coarser than what is known.
pub(super) fn aggregate(
    targets: &[TargetSubregions],
    (min, max): (usize, usize),
    now_us: u64,
) -> Vec<(Vec<RegionSnapshot>, Vec<PageRun>)> {
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|m| joined(m, now_us)).collect();
    let total = |runs: &[Vec<Run>]| runs.iter().map(Vec::len).sum::<usize>();
    let (mut slack, mut gap) = (0.0, 0);
    let mut known = Vec::new();
    loop {
        if slack == 0.0 && gap == 0 && total(&runs) > max {
            known = runs.clone();
        }
        if total(&runs) <= max || (gap > u64::MAX / 4 && slack >= 1.0) {
            break;
        }
        // Bridging a gap is better than giving up a difference, up to 64 KiB.
        if gap < 64 << 10 || slack >= 1.0 {
            gap = (gap * 2).max(PAGE_SIZE);
        } else {
            slack = (slack * 2.0f64).max(0.01);
        }
        for runs in &mut runs {
            join(runs, slack, gap, now_us);
        }
    }

    let bytes: u64 = runs.iter().flatten().map(|r| r.subregion.range.len()).sum();
    let limit = (bytes / PAGE_SIZE / min.max(1) as u64).max(1);
    let mut room = max.saturating_sub(total(&runs)) as u64;
    let mut regions = Vec::with_capacity(runs.len());
    for (target, runs) in runs.into_iter().enumerate() {
        let known = known.get(target).map_or(&[][..], Vec::as_slice);
        let finer = runs_inside(known, &runs, now_us);
        let mut of_target = Vec::with_capacity(runs.len());
        for run in runs {
            let region = RegionSnapshot {
                range: run.subregion.range,
                access_rate: stated_rate(run.mean_rate()),
                unobserved: (run.unobserved / run.pages).clamp(0.0, 1.0),
                age_us: now_us.saturating_sub(run.subregion.since_us),
            };
            let pages = region.range.pages();
            let parts = pages.div_ceil(limit).min(room + 1);
            room -= parts - 1;
            let at = |part: u64| region.range.start + pages * part / parts * PAGE_SIZE;
            let cut = (0..parts).map(|part| AddrRange::new(at(part), at(part + 1)));
            // A cut may fall into a gap that was bridged.
            let cut = cut.filter_map(|range| targets[target].without_gaps_at_ends(range));
            of_target.extend(cut.map(|range| RegionSnapshot { range, ..region }));
        }
        regions.push((of_target, finer));
    }
    regions
}

/// The subregions of a target, those that touch and are alike as one.
fn joined(target: &TargetSubregions, now_us: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for subregion in &target.subregions {
        let run = Run::of(subregion);
        match runs.last_mut() {
            Some(last)
                if last.subregion.range.end == subregion.range.start
                    && last.is_like(&run, 0.0, now_us) =>
            {
                last.absorb(&run);
            }
            _ => runs.push(run),
        }
    }
    runs
}

/// Those of `known`, sorted, that were joined to others to become one of `runs`.
fn runs_inside(known: &[Run], runs: &[Run], now_us: u64) -> Vec<PageRun> {
    let mut finer = Vec::new();
    let mut rest = known;
    for run in runs {
        let parts = rest.partition_point(|k| k.subregion.range.start < run.subregion.range.end);
        let (inside, behind) = rest.split_at(parts);
        rest = behind;
        if inside.len() > 1 {
            finer.extend(inside.iter().map(|part| {
                let access_rate = stated_rate(part.mean_rate());
                let idle_us = now_us.saturating_sub(part.subregion.since_us);
                let age_us = if access_rate == 0.0 { idle_us } else { 0 };
                PageRun { range: part.subregion.range, access_rate, age_us }
            }));
        }
    }
    finer
}

/// Joins neighbours that are alike, over gaps of up to `gap` bytes.
fn join(runs: &mut Vec<Run>, slack: f64, gap: u64, now_us: u64) {
    runs.dedup_by(|next, left| {
        let near = next.subregion.range.start - left.subregion.range.end <= gap;
        let alike = near && left.is_like(next, slack, now_us);
        if alike {
            left.absorb(next);
        }
        alike
    });
}

#[cfg(test)]
mod tests {
    use super::super::estimate::RateEstimate;
    use super::*;
    use daos_core::TargetId;

    fn target(subregions: &[(u64, u64, f64)]) -> TargetSubregions {
        let mut target = TargetSubregions::new(TargetId(0));
        target.subregions = subregions
            .iter()
            .map(|&(start, end, rate)| {
                let range = AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE);
                let estimate = RateEstimate::of(rate * 100.0, 100.0);
                Subregion { estimate, unsure: false, ..Subregion::new(range, start) }
            })
            .collect();
        target
    }

    fn regions(subregions: &[(u64, u64, f64)], min: usize, max: usize) -> Vec<(u64, u64, u32)> {
        let all = aggregate(&[target(subregions)], (min, max), 0);
        all[0]
            .0
            .iter()
            .map(|r| {
                let permille = (r.access_rate * 1000.0).round() as u32;
                (r.range.start / PAGE_SIZE, r.range.end / PAGE_SIZE, permille)
            })
            .collect()
    }

    #[test]
    fn alike_neighbours_are_one_region() {
        let subregions =
            [(0, 10, 0.0), (10, 30, 0.0), (30, 40, 0.9), (40, 50, 0.88), (60, 70, 0.9)];
        assert_eq!(regions(&subregions, 1, 100), [(0, 30, 0), (30, 50, 890), (60, 70, 900)]);
    }

    #[test]
    fn the_bounds_hold() {
        let subregions: Vec<_> = (0..100).map(|i| (i, i + 1, (i % 10) as f64 / 10.0)).collect();
        assert!(regions(&subregions, 1, 30).len() <= 30);
        let apart: Vec<_> = (0..100).map(|i| (i * 1000, i * 1000 + 1, 0.0)).collect();
        assert!(regions(&apart, 1, 7).len() <= 7);
        assert_eq!(regions(&[(0, 100, 0.5)], 10, 100).len(), 10);
        assert_eq!(regions(&[(0, 3, 0.5)], 10, 100).len(), 3);
    }
}
