//! `daos tune`: finds the thresholds of a scheme that are best for a workload.

mod command;
mod ending;
mod log;
mod metric;
mod observer;
mod pair;
mod plan;
mod run;
mod scoring;
mod service;
mod simulated;
mod table;

use crate::cli;
use crate::cmd::{monitoring, session};
use anyhow::{Result, bail};
use daos_cli::Usage;
use daos_cli::signals;
use daos_tune::{Next, Store, Tuning, TuningEnd, TuningResult, Workload};
use plan::Plan;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use table::Table;

/// The exit status of what Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// Tunes until the limit is reached or Ctrl-C. Exit status 1 if nothing is known then.
pub fn run(args: &cli::Tune) -> Result<i32> {
    // A score may be a command, too.
    if args.target.forms.all || args.target.forms.paddr {
        let message = "there is no one score of all processes: tune for a command, or --pid";
        return Err(Usage(message.into()).into());
    }
    let runs_as = args.user.as_deref().filter(|_| args.measuring.score.is_none());
    let simulated = monitoring::simulated(&args.target, &args.monitoring, runs_as)?;
    let stop = signals::stop_flag(None)?;
    let user = session::user(args.user.as_deref())?;
    let plan = Plan::new(args, user.clone(), &stop)?;
    if let Some(file) = simulated {
        let mut simulation = simulated::Simulation::new(args, file)?;
        let clock_s = simulation.clock_s();
        let mut run = Run::new(plan, args)?;
        simulation.go_on_after(run.tuning.records().len());
        let result = run.samples(&mut simulation, clock_s, &stop);
        return run.finish(&result.map_err(|err| run.kept(err))?);
    }
    if !args.quiet {
        session::tell_of_others();
        session::tell_user(user.as_ref());
    }
    let begin = Instant::now();
    let clock_s = move || begin.elapsed().as_secs_f64();
    if args.target.forms.pid.is_empty() {
        let mut command = command::Command::new(args, user, Arc::clone(&stop))?;
        let mut run = Run::new(plan, args)?;
        command.begin(&run.store, run.tuning.records().len())?;
        let result = run.samples(&mut command, clock_s, &stop);
        let status = result.map_err(|err| run.kept(err)).and_then(|result| run.finish(&result));
        command.end()?;
        return status;
    }
    let service = service::Prepared::new(args, user, Arc::clone(&stop))?;
    let mut run = Run::new(plan, args)?;
    let mut service = service.begin()?;
    let result = run.samples(&mut service, clock_s, &stop);
    let status = result.map_err(|err| run.kept(err)).and_then(|result| {
        let status = run.finish(&result)?;
        if args.measuring.apply && result.end != TuningEnd::Interrupted {
            service.keep(result.scheme, args.quiet)?;
        }
        Ok(status)
    });
    service.end()?;
    status
}

/// A tuning, and where it is kept.
struct Run {
    tuning: Tuning,
    store: Store,
    /// What is drawn above the pictures.
    title: String,
    quiet: bool,
}

impl Run {
    fn new(plan: Plan, args: &cli::Tune) -> Result<Self> {
        let (tuning, store) = plan.begin()?;
        let what = if tuning.is_sweep() { "swept" } else { "tuned" };
        let title = format!("{} {what} for {}", args.scheme, store.workload());
        Ok(Self { tuning, store, title, quiet: args.quiet })
    }

    /// Takes sample after sample, until it ends or `stop` is set.
    fn samples<W: Workload<Error = anyhow::Error>>(
        &mut self,
        workload: &mut W,
        clock_s: impl Fn() -> f64,
        stop: &AtomicBool,
    ) -> Result<TuningResult> {
        let mut table = Table::new(&self.tuning, self.quiet);
        table.begin(&mut self.tuning)?;
        let end = loop {
            if stop.load(Ordering::Relaxed) {
                break TuningEnd::Interrupted;
            }
            let planned = match self.tuning.ask()? {
                Next::Measure(planned) => planned,
                Next::End(end) => break end,
            };
            table.next(&self.tuning, &planned);
            if let Some(end) = self.tuning.take(&planned, workload, &clock_s)? {
                break end;
            }
            if let Some(record) = self.tuning.records().last() {
                self.store.add(record)?;
            }
            table.add(&mut self.tuning)?;
        };
        table.end();
        Ok(TuningResult::of(&mut self.tuning, end)?)
    }

    /// Says where the samples are that were taken before `err`.
    fn kept(&self, err: anyhow::Error) -> anyhow::Error {
        if !self.tuning.records().is_empty() {
            let (count, dir) = (self.tuning.records().len(), self.store.dir().display());
            daos_cli::say!(
                "daos: the samples so far ({count}) are kept; --out {dir} goes on with them"
            );
        }
        err
    }

    /// Keeps what came out, and tells it.
    fn finish(&mut self, result: &TuningResult) -> Result<i32> {
        let picture = ending::picture(&mut self.tuning, result, self.title.clone())?;
        ending::keep(&self.tuning, result, &picture, &self.store)?;
        if !self.quiet {
            let mut out = std::io::stdout().lock();
            ending::tell(&self.tuning, result, &picture, &self.store, &mut out)?;
        }
        match (ending::failure(&mut self.tuning, result), result.end) {
            (_, TuningEnd::Interrupted) => Ok(INTERRUPTED),
            (Some(why), _) => bail!(why),
            (None, _) => Ok(0),
        }
    }
}
