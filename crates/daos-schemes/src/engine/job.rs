//! Acting on what a scheme fits, batch by batch, until it is done or a bound is reached.

use super::Past;
use super::look::{look, windows};
use super::rule::{Candidate, Rule};
use daos_core::access::{MAX_WINDOW_PAGES, Observation, Window, has_page};
use daos_core::action::{Action, Done, Refusal};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use daos_core::sink::{ActionSink, BATCH_BYTES};
use daos_core::target::TargetId;

/// Most ranges in a batch.
const BATCH_RANGES: usize = 1024;
/// How long memory that is paged out, or was never there, is not looked at, in
/// microseconds: then its age starts anew.
const ABSENT_US: u64 = 10_000_000;
/// How long a huge page's worth of memory may have been watched to be judged by it, in
/// microseconds.
const WATCH_US: u64 = 10_000_000;

/// One pass of one scheme.
pub(super) struct Job<'a, S> {
    pub(super) rule: &'a mut Rule,
    /// Its place in the list of schemes.
    pub(super) number: u32,
    pub(super) now_us: u64,
    /// When the pass began, on the sink's clock.
    pub(super) begun_us: f64,
    pub(super) aggregation_us: u64,
    /// When to leave the rest for the next pass, on the sink's clock.
    pub(super) deadline_us: f64,
    pub(super) past: &'a mut Past,
    pub(super) sink: &'a mut S,
    pub(super) done: &'a mut Vec<Done>,
}

/// Neighbours in the order of candidates, of one target, all of which fit or none.
#[derive(Debug, Default)]
struct Batch {
    target: TargetId,
    fits: bool,
    /// With when their age began.
    ranges: Vec<(AddrRange, u64)>,
    bytes: u64,
}

