//! A scheme at work: when it is due, what it has done, what is left of its quota.

use super::interval_map::IntervalMap;
use super::quota::Charge;
use super::refaults::Refaults;
use super::watermarks::WatermarkState;
use crate::scheme::Scheme;
use daos_core::{Action, ActionSink, AddrRange, Metrics, SchemeStats, Snapshot, TargetId};
use std::collections::BTreeMap;

/// How long a block is left alone whose mapping, by huge pages or small ones, was examined,
/// in microseconds. Chosen: examining all of a target's memory again each aggregation
/// interval would cost more than huge pages gain.
const EXAMINED_FOR_US: u64 = 10_000_000;

/// The share of a CPU that it may take to find what fits, besides what acting takes. Chosen:
/// as much as monitoring takes by default.
const FINDING: f64 = 0.005;

/// The longest that a scheme waits for the sake of [`FINDING`], until its next pass or until it
/// arms more, in microseconds. Chosen: a scheme that acts that late is still of use.
const MOST_WAIT_US: f64 = 5_000_000.0;

/// The part of the least age from which on pages are armed. Chosen: late enough that memory
/// which is idle for a moment between two uses is not armed each time, early enough to
/// delay the action by an eighth of the age only.
const ARMED_FROM: u64 = 8;

/// A scheme and what it has done.
#[derive(Debug, Clone)]
pub(super) struct SchemeState {
    pub(super) scheme: Scheme,
    pub(super) stats: SchemeStats,
    pub(super) charge: Charge,
    watermarks: WatermarkState,
    /// When it was last asked whether it is time.
    asked_at_us: Option<u64>,
    /// When it is to be applied next.
    due_us: u64,
    /// What acting took in this pass, and arming, in microseconds.
    pub(super) acted_us: f64,
    pub(super) armed_us: f64,
    /// When more may be armed.
    arm_from_us: u64,
    /// Whether anything was looked at, armed or acted on in it.
    pub(super) has_worked: bool,
    /// Where the last pass stopped, if it did not come to its end.
    pub(super) resume: Option<(TargetId, u64)>,
    /// Blocks whose mapping was examined, and when.
    examined: BTreeMap<TargetId, IntervalMap>,
    /// What came back of what was paged out.
    pub(super) refaults: Refaults,
}

