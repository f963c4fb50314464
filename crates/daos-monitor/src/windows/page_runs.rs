//! Runs of pages, where more is known than regions say: of page tables whose pages differ, and of
//! what was joined to others since there may be only so many regions.
//!
//! Those of a table are found again when something new is known of it. How often those in use are used changes with
//! each look; a new rate is told without finding them again.

use super::regions::Run;
use super::subregion::Subregion;
use super::target::TargetSubregions;
use daos_core::{AddrRange, PageRun, RunBlock};

/// Most runs of pages of all targets together. Chosen: as many as a gigabyte has in which every
/// other page is in use; they take ten megabytes.
pub(super) const MAX_RUNS: usize = 1 << 18;
/// What a run of pages costs that is new, to be found and to be recorded, in microseconds of CPU
/// time; and what it costs to keep those of a table. Measured, with cold caches.
const RUN_US: f64 = 0.15;
const BLOCK_US: f64 = 0.15;
/// What it costs to go through those of a table of which some are told to be used more or less than before, here and where
/// it is recorded. Measured, with cold caches.
const RATED_BLOCK_US: f64 = 2.0;
/// The share of what may be spent that finding runs may take, and new rates of those that are as they were. Chosen.
const FOR_RUNS: f64 = 0.12;
const FOR_RATES: f64 = 0.06;
/// Access rates of a table that differ by no more than this part are told as one. Chosen: looks at a few
/// pages at a time change them by as much.
const RATES_ALIKE: f64 = 0.1;

/// Where and when runs are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundAt {
    /// The sampling interval.
    pub seconds: f64,
    /// Microseconds of CPU time that may be spent in a second.
    pub per_second: f64,
    pub now_us: u64,
}

/// The runs of a page table as they were found last.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Told {
    runs: RunBlock,
    at_us: u64,
}

/// Brings the runs of a target up to date when that is due: `joined` is what is known more finely
/// than by its regions. They are as old as what is new makes them dear.
pub(super) fn update<'a>(
    target: &mut TargetSubregions,
    joined: impl Iterator<Item = &'a Run>,
    found_at: FoundAt,
    room: &mut usize,
) {
    let FoundAt { per_second, now_us, .. } = found_at;
    target.runs.grow(now_us.saturating_sub(target.runs_at_us));
    target.runs_at_us = now_us;
    if now_us < target.runs_due_us {
        update_rates(target, found_at);
        *room = room.saturating_sub(target.runs.len());
        return;
    }
    let mut joined = joined.map(|run| of_run(run, now_us)).peekable();
    // Those of tables are found again with the tables.
    let old = joined.peek().map(|_| target.runs.blocks().collect()).unwrap_or_default();
    let mut found = Found { old, ..Found::default() };
    for subregion in &mut target.subregions {
        if !subregion.is_mixed() || subregion.summary.parts().next().is_some() {
            continue;
        }
        let before = found.nr_new;
        let Some(block) = found.of_table(subregion, found_at) else { continue };
        if block.len() > *room {
            found.nr_new = before;
            break;
        }
        *room -= block.len();
        found.push_joined(&mut joined, subregion.range.start);
        found.behind = subregion.range.end;
        found.blocks.push(block);
    }
    found.push_joined(&mut joined, u64::MAX);
    let cost_us = found.nr_new as f64 * RUN_US + found.blocks.len() as f64 * BLOCK_US;
    target.runs_due_us = now_us + (cost_us * 1e6 / (FOR_RUNS * per_second)) as u64;
    target.runs = found.blocks.into_iter().collect();
}

/// Brings the rates of tables up to date, whose runs stay as they were, when that is due.
fn update_rates(target: &mut TargetSubregions, found_at: FoundAt) {
    let FoundAt { seconds, per_second, now_us } = found_at;
    if now_us < target.rates_due_us {
        return;
    }
    let mut subregions = target.subregions.iter().peekable();
    let mut differ = false;
    let with_rate = |block: RunBlock| {
        let Some(rate) = block.used_rate() else { return block };
        while subregions.next_if(|s| s.range.end <= block.start()).is_some() {}
        let is_of = |s: &&&Subregion| s.is_mixed() && s.range.start <= block.start();
        let chance = subregions.peek().filter(is_of).map(|s| s.estimate.chance(seconds));
        let Some(chance) = chance.filter(|chance| !are_rates_alike(rate, *chance)) else {
            return block;
        };
        differ = true;
        block.with_used_rate(chance)
    };
    let blocks: Vec<_> = target.runs.blocks().map(with_rate).collect();
    let cost_us = blocks.len() as f64 * if differ { RATED_BLOCK_US } else { BLOCK_US };
    if differ {
        target.runs = blocks.into_iter().collect();
    }
    target.rates_due_us = now_us + (cost_us * 1e6 / (FOR_RATES * per_second)) as u64;
}

/// Runs of a target, from below.
#[derive(Debug, Default)]
struct Found {
    /// Those before, as they are by now, and the first of them that is not passed yet.
    old: Vec<RunBlock>,
    passed: usize,
    blocks: Vec<RunBlock>,
    /// Where the last table ends that has runs.
    behind: u64,
    /// Runs that were not known before.
    nr_new: usize,
}

