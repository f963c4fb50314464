//! Acting on what a scheme selected, batch by batch, until it is done or a bound is reached.

use super::History;
use super::filters;
use super::scheme_state::SchemeState;
use super::selection::Selected;
use daos_core::{
    Action, ActionReport, ActionSink, AddrRange, BATCH_BYTES, Done, HUGE_PAGE_SIZE, TargetId,
    huge_page_start,
};

/// Most ranges in a batch. Chosen: as many as one call of `process_madvise` takes (`IOV_MAX`).
const BATCH_RANGES: usize = 1024;

/// One pass of one scheme.
pub(super) struct Pass<'a, S> {
    pub(super) state: &'a mut SchemeState,
    /// The scheme's place in the list.
    pub(super) index: u32,
    pub(super) now_us: u64,
    /// When the snapshot ended, on the sink's clock: a pass may begin later.
    pub(super) ended_us: f64,
    pub(super) aggregation_us: u64,
    /// When to leave the rest for the next pass, on the sink's clock.
    pub(super) deadline_us: f64,
    pub(super) history: &'a mut History,
    pub(super) sink: &'a mut S,
    pub(super) done: &'a mut Vec<Done>,
}

/// What is acted on at once: neighbours in the order of selection, of one target.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) target: TargetId,
    pub(super) ranges: Vec<BatchRange>,
    bytes: u64,
}

/// Memory in a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchRange {
    pub(super) range: AddrRange,
    /// When its age began.
    pub(super) since_us: u64,
    /// The age that is asked of it, in microseconds.
    pub(super) asked_us: u64,
    /// Whether it is of that age.
    pub(super) fits: bool,
}

impl Batch {
    /// Its ranges, those that touch made one.
    pub(super) fn joined(&self) -> Vec<AddrRange> {
        AddrRange::joined(self.ranges.iter().map(|one| one.range))
    }
}

