//! The engine: what fits the schemes in a snapshot is acted on, within their bounds.
//!
//! A pass takes little time: what can't be done in a quarter of an aggregation interval
//! is left for the next, so that the monitor is not held up. That goes on where the last
//! one stopped, with what still fits then.
//!
//! | module | holds |
//! |---|---|
//! | `candidates` | what a snapshot offers: memory that is alike, no older than what was done to it |
//! | `scheme_state` | a scheme at work: when it is due, what it has done |
//! | `selection` | the candidates that fit its pattern and pass its filters, by priority |
//! | `pass` | acting on what was selected, batch by batch, within bounds |
//! | `proof` | which single pages are idle, or used, by their own accessed bits |
//! | `sample` | what these bits tell, block by block |
//! | `quota` | what a quota has left, its feedback, and priorities |
//! | `refaults` | what was paged out and came back, and the longer age that is asked for then |
//! | `watermarks`, `filters` | when a scheme is active, and what is exempt |
//! | `interval_map` | a value by address: when memory was acted on, or armed |
//! | [`dry_run`] | counts instead of acting |

mod candidates;
pub mod dry_run;
mod filters;
mod interval_map;
mod pass;
mod proof;
mod quota;
mod refaults;
mod sample;
mod scheme_state;
mod selection;
#[cfg(test)]
mod tests;
mod watermarks;

pub use dry_run::DryRun;

use crate::scheme::Scheme;
use candidates::{Candidate, candidates};
use daos_core::{ActionSink, Done, Metrics, SchemeStats, Snapshot, TargetId, TargetSnapshot};
use interval_map::IntervalMap;
use pass::Pass;
use scheme_state::SchemeState;
use std::collections::BTreeMap;

/// The share of an aggregation interval that the passes of all schemes may take together.
/// Chosen: enough to act, while the monitor is held up by less than it can make good.
const SLICE: f64 = 0.25;
/// Microseconds between two times that what is too old to matter is forgotten. Chosen:
/// seldom enough to cost nothing, as it goes over all that is remembered.
const FORGET_US: u64 = 10_000_000;

/// Finds memory that fits schemes, and has it acted on.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    schemes: Vec<SchemeState>,
    history: History,
    forgot_us: u64,
    /// The least difference so far between the sink's clock when a pass begins and the end of its
    /// snapshot on the monitor's clock; `None` before the first pass. The least, because a pass
    /// that begins late after its snapshot adds that delay to the difference between the clocks.
    ahead_us: Option<f64>,
    /// Of the last snapshot; kept for its allocation.
    candidates: Vec<Candidate>,
}

/// What is remembered of memory, whichever scheme it was for.
#[derive(Debug, Clone, Default)]
struct History {
    /// When it was acted on: its age starts anew.
    acted: BTreeMap<TargetId, IntervalMap>,
    /// Since when the accessed bit of each page of it tells. A huge page has one bit: armed
    /// for a part of it again, it tells less of the others, which are dropped.
    armed: BTreeMap<TargetId, IntervalMap>,
}

impl History {
    /// Drops the evidence of the bits that were cleared of late: they prove nothing any more.
    fn drop_cleared<S: ActionSink>(&mut self, sink: &mut S) {
        for (target, range) in sink.take_cleared() {
            if let Some(armed) = self.armed.get_mut(&target) {
                armed.clear(range);
            }
        }
    }
}

impl Engine {
    /// An engine for these schemes, which act in this order.
    pub fn new(schemes: Vec<Scheme>) -> Self {
        let mut engine = Self::default();
        engine.replace(schemes);
        engine
    }

    /// Goes on with other schemes. Those that were there before keep their counters and
    /// what is left of their quotas; what was done to memory is remembered.
    pub fn replace(&mut self, schemes: Vec<Scheme>) {
        let mut before = std::mem::take(&mut self.schemes);
        self.schemes = schemes
            .into_iter()
            .map(|scheme| match before.iter().position(|state| state.scheme == scheme) {
                Some(at) => before.swap_remove(at),
                None => SchemeState::new(scheme),
            })
            .collect();
    }

    /// The schemes and what they did so far.
    pub fn stats(&self) -> impl Iterator<Item = (&Scheme, &SchemeStats)> {
        self.schemes.iter().map(|state| (&state.scheme, &state.stats))
    }