impl Found {
    /// The runs of the pages of a table; `None` if it has none.
    fn of_table(&mut self, subregion: &mut Subregion, found_at: FoundAt) -> Option<RunBlock> {
        let FoundAt { seconds, now_us, .. } = found_at;
        let chance = subregion.estimate.chance(seconds);
        if let Some(told) = &mut subregion.told {
            let is_alike = |rate| are_rates_alike(rate, chance);
            if !told.runs.used_rate().is_some_and(is_alike) {
                told.runs = told.runs.clone().with_used_rate(chance);
            }
            return Some(told.runs.later(now_us.saturating_sub(told.at_us)));
        }
        let mut runs = Vec::new();
        let table = subregion.table.as_deref()?;
        table.runs(subregion.range.start, chance, now_us, &mut runs);
        self.nr_new += runs.len();
        let runs = RunBlock::new(&runs).with_used_rate(chance);
        subregion.told = Some(Told { runs: runs.clone(), at_us: now_us });
        Some(runs)
    }

    /// Adds what is joined between the last table and `to`.
    fn push_joined(
        &mut self,
        joined: &mut std::iter::Peekable<impl Iterator<Item = PageRun>>,
        to: u64,
    ) {
        let between = AddrRange::new(self.behind.min(to), to);
        let mut runs = Vec::new();
        while let Some(run) = joined.peek().filter(|run| run.range.start < to) {
            if let Some(range) = run.range.intersect(&between) {
                runs.push(PageRun { range, ..*run });
            }
            if run.range.end > to {
                break;
            }
            joined.next();
        }
        let Some(first) = runs.first() else { return };
        let old = &self.old[self.passed..];
        self.passed += old.iter().take_while(|old| old.start() < first.range.start).count();
        match self.old.get(self.passed).filter(|old| are_alike(old, &runs)) {
            Some(old) => self.blocks.push(old.clone()),
            None => {
                self.nr_new += runs.len();
                self.blocks.push(RunBlock::new(&runs));
            }
        }
    }
}

/// One of those that were joined, as a run of pages.
fn of_run(run: &Run, now_us: u64) -> PageRun {
    let access_rate = run.mean_chance().clamp(0.0, 1.0);
    let idle_us = now_us.saturating_sub(run.since_us);
    PageRun { range: run.range, access_rate, age_us: if access_rate == 0.0 { idle_us } else { 0 } }
}

/// Whether the access rates of a table are told as one.
fn are_rates_alike(told: f64, now: f64) -> bool {
    (told - now).abs() <= RATES_ALIKE * told
}

/// Whether `runs` say what is known of `old` ones.
fn are_alike(old: &RunBlock, runs: &[PageRun]) -> bool {
    let is_like = |(old, run): (PageRun, &PageRun)| {
        old.range == run.range
            && old.age_us == run.age_us
            && (old.access_rate > 0.0) == (run.access_rate > 0.0)
            && are_rates_alike(old.access_rate, run.access_rate)
    };
    old.len() == runs.len() && old.iter().zip(runs).all(is_like)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::estimate::{Estimate, Look};
    use daos_core::{HUGE_PAGE_SIZE, Observation, TargetId};

    const S: u64 = 1_000_000;

    fn update_at(target: &mut TargetSubregions, now_us: u64) {
        let found_at = FoundAt { seconds: 0.005, per_second: 4_500.0, now_us };
        update(target, std::iter::empty(), found_at, &mut { MAX_RUNS });
    }

    /// Two page tables of which every other page is in use.
    fn mixed() -> TargetSubregions {
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(0, 2 * HUGE_PAGE_SIZE)], 0);
        target.split_at_tables(64, 0);
        let accessed = [0x5555_5555_5555_5555; 8];
        let seen = Observation {
            present: 512,
            accessed: 256,
            pages: Some(accessed),
            ..Observation::default()
        };
        for subregion in &mut target.subregions {
            subregion.make_table();
            subregion.arm(0, 512, 0);
            subregion.take((0, 512), &seen, 100_000);
        }
        target
    }

    #[test]
    fn another_rate_is_told_while_runs_are_not_found_again() {
        let mut target = mixed();
        update_at(&mut target, S);
        let before: Vec<_> = target.runs.blocks().collect();
        assert_eq!(before.iter().map(RunBlock::len).collect::<Vec<_>>(), [512, 512]);
        let look = Look { waiting: 16.0, accessed: 8.0, exposure: 0.01 };
        target.subregions[1].estimate = Estimate::of(look);
        target.runs_due_us = 100 * S;
        target.rates_due_us = 3 * S;
        update_at(&mut target, 2 * S);
        assert!(target.runs.blocks().eq(before.iter().map(|block| block.later(S))));
        update_at(&mut target, 3 * S);
        let now: Vec<_> = target.runs.blocks().collect();
        assert!(now[0].is_later(&before[0], 2 * S) && !now[1].is_later(&before[1], 2 * S));
        assert!(now[1].is_later_but_for_rates(&before[1], 2 * S));
        assert_eq!(now[1].used_rate(), Some(target.subregions[1].estimate.chance(0.005)));
        assert!(target.rates_due_us > 3 * S && target.runs_due_us == 100 * S);
        // What is found anew when that is due has it, too.
        update_at(&mut target, 100 * S);
        assert!(target.runs.blocks().nth(1).is_some_and(|block| block.is_later(&now[1], 97 * S)));
    }
}
