//! A run of the command, with the scheme or alone.
//!
//! Without a scheme there is no monitor either: what that costs is part of what a scheme
//! costs.

use super::observer::{Observed, Observer};
use crate::cli;
use crate::cmd::{monitoring, session};
use anyhow::Result;
use daos_core::Side;
use daos_linux::{GuardedSwap, User};
use daos_schemes::Scheme;
use daos_session::{Ended, MemorySeries, Started, Stop, Surroundings};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a command that runs alone should end.
const LOOK: Duration = Duration::from_millis(100);

/// What a run needs.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub args: &'a cli::Tune,
    /// As whom it runs; `None` for who runs this.
    pub user: Option<&'a User>,
    /// The swap that was set up for it.
    pub swap: Option<&'a GuardedSwap>,
    pub stop: &'a Arc<AtomicBool>,
    /// Where what it writes goes.
    pub log: &'a File,
    /// Which of two copies it is.
    pub side: Option<Side>,
    /// After so long it hangs.
    pub patience: Duration,
    /// Why it is to be ended after so long, if it is.
    pub ends: &'a (dyn Fn(Duration) -> Option<RunEnd> + Sync),
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself, with this status.
    Itself(Option<i32>),
    /// As it violated the service level.
    Lost,
    /// As it took too long.
    Hung,
    /// As the copy beside it went wrong.
    GivenUp,
    /// As the user wants no more.
    Interrupted,
}

/// What is known of a run.
#[derive(Debug)]
pub struct Seen {
    pub ended: RunEnd,
    pub runtime: Duration,
    pub memory: MemorySeries,
    /// Most bytes that those had resident that it has started, if they do not count.
    pub uncounted_bytes: u64,
    /// CPU time, user and system, in microseconds.
    pub cpu_us: (u64, u64),
}

impl Run<'_> {
    /// Runs it once, on this thread. `begins` is called when all is prepared.
    pub fn once(&self, scheme: Option<&Scheme>, begins: impl FnOnce()) -> Result<Seen> {
        match scheme {
            Some(scheme) => self.managed(scheme, begins),
            None => {
                begins();
                self.alone()
            }
        }
    }

    fn managed(&self, scheme: &Scheme, begins: impl FnOnce()) -> Result<Seen> {
        let monitor = monitoring::monitor(&self.args.monitoring)?;
        let prepared = session::Prepared::again(
            &self.args.target,
            vec![scheme.clone()],
            self.args.monitoring.looking.max_overhead,
        )?;
        let patience_us = self.patience.as_micros() as u64;
        begins();
        let run = self.start()?;
        let mut session =
            prepared.watch(Some(&run), monitor, Some(patience_us), self.stop, self.swap)?;
        let began = run.began();
        let observer = self.observer(&run)?;
        let mut early = None;
        while session.next_interval()?.is_some() {
            // What it has started may go on, and would be watched.
            if run.ended_within(Duration::ZERO) {
                break;
            }
            early = (self.ends)(began.elapsed());
            if early.is_some() {
                break;
            }
        }
        let stopped = Instant::now();
        let (live, ..) = session.into_parts();
        let early = early.or(match live.stop() {
            Some(Stop::Duration) => Some(RunEnd::Hung),
            Some(Stop::Asked) => Some(RunEnd::Interrupted),
            // It was watched to its end, or to that of its memory.
            Some(Stop::TargetsEnded) | None => None,
        });
        let ended = match early {
            None => live.finish(Some(run), self.stop)?.command,
            Some(_) => {
                drop(live);
                Some(run.finish(Duration::ZERO)?)
            }
        };
        Seen::of(early, ended.as_ref(), observer, began, stopped)
    }

    /// Unwatched.
    fn alone(&self) -> Result<Seen> {
        let run = self.start()?;
        let began = run.began();
        let observer = self.observer(&run)?;
        let early = loop {
            if run.ended_within(LOOK) {
                break None;
            } else if self.stop.load(Ordering::Relaxed) {
                break Some(RunEnd::Interrupted);
            } else if began.elapsed() >= self.patience {
                break Some(RunEnd::Hung);
            }
            let early = (self.ends)(began.elapsed());
            if early.is_some() {
                break early;
            }
        };
        let stopped = Instant::now();
        let ended = run.finish(Duration::ZERO)?;
        Seen::of(early, Some(&ended), observer, began, stopped)
    }

    /// Starts the command.
    fn start(&self) -> Result<Started> {
        let number = self.side.map(|side| side.number().to_string());
        let variable = number.as_deref().map(|number| (Side::COPY, number));
        let (stdout, stderr) = (self.log, self.log);
        let apart = Surroundings::Apart { stdin: None, stdout, stderr, variable };
        Ok(Started::spawn(&self.args.target.forms.command, self.user, apart)?)
    }

    fn observer(&self, run: &Started) -> Result<Observer> {
        let settle = Duration::from_micros(self.args.measuring.settle_us());
        let device = self.swap.map(|swap| swap.swap().clone());
        Observer::begin(run, self.args.target.children, settle, device)
    }
}

impl Seen {
    /// What is known of a run that is over by now, and was ended at `stopped` if it was `early`.
    fn of(
        early: Option<RunEnd>,
        ended: Option<&Ended>,
        observer: Observer,
        began: Instant,
        stopped: Instant,
    ) -> Result<Self> {
        let Observed { memory, uncounted_bytes, end } = observer.finish()?;
        let (status, cpu_us) = match ended {
            Some(&Ended::Status { status, cpu_us }) => (Some(status), cpu_us),
            _ => (None, (0, 0)),
        };
        let ended = early.unwrap_or(RunEnd::Itself(status));
        Ok(Self { ended, runtime: end.min(stopped) - began, memory, uncounted_bytes, cpu_us })
    }
}