impl<S: ActionSink> Pass<'_, S> {
    /// Acts on what was selected, in its order. Says whether anything was acted on.
    pub(super) fn run(&mut self, selected: &[Selected]) -> Result<bool, S::Error> {
        let before = self.state.stats.applied_regions;
        let mut batch = Batch::default();
        self.state.resume = None;
        for one in selected {
            let mut rest = one.range;
            let mut looked_to = rest.start;
            while !rest.is_empty() {
                if self.is_over() {
                    let in_batch =
                        batch.ranges.first().map(|first| (batch.target, first.range.start));
                    self.state.resume = Some(in_batch.unwrap_or((one.target, rest.start)));
                    return Ok(self.state.stats.applied_regions > before);
                }
                if rest.start >= looked_to {
                    (rest, looked_to) = self.without_hole(one.target, rest)?;
                    continue;
                }
                let room = self.room().saturating_sub(batch.bytes);
                let other = batch.target != one.target;
                let full =
                    room < rest.len().min(HUGE_PAGE_SIZE) || batch.ranges.len() == BATCH_RANGES;
                if !batch.ranges.is_empty() && (other || full) {
                    self.act(&mut batch)?;
                    continue;
                }
                let part = first_of(rest, room);
                batch.target = one.target;
                let Selected { since_us, asked_us, fits, .. } = *one;
                batch.ranges.push(BatchRange { range: part, since_us, asked_us, fits });
                batch.bytes += part.len();
                rest.start = part.end;
            }
        }
        if !batch.ranges.is_empty() && !self.is_over() {
            self.act(&mut batch)?;
        }
        Ok(self.state.stats.applied_regions > before)
    }

    /// Bytes that the next batch may have: no more than the quota has left, but a huge
    /// page at least where they are what it is about.
    fn room(&self) -> u64 {
        let left = self.state.charge.bytes_left(&self.state.scheme.quota).min(BATCH_BYTES);
        match self.state.scheme.action {
            Action::Hugepage | Action::Nohugepage => huge_page_start(left).max(HUGE_PAGE_SIZE),
            _ => left,
        }
    }

    fn is_over(&mut self) -> bool {
        let SchemeState { charge, stats, scheme, .. } = &mut *self.state;
        stats.quota_exceeded += u64::from(charge.newly_exhausted(&scheme.quota));
        self.sink.clock_us() >= self.deadline_us
            || charge.bytes_left(&scheme.quota) == 0
            || charge.time_left_us(&scheme.quota) <= 0.0
    }

    /// One batch, on the scheme's account. Empties it.
    fn act(&mut self, batch: &mut Batch) -> Result<(), S::Error> {
        batch.ranges.sort_unstable_by_key(|one| one.range.start);
        batch.bytes = 0;
        let applied_before = self.state.stats.applied_bytes;
        let clock_us = self.sink.clock_us();
        let result = match self.state.scheme.action {
            _ if self.state.needs_proof() => self.act_on_idle_pages(batch),
            Action::Hugepage => self.act_on_used_blocks(batch),
            Action::Nohugepage => {
                let ranges = batch.joined();
                for range in &ranges {
                    self.state.note_examined(batch.target, *range, self.now_us);
                }
                self.apply(batch.target, &ranges).map(drop)
            }
            _ => self.apply(batch.target, &batch.joined()).map(drop),
        };
        batch.ranges.clear();
        let spent_us = self.sink.clock_us() - clock_us;
        let bytes = self.state.stats.applied_bytes - applied_before;
        self.state.charge.add(bytes, spent_us);
        self.state.stats.spent_us += spent_us;
        result
    }

    /// Does the scheme's action to sorted `ranges`, and counts what came of it.
    pub(super) fn apply(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, S::Error> {
        if ranges.is_empty() {
            return Ok(ActionReport::default());
        }
        self.state.has_worked = true;
        let action = self.state.scheme.action;
        let clock_us = self.sink.clock_us();
        let of_allowed;
        let ranges = if self.sink.has_owners() && filters::are_by_owner(&self.state.scheme) {
            let owned = self.sink.owned(target, ranges)?;
            of_allowed = filters::of_owned(&self.state.scheme, &owned);
            &of_allowed
        } else {
            ranges
        };
        let outcome = if self.state.needs_proof() {
            self.sink.apply_to_idle(action, target, ranges)?
        } else {
            self.sink.apply(action, target, ranges)?
        };
        self.state.acted_us += self.sink.clock_us() - clock_us;
        // These clear accessed bits of what stays.
        if matches!(action, Action::Cold | Action::Pageout | Action::Nohugepage) {
            let armed = self.history.armed.entry(target).or_default();
            ranges.iter().for_each(|range| armed.clear(*range));
        }
        // What is to be kept in memory is to be kept for as long as it fits.
        if action != Action::Lock {
            let acted = self.history.acted.entry(target).or_default();
            ranges.iter().for_each(|range| acted.set(*range, self.now_us));
        }
        let stats = &mut self.state.stats;
        stats.applied_bytes += outcome.applied_bytes;
        if target.is_file() {
            stats.page_cache_bytes += outcome.applied_bytes;
        }
        stats.applied_regions += outcome.applied.len() as u64;
        stats.bloat_bytes += outcome.bloat_bytes;
        stats.spared_bytes += outcome.spared_bytes;
        for (why, bytes) in &outcome.refused {
            stats.refuse(*why, *bytes);
        }
        self.state.note_out(target, &outcome.applied, self.aggregation_us, self.now_us);
        for &range in &outcome.applied {
            let next = Done { scheme: self.index, action, target, range };
            match self.done.last_mut() {
                Some(last) if last.is_alike(&next) && last.range.end == range.start => {
                    last.range.end = range.end;
                }
                _ => self.done.push(next),
            }
        }
        Ok(outcome)
    }
}

/// As much of `rest` as there is room for, cut where a huge page may begin if it can be:
/// what can be acted on as a whole should be.
fn first_of(rest: AddrRange, room: u64) -> AddrRange {
    let end = rest.end.min(rest.start.saturating_add(room));
    let at_block = huge_page_start(end);
    let is_cut = end < rest.end && at_block > rest.start;
    AddrRange::new(rest.start, if is_cut { at_block } else { end })
}
