//! Proof by the accessed bit of each page: a region's access rate is an estimate from samples
//! of it, so that some of its pages may differ.
//!
//! Idle memory is paged out only where each page was armed and then found untouched for as
//! long as the scheme asks for. A huge page is made only where enough of its pages were
//! armed and then found accessed.

use super::History;
use super::pass::{Batch, Pass};
use super::sample::{sample, windows};
use daos_core::access::{MAX_WINDOW_PAGES, has_page};
use daos_core::{
    ActionSink, AddrRange, BATCH_BYTES, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, Refusal, TargetId,
    Window, huge_page_start,
};

/// How long memory that is paged out, or was never there, is not sampled, in microseconds,
/// before its age starts anew. Chosen: a page that came back is found with that delay.
const ABSENT_FOR_US: u64 = 10_000_000;
/// How long idle memory is not sampled that could not be paged out (there was no room in swap, it
/// is shared, or the kernel kept it) or can't be observed, in microseconds. Chosen: to arm it and
/// look at it again every few seconds would take a hundredth of a CPU for each gigabyte.
const REFUSED_FOR_US: u64 = 60_000_000;
/// Before memory is armed, it is looked up whether there is any, once for each part of this size:
/// what one entry of level 3 of the page tables stands for, so that one read tells if it is empty.
const LOOKED_AT_AT_ONCE: u64 = 1 << 30;
/// How long ago a block may have been armed to be judged by what was accessed since, in
/// microseconds. Chosen: over a longer time, memory that is seldom used looks used, too.
const JUDGED_WITHIN_US: u64 = 10_000_000;
/// How long after it was armed a block that is used too little for a huge page is refused as one;
/// it is looked at again until then, in microseconds. Chosen: memory that is used ten times a
/// second was used by then, even if its program has to share a CPU.
const REFUSED_FROM_US: u64 = 1_000_000;

