//! A command that ends: run again for each sample, with the scheme or alone.
//!
//! Without a scheme there is no monitor either: what that costs is part of what a scheme
//! costs. A thread of its own runs each sample, for monitoring asks for short turns of
//! the CPU, which a command that is started later must not inherit.

use super::metric::Metric;
use super::observer::Observer;
use super::scoring::METRIC;
use crate::cli;
use crate::cmd::{monitoring, session};
use anyhow::{Context, Result, anyhow, ensure};
use daos_cli::is_program;
use daos_linux::{GuardedSwap, TempSwap, User, cpu};
use daos_schemes::Scheme;
use daos_session::{MemorySeries, Started, Stop, Surroundings};
use daos_tune::{Measurement, RSS, RUNTIME, RunBounds, Store, Values, Workload};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a command that runs alone should end.
const LOOK: Duration = Duration::from_millis(100);
/// How many seconds a metric may take to read what a run printed.
const METRIC_PATIENCE_S: f64 = 60.0;

/// A command to be run again and again.
#[derive(Debug)]
pub struct Command<'a> {
    args: &'a cli::Tune,
    user: Option<User>,
    swap: Option<GuardedSwap>,
    metric: Option<Metric>,
    stop: Arc<AtomicBool>,
    /// What it writes, run after run.
    log: Option<(File, PathBuf)>,
    samples: usize,
}

/// How a run came to its end.
#[derive(Debug)]
enum RunEnd {
    /// By itself, with this status.
    Itself(Option<i32>),
    /// As it violated the service level.
    Lost,
    /// As it took too long.
    Hung,
    /// As the user wants no more.
    Interrupted,
}

/// What is known of a run.
#[derive(Debug)]
struct Seen {
    ended: RunEnd,
    runtime: Duration,
    memory: MemorySeries,
}

impl<'a> Command<'a> {
    /// Refuses what can't be done here. Changes nothing.
    pub fn new(args: &'a cli::Tune, user: Option<User>, stop: Arc<AtomicBool>) -> Result<Self> {
        monitoring::monitor(&args.monitoring)?;
        let program = args.target.forms.command.first().context("no command was given")?;
        ensure!(is_program(program), "there is no command {program:?}; check its name");
        // The limit goes by the clock: what is missing is told before the first run.
        prepared(args)?;
        let metric = args.measuring.metric.as_deref();
        let metric = metric.map(|text| Metric::new(text, user.clone())).transpose()?;
        Ok(Self { args, user, swap: None, metric, stop, log: None, samples: 0 })
    }

    /// Sets up what is needed, after so many samples of an earlier part; output goes to the
    /// directory.
    pub fn begin(&mut self, store: &Store, samples: usize) -> Result<()> {
        self.samples = samples;
        let path = store.path("output.log");
        self.log = Some((store.append_to("output.log")?, path));
        self.swap = session::set_up_swap(self.args.measuring.zram, self.args.quiet)?;
        session::keep_rights_to_tune(self.user.as_ref())
    }

    /// Puts the host back as it was.
    pub fn end(&mut self) -> Result<()> {
        Ok(self.swap.take().map_or(Ok(()), GuardedSwap::take_away)?)
    }

    /// One run, with a scheme.
    fn managed(&self, scheme: &Scheme, bounds: &RunBounds) -> Result<Seen> {
        let monitor = monitoring::monitor(&self.args.monitoring)?;
        let prepared = session::Prepared::again(
            &self.args.target,
            vec![scheme.clone()],
            self.args.monitoring.looking.max_overhead,
        )?;
        let patience_us = (bounds.patience_s * 1e6) as u64;
        let run = self.start()?;
        let swap = self.swap.as_ref();
        let mut session =
            prepared.watch(Some(&run), monitor, Some(patience_us), &self.stop, swap)?;
        let began = run.began();
        let observer = self.observer(&run)?;
        let (mut lost, mut has_ended) = (false, false);
        while session.next_interval()?.is_some() {
            lost = self.is_lost(bounds, began);
            // What it has started may go on, and would be watched.
            has_ended = run.ended_within(Duration::ZERO);
            if lost || has_ended {
                break;
            }
        }
        let stopped = Instant::now();
        let (live, ..) = session.into_parts();
        let ended = match live.stop() {
            _ if lost && !has_ended => Some(RunEnd::Lost),
            Some(Stop::Duration) => Some(RunEnd::Hung),
            Some(Stop::Asked) => Some(RunEnd::Interrupted),
            // It was watched to its end, or to that of its memory.
            Some(Stop::TargetsEnded) | None => None,
        };
        let ended = match ended {
            None => RunEnd::Itself(live.finish(Some(run), &self.stop)?.exit_status()),
            Some(ended) => {
                drop(live);
                run.finish(Duration::ZERO)?;
                ended
            }
        };
        Seen::of(ended, observer, began, stopped)
    }

