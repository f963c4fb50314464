//! A command that ends: run again for each sample, with the scheme or alone, or both at once.
//!
//! A thread of its own runs each, for monitoring asks for short turns of the CPU, which a
//! command that is started later must not inherit.

use super::log::Log;
use super::metric::Metric;
use super::pair::{at_once, joined};
use super::run::{Run, RunEnd, Seen};
use super::scoring::METRIC;
use crate::cli;
use crate::cmd::{monitoring, session};
use anyhow::{Context, Result, bail, ensure};
use daos_cli::{Usage, is_program, say};
use daos_core::Side;
use daos_core::units::display;
use daos_linux::{GuardedSwap, User, halves};
use daos_schemes::Scheme;
use daos_session::{A_SHELL, MemorySeries};
use daos_tune::{Measurement, RSS, RUNTIME, RunBounds, Store, Values, Workload};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;
use std::time::Duration;

/// How many seconds a metric may take to read what a run printed.
const METRIC_PATIENCE_S: f64 = 60.0;
/// Where what it writes goes, and in pairs what the copy beside it does.
const LOGS: [&str; 2] = ["output.log", "output-beside.log"];
/// What is missing where a sample is asked for too early.
const NOT_BEGUN: &str = "the tuning has not begun";

/// A command to be run again and again.
#[derive(Debug)]
pub struct Command<'a> {
    args: &'a cli::Tune,
    user: Option<User>,
    swap: Option<GuardedSwap>,
    metric: Option<Metric>,
    /// The CPUs of each copy, where two run at once.
    halves: Option<[Vec<u32>; 2]>,
    stop: Arc<AtomicBool>,
    /// What it writes, and in pairs what the copy beside it does.
    logs: Vec<Log>,
    samples: usize,
    /// Whether it was told that what it starts does not count.
    told: AtomicBool,
}

impl<'a> Command<'a> {
    /// Refuses what can't be done here. Changes nothing.
    pub fn new(args: &'a cli::Tune, user: Option<User>, stop: Arc<AtomicBool>) -> Result<Self> {
        monitoring::monitor(&args.monitoring)?;
        let program = args.target.forms.command.first().context("no command was given")?;
        ensure!(is_program(program), "there is no command {program:?}; check its name");
        let halves = args.measuring.pairs.then(|| halves::of_cpus(Path::new("/"))).transpose();
        let halves = halves.map_err(|err| Usage(format!("{err}: leave --pairs out")))?;
        // The limit goes by the clock: what is missing is told before the first run.
        prepared(args)?;
        let metric = args.measuring.metric.as_deref();
        let metric = metric.map(|text| Metric::new(text, user.clone())).transpose()?;
        let told = AtomicBool::new(false);
        let logs = Vec::new();
        Ok(Self { args, user, swap: None, metric, halves, stop, logs, samples: 0, told })
    }

    /// Sets up what is needed, after so many samples of an earlier part; output goes to the
    /// directory.
    pub fn begin(&mut self, store: &Store, samples: usize) -> Result<()> {
        self.samples = samples;
        let names = if self.halves.is_some() { &LOGS[..] } else { &LOGS[..1] };
        self.logs = names.iter().map(|name| Log::open(store, name)).collect::<Result<_>>()?;
        self.swap = session::set_up_swap(self.args.measuring.zram, self.args.quiet)?;
        session::keep_rights_to_tune(self.user.as_ref())
    }

    /// Puts the host back as it was.
    pub fn end(&mut self) -> Result<()> {
        Ok(self.swap.take().map_or(Ok(()), GuardedSwap::take_away)?)
    }

    /// How much of a run's beginning is not measured.
    fn settle(&self) -> Duration {
        Duration::from_micros(self.args.measuring.settle_us())
    }

    /// Seconds that count of a run time.
    fn work_s(&self, runtime: Duration) -> f64 {
        runtime.saturating_sub(self.settle()).as_secs_f64()
    }

