//! Aggregation: from subregions to regions.
//!
//! Neighbours are one region unless the estimate says that their rates differ. When
//! that leaves more regions than may be, those that differ least are taken for one, and what
//! is known more finely is told by runs of pages.

use super::ages::are_as_old;
use super::estimate::Estimate;
use super::page_runs::{self, FoundAt};
use super::subregion::Subregion;
use super::table::TablePart;
use super::target::TargetSubregions;
use crate::fitting::{pieces, slacks};
use daos_core::{AddrRange, PAGE_SIZE, PageRun, RegionSnapshot};

/// Where pages differ, shares in use that differ by no more than this part are alike. Chosen.
const SHARES_ALIKE: f64 = 0.25;

/// How many regions of a target room is made for at once. Chosen: most targets have fewer.
const RUNS: usize = 128;
/// Neighbours whose shares that can't be observed differ by more than this stay apart. Chosen.
const HIDDEN_ALIKE: f64 = 0.5;

/// Neighbouring subregions that are alike.
#[derive(Debug, Clone, Copy)]
struct Run {
    range: AddrRange,
    estimate: Estimate,
    since_us: u64,
    is_mixed: bool,
    /// Nothing of it is in memory.
    is_absent: bool,
    /// Sum over its pages of the chance of an access in a sampling interval.
    chance: f64,
    /// Sum over its pages of the shares that could not be observed.
    unobserved: f64,
    /// Pages of its subregions, without the gaps between them.
    pages: f64,
}

impl Run {
    /// Whether most of it could be observed.
    fn is_observed(&self) -> bool {
        self.unobserved <= self.pages / 2.0
    }

    fn of(subregion: &Subregion, seconds: f64, now_us: u64) -> Self {
        let pages = subregion.range.pages() as f64;
        let mut since_us = subregion.settled_us();
        if subregion.mean_rate() == 0.0 {
            since_us = subregion.told_since_us(since_us, now_us);
        }
        let unknown = subregion.is_unknown() && subregion.unobserved == 0.0;
        Self {
            range: subregion.range,
            estimate: subregion.estimate,
            since_us,
            is_mixed: subregion.is_mixed(),
            is_absent: subregion.absent,
            chance: subregion.mean_chance(seconds) * pages,
            unobserved: if unknown { pages } else { subregion.unobserved * pages },
            pages,
        }
    }

    /// A part of it, whose pages are all in use, or all idle since then.
    fn part(&self, subregion: &Subregion, part: TablePart, seconds: f64, now_us: u64) -> Self {
        let range = subregion.pages(part.from, part.to);
        let pages = range.pages() as f64;
        let one = if part.is_used { subregion.estimate.chance(seconds) } else { 0.0 };
        Self {
            range,
            since_us: match part.is_used {
                true => self.since_us,
                false => subregion.told_since_us(part.since_us, now_us),
            },
            is_mixed: false,
            chance: one * pages,
            unobserved: self.unobserved * pages / self.pages,
            pages,
            ..*self
        }
    }

    /// The chance that a page is accessed in a sampling interval, on average.
    fn mean_chance(&self) -> f64 {
        self.chance / self.pages
    }

    /// As a run of pages.
    fn of_pages(&self, now_us: u64) -> PageRun {
        let access_rate = self.mean_chance().clamp(0.0, 1.0);
        let idle_us = now_us.saturating_sub(self.since_us);
        let age_us = if access_rate == 0.0 { idle_us } else { 0 };
        PageRun { range: self.range, access_rate, age_us }
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
        self.is_absent &= next.is_absent;
        self.chance += next.chance;
        self.unobserved += next.unobserved;
        self.pages += next.pages;
    }

    /// Whether the rates may be the same. With `slack`, also if the chances differ by no more than
    /// this.
    fn is_like(&self, next: &Self, slack: f64, now_us: u64) -> bool {
        let hidden = |run: &Self| run.unobserved / run.pages;
        if slack < 1.0 && (hidden(self) - hidden(next)).abs() > HIDDEN_ALIKE {
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
        if one == 0.0 && self.is_absent && next.is_absent {
            // Of memory that is not there, it does not matter since when it is idle.
            return true;
        }
        if one == 0.0 {
            return are_as_old(self.since_us, next.since_us, now_us);
        }
        self.estimate.is_like(&next.estimate)
    }
}

/// The regions of each target, in total at least `min` as a rule, and never more than `max`. Also
/// brings the runs of pages up to date, where more is known.
pub(super) fn aggregate(
    targets: &mut [TargetSubregions],
    (min, max): (usize, usize),
    found_at: FoundAt,
) -> Vec<Vec<RegionSnapshot>> {
    let FoundAt { sample_s, now_us, .. } = found_at;
    let mut runs: Vec<Vec<Run>> = targets.iter().map(|t| joined(t, sample_s, now_us)).collect();
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
    let mut room_for_pages = page_runs::MAX_RUNS;
    let mut all = Vec::with_capacity(runs.len());
    for (at, runs) in runs.into_iter().enumerate() {
        let target = &mut targets[at];
        let known = known.as_ref().map_or(&[][..], |known| &known[at]);
        let joined = joined_of(known, &runs).map(|run| run.of_pages(now_us));
        target.runs.update(&mut target.subregions, joined, found_at, &mut room_for_pages);
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
            if parts == 1 {
                regions.push(region);
                continue;
            }
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
    let mut runs: Vec<Run> = Vec::with_capacity(RUNS);
    let mut push = |run: Run| match runs.last_mut() {
        Some(last) if last.range.end == run.range.start && last.is_like(&run, 0.0, now_us) => {
            last.absorb(&run);
        }
        _ => runs.push(run),
    };
    for subregion in &target.subregions {
        let whole = Run::of(subregion, seconds, now_us);
        let mut parts = subregion.summary.parts().filter(|_| whole.is_mixed).peekable();
        if parts.peek().is_none() {
            push(whole);
        }
        parts.for_each(|part| push(whole.part(subregion, part, seconds, now_us)));
    }
    runs
}

/// Of `known`, sorted: the runs that were joined to others to become one of `runs`.
fn joined_of<'a>(known: &'a [Run], runs: &'a [Run]) -> impl Iterator<Item = &'a Run> {
    let mut rest = known;
    runs.iter().flat_map(move |run| {
        let parts = rest.partition_point(|k| k.range.start < run.range.end);
        let (inside, behind) = rest.split_at(parts);
        rest = behind;
        // Of what was not observed nothing is known: it is told with the others.
        if inside.len() > 1 { inside } else { &[] }.iter().filter(|run| run.is_observed())
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{HUGE_PAGE_SIZE, Observation, TargetId};

    #[test]
    fn memory_of_which_nothing_is_there_is_one_region_whenever_that_was_seen() {
        const S: u64 = 1_000_000;
        let regions = |absent: bool| {
            let mut target = TargetSubregions::new(TargetId(0));
            target.fit(vec![AddrRange::new(0, 64 * HUGE_PAGE_SIZE)], true, 0);
            target.split_at_tables(64, 0);
            for (at, subregion) in target.subregions.iter_mut().enumerate() {
                let at_us = (1 + 20 * (at as u64 % 2)) * S;
                subregion.arm(0, 8, at_us);
                let seen = Observation { present: 8, ..Observation::default() };
                subregion.take((0, 8), &seen, at_us + S);
                subregion.absent = absent;
            }
            joined(&target, 0.005, 22 * S).len()
        };
        assert_eq!(regions(true), 1);
        assert_eq!(regions(false), 64, "what is there is as old as it is");
    }
}
