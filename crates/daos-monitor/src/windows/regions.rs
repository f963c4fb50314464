//! Aggregation: from subregions to regions.
//!
//! Neighbours are one region unless the estimate says that their rates differ. When
//! that leaves more regions than may be, those that differ least are taken for one, and what
//! is known more finely is told by runs of pages.

use super::estimate::{Estimate, chance};
use super::subregion::{AGES_ALIKE_US, Subregion};
use super::table::TablePart;
use super::target::TargetSubregions;
use crate::fitting::{pieces, slacks};
use daos_core::{AddrRange, PAGE_SIZE, PageRun, RegionSnapshot};

/// Most runs of pages of all targets together. Chosen: as many as a gigabyte has in which every
/// other page is in use; they take ten megabytes.
const MAX_RUNS: usize = 1 << 18;
/// What a run of pages costs, to be found and to be recorded, in microseconds of CPU time.
/// Measured: 0.04 and 0.02 to 0.03, with cold caches.
const RUN_US: f64 = 0.07;
/// The share of what may be spent that finding runs may take. Chosen.
const FOR_RUNS: f64 = 0.12;
/// Shares in use that differ by no more are alike, where pages differ. Chosen.
const SHARES_ALIKE: f64 = 0.25;

/// Neighbouring subregions that are alike.
#[derive(Debug, Clone, Copy)]
struct Run {
    range: AddrRange,
    estimate: Estimate,
    since_us: u64,
    is_mixed: bool,
    /// Sums over its pages: the chance of an access, and what could not be observed.
    chance: f64,
    unobserved: f64,
    /// Pages of its subregions, without the gaps between them.
    pages: f64,
}

impl Run {
    fn of(subregion: &Subregion, seconds: f64) -> Self {
        let pages = subregion.range.pages() as f64;
        let nothing_known = subregion.estimate.is_empty() && subregion.table.is_none();
        let unknown = nothing_known && !subregion.absent && subregion.unobserved == 0.0;
        Self {
            range: subregion.range,
            estimate: subregion.estimate,
            since_us: subregion.settled_us(),
            is_mixed: subregion.is_mixed(),
            chance: subregion.mean_chance(seconds) * pages,
            unobserved: if unknown { pages } else { subregion.unobserved * pages },
            pages,
        }
    }

    /// A part of it, whose pages are all in use, or all idle since then.
    fn part(&self, subregion: &Subregion, part: TablePart, seconds: f64) -> Self {
        let range = subregion.pages(part.from, part.to);
        let pages = range.pages() as f64;
        let one = if part.is_used { chance(subregion.estimate.rate(), seconds) } else { 0.0 };
        Self {
            range,
            since_us: if part.is_used { self.since_us } else { part.since_us },
            is_mixed: false,
            chance: one * pages,
            unobserved: self.unobserved * pages / self.pages,
            pages,
            ..*self
        }
    }

    fn mean_chance(&self) -> f64 {
        self.chance / self.pages
    }

    fn absorb(&mut self, next: &Self) {
        let share = next.pages / (self.pages + next.pages);
        let (old, new) = (self.since_us, next.since_us);
        // The mean age, weighted by size.
        let since = old as f64 + (new as f64 - old as f64) * share;
        self.since_us = since.max(0.0) as u64;
        self.range.end = next.range.end;
        self.estimate = self.estimate.with(&next.estimate);
        self.is_mixed |= next.is_mixed;
        self.chance += next.chance;
        self.unobserved += next.unobserved;
        self.pages += next.pages;
    }

    /// Whether the rates may be the same; with `slack`, also when they differ by no more.
    fn is_like(&self, next: &Self, slack: f64, now_us: u64) -> bool {
        let hidden = |run: &Self| run.unobserved / run.pages;
        if slack < 1.0 && (hidden(self) - hidden(next)).abs() > 0.5 {
            return false;
        }
        let (one, other) = (self.mean_chance(), next.mean_chance());
        let off = (one - other).abs();
        if slack > 0.0 {
            return off <= slack;
        }
        if self.is_mixed || next.is_mixed {
            return self.is_mixed == next.is_mixed && off <= SHARES_ALIKE * one.max(other);
        }
        if (one == 0.0) != (other == 0.0) {
            return false;
        }
        if one == 0.0 {
            let age = |run: &Self| now_us.saturating_sub(run.since_us);
            let (young, old) = (age(self).min(age(next)), age(self).max(age(next)));
            return old <= 2 * young + AGES_ALIKE_US;
        }
        self.estimate.is_like(&next.estimate)
    }
}

/// What is aggregated how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aggregation {
    /// As a rule at least so many regions, and never more than so many, in total.
    pub nr_regions: (usize, usize),
    /// The sampling interval.
    pub seconds: f64,
    /// Microseconds of CPU time that may be spent in a second.
    pub per_second: f64,
    pub now_us: u64,
}

