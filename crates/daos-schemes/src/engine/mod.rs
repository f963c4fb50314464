//! The engine: what fits the schemes in a snapshot is acted on, within their bounds.
//!
//! A pass takes little time: what can't be done in a quarter of an aggregation interval
//! is left for the next, so that the monitor is not held up. That goes on where the last
//! one stopped, with what still fits then.
//!
//! | module | holds |
//! |---|---|
//! | `pieces` | memory that is alike, as old as what was done to it allows |
//! | `rule` | what fits a scheme |
//! | `job` | acting on it, batch by batch, within bounds |
//! | `look` | looking at ranges |
//! | `priority`, `charge` | what comes first, and what a quota has left |
//! | `spans` | what was when, by address |
//! | [`dry_run`] | counts instead of acting |

mod charge;
pub mod dry_run;
mod job;
mod look;
mod pieces;
mod priority;
mod rule;
mod spans;
#[cfg(test)]
mod tests;

pub use dry_run::DryRun;

use crate::scheme::Scheme;
use daos_core::action::{Done, SchemeStats};
use daos_core::metrics::Metrics;
use daos_core::sink::ActionSink;
use daos_core::snapshot::Snapshot;
use daos_core::target::TargetId;
use job::Job;
use pieces::Piece;
use rule::Rule;
use spans::Spans;
use std::collections::BTreeMap;

/// The share of an aggregation interval that a pass may take.
const SLICE: f64 = 0.25;
/// Microseconds between two times that what is too old to matter is forgotten.
const FORGET_US: u64 = 10_000_000;

/// Finds memory that fits schemes, and has it acted on.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    rules: Vec<Rule>,
    past: Past,
    forgot_us: u64,
    pieces: Vec<Piece>,
}

/// What is remembered of memory, whichever scheme it was for.
#[derive(Debug, Clone, Default)]
struct Past {
    /// When it was acted on: its age starts anew.
    acted: BTreeMap<TargetId, Spans>,
    /// Since when each page of it is watched, by its own accessed bit.
    armed: BTreeMap<TargetId, Spans>,
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
        let mut before = std::mem::take(&mut self.rules);
        self.rules = schemes
            .into_iter()
            .map(|scheme| match before.iter().position(|rule| rule.scheme == scheme) {
                Some(at) => before.swap_remove(at),
                None => Rule::new(scheme),
            })
            .collect();
    }

    /// The schemes and what they did so far.
    pub fn stats(&self) -> impl Iterator<Item = (&Scheme, &SchemeStats)> {
        self.rules.iter().map(|rule| (&rule.scheme, &rule.stats))
    }

    /// Acts on what fits in `snapshot`, the last of its monitor, and says what was done.
    /// Fails only when `sink` does.
    pub fn pass<S: ActionSink>(
        &mut self,
        snapshot: &Snapshot,
        sink: &mut S,
        metrics: &mut dyn Metrics,
    ) -> Result<Vec<Done>, S::Error> {
        let mut done = Vec::new();
        let now_us = snapshot.end_us;
        let begun_us = sink.clock_us();
        let slice_us = snapshot.aggregation_us as f64 * SLICE / self.rules.len().max(1) as f64;
        self.forget(snapshot);
        // The monitor arms the same pages: what it cleared proves nothing any more.
        for (target, range) in sink.take_cleared() {
            if let Some(armed) = self.past.armed.get_mut(&target) {
                armed.clear(range);
            }
        }
        let mut stale = true;
        for at in 0..self.rules.len() {
            let rule = &mut self.rules[at];
            if !rule.is_up(now_us, metrics) {
                continue;
            }
            if std::mem::take(&mut stale) {
                pieces::of(snapshot, &self.past.acted, &mut self.pieces);
            }
            let candidates = rule.candidates(&self.pieces, snapshot, sink)?;
            if candidates.is_empty() || !rule.acts() {
                continue;
            }
            let deadline_us = sink.clock_us() + slice_us;
            let mut job = Job {
                rule,
                number: at as u32,
                now_us,
                begun_us,
                aggregation_us: snapshot.aggregation_us,
                deadline_us,
                past: &mut self.past,
                sink: &mut *sink,
                done: &mut done,
            };
            // What was acted on is younger for the schemes that follow.
            stale = job.run(&candidates)?;
        }
        // What was armed here is known.
        sink.take_cleared();
        Ok(done)
    }

    /// Drops what no scheme can ask for any more.
    fn forget(&mut self, snapshot: &Snapshot) {
        let now_us = snapshot.end_us;
        if now_us < self.forgot_us + FORGET_US {
            return;
        }
        self.forgot_us = now_us;
        let longest = self.rules.iter().map(|rule| rule.longest_us(snapshot.aggregation_us)).max();
        let since_us = now_us.saturating_sub(longest.unwrap_or(0).saturating_add(FORGET_US));
        let lives = |id: &TargetId| snapshot.targets.iter().any(|target| target.id == *id);
        for spans in [&mut self.past.acted, &mut self.past.armed] {
            spans.retain(|id, _| lives(id));
            spans.values_mut().for_each(|spans| spans.retain(|at_us| at_us >= since_us));
        }
        for rule in &mut self.rules {
            rule.forget(now_us, lives);
        }
    }
}
