//! Runs of pages, where more is known than regions say: of page tables whose pages differ, and of
//! what was joined to others since there may be only so many regions.
//!
//! Those of a table are found again when something new is known of it.

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
/// The share of what may be spent that finding runs may take. Chosen.
const FOR_RUNS: f64 = 0.12;
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
    /// The chance then that one in use is accessed in a sampling interval.
    chance: f64,
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
        let is_told = |told: &&Told| (told.chance - chance).abs() <= RATES_ALIKE * told.chance;
        if let Some(told) = subregion.told.as_ref().filter(is_told) {
            return Some(told.runs.later(now_us.saturating_sub(told.at_us)));
        }
        let mut runs = Vec::new();
        let table = subregion.table.as_deref()?;
        table.runs(subregion.range.start, chance, now_us, &mut runs);
        self.nr_new += runs.len();
        let runs = RunBlock::new(&runs);
        subregion.told = Some(Told { runs: runs.clone(), at_us: now_us, chance });
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

/// Whether `runs` say what is known of `old` ones.
fn are_alike(old: &RunBlock, runs: &[PageRun]) -> bool {
    let is_like = |(old, run): (PageRun, &PageRun)| {
        old.range == run.range
            && old.age_us == run.age_us
            && (old.access_rate > 0.0) == (run.access_rate > 0.0)
            && (old.access_rate - run.access_rate).abs() <= RATES_ALIKE * old.access_rate
    };
    old.len() == runs.len() && old.iter().zip(runs).all(is_like)
}