    /// A run whose output goes there, to be ended when its time is over.
    fn run<'r>(
        &'r self,
        log: &'r Log,
        bounds: &RunBounds,
        ends: &'r (dyn Fn(Duration) -> Option<RunEnd> + Sync),
    ) -> Run<'r> {
        Run {
            args: self.args,
            user: self.user.as_ref(),
            swap: self.swap.as_ref(),
            stop: &self.stop,
            log: log.file(),
            side: None,
            patience: Duration::try_from_secs_f64(bounds.patience_s).unwrap_or(Duration::MAX),
            ends,
        }
    }

    /// What a run came to that wrote there, of which `printed` can be read.
    fn measured(&self, seen: Seen, log: &Log, printed: &File) -> Result<Measurement> {
        let Seen { ended, runtime, memory, uncounted_bytes, cpu_us } = seen;
        let cut_short = match ended {
            RunEnd::Itself(Some(0)) => false,
            RunEnd::Lost => true,
            RunEnd::Interrupted => return Ok(Measurement::Interrupted),
            RunEnd::Itself(status) => {
                let how = status.map_or_else(
                    || "nothing is known of how it ended".to_owned(),
                    session::failure,
                );
                return Ok(Measurement::Void(format!("{how}; see {}", log.path().display())));
            }
            RunEnd::GivenUp => {
                return Ok(Measurement::Void("the copy beside it went wrong".to_owned()));
            }
            RunEnd::Hung => {
                let seconds = runtime.as_secs_f64();
                return Ok(Measurement::Void(format!("it did not end within {seconds:.0} s")));
            }
        };
        if memory.resident.max == 0 {
            let when = match self.settle() {
                Duration::ZERO => "before its memory was seen".to_owned(),
                settle => format!("within the {} s it has to settle", settle.as_secs_f64()),
            };
            return Ok(Measurement::Void(format!("it ended {when}; give it more work")));
        }
        let own_bytes = memory.whole.max;
        if uncounted_bytes > own_bytes.max(A_SHELL) && !self.told.swap(true, Ordering::Relaxed) {
            say!(
                "daos: note: the command had {} at most, and what it has started {}, which does not count and \
                 is not acted on: give --children, or name the program itself",
                display::bytes(own_bytes),
                display::bytes(uncounted_bytes)
            );
        }
        let mut values = of_memory(&memory);
        values.insert(RUNTIME.to_owned(), self.work_s(runtime));
        values.insert("user".to_owned(), cpu_us.0 as f64 / 1e6);
        values.insert("system".to_owned(), cpu_us.1 as f64 / 1e6);
        if let Some(metric) = &self.metric {
            let stop = || self.stop.load(Ordering::Relaxed);
            match metric.once(Some(printed), METRIC_PATIENCE_S, &stop) {
                Ok(value) => values.insert(METRIC.to_owned(), value),
                Err(_) if stop() => return Ok(Measurement::Interrupted),
                Err(err) => return Ok(Measurement::Void(format!("{err:#}"))),
            };
        }
        Ok(if cut_short { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }

    /// A sample of one run.
    fn single(
        &self,
        scheme: Option<&Scheme>,
        bounds: &RunBounds,
        printed: &File,
    ) -> Result<Measurement> {
        let log = self.logs.first().context(NOT_BEGUN)?;
        // A metric of the user's own can't be known before the end.
        let is_lost = |elapsed| self.metric.is_none() && bounds.is_lost(self.work_s(elapsed));
        let ends = |elapsed| is_lost(elapsed).then_some(RunEnd::Lost);
        let run = self.run(log, bounds, &ends);
        let seen = scope(|scope| joined(scope.spawn(move || run.once(scheme, || ()))))?;
        self.measured(seen, log, printed)
    }

    /// A sample of two runs at once, the one with the scheme on this side.
    fn pair(
        &self,
        scheme: Option<&Scheme>,
        bounds: &RunBounds,
        side: Side,
        printed: &[File],
    ) -> Result<Measurement> {
        let ([log, beside_log], [printed, beside_printed]) = (&self.logs[..], printed) else {
            bail!(NOT_BEGUN);
        };
        let halves = self.halves.as_ref().context(NOT_BEGUN)?;
        let is_lost = |own, beside| {
            let share = self.work_s(own) / self.work_s(beside);
            self.metric.is_none() && bounds.is_lost(share)
        };
        let own = self.run(log, bounds, &|_| None);
        // Swap is there for the other: what it takes of memory is not counted here.
        let beside = Run { swap: None, log: beside_log.file(), ..own };
        let [own, beside] = at_once([own, beside], scheme, side, halves, &is_lost)?;
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Measurement::Interrupted);
        }
        // One that was given up does not know why.
        let own = match own.ended {
            RunEnd::GivenUp => None,
            _ => Some(self.measured(own, log, printed)?),
        };
        let (metrics, cut_short) = match own {
            Some(Measurement::Whole(metrics)) => (metrics, false),
            Some(Measurement::CutShort(metrics)) => (metrics, true),
            Some(other) => return Ok(other),
            None => (Values::new(), false),
        };
        Ok(match self.measured(beside, beside_log, beside_printed)? {
            Measurement::Whole(beside) => Measurement::Pair { metrics, beside, cut_short },
            Measurement::Void(why) => Measurement::Void(format!("the copy alone: {why}")),
            other => other,
        })
    }
}

impl Workload for Command<'_> {
    type Error = anyhow::Error;

    fn measure(&mut self, scheme: Option<&Scheme>, bounds: &RunBounds) -> Result<Measurement> {
        self.samples += 1;
        let alone = "no scheme".to_owned();
        let what = [scheme.map_or(alone.clone(), Scheme::label), alone];
        let logs = self.logs.iter_mut().zip(&what);
        let printed = logs.map(|(log, what)| log.begin(self.samples, what));
        let printed = printed.collect::<Result<Vec<File>>>()?;
        match bounds.pair {
            None => self.single(scheme, bounds, printed.first().context(NOT_BEGUN)?),
            Some(side) => self.pair(scheme, bounds, side, &printed),
        }
    }
}

/// What a run with the scheme needs, once all is refused that can be.
pub fn prepared(args: &cli::Tune) -> Result<session::Prepared> {
    let looking = &args.monitoring.looking;
    session::Prepared::new(&args.target, &managing(args), None, looking, session::Purpose::Manage)
}

/// What a manager needs to know of a tuning.
fn managing(args: &cli::Tune) -> cli::Managing {
    cli::Managing {
        schemes: vec![args.scheme.clone()],
        dry_run: false,
        stats: None,
        zram: args.measuring.zram,
    }
}

/// What was measured of the memory.
pub fn of_memory(memory: &MemorySeries) -> Values {
    let MemorySeries { resident, swap, zram, .. } = memory;
    [(RSS, resident.mean), ("rss_max", resident.max), ("swap", swap.mean), ("zram", zram.mean)]
        .map(|(name, bytes)| (name.to_owned(), bytes as f64))
        .into()
}
