//! Runs of pages, where more is known than regions say: of page tables whose pages differ, and of
//! subregions that were *joined* to others, since there may be only so many regions.
//!
//! The runs of a table are found again when something new is known of it, as far as the budget for
//! that goes. How often its pages in use are used changes with each look: a new rate is told
//! without finding the runs again.

use super::subregion::Subregion;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PageRun, PageRuns, RunBlock};

/// Most runs of pages of all targets together. Chosen: as many as a gigabyte has in which every
/// other page is in use; they take ten megabytes.
pub(super) const MAX_RUNS: usize = 1 << 18;
/// CPU time to find and record a new run of pages, in microseconds. Measured, with cold caches.
const RUN_US: f64 = 0.15;
/// CPU time to keep the runs of a table, in microseconds. Measured, with cold caches.
const BLOCK_US: f64 = 0.15;
/// CPU time to go through the runs of a table if some tables have a new rate, here and where it is
/// recorded, in microseconds. Measured, with cold caches.
const RATED_BLOCK_US: f64 = 2.0;
/// The share of the budget for finding the runs of tables that have none yet. Chosen.
const FOR_FIRST_RUNS: f64 = 0.3;
/// The share of the budget for finding again the runs of tables of which something new is known.
/// Chosen.
const FOR_RUNS: f64 = 0.12;
/// The share of the budget for telling new rates of runs that are as they were. Chosen.
const FOR_RATES: f64 = 0.06;
/// Most unused share that can accumulate, in seconds. Chosen: a few milliseconds of CPU time.
const AT_ONCE_S: f64 = 2.0;
/// Joined subregions that begin in the same aligned block of so many bytes are kept, or told anew,
/// as one. Chosen: sixteen page tables, so that one that changes costs little.
const JOINED_BYTES: u64 = 16 * HUGE_PAGE_SIZE;
/// Access rates of a table that differ by no more than this part are told as one. Chosen: looks at
/// a few pages at a time change them by as much.
const RATES_ALIKE: f64 = 0.1;

/// When runs are found, and with which means.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundAt {
    /// The sampling interval, in seconds.
    pub sample_s: f64,
    /// Microseconds of CPU time that may be spent in a second.
    pub per_second: f64,
    pub now_us: u64,
}

impl FoundAt {
    /// The seconds in which this share of the budget pays for so many microseconds.
    fn paid_in_s(&self, us: f64, share: f64) -> f64 {
        us / (share * self.per_second)
    }
}

/// Runs of pages of a target as they were at some time.
#[derive(Debug, Clone, Default)]
pub(super) struct TargetRuns {
    pub pages: PageRuns,
    at_us: u64,
    /// No runs are found before this.
    off_until_us: u64,
    /// When what it cost to find runs is paid for. Once that has passed, the time since is unused.
    paid_until_us: u64,
    /// When new rates are to be told.
    rates_due_us: u64,
    /// In how many seconds its share of the budget pays for what the last update found, or told
    /// anew.
    pub found_s: f64,
    /// The address from which on the next table of which something new is known is looked for.
    next: u64,
    /// Other memory is mapped than when the runs were put together.
    is_mapped_anew: bool,
}

impl TargetRuns {
    /// Finds no runs of pages until then.
    pub fn put_off(&mut self, until_us: u64) {
        self.off_until_us = self.off_until_us.max(until_us);
    }

    /// Notes that other memory is mapped now.
    pub fn note_mapped_anew(&mut self) {
        self.is_mapped_anew = true;
    }