    /// Starts the command.
    fn start(&self) -> Result<Started> {
        let (log, _) = self.log.as_ref().context("the tuning has not begun")?;
        let apart = Surroundings::Apart { stdin: None, stdout: log, stderr: log };
        Ok(Started::spawn(&self.args.target.forms.command, self.user.as_ref(), apart)?)
    }

    /// One run without a scheme, and unwatched.
    fn alone(&self, bounds: &RunBounds) -> Result<Seen> {
        let run = self.start()?;
        let began = run.began();
        let observer = self.observer(&run)?;
        let ended = loop {
            if run.ended_within(LOOK) {
                break None;
            } else if self.stop.load(Ordering::Relaxed) {
                break Some(RunEnd::Interrupted);
            } else if began.elapsed().as_secs_f64() >= bounds.patience_s {
                break Some(RunEnd::Hung);
            }
        };
        let stopped = Instant::now();
        let status = run.finish(Duration::ZERO)?.status();
        Seen::of(ended.unwrap_or(RunEnd::Itself(status)), observer, began, stopped)
    }

    fn observer(&self, run: &Started) -> Result<Observer> {
        Observer::begin(run, self.args.target.children, self.settle(), self.device())
    }

    /// The swap that was set up.
    fn device(&self) -> Option<TempSwap> {
        self.swap.as_ref().map(|swap| swap.swap().clone())
    }

    /// How much of a run's beginning is not measured.
    fn settle(&self) -> Duration {
        Duration::from_micros(self.args.measuring.settle_us())
    }

    /// A metric of the user's own can't be known before the end.
    fn is_lost(&self, bounds: &RunBounds, began: Instant) -> bool {
        let runtime = began.elapsed().saturating_sub(self.settle());
        self.metric.is_none() && bounds.is_lost(runtime.as_secs_f64())
    }
}

impl Seen {
    /// What is known of a run that is over by now, and was ended at `stopped` if it was.
    fn of(ended: RunEnd, observer: Observer, began: Instant, stopped: Instant) -> Result<Self> {
        let (memory, end) = observer.finish()?;
        Ok(Self { ended, runtime: end.min(stopped) - began, memory })
    }
}

impl Workload for Command<'_> {
    type Error = anyhow::Error;

    fn measure(&mut self, scheme: Option<&Scheme>, bounds: &RunBounds) -> Result<Measurement> {
        self.samples += 1;
        if let Some((log, path)) = &mut self.log {
            let what = scheme.map_or("no scheme".to_owned(), Scheme::label);
            writeln!(log, "--- sample {}: {what}", self.samples)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let printed = self.log.as_ref().map(|(_, path)| what_follows(path)).transpose()?;
        let before = cpu::of_children_us();
        let seen = std::thread::scope(|scope| {
            let run = scope.spawn(|| match scheme {
                Some(scheme) => self.managed(scheme, bounds),
                None => self.alone(bounds),
            });
            run.join().map_err(|_| anyhow!("a sample ended in a way it never should"))?
        })?;
        let after = cpu::of_children_us();
        let Seen { ended, runtime, memory } = seen;
        let log = self.log.as_ref().map_or(Path::new(""), |(_, path)| path).display();
        let cut_short = match ended {
            RunEnd::Itself(Some(0)) => false,
            RunEnd::Lost => true,
            RunEnd::Interrupted => return Ok(Measurement::Interrupted),
            RunEnd::Itself(status) => {
                return Ok(Measurement::Void(format!("{}; see {log}", failure(status))));
            }
            RunEnd::Hung => {
                let seconds = bounds.patience_s;
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
        let runtime = runtime.saturating_sub(self.settle());
        let mut values = of_memory(&memory);
        values.insert(RUNTIME.to_owned(), runtime.as_secs_f64());
        values.insert("user".to_owned(), (after.0 - before.0) as f64 / 1e6);
        values.insert("system".to_owned(), (after.1 - before.1) as f64 / 1e6);
        if let (Some(metric), Some(printed)) = (&self.metric, printed) {
            let stop = || self.stop.load(Ordering::Relaxed);
            match metric.once(Some(&printed), METRIC_PATIENCE_S, &stop) {
                Ok(value) => values.insert(METRIC.to_owned(), value),
                Err(_) if self.stop.load(Ordering::Relaxed) => return Ok(Measurement::Interrupted),
                Err(err) => return Ok(Measurement::Void(format!("{err:#}"))),
            };
        }
        Ok(if cut_short { Measurement::CutShort(values) } else { Measurement::Whole(values) })
    }
}

/// A file, to be read from its present end: what a run will print.
fn what_follows(path: &Path) -> Result<File> {
    let failed = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(failed)?;
    file.seek(SeekFrom::End(0)).with_context(failed)?;
    Ok(file)
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

/// How a run failed, by its status as a shell gives it.
fn failure(status: Option<i32>) -> String {
    match status {
        Some(137) => "it was killed; was there too little memory?".to_owned(),
        Some(status @ 129..=192) => format!("signal {} ended it", status - 128),
        Some(status) => format!("it failed with status {status}"),
        None => "nothing is known of how it ended".to_owned(),
    }
}