impl<S: ActionSink> Job<'_, S> {
    /// Acts on the candidates, in their order. Says whether anything was acted on.
    pub(super) fn run(&mut self, candidates: &[Candidate]) -> Result<bool, S::Error> {
        let before = self.rule.stats.applied_regions;
        let mut batch = Batch::default();
        self.rule.resume = None;
        for candidate in candidates {
            let mut rest = candidate.range;
            while !rest.is_empty() {
                if self.is_over() {
                    let next = batch.ranges.first().map_or(rest.start, |(range, _)| range.start);
                    self.rule.resume = Some((candidate.target, next));
                    return Ok(self.rule.stats.applied_regions > before);
                }
                let room = self.room().saturating_sub(batch.bytes);
                let other = batch.target != candidate.target || batch.fits != candidate.fits;
                let full =
                    room < rest.len().min(HUGE_PAGE_SIZE) || batch.ranges.len() == BATCH_RANGES;
                if !batch.ranges.is_empty() && (other || full) {
                    self.act(&mut batch)?;
                    continue;
                }
                let part = first_of(rest, room);
                (batch.target, batch.fits) = (candidate.target, candidate.fits);
                batch.ranges.push((part, candidate.since_us));
                batch.bytes += part.len();
                rest.start = part.end;
            }
        }
        if !batch.ranges.is_empty() && !self.is_over() {
            self.act(&mut batch)?;
        }
        Ok(self.rule.stats.applied_regions > before)
    }

    /// Bytes that the next batch may have: no more than the quota has left, but a huge
    /// page at least where they are what it is about.
    fn room(&self) -> u64 {
        let left = self.rule.charge.bytes_left(&self.rule.scheme.quota).min(BATCH_BYTES);
        match self.rule.scheme.action {
            Action::Hugepage | Action::Nohugepage => {
                (left / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE).max(HUGE_PAGE_SIZE)
            }
            _ => left,
        }
    }

    fn is_over(&mut self) -> bool {
        let Rule { charge, stats, scheme, .. } = &mut *self.rule;
        stats.quota_exceeded += u64::from(charge.is_news(&scheme.quota));
        self.sink.clock_us() >= self.deadline_us
            || charge.bytes_left(&scheme.quota) == 0
            || charge.time_left_us(&scheme.quota) <= 0.0
    }

    /// One batch, on the scheme's account. Empties it.
    fn act(&mut self, batch: &mut Batch) -> Result<(), S::Error> {
        batch.ranges.sort_unstable_by_key(|(range, _)| range.start);
        batch.bytes = 0;
        let applied_before = self.rule.stats.applied_bytes;
        let clock_us = self.sink.clock_us();
        let result = match self.rule.scheme.action {
            _ if self.rule.wants_proof() => self.act_on_proven(batch),
            Action::Hugepage => self.act_on_worthy(batch),
            Action::Nohugepage => {
                let ranges = joined(batch);
                for range in &ranges {
                    self.rule.rest(batch.target, *range, self.now_us);
                }
                self.apply(batch.target, &ranges)
            }
            _ => self.apply(batch.target, &joined(batch)),
        };
        batch.ranges.clear();
        let spent_us = self.sink.clock_us() - clock_us;
        let bytes = self.rule.stats.applied_bytes - applied_before;
        self.rule.charge.add(bytes, spent_us);
        self.rule.stats.spent_us += spent_us;
        result
    }

    fn apply(&mut self, target: TargetId, ranges: &[AddrRange]) -> Result<(), S::Error> {
        if ranges.is_empty() {
            return Ok(());
        }
        let action = self.rule.scheme.action;
        let outcome = self.sink.apply(action, target, ranges)?;
        // What is to be kept in memory is to be kept for as long as it fits.
        if action != Action::Lock {
            let acted = self.past.acted.entry(target).or_default();
            ranges.iter().for_each(|range| acted.set(*range, self.now_us));
        }
        let stats = &mut self.rule.stats;
        stats.applied_bytes += outcome.applied_bytes;
        stats.applied_regions += outcome.applied.len() as u64;
        stats.bloat_bytes += outcome.bloat_bytes;
        for (why, bytes) in outcome.refused {
            stats.refuse(why, bytes);
        }
        for range in outcome.applied {
            let next = Done { scheme: self.number, action, target, range };
            match self.done.last_mut() {
                Some(last) if last.is_alike(&next) && last.range.end == range.start => {
                    last.range.end = range.end;
                }
                _ => self.done.push(next),
            }
        }
        Ok(())
    }

    /// Acts on pages of which each was idle for itself since it was armed; arms the others.
    fn act_on_proven(&mut self, batch: &Batch) -> Result<(), S::Error> {
        let target = batch.target;
        let proof_us = self.rule.proof_us(self.aggregation_us);
        let (mut to_arm, mut ripe) = (Vec::new(), Vec::new());
        let armed = self.past.armed.entry(target).or_default();
        for (range, idle_since_us) in &batch.ranges {
            for (part, armed_us) in armed.over(*range) {
                // Armed before it was last in use, a bit tells of that use.
                match armed_us.filter(|armed_us| armed_us >= idle_since_us) {
                    None => to_arm.push(part),
                    Some(us) if batch.fits && us + proof_us <= self.now_us => ripe.push(part),
                    Some(_) => {}
                }
            }
        }
        self.arm(target, &to_arm)?;
        let (mut proven, mut absent) = (Vec::new(), Vec::new());
        for (window, seen) in look(self.sink, target, &ripe)? {
            self.rule.stats.spared_bytes += u64::from(seen.accessed) * PAGE_SIZE;
            if seen.present + seen.unobservable > 0 {
                idle_runs(&window, &seen, &mut proven);
            } else {
                absent.push(window.range());
            }
        }
        self.apply(target, &proven)?;
        let Past { armed, acted } = &mut *self.past;
        let (armed, acted) = (armed.entry(target).or_default(), acted.entry(target).or_default());
        for range in ripe {
            armed.clear(range);
            acted.set(range, self.now_us);
        }
        // Where nothing is, there will be nothing for a while.
        absent.iter().for_each(|range| acted.set(*range, self.now_us + ABSENT_US));
        Ok(())
    }

    /// Acts on blocks of which at least half is present, and half of that was accessed
    /// since it was armed; arms those of which that is not known. The others would bloat.
    fn act_on_worthy(&mut self, batch: &Batch) -> Result<(), S::Error> {
        let target = batch.target;
        let blocks = joined(batch);
        let between_us = self.rule.scheme.apply_interval_us.unwrap_or(0).max(self.aggregation_us);
        let watch_us = WATCH_US.saturating_add(between_us.saturating_mul(2));
        let (mut to_arm, mut worthy) = (Vec::new(), Vec::new());
        for (window, seen) in look(self.sink, target, &blocks)? {
            let range = window.range();
            let is_huge = seen.is_huge(window.pages);
            let (present, accessed) =
                (2 * seen.present >= window.pages, 2 * seen.accessed >= seen.present);
            let armed = self.past.armed.entry(target).or_default();
            let armed_us = armed.over(range).next().and_then(|(_, armed_us)| armed_us);
            match armed_us.filter(|us| us + watch_us >= self.now_us) {
                None if !is_huge && present => {
                    to_arm.push(range);
                    continue;
                }
                Some(us) if us + self.aggregation_us > self.now_us => continue,
                Some(_) if !is_huge && present && accessed => worthy.push(range),
                _ if is_huge => {}
                _ => self.rule.stats.refuse(Refusal::NotWorth, range.len()),
            }
            armed.clear(range);
            self.rule.rest(target, range, self.now_us);
        }
        self.arm(target, &to_arm)?;
        self.apply(target, &worthy)
    }

    /// Lets each page of `ranges` tell by itself, from now on, whether it is accessed.
    fn arm(&mut self, target: TargetId, ranges: &[AddrRange]) -> Result<(), S::Error> {
        if !ranges.is_empty() {
            self.sink.arm(&windows(target, ranges))?;
        }
        let armed = self.past.armed.entry(target).or_default();
        let passed_us = (self.sink.clock_us() - self.begun_us).max(0.0) as u64;
        ranges.iter().for_each(|range| armed.set(*range, self.now_us + passed_us));
        Ok(())
    }
}

/// As much of `rest` as there is room for, cut where a huge page may begin if it can be:
/// what can be acted on as a whole should be.
fn first_of(rest: AddrRange, room: u64) -> AddrRange {
    let end = rest.end.min(rest.start.saturating_add(room));
    let at_block = end / HUGE_PAGE_SIZE * HUGE_PAGE_SIZE;
    let is_cut = end < rest.end && at_block > rest.start;
    AddrRange::new(rest.start, if is_cut { at_block } else { end })
}

/// The ranges of a batch, those that touch made one.
fn joined(batch: &Batch) -> Vec<AddrRange> {
    AddrRange::joined(batch.ranges.iter().map(|(range, _)| *range))
}

/// Adds the runs of pages of a window that were not accessed, for all that is known,
/// joined with the last of `runs` where they touch. Without bits it is all or nothing.
fn idle_runs(window: &Window, seen: &Observation, runs: &mut Vec<AddrRange>) {
    let is_idle = |page: u32| {
        let accessed = seen.pages.map_or(seen.accessed > 0, |bits| has_page(&bits, page));
        let unknown = seen.unknown.map_or(seen.unobservable > 0, |bits| has_page(&bits, page));
        !accessed && !unknown
    };
    for page in (0..window.pages.min(MAX_WINDOW_PAGES)).filter(|&page| is_idle(page)) {
        let start = window.start + u64::from(page) * PAGE_SIZE;
        AddrRange::new(start, start + PAGE_SIZE).push_joined(runs);
    }
}
