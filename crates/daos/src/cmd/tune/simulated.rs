//! A simulated program: the same work in simulated time, at once.

use crate::cli;
use crate::cmd::manager::rules::Rules;
use crate::cmd::manager::simulated::Simulated;
use crate::cmd::monitoring;
use anyhow::Result;
use daos_core::Action;
use daos_core::rng::{Rng, mix};
use daos_schemes::{Pattern, Scheme};
use daos_tune::{Measurement, RSS, RUNTIME, RunBounds, Values, Workload, gaussian};
use daos_workload::Config;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// Standard deviation of the run time, as a share of it: no two real runs take the same.
const NOISE: f64 = 0.01;

/// An access pattern that is run again and again.
#[derive(Debug)]
pub struct Simulation<'a> {
    args: &'a cli::Tune,
    config: Config,
    runs: u64,
    clock_s: Rc<Cell<f64>>,
}

impl<'a> Simulation<'a> {
    /// Of the pattern in `file`.
    pub fn new(args: &'a cli::Tune, file: &Path) -> Result<Self> {
        monitoring::monitor(&args.monitoring)?;
        if !args.quiet {
            daos_cli::say!(
                "daos: simulated, not measured: the times and costs are those of a model"
            );
        }
        Ok(Self { args, config: Config::read(file)?, runs: 0, clock_s: Rc::default() })
    }

    /// Goes on after so many samples, with the seeds that come next.
    pub fn go_on_after(&mut self, samples: usize) {
        self.runs = samples as u64;
    }

    /// Simulated seconds.
    pub fn clock_s(&self) -> impl Fn() -> f64 + use<> {
        let clock_s = Rc::clone(&self.clock_s);
        move || clock_s.get()
    }
}

impl Workload for Simulation<'_> {
    type Error = anyhow::Error;

    fn measure(&mut self, scheme: Option<&Scheme>, bounds: &RunBounds) -> Result<Measurement> {
        // Each run differs a little from the others.
        let seed = self.args.monitoring.looking.seed.wrapping_add(self.runs);
        self.runs += 1;
        let duration_us = self.config.duration_us();
        let scheme = scheme.cloned();
        let without = scheme.is_none();
        let rules =
            Rules::of(vec![scheme.unwrap_or_else(|| Scheme::new(Pattern::ANY, Action::Stat))]);
        let monitor = monitoring::monitor(&self.args.monitoring)?;
        let (config, zram) = (self.config.clone(), self.args.measuring.zram);
        let mut simulated = Simulated::of(rules, monitor, config, seed, duration_us, zram);
        let noise = 1.0 + NOISE * gaussian(&mut Rng::new(mix(seed)));
        let mut cut_short = false;
        while simulated.next_snapshot()?.is_some() {
            if bounds.is_lost(simulated.runtime_us() * noise / 1e6) {
                cut_short = true;
                break;
            }
        }
        // Without a scheme there is no monitor, which costs.
        let runtime_us = if without { duration_us as f64 } else { simulated.runtime_us() } * noise;
        self.clock_s.set(self.clock_s.get() + runtime_us / 1e6);
        let footprint = simulated.footprint();
        let values = Values::from([
            (RUNTIME.to_owned(), runtime_us / 1e6),
            (RSS.to_owned(), footprint.resident.mean as f64),
            ("rss_max".to_owned(), footprint.resident.max as f64),
            ("swap".to_owned(), footprint.swap.mean as f64),
        ]);
        Ok(if cut_short { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }
}
