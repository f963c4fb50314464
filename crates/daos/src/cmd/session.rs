//! Live processes under watch: from those that were named, or a command, to their end.

use crate::cli;
use anyhow::{Context, Result};
use daos_bpf::VirtualMemory;
use daos_cli::command::{Stage, Started};
use daos_core::{Snapshot, SnapshotSource};
use daos_linux::{Process, ProcessError, cpu, damon};
use daos_monitor::AnyMonitor;
use daos_session::{Driver, Stop};
use indicatif::ProgressBar;
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long a command may take to end by itself after a Ctrl-C that reached it too.
const AFTER_CTRL_C: Duration = Duration::from_secs(1);

/// The targets are there and may be watched; nothing was started or changed yet.
#[derive(Debug)]
pub struct Prepared {
    memory: VirtualMemory,
    pidfds: Vec<OwnedFd>,
}

/// Targets under watch.
#[derive(Debug)]
pub struct Session {
    pub driver: Driver<VirtualMemory>,
    started: Option<Started>,
    stop: Arc<AtomicBool>,
    /// CPU time in microseconds before the first tick.
    pub setup_cpu_us: u64,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ending {
    /// In words.
    pub reason: &'static str,
    /// That of the command, if there was one and it ended by itself.
    pub exit_status: Option<i32>,
}

impl Prepared {
    /// Refuses what can be refused before anything is started. `acts`: whether the
    /// targets' memory is not only to be watched.
    pub fn new(target: &cli::Target, acts: bool) -> Result<Self> {
        let mut processes = Vec::new();
        for &pid in &target.forms.pid {
            if !processes.iter().any(|p: &Process| p.pid() == pid) {
                let process = Process::open(pid)?;
                if acts {
                    process.may_be_acted_on()?;
                }
                processes.push(process);
            }
        }
        let memory = VirtualMemory::new()?.with_children(target.children);
        let mut prepared = Self { memory, pidfds: Vec::new() };
        for process in processes {
            prepared.add(process)?;
        }
        Ok(prepared)
    }

    /// The primitives, without targets that have yet to be started.
    pub fn memory(&self) -> &VirtualMemory {
        &self.memory
    }

    /// Makes `process` a target whose end is noticed at once.
    fn add(&mut self, process: Process) -> Result<()> {
        let pidfd = process.as_fd().try_clone_to_owned();
        self.pidfds.push(pidfd.context("keeping a hold of the target")?);
        self.memory.add(process)?;
        Ok(())
    }

    /// Starts `command`, if it has words, and the clock.
    pub fn start(
        mut self,
        command: &[String],
        monitor: AnyMonitor,
        duration_us: Option<u64>,
        stop: Arc<AtomicBool>,
        stage: Stage<'_>,
    ) -> Result<Session> {
        let mut started = None;
        if !command.is_empty() {
            let child = started.insert(Started::spawn(command, stage)?);
            match Process::open(child.pid()) {
                Ok(process) => self.add(process)?,
                // One that is over already leaves nothing to see.
                Err(ProcessError::Zombie(_) | ProcessError::NotFound(_)) => {}
                Err(err) => return Err(err.into()),
            }
        }
        let Self { memory, pidfds } = self;
        let mut driver = Driver::new(monitor, memory, Arc::clone(&stop), duration_us)
            .context("preparing the timer")?;
        for pidfd in &pidfds {
            driver.watch(pidfd).context("watching for the target's end")?;
        }
        let setup_cpu_us = cpu::used_us();
        driver.begin()?;
        Ok(Session { driver, started, stop, setup_cpu_us })
    }
}

impl Session {
    /// Whether it is a command that runs, and writes to the terminal as it likes.
    pub fn has_command(&self) -> bool {
        self.started.is_some()
    }

    /// Calls `each` with every snapshot, until the session is over or it fails.
    pub fn run(
        &mut self,
        mut each: impl FnMut(&mut Driver<VirtualMemory>, Snapshot) -> Result<()>,
    ) -> Result<()> {
        while let Some(snapshot) = self.driver.next_snapshot()? {
            each(&mut self.driver, snapshot)?;
        }
        Ok(())
    }

    /// The command, if there is one.
    pub fn command(&self) -> Option<&Started> {
        self.started.as_ref()
    }

    /// Watches no more, and ends the command, if there is one.
    pub fn end(self) -> Result<()> {
        drop(self.driver);
        self.started.map_or(Ok(()), |started| started.finish(Duration::ZERO).map(drop))
    }

    /// Watches no more, and waits for the command to end, or ends it.
    pub fn finish(self) -> Result<Ending> {
        let stop = self.driver.stop();
        // From here on we may wait for the command: run where we like.
        drop(self.driver);
        let exit_status = match (self.started, stop) {
            (None, _) => None,
            (Some(started), Some(Stop::Duration)) => started.finish(Duration::ZERO)?.and(None),
            (Some(started), Some(Stop::Asked)) => started.finish(AFTER_CTRL_C)?,
            (Some(started), Some(Stop::TargetsEnded) | None) => {
                started.wait(&self.stop, AFTER_CTRL_C)?
            }
        };
        let reason = match stop {
            Some(Stop::Duration) => "the duration was over",
            Some(Stop::Asked) => "it was interrupted",
            Some(Stop::TargetsEnded) | None => "the target ended",
        };
        Ok(Ending { reason, exit_status })
    }
}

/// What is watched, as it was named.
pub fn named(target: &cli::Target) -> Vec<String> {
    match target.forms.command.as_slice() {
        [] => target.forms.pid.iter().map(|pid| format!("--pid {pid}")).collect(),
        command => command.to_vec(),
    }
}

/// Others clear accessed bits too, and then memory looks colder than it is.
pub fn tell_of_others() {
    if let Some(kdamond) = damon::running(Path::new("/sys")).first() {
        daos_cli::say!(
            "daos: note: a DAMON of the kernel is running ({kdamond}); it clears accessed bits too, so some accesses may be missed"
        );
    }
}

/// A line on the terminal, if there is one and it is wanted.
pub fn progress(wanted: bool, what: &str, duration_us: Option<u64>) -> ProgressBar {
    if !wanted || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = match duration_us {
        Some(_) => format!("{what} [{{bar:30}}] {{msg}}"),
        None => format!("{what} {{spinner}} {{msg}} (Ctrl-C ends it)"),
    };
    let style = indicatif::ProgressStyle::with_template(&template).expect("the template is valid");
    let bar = duration_us.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(style.progress_chars("=> "))
}
