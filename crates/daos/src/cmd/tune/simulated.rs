//! A simulated program: the same work in simulated time, at once.

use crate::cli;
use crate::cmd::{monitoring, session};
use anyhow::Result;
use daos_core::rng::mix;
use daos_core::{Action, Rng};
use daos_schemes::{Pattern, Scheme};
use daos_session::{ActiveSchemes, Session, SimSource};
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
            session::tell_simulated();
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
        let scheme = scheme.unwrap_or_else(|| Scheme::new(Pattern::ANY, Action::Stat));
        let schemes = ActiveSchemes::of(vec![scheme]);
        let monitor = monitoring::monitor(&self.args.monitoring)?;
        let (config, zram) = (self.config.clone(), self.args.measuring.zram.bytes);
        let source = session::simulation(monitor, config, seed, duration_us, zram);
        let mut session = Session::new(source, schemes);
        let noise = 1.0 + NOISE * gaussian(&mut Rng::new(mix(seed)));
        let mut cut_short = false;
        while session.next_interval()?.is_some() {
            if bounds.is_lost(runtime_us(&mut session) * noise / 1e6) {
                cut_short = true;
                break;
            }
        }
        // Without a scheme there is no monitor, which costs.
        let runtime_us =
            if without { duration_us as f64 } else { runtime_us(&mut session) } * noise;
        self.clock_s.set(self.clock_s.get() + runtime_us / 1e6);
        let memory = &session.account().memory;
        let values = Values::from([
            (RUNTIME.to_owned(), runtime_us / 1e6),
            (RSS.to_owned(), memory.resident.mean as f64),
            ("rss_max".to_owned(), memory.resident.max as f64),
            ("swap".to_owned(), memory.swap.mean as f64),
        ]);
        Ok(if cut_short { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }
}

/// How long the work took that is done in the simulated time, in microseconds: with what it
/// waited for pages of swap, and what the monitor took from it.
fn runtime_us(session: &mut Session<SimSource>) -> f64 {
    let slowdown = session.source_mut().space_mut().memory().slowdown();
    let account = session.account();
    account.elapsed_us as f64 * (1.0 + slowdown) + account.monitor.target_us
}