    /// Brings the runs of a target up to date, as far as the budget for that goes. `joined`: what
    /// is known more finely than its regions tell; `room`: how many more runs there may be.
    pub fn update(
        &mut self,
        subregions: &mut [Subregion],
        joined: impl Iterator<Item = PageRun>,
        found_at: FoundAt,
        room: &mut usize,
    ) {
        let now_us = found_at.now_us;
        self.pages.grow(now_us.saturating_sub(self.at_us));
        self.at_us = now_us;
        let may_find = now_us >= self.off_until_us.max(self.paid_until_us);
        let are_rates_due = now_us >= self.rates_due_us;
        self.found_s = 0.0;
        if !(may_find || are_rates_due || self.is_mapped_anew) {
            *room = room.saturating_sub(self.pages.len());
            return;
        }
        let found_s = if may_find { self.find(subregions, found_at) } else { 0.0 };
        let mut rates_s = 0.0;
        if are_rates_due {
            let (cost_us, differ) = update_rates(subregions, found_at);
            let seconds = found_at.paid_in_s(cost_us, FOR_RATES);
            self.rates_due_us = now_us + (seconds * 1e6) as u64;
            rates_s = if differ { seconds } else { 0.0 };
        }
        let nr_joined = self.put_together(subregions, joined, now_us, room);
        let joined_s = found_at.paid_in_s(nr_joined as f64 * RUN_US, FOR_RUNS);
        let all_s = found_at.paid_in_s(self.pages.blocks().len() as f64 * BLOCK_US, FOR_RUNS);
        self.pay_for(found_s + joined_s + all_s, now_us);
        self.found_s = found_s + joined_s + rates_s;
    }

    /// Blocks further searching for `seconds`, less the (≤ `AT_ONCE_S`) time that passed unused.
    fn pay_for(&mut self, seconds: f64, now_us: u64) {
        let unused_us = now_us.saturating_sub((AT_ONCE_S * 1e6) as u64);
        self.paid_until_us = self.paid_until_us.max(unused_us) + (seconds * 1e6) as u64;
    }

    /// Finds the runs of tables that have none first, then of those of which something new is
    /// known, from where that stopped the last time. Returns for how many seconds that has to be
    /// paid for.
    fn find(&mut self, subregions: &mut [Subregion], found_at: FoundAt) -> f64 {
        let unused_s = found_at.now_us.saturating_sub(self.paid_until_us) as f64 / 1e6;
        let most_s = unused_s.min(AT_ONCE_S);
        let mut left_s = most_s;
        let by_pages = |s: &&mut Subregion| s.is_told_by_pages();
        let new = subregions.iter_mut().filter(by_pages).filter(|s| s.told.is_none());
        if find_some(new, FOR_FIRST_RUNS, &mut left_s, found_at).is_none() {
            let first = subregions.partition_point(|subregion| subregion.range.end <= self.next);
            let (before, behind) = subregions.split_at_mut(first);
            let in_turn = behind.iter_mut().chain(before).filter(by_pages);
            let known_anew = in_turn.filter(|s| s.told.as_ref().is_some_and(|told| !told.holds));
            let stopped_at = find_some(known_anew, FOR_RUNS, &mut left_s, found_at);
            self.next = stopped_at.unwrap_or(self.next);
        }
        most_s - left_s
    }

    /// Puts the runs of tables and of joined subregions together, as far as there is room. Returns
    /// how many of the joined ones are new.
    fn put_together(
        &mut self,
        subregions: &[Subregion],
        joined: impl Iterator<Item = PageRun>,
        now_us: u64,
        room: &mut usize,
    ) -> usize {
        self.is_mapped_anew = false;
        let mut joined = joined.peekable();
        let old = joined.peek().map(|_| self.pages.blocks().collect()).unwrap_or_default();
        let mut all = Together { old, ..Together::default() };
        for subregion in subregions.iter().filter(|subregion| subregion.is_told_by_pages()) {
            let Some(told) = &subregion.told else { continue };
            if told.runs.len() > *room {
                break;
            }
            *room -= told.runs.len();
            all.push_joined(&mut joined, subregion.range.start);
            all.behind = subregion.range.end;
            all.blocks.push(told.later(now_us));
        }
        all.push_joined(&mut joined, u64::MAX);
        self.pages = all.blocks.into_iter().collect();
        all.nr_new
    }
}