    /// Acts on what fits in `snapshot`, the last of its monitor, and in files that nobody maps, and
    /// says what was done to its targets.
    /// Fails only when `sink` does.
    pub fn pass<S: ActionSink>(
        &mut self,
        snapshot: &Snapshot,
        sink: &mut S,
        metrics: &mut dyn Metrics,
    ) -> Result<Vec<Done>, S::Error> {
        let mut done = Vec::new();
        let now_us = snapshot.end_us;
        let ended_us = self.end_on_clock(now_us as f64, sink.clock_us());
        let mut left_us = snapshot.aggregation_us as f64 * SLICE;
        let least_us = left_us / self.schemes.len().max(1) as f64;
        // The snapshot with files that nobody maps, once a scheme asks for it.
        let mut with_files = None;
        // The monitor clears accessed bits of the same pages.
        self.history.drop_cleared(sink);
        let mut stale = true;
        for at in 0..self.schemes.len() {
            // Schemes that did not come to their end last time share the time that is left, but
            // each has `least_us`, even if one before it took longer than its share.
            let sharing = 1 + self.schemes[at + 1..].iter().filter(|s| s.goes_on(now_us)).count();
            let state = &mut self.schemes[at];
            if !state.begin_pass(now_us, metrics) {
                continue;
            }
            let pass_us = sink.clock_us();
            if state.takes_unmapped_files() && with_files.is_none() {
                with_files = with(snapshot, sink.unmapped_files()?);
                stale |= with_files.is_some();
            }
            let snapshot = with_files.as_ref().unwrap_or(snapshot);
            if std::mem::take(&mut stale) {
                candidates(snapshot, &self.history.acted, &mut self.candidates);
            }
            state.find_refaults(snapshot, sink)?;
            let selected = state.select(&self.candidates, snapshot, sink)?;
            if selected.is_empty() || !state.acts() {
                state.resume = None;
                state.end_pass(now_us, sink.clock_us() - pass_us);
                continue;
            }
            let begun_us = sink.clock_us();
            let deadline_us = begun_us + (left_us / sharing as f64).max(least_us);
            let mut pass = Pass {
                state,
                index: at as u32,
                now_us,
                ended_us,
                aggregation_us: snapshot.aggregation_us,
                deadline_us,
                history: &mut self.history,
                sink: &mut *sink,
                done: &mut done,
            };
            // What was acted on is younger for the schemes that follow.
            stale = pass.run(&selected)?;
            left_us = (left_us - (sink.clock_us() - begun_us)).max(0.0);
            self.schemes[at].end_pass(now_us, sink.clock_us() - pass_us);
        }
        self.forget(snapshot, with_files.as_ref());
        // They are none of the monitor's targets, which is what is told of.
        done.retain(|done| !done.target.is_file());
        Ok(done)
    }

    /// When a snapshot ended on the sink's clock, as far as is known, whose pass begins now.
    fn end_on_clock(&mut self, end_us: f64, clock_us: f64) -> f64 {
        let ahead_us = self.ahead_us.unwrap_or(f64::INFINITY).min(clock_us - end_us);
        self.ahead_us = Some(ahead_us);
        end_us + ahead_us
    }

    /// Drops what no scheme can ask for any more. `with_files`: the snapshot with files that nobody
    /// maps, if they were asked for.
    fn forget(&mut self, snapshot: &Snapshot, with_files: Option<&Snapshot>) {
        let now_us = snapshot.end_us;
        if now_us < self.forgot_us + FORGET_US {
            return;
        }
        self.forgot_us = now_us;
        let longest =
            self.schemes.iter().map(|state| state.history_us(snapshot.aggregation_us)).max();
        let since_us = now_us.saturating_sub(longest.unwrap_or(0).saturating_add(FORGET_US));
        let targets = &with_files.unwrap_or(snapshot).targets;
        let is_unknown = |id: &TargetId| id.is_file() && with_files.is_none();
        let lives = |id: &TargetId| is_unknown(id) || targets.iter().any(|target| target.id == *id);
        for maps in [&mut self.history.acted, &mut self.history.armed] {
            maps.retain(|id, _| lives(id));
            maps.values_mut().for_each(|map| map.retain(|at_us| at_us >= since_us));
        }
        for state in &mut self.schemes {
            state.forget(now_us, lives);
        }
    }
}

/// The same with `files` as targets, too, if there are any.
fn with(snapshot: &Snapshot, files: Vec<TargetSnapshot>) -> Option<Snapshot> {
    (!files.is_empty()).then(|| {
        let mut snapshot = snapshot.clone();
        snapshot.targets.extend(files);
        snapshot
    })
}
