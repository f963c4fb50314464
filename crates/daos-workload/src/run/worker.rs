//! One thread's part of one phase: rounds of accesses until the phase ends.
//!
//! The clock is read once a round. A round is short enough (well under a
//! millisecond even if every access misses every cache) that a phase ends on
//! time and every pattern has its turn often, and long enough that reading the
//! clock costs nothing beside it.

use super::walk::PatternWalk;
use daos_core::Rng;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Accesses in a round at full speed. Chosen: see above.
const ROUND_ACCESSES: u64 = 1024;
/// Longest sleep in microseconds, and so the longest time until a stop is heeded. Chosen.
const MAX_SLEEP_US: u64 = 20_000;

/// What the threads of a phase have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhaseWork<'a> {
    /// When it began, by the monotonic clock.
    pub start_us: u64,
    /// When it ends.
    pub end_us: u64,
    /// Accesses per second of one thread; `None`: as many as it can.
    pub rate: Option<f64>,
    /// The sum of the weights of all walks.
    pub total_weight: u64,
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
}

impl PhaseWork<'_> {
    /// Walks until the end.
    pub fn run(&self, walks: &mut [PatternWalk<'_>], mut rng: Rng) {
        // About a round a millisecond when the rate is limited.
        let round = self
            .rate
            .map_or(ROUND_ACCESSES, |rate| ((rate / 1000.0) as u64).clamp(1, ROUND_ACCESSES));
        let mut done = 0;
        loop {
            let now_us = monotonic_us();
            if now_us >= self.end_us || self.stop.load(Ordering::Relaxed) {
                return;
            }
            let due_us = if walks.is_empty() { self.end_us } else { self.due_us(done) };
            if due_us > now_us {
                let sleep_us = (due_us - now_us).min(self.end_us - now_us).min(MAX_SLEEP_US);
                std::thread::sleep(Duration::from_micros(sleep_us));
                continue;
            }
            for walk in walks.iter_mut() {
                walk.round(round, self.total_weight, &mut rng);
            }
            done += round;
        }
    }

    /// When the next access may be made after `done` of them.
    fn due_us(&self, done: u64) -> u64 {
        self.rate.map_or(0, |rate| self.start_us + (done as f64 * 1e6 / rate) as u64)
    }
}

/// Microseconds on `CLOCK_MONOTONIC`, which other processes can compare with.
pub(super) fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}