/// The regions of each target, and runs of pages where more is known. Those are as old as
/// their number makes them dear.
pub(super) fn aggregate(
    targets: &mut [TargetSubregions],
    Aggregation { nr_regions: (min, max), seconds, per_second, now_us }: Aggregation,
) -> Vec<Vec<RegionSnapshot>> {
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|t| joined(t, seconds, now_us)).collect();
    let total = |runs: &[Vec<Run>]| runs.iter().map(Vec::len).sum::<usize>();
    let known = (total(&runs) > max).then(|| runs.clone());
    // Those that are alike are one already.
    for (slack, gap) in slacks().skip(1) {
        if total(&runs) <= max {
            break;
        }
        runs.iter_mut().for_each(|runs| join(runs, slack, gap, now_us));
    }

    let bytes: u64 = runs.iter().flatten().map(|run| run.range.len()).sum();
    let limit = (bytes / PAGE_SIZE / min.max(1) as u64).max(1);
    let mut room = max.saturating_sub(total(&runs)) as u64;
    let mut room_for_pages = MAX_RUNS;
    let mut all = Vec::with_capacity(runs.len());
    for (at, runs) in runs.into_iter().enumerate() {
        let target = &mut targets[at];
        target.runs.grow(now_us.saturating_sub(target.runs_at_us));
        if target.runs_due_us <= now_us {
            let known = known.as_ref().map_or(&[][..], |known| &known[at]);
            let coarse = runs_inside(known, &runs, now_us);
            let pages = page_runs(target, coarse, seconds, now_us, &mut room_for_pages);
            let seconds = pages.len() as f64 * RUN_US / (FOR_RUNS * per_second);
            target.runs_due_us = now_us + (seconds * 1e6) as u64;
            target.runs = pages.into();
        } else {
            room_for_pages = room_for_pages.saturating_sub(target.runs.len());
        }
        target.runs_at_us = now_us;
        let mut regions = Vec::with_capacity(runs.len());
        for run in runs {
            let region = RegionSnapshot {
                range: run.range,
                access_rate: run.mean_chance().clamp(0.0, 1.0),
                unobserved: (run.unobserved / run.pages).clamp(0.0, 1.0),
                age_us: now_us.saturating_sub(run.since_us),
            };
            let pages = region.range.pages();
            let parts = pages.div_ceil(limit).min(room + 1);
            room -= parts - 1;
            // A cut may fall into a gap that was bridged.
            let cut =
                pieces(region.range, parts).filter_map(|range| target.without_gaps_at_ends(range));
            regions.extend(cut.map(|range| RegionSnapshot { range, ..region }));
        }
        all.push(regions);
    }
    all
}

/// The subregions of a target, those that touch and are alike as one.
fn joined(target: &TargetSubregions, seconds: f64, now_us: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut push = |run: Run| match runs.last_mut() {
        Some(last) if last.range.end == run.range.start && last.is_like(&run, 0.0, now_us) => {
            last.absorb(&run);
        }
        _ => runs.push(run),
    };
    for subregion in &target.subregions {
        let whole = Run::of(subregion, seconds);
        let mut parts = subregion.summary.parts().filter(|_| whole.is_mixed).peekable();
        if parts.peek().is_none() {
            push(whole);
        }
        parts.for_each(|part| push(whole.part(subregion, part, seconds)));
    }
    runs
}

/// Those of `known`, sorted, that were joined to others to become one of `runs`.
fn runs_inside(known: &[Run], runs: &[Run], now_us: u64) -> Vec<PageRun> {
    let mut finer = Vec::new();
    let mut rest = known;
    for run in runs {
        let parts = rest.partition_point(|k| k.range.start < run.range.end);
        let (inside, behind) = rest.split_at(parts);
        rest = behind;
        if inside.len() > 1 {
            finer.extend(inside.iter().map(|part| {
                let access_rate = part.mean_chance().clamp(0.0, 1.0);
                let idle_us = now_us.saturating_sub(part.since_us);
                let age_us = if access_rate == 0.0 { idle_us } else { 0 };
                PageRun { range: part.range, access_rate, age_us }
            }));
        }
    }
    finer
}

/// The runs of pages of subregions whose pages differ, laid over `coarse` ones, as far as
/// there is room.
fn page_runs(
    target: &TargetSubregions,
    coarse: Vec<PageRun>,
    seconds: f64,
    now_us: u64,
    room: &mut usize,
) -> Vec<PageRun> {
    let mut runs = Vec::new();
    for subregion in target.subregions.iter().filter(|s| s.is_mixed()) {
        if let Some(table) = &subregion.table
            && subregion.summary.parts().next().is_none()
        {
            let before = runs.len();
            table.runs(
                subregion.range.start,
                subregion.estimate.rate(),
                seconds,
                now_us,
                &mut runs,
            );
            if runs.len() > *room {
                runs.truncate(before);
                break;
            }
        }
    }
    *room -= runs.len();
    overlay(coarse, runs)
}

/// `above` laid over `below`: both are sorted and disjoint, and so is the result.
fn overlay(below: Vec<PageRun>, above: Vec<PageRun>) -> Vec<PageRun> {
    if above.is_empty() || below.is_empty() {
        return if above.is_empty() { below } else { above };
    }
    let mut all = Vec::with_capacity(below.len() + above.len());
    for run in below {
        let mut start = run.range.start;
        let first = above.partition_point(|a| a.range.end <= start);
        for over in above[first..].iter().take_while(|a| a.range.start < run.range.end) {
            if start < over.range.start {
                all.push(PageRun { range: AddrRange::new(start, over.range.start), ..run });
            }
            start = over.range.end;
        }
        if start < run.range.end {
            all.push(PageRun { range: AddrRange::new(start, run.range.end), ..run });
        }
    }
    all.extend(above);
    all.sort_unstable_by_key(|run| run.range.start);
    all
}

/// Joins neighbours that are alike, over gaps of up to `gap` bytes.
fn join(runs: &mut Vec<Run>, slack: f64, gap: u64, now_us: u64) {
    runs.dedup_by(|next, left| {
        let near = next.range.start - left.range.end <= gap;
        let alike = near && left.is_like(next, slack, now_us);
        if alike {
            left.absorb(next);
        }
        alike
    });
}
