//! One thread's part of one phase: rounds of accesses until the phase ends.
//!
//! The clock is read once a round. A round is short enough (well under a
//! millisecond even if every access misses every cache) that a phase ends on
//! time and every pattern has its turn often, and long enough that reading the
//! clock costs nothing beside it.

use crate::clock::monotonic_us;
use crate::walk::Walk;
use daos_core::Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Accesses in a round at full speed.
const ROUND: u64 = 1024;
/// Longest sleep in microseconds, and so the longest time to notice a stop.
const NAP_US: u64 = 20_000;

/// What the threads of a phase have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift<'a> {
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

impl Shift<'_> {
    /// Walks until the end.
    pub fn work(&self, walks: &mut [Walk<'_>], mut rng: Rng) {
        // About a round a millisecond when the rate is limited.
        let round = self.rate.map_or(ROUND, |rate| ((rate / 1000.0) as u64).clamp(1, ROUND));
        let mut done = 0;
        loop {
            let now_us = monotonic_us();
            if now_us >= self.end_us || self.stop.load(Ordering::Relaxed) {
                return;
            }
            let due_us = if walks.is_empty() { self.end_us } else { self.due_us(done) };
            if due_us > now_us {
                let nap = (due_us - now_us).min(self.end_us - now_us).min(NAP_US);
                std::thread::sleep(Duration::from_micros(nap));
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