/// Finds the runs of these tables, paid for by this share of the budget, until no seconds are left.
/// Returns where it stopped, if it did.
fn find_some<'a>(
    tables: impl Iterator<Item = &'a mut Subregion>,
    share: f64,
    left_s: &mut f64,
    found_at: FoundAt,
) -> Option<u64> {
    for table in tables {
        if *left_s <= 0.0 {
            return Some(table.range.start);
        }
        let runs = table.find_runs(found_at.sample_s, found_at.now_us);
        *left_s -= found_at.paid_in_s(runs as f64 * RUN_US, share);
    }
    None
}

/// Brings the rates of tables up to date, whose runs stay as they are. Returns what this costs, in
/// microseconds, and whether any rate differs.
fn update_rates(subregions: &mut [Subregion], FoundAt { sample_s, .. }: FoundAt) -> (f64, bool) {
    let (mut nr, mut differ) = (0, false);
    for subregion in subregions.iter_mut().filter(|subregion| subregion.is_told_by_pages()) {
        let chance = subregion.estimate.chance(sample_s);
        let Some(told) = &mut subregion.told else { continue };
        nr += 1;
        if !told.runs.used_rate().is_some_and(|rate| are_rates_alike(rate, chance)) {
            told.runs = told.runs.clone().with_used_rate(chance);
            differ = true;
        }
    }
    (f64::from(nr) * if differ { RATED_BLOCK_US } else { BLOCK_US }, differ)
}

/// The runs of a target as they are put together, by rising address.
#[derive(Debug, Default)]
struct Together {
    /// The runs told before, as they are by now.
    old: Vec<RunBlock>,
    /// How many of those are passed.
    passed: usize,
    /// The runs told now.
    blocks: Vec<RunBlock>,
    /// Where the last table with runs ends.
    behind: u64,
    /// Runs of joined subregions that were not known before.
    nr_new: usize,
}

impl Together {
    /// Adds the joined subregions between the last table and `to`.
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
        let part = |run: &PageRun| run.range.start / JOINED_BYTES;
        for runs in runs.chunk_by(|one, next| part(one) == part(next)) {
            self.push_block(runs);
        }
    }

    /// Adds joined subregions as one block: as it was before, if nothing else is known.
    fn push_block(&mut self, runs: &[PageRun]) {
        let start = runs[0].range.start;
        self.passed += self.old[self.passed..].iter().take_while(|old| old.start() < start).count();
        match self.old.get(self.passed).filter(|old| are_alike(old, runs)) {
            Some(old) => self.blocks.push(old.clone()),
            None => {
                self.nr_new += runs.len();
                self.blocks.push(RunBlock::new(runs));
            }
        }
    }
}

/// Whether the access rates of a table are told as one.
fn are_rates_alike(told: f64, now: f64) -> bool {
    (told - now).abs() <= RATES_ALIKE * told
}

