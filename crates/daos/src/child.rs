//! The command that `daos` was asked to start and watch.

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a command may take to end when it is asked to.
const GRACE_S: i64 = 5;

/// A command that was started. If it is dropped while it runs, it is asked to
/// end: nothing is left behind when `daos` fails on the way.
#[derive(Debug)]
pub struct Started {
    child: Child,
    pidfd: OwnedFd,
    name: String,
    done: bool,
}

impl Started {
    /// Starts `command`. With `quiet_stdout` its output goes to standard error,
    /// so that standard output is ours alone.
    pub fn spawn(command: &[String], quiet_stdout: bool) -> Result<Self> {
        let (program, args) = command.split_first().context("no command was given")?;
        let mut builder = Command::new(program);
        builder.args(args);
        if quiet_stdout {
            builder.stdout(Stdio::from(std::io::stderr()));
        }
        let child = builder.spawn().with_context(|| {
            format!("cannot start {program:?}; check its name, and that it may be executed")
        })?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())
            .with_context(|| format!("taking hold of {program:?}"))?;
        Ok(Self { child, pidfd, name: program.clone(), done: false })
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it a moment to end by itself, as when Ctrl-C reached it too, then asks
    /// it to. Returns its exit status; `None` when it goes on regardless, and then
    /// it is left running.
    pub fn finish(mut self, patience_s: i64) -> Result<Option<i32>> {
        if !self.ended_within(patience_s) {
            self.ask_to_end();
        }
        if !self.ended_within(GRACE_S) {
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
    pub fn wait(self, stop: &AtomicBool, patience_s: i64) -> Result<Option<i32>> {
        while !self.ended_within(1) {
            if stop.load(Ordering::Relaxed) {
                return self.finish(patience_s);
            }
        }
        self.reap().map(Some)
    }

    /// Its exit status, as a shell would give it, once it has ended.
    fn reap(mut self) -> Result<i32> {
        let status = self.child.wait().with_context(|| format!("waiting for {}", self.name))?;
        self.done = true;
        Ok(exit_code(status))
    }

    fn ask_to_end(&self) {
        // It may have ended meanwhile; then there is nobody to ask.
        let _ = pidfd_send_signal(&self.pidfd, Signal::TERM);
    }

    fn ended_within(&self, seconds: i64) -> bool {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let wait = Timespec { tv_sec: seconds, tv_nsec: 0 };
        matches!(poll(&mut fds, Some(&wait)), Ok(1..))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.done {
            self.ask_to_end();
            if self.ended_within(GRACE_S) {
                let _ = self.child.wait();
            }
        }
    }
}

/// 128 + the signal's number for a command that a signal ended.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1)
}
