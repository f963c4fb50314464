//! The programs that a run on real memory is made of.
//!
//! A program that is dropped is killed: whichever way a run ends, nothing of it
//! stays behind.

use crate::error::BenchError;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest sleep without a look at what goes on.
const NAP: Duration = Duration::from_millis(50);

/// A `daos` with some subcommand that runs.
#[derive(Debug)]
pub struct Running {
    name: &'static str,
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Starts `daos` with `args`, of which the first is its subcommand `name`.
    pub fn start(daos: &Path, name: &'static str, args: &[String]) -> Result<Self, BenchError> {
        let mut command = Command::new(daos);
        command.arg(name).args(args);
        Self::spawn(command, name)
    }

    /// The same, in a cgroup from before it takes any memory: `processes` is the file to
    /// which it writes its number.
    pub fn start_within(
        processes: &Path,
        daos: &Path,
        name: &'static str,
        args: &[String],
    ) -> Result<Self, BenchError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
        command.arg(processes).arg(daos).arg(name).args(args);
        Self::spawn(command, name)
    }

    fn spawn(mut command: Command, name: &'static str) -> Result<Self, BenchError> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| BenchError::Run { name, source })?;
        let stderr = child.stderr.take().expect("standard error is piped");
        Ok(Self { name, child, stderr: BufReader::new(stderr) })
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on its standard error that begins with `word`.
    pub fn wait_for_line(&mut self, word: &str) -> Result<(), BenchError> {
        let mut said = String::new();
        loop {
            let begin = said.len();
            let read = self.stderr.read_line(&mut said).map_err(|source| self.failed(source))?;
            if said[begin..].starts_with(word) {
                return Ok(());
            }
            if read == 0 {
                let status = self.child.wait().map_err(|source| self.failed(source))?;
                return Err(self.failure(status, said));
            }
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Result<bool, BenchError> {
        Ok(self.child.try_wait().map_err(|source| self.failed(source))?.is_some())
    }

    /// Waits until it has ended, or until `deadline`: then the answer is `None`.
    pub fn wait_until(
        &mut self,
        deadline: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<ExitStatus>, BenchError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(BenchError::Interrupted);
            }
            let status = self.child.try_wait().map_err(|source| self.failed(source))?;
            let left = deadline.saturating_duration_since(Instant::now());
            if status.is_some() || left.is_zero() {
                return Ok(status);
            }
            std::thread::sleep(left.min(NAP));
        }
    }

    /// Asks it to end, with SIGTERM, if it has not by itself.
    pub fn ask_to_end(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // Not waited for, so its number is still its own: if it has ended just
            // now, the signal is lost.
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    /// Waits until it has ended, which should not take longer than `patience`,
    /// and complains if it failed.
    pub fn finish(mut self, patience: Duration, stop: &AtomicBool) -> Result<(), BenchError> {
        let status = self.wait_until(Instant::now() + patience, stop)?;
        let status = status.ok_or(BenchError::Stuck(self.name))?;
        if status.success() {
            return Ok(());
        }
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).map_err(|source| self.failed(source))?;
        Err(self.failure(status, said))
    }

    fn failed(&self, source: std::io::Error) -> BenchError {
        BenchError::Run { name: self.name, source }
    }

    fn failure(&self, status: ExitStatus, said: String) -> BenchError {
        let last = said.trim_end().lines().last().unwrap_or("it said nothing");
        let said = last.strip_prefix("daos: ").unwrap_or(last).to_owned();
        BenchError::Failed { name: self.name, status, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