/// Whether `runs` say what is known of an `old` block.
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
    use crate::windows::estimate::Estimate;
    use crate::windows::evidence::Look;
    use crate::windows::target::TargetSubregions;
    use daos_core::{Observation, TargetId};

    const S: u64 = 1_000_000;

    fn update_at(target: &mut TargetSubregions, now_us: u64) {
        let found_at = FoundAt { sample_s: 0.005, per_second: 4_500.0, now_us };
        let TargetSubregions { runs, subregions, .. } = target;
        runs.update(subregions, std::iter::empty(), found_at, &mut { MAX_RUNS });
    }

    fn see(subregion: &mut Subregion, accessed: u64, now_us: u64) {
        let pages = [accessed; 8];
        let accessed = 8 * accessed.count_ones();
        let seen =
            Observation { present: 512, accessed, pages: Some(pages), ..Observation::default() };
        subregion.arm(0, 512, now_us - 100_000);
        subregion.take((0, 512), &seen, now_us);
    }

    /// So many page tables of which every other page is in use.
    fn mixed(tables: u64) -> TargetSubregions {
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(0, tables * HUGE_PAGE_SIZE)], true, 0);
        target.split_at_tables(64, 0);
        for subregion in &mut target.subregions {
            subregion.make_table();
            see(subregion, 0x5555_5555_5555_5555, 100_000);
        }
        target
    }

    #[test]
    fn another_rate_is_told_while_runs_are_not_found_again() {
        let mut target = mixed(2);
        update_at(&mut target, S);
        let before: Vec<_> = target.runs.pages.blocks().collect();
        assert_eq!(before.iter().map(RunBlock::len).collect::<Vec<_>>(), [512, 512]);
        let look = Look { waiting: 16.0, accessed: 8.0, exposure: 0.01 };
        target.subregions[1].estimate = Estimate::of(look);
        target.runs.put_off(100 * S);
        target.runs.rates_due_us = 3 * S;
        update_at(&mut target, 2 * S);
        assert!(target.runs.pages.blocks().eq(before.iter().map(|block| block.later(S))));
        update_at(&mut target, 3 * S);
        let now: Vec<_> = target.runs.pages.blocks().collect();
        assert!(now[0].is_later(&before[0], 2 * S) && !now[1].is_later(&before[1], 2 * S));
        assert!(now[1].is_later_but_for_rates(&before[1], 2 * S));
        assert_eq!(now[1].used_rate(), Some(target.subregions[1].estimate.chance(0.005)));
        assert!(target.runs.rates_due_us > 3 * S);
        // What is put together anew has it, too.
        update_at(&mut target, 100 * S);
        let blocks: Vec<_> = target.runs.pages.blocks().collect();
        assert!(blocks[1].is_later(&now[1], 97 * S));
    }

    #[test]
    fn many_are_found_in_parts_and_those_of_tables_that_have_none_first() {
        let mut target = mixed(64);
        update_at(&mut target, 10 * S);
        let starts = |target: &TargetSubregions| -> Vec<u64> {
            target.runs.pages.blocks().map(|block| block.start()).collect()
        };
        let first = starts(&target).len();
        assert!((8..60).contains(&first), "{first} of 64");
        // Of the first something new is known meanwhile.
        let news = 0x5555_5555_5555_5557;
        see(&mut target.subregions[0], news, 10 * S + 200_000);
        let mut now_us = 11 * S;
        while starts(&target).len() < 64 {
            let is_first_as_it_was = target.runs.pages.blocks().next().map(|block| block.len());
            assert_eq!(is_first_as_it_was, Some(512));
            update_at(&mut target, now_us);
            assert!(now_us < 40 * S);
            now_us += S;
        }
        // And then what is known of that.
        (0..20).for_each(|second| update_at(&mut target, now_us + second * S));
        let first = target.runs.pages.blocks().next().expect("there are runs");
        assert!(first.len() < 512, "{} runs", first.len());
    }

    #[test]
    fn of_what_is_joined_only_the_parts_that_changed_are_new() {
        let run = |table: u64, age_us: u64| {
            let start = table * HUGE_PAGE_SIZE;
            PageRun {
                range: AddrRange::new(start, start + HUGE_PAGE_SIZE),
                access_rate: 0.0,
                age_us,
            }
        };
        let all = |changed: Option<u64>| {
            (0..160u64).map(move |table| run(table, if changed == Some(table) { 5 * S } else { S }))
        };
        let mut first = Together::default();
        first.push_joined(&mut all(None).peekable(), u64::MAX);
        assert_eq!((first.nr_new, first.blocks.len()), (160, 10));
        let mut next = Together { old: first.blocks.clone(), ..Together::default() };
        next.push_joined(&mut all(Some(40)).peekable(), u64::MAX);
        assert_eq!(next.nr_new, 16);
        let told: PageRuns = next.blocks.into_iter().collect();
        assert!(told.iter().eq(all(Some(40))));
    }

    #[test]
    fn what_is_not_mapped_any_more_is_not_told() {
        let mut target = mixed(4);
        update_at(&mut target, 10 * S);
        target.runs.put_off(100 * S);
        target.runs.rates_due_us = 100 * S;
        target.fit(vec![AddrRange::new(0, HUGE_PAGE_SIZE)], true, 11 * S);
        update_at(&mut target, 11 * S);
        assert_eq!(target.runs.pages.blocks().len(), 1);
    }
}