impl<S: ActionSink> Pass<'_, S> {
    /// Acts on pages of which each was idle for itself since it was armed; arms the others.
    pub(super) fn act_on_idle_pages(&mut self, batch: &Batch) -> Result<(), S::Error> {
        let target = batch.target;
        let (mut to_arm, mut to_sample) = (Vec::new(), Vec::new());
        let armed = self.history.armed.entry(target).or_default();
        for one in &batch.ranges {
            // How long a page must have been armed to be proven idle.
            let proof_us = one.asked_us.max(self.aggregation_us);
            for (part, armed_us) in armed.over(one.range) {
                // If a page was armed before it was last in use, its bit may be set by that use.
                match armed_us.filter(|armed_us| *armed_us >= one.since_us) {
                    None => to_arm.push(part),
                    Some(us) if one.fits && us + proof_us <= self.now_us => to_sample.push(part),
                    Some(_) => {}
                }
            }
        }
        let (mut proven, mut idle) = (Vec::new(), Vec::new());
        let (mut absent, mut hidden) = (Vec::new(), Vec::new());
        for (window, seen) in sample(self.sink, target, &to_sample)? {
            self.state.stats.spared_bytes += u64::from(seen.accessed) * PAGE_SIZE;
            match (seen.present, seen.unobservable) {
                (0, 0) => absent.push(window.range()),
                (0, _) => hidden.push(window.range()),
                _ => idle_runs(&window, &seen, &mut proven),
            }
            if seen.present > seen.accessed {
                idle.push(window.range());
            }
        }
        self.state.has_worked |= !to_sample.is_empty();
        let outcome = self.apply(target, &proven)?;
        let History { armed, acted } = &mut *self.history;
        let (armed, acted) = (armed.entry(target).or_default(), acted.entry(target).or_default());
        for range in to_sample {
            armed.clear(range);
            acted.set(range, self.now_us);
        }
        if !outcome.refused.is_empty() && outcome.spared_bytes == 0 {
            hidden.extend(idle.into_iter().filter(|part| !is_block_in(&outcome.applied, part)));
        }
        hidden.iter().for_each(|range| acted.set(*range, self.now_us + REFUSED_FOR_US));
        // Where nothing is present, nothing will be for a while.
        absent.iter().for_each(|range| acted.set(*range, self.now_us + ABSENT_FOR_US));
        // Last: what is armed may share its bits with what was to be read.
        self.arm(target, &to_arm)
    }

    /// Acts on blocks of which at least half is present, and half of that was accessed
    /// since it was armed; arms those of which that is not known. Chosen: with less, a huge
    /// page would bloat more than it gains.
    pub(super) fn act_on_used_blocks(&mut self, batch: &Batch) -> Result<(), S::Error> {
        let target = batch.target;
        let blocks = batch.joined();
        let between_us = self.state.between_us(self.aggregation_us);
        let judged_within_us = JUDGED_WITHIN_US.saturating_add(between_us.saturating_mul(2));
        let (mut to_arm, mut used) = (Vec::new(), Vec::new());
        for (window, seen) in sample(self.sink, target, &blocks)? {
            let range = window.range();
            let is_huge = seen.is_huge(window.pages);
            let (present, accessed) =
                (2 * seen.present >= window.pages, 2 * seen.accessed >= seen.present);
            let armed = self.history.armed.entry(target).or_default();
            let armed_us = armed.over(range).next().and_then(|(_, armed_us)| armed_us);
            match armed_us.filter(|us| us + judged_within_us >= self.now_us) {
                None if !is_huge && present => {
                    to_arm.push(range);
                    continue;
                }
                Some(us) if us + self.aggregation_us > self.now_us => continue,
                Some(_) if !is_huge && present && accessed => used.push(range),
                Some(us) if !is_huge && present && us + REFUSED_FROM_US > self.now_us => continue,
                _ if is_huge => {}
                _ => self.state.stats.refuse(Refusal::NotWorth, range.len()),
            }
            armed.clear(range);
            self.state.note_examined(target, range, self.now_us);
        }
        self.state.has_worked |= !blocks.is_empty();
        self.arm(target, &to_arm)?;
        self.apply(target, &used)?;
        Ok(())
    }

    /// Passes over a hole at the start of `rest`, which was selected: address space that some
    /// programs reserve and never use, and that takes as long to arm as if it were in memory.
    /// Returns what is left of it, and up to which address there is no need to ask again.
    pub(super) fn without_hole(
        &mut self,
        target: TargetId,
        rest: AddrRange,
    ) -> Result<(AddrRange, u64), S::Error> {
        if !self.state.needs_proof() || rest.len() <= BATCH_BYTES {
            return Ok((rest, rest.end));
        }
        let looked_to = (rest.start / LOOKED_AT_AT_ONCE + 1) * LOOKED_AT_AT_ONCE;
        let armed = self.history.armed.entry(target).or_default();
        if armed.over(rest).next().is_some_and(|(_, armed_us)| armed_us.is_some()) {
            return Ok((rest, looked_to));
        }
        // Of more than one page frame, larger blocks are told that are free.
        let first = AddrRange::new(rest.start, rest.start + 2 * PAGE_SIZE);
        let found = sample(self.sink, target, &[first])?;
        let empty_bytes = found.first().map_or(0, |(_, seen)| seen.empty_bytes);
        if empty_bytes <= HUGE_PAGE_SIZE {
            return Ok((rest, looked_to));
        }
        let end = rest.end.min((rest.start / empty_bytes + 1).saturating_mul(empty_bytes));
        let hole = AddrRange::new(rest.start, end);
        let acted = self.history.acted.entry(target).or_default();
        acted.set(hole, self.now_us + ABSENT_FOR_US);
        Ok((AddrRange::new(end, rest.end), end))
    }

    /// Clears the accessed bits of `ranges`, so that each page tells whether it is accessed
    /// from now on. Around them, what they share huge pages or folios with is armed too, and
    /// what its bits told is lost.
    fn arm(&mut self, target: TargetId, ranges: &[AddrRange]) -> Result<(), S::Error> {
        if ranges.is_empty() || !self.state.may_arm(self.now_us) {
            return Ok(());
        }
        self.state.has_worked = true;
        let begun_us = self.sink.clock_us();
        self.sink.arm(&windows(target, ranges))?;
        self.state.armed_us += self.sink.clock_us() - begun_us;
        self.history.drop_cleared(self.sink);
        let armed = self.history.armed.entry(target).or_default();
        let passed_us = (self.sink.clock_us() - self.ended_us).max(0.0) as u64;
        ranges.iter().for_each(|range| armed.set(*range, self.now_us + passed_us));
        Ok(())
    }
}

/// Whether some of the block around a window lies in sorted `ranges`.
fn is_block_in(ranges: &[AddrRange], window: &AddrRange) -> bool {
    let start = huge_page_start(window.start);
    let at = ranges.partition_point(|range| range.end <= start);
    ranges.get(at).is_some_and(|range| range.start < start + HUGE_PAGE_SIZE)
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
