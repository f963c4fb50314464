//! The command that `daos` was asked to start and watch.

use crate::say;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal,
    test_kill_process_group,
};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is looked whether all of a run have ended.
const LOOK: Duration = Duration::from_millis(20);

/// Where a command lives.
#[derive(Debug, Clone, Copy)]
pub enum Stage<'a> {
    /// Where `daos` does: it reads and writes there, and Ctrl-C reaches it too.
    Shared,
    /// The same, but what it would write to standard output goes to standard error.
    SharedStderr,
    /// By itself, as one of many runs: it reads from and writes to these files. All that it
    /// started ends with it; what does not when it is asked to is killed.
    Apart {
        /// What it reads; nothing if there is none.
        stdin: Option<&'a File>,
        /// Where its output goes.
        stdout: &'a File,
        /// Where its messages go.
        stderr: &'a File,
    },
}

/// A command that was started. If it is dropped while it runs, it is asked to
/// end: nothing is left behind when `daos` fails on the way.
#[derive(Debug)]
pub struct Started {
    child: Child,
    pidfd: OwnedFd,
    name: String,
    began: Instant,
    apart: bool,
    /// Whether it was asked to end.
    asked: bool,
    done: bool,
}

impl Started {
    /// Starts `command`.
    pub fn spawn(command: &[String], stage: Stage<'_>) -> Result<Self> {
        let (program, args) = command.split_first().context("no command was given")?;
        let mut builder = Command::new(program);
        builder.args(args);
        match stage {
            Stage::Shared => {}
            Stage::SharedStderr => {
                builder.stdout(Stdio::from(std::io::stderr()));
            }
            Stage::Apart { stdin, stdout, stderr } => {
                let twin = |file: &File| file.try_clone().context("keeping a command's output");
                builder
                    .stdin(stdin.map_or_else(|| Ok(Stdio::null()), |f| twin(f).map(Into::into))?);
                builder.stdout(twin(stdout)?).stderr(twin(stderr)?);
                builder.process_group(0);
            }
        }
        let began = Instant::now();
        let child = builder.spawn().with_context(|| {
            format!("cannot start {program:?}; check its name, and that it may be executed")
        })?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .with_context(|| format!("taking hold of {program:?}"))?;
        let apart = matches!(stage, Stage::Apart { .. });
        Ok(Self { child, pidfd, name: program.clone(), began, apart, asked: false, done: false })
    }

    /// When it was started.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// A hold of it, by which others can wait for its end.
    pub fn pidfd(&self) -> Result<OwnedFd> {
        self.pidfd.try_clone().with_context(|| format!("keeping a hold of {}", self.name))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it a moment to end by itself, as when Ctrl-C reached it too, then asks
    /// it to. Returns its exit status; `None` when it goes on regardless, and then
    /// it is left running, unless it is one of many.
    pub fn finish(mut self, patience: Duration) -> Result<Option<i32>> {
        if !self.ended_within(patience) {
            self.ask_to_end();
        }
        if !self.ended_within(GRACE) {
            if self.apart {
                self.signal(Signal::KILL);
                return self.reap().map(Some);
            }
            say!(
                "daos: {} (process {}) does not end on SIGTERM; it was left running",
                self.name,
                self.pid()
            );
            self.done = true;
            return Ok(None);
        }
        self.reap().map(Some)
    }

    /// Waits for it to end, or for `stop`: then it is [finished](Self::finish).
    pub fn wait(self, stop: &AtomicBool, patience: Duration) -> Result<Option<i32>> {
        while !self.ended_within(Duration::from_secs(1)) {
            if stop.load(Ordering::Relaxed) {
                return self.finish(patience);
            }
        }
        self.reap().map(Some)
    }

    /// Its exit status, as a shell would give it, once it has ended.
    fn reap(mut self) -> Result<i32> {
        if self.apart && !self.asked {
            // What it has left running in the background.
            self.ask_to_end();
        }
        let status = self.child.wait().with_context(|| format!("waiting for {}", self.name))?;
        self.done = true;
        self.end_rest();
        Ok(exit_code(status))
    }

    /// Whether it has ended, or does so within this time.
    pub fn ended_within(&self, time: Duration) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let wait = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        matches!(poll(&mut fds, Some(&wait)), Ok(1..))
    }

    fn ask_to_end(&mut self) {
        self.asked = true;
        self.signal(Signal::TERM);
    }

    /// What one of many runs has started was asked to end with it, and may need longer, or
    /// won't. The number of the group stays taken as long as one is left in it.
    fn end_rest(&self) {
        let group = Pid::from_child(&self.child);
        let deadline = Instant::now() + GRACE;
        while self.apart && self.asked && test_kill_process_group(group).is_ok() {
            if Instant::now() > deadline {
                // They may all have ended meanwhile.
                let _ = kill_process_group(group, Signal::KILL);
                return;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// To it, or to all that belongs to a run. It may have ended meanwhile; then there is
    /// nobody to be told.
    fn signal(&self, signal: Signal) {
        if self.apart {
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        } else {
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.ask_to_end();
        if !self.ended_within(GRACE) && self.apart {
            self.signal(Signal::KILL);
        }
        if self.ended_within(GRACE) {
            let _ = self.child.wait();
            self.end_rest();
        }
    }
}

/// 128 + the signal's number for a command that a signal ended.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1)
}