impl SchemeState {
    pub(super) fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            stats: SchemeStats::default(),
            charge: Charge::default(),
            watermarks: WatermarkState::default(),
            asked_at_us: None,
            due_us: 0,
            acted_us: 0.0,
            armed_us: 0.0,
            arm_from_us: 0,
            has_worked: false,
            resume: None,
            examined: BTreeMap::new(),
            refaults: Refaults::default(),
        }
    }

    /// Whether each page must have been idle for itself, and not only its region.
    pub(super) fn needs_proof(&self) -> bool {
        self.scheme.action == Action::Pageout && self.scheme.pattern.is_of_idle()
    }

    /// The age in microseconds from which on memory is armed, of an age of `asked_us`.
    pub(super) fn armed_from_us(&self, asked_us: u64) -> u64 {
        if self.needs_proof() { asked_us / ARMED_FROM } else { asked_us }
    }

    /// Begins a pass, if it is time for one and the watermarks let it.
    pub(super) fn begin_pass(&mut self, now_us: u64, metrics: &mut dyn Metrics) -> bool {
        let passed_us = now_us.saturating_sub(self.asked_at_us.unwrap_or(now_us));
        self.asked_at_us = Some(now_us);
        self.stats.slept_us += if self.watermarks.sleeps() { passed_us } else { 0 };
        if now_us < self.due_us {
            return false;
        }
        self.due_us = now_us.saturating_add(self.scheme.apply_interval_us.unwrap_or(0));
        if let Some(marks) = &self.scheme.watermarks
            && !self.watermarks.is_active(marks, now_us, metrics)
        {
            self.stats.slept += 1;
            return false;
        }
        self.charge.begin(&self.scheme.quota, self.scheme.goal, now_us, metrics);
        self.stats.passes += 1;
        (self.acted_us, self.armed_us) = (0.0, 0.0);
        self.has_worked = false;
        true
    }

    /// Ends a pass that took so many microseconds. The next pass waits until the time spent on
    /// finding what fits is no more than the share [`FINDING`] of all time, and so does further
    /// arming for the time that arming took. A pass that was cut short goes on without waiting if
    /// the quota allows, unless it did nothing but pass over memory that has to wait.
    pub(super) fn end_pass(&mut self, now_us: u64, took_us: f64) {
        let quota = &self.scheme.quota;
        let may_act = self.charge.bytes_left(quota) > 0 && self.charge.time_left_us(quota) > 0.0;
        if self.resume.is_some() && may_act && self.has_worked {
            return;
        }
        let after = |spent_us: f64| {
            let wait_us = (spent_us.max(0.0) / FINDING).min(MOST_WAIT_US);
            now_us.saturating_add(wait_us as u64)
        };
        self.due_us = self.due_us.max(after(took_us - self.acted_us - self.armed_us));
        self.arm_from_us = self.arm_from_us.max(after(self.armed_us));
    }

    /// Whether it is due, and the last pass did not come to its end.
    pub(super) fn goes_on(&self, now_us: u64) -> bool {
        self.resume.is_some() && now_us >= self.due_us
    }

    /// Whether more may be armed.
    pub(super) fn may_arm(&self, now_us: u64) -> bool {
        now_us >= self.arm_from_us
    }

    /// Finds what came back of what was paged out, if that is bounded.
    pub(super) fn find_refaults<S: ActionSink>(
        &mut self,
        snapshot: &Snapshot,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let Some(bound) = &self.scheme.max_refault else { return Ok(()) };
        let min_us = self.scheme.pattern.age.min.us(snapshot.aggregation_us);
        self.stats.refault_bytes += self.refaults.begin_pass(bound, min_us, snapshot, sink)?;
        Ok(())
    }

    /// Notes what was paged out, if it is bounded how much of that may come back.
    pub(super) fn note_out(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        aggregation_us: u64,
        now_us: u64,
    ) {
        if self.scheme.max_refault.is_some() {
            let min_us = self.scheme.pattern.age.min.us(aggregation_us);
            self.stats.refault_bytes += self.refaults.note_out(target, ranges, min_us, now_us);
        }
    }

    /// Whether it does anything but count.
    pub(super) fn acts(&self) -> bool {
        self.scheme.action != Action::Stat
    }

    /// Microseconds between two passes.
    pub(super) fn between_us(&self, aggregation_us: u64) -> u64 {
        self.scheme.apply_interval_us.unwrap_or(0).max(aggregation_us)
    }

    /// How long it matters when memory was acted on or armed, in microseconds: twice the
    /// longest age that the pattern asks for, and twice the time between two passes.
    pub(super) fn history_us(&self, aggregation_us: u64) -> u64 {
        let age = self.scheme.pattern.age;
        let bounds = [age.min, age.max].map(|age| age.us(aggregation_us));
        let longest_us = bounds.into_iter().filter(|&us| us != u64::MAX).max().unwrap_or(0);
        let longest_us = longest_us.max(self.refaults.longest_us(bounds[0]));
        let between_us = self.between_us(aggregation_us);
        longest_us.saturating_mul(2).saturating_add(between_us.saturating_mul(2))
    }

    /// The parts of `range` whose mapping was not examined lately.
    pub(super) fn unexamined(
        &self,
        target: TargetId,
        range: AddrRange,
        now_us: u64,
    ) -> Vec<AddrRange> {
        let none = IntervalMap::default();
        let examined = self.examined.get(&target).unwrap_or(&none);
        let is_due = |at_us: Option<u64>| at_us.is_none_or(|at| now_us >= at + EXAMINED_FOR_US);
        let due = examined.over(range).filter(|(_, at_us)| is_due(*at_us));
        due.map(|(range, _)| range).collect()
    }

    /// Notes that the mapping of a block was examined.
    pub(super) fn note_examined(&mut self, target: TargetId, range: AddrRange, now_us: u64) {
        self.examined.entry(target).or_default().set(range, now_us);
    }

    /// Drops what no longer matters, of targets that live, and all of others.
    pub(super) fn forget(&mut self, now_us: u64, lives: impl Fn(&TargetId) -> bool) {
        self.refaults.forget(now_us, &lives);
        self.examined.retain(|id, _| lives(id));
        for examined in self.examined.values_mut() {
            examined.retain(|at_us| now_us < at_us + EXAMINED_FOR_US);
        }
    }
}
