//! The programs that a run on real memory is made of.
//!
//! A program that is dropped is killed: whichever way a run ends, nothing of it
//! stays behind.

use crate::error::EvalError;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long what starts other programs may take to end them.
const GRACE: Duration = Duration::from_secs(15);
/// Longest sleep without asking whether it has ended, or is to be stopped.
const NAP: Duration = Duration::from_millis(50);

/// The two commands that a run on real memory is made of.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    /// The `daos` that is measured.
    pub daos: PathBuf,
    /// The `daos-eval` that runs workloads, and records where `daos` has no such monitor.
    pub eval: PathBuf,
}

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    /// What it is called in messages.
    name: String,
    child: Child,
    stderr: Stderr,
    /// How long it is given to end when it is dropped, before it is killed.
    grace: Duration,
}

/// What it says on standard error.
#[derive(Debug)]
enum Stderr {
    /// To us, who read along: what we start says little.
    Pipe(BufReader<ChildStderr>),
    /// To a file without a name, however much it is.
    File(File),
    /// To where its caller looks.
    Elsewhere,
}

impl Running {
    /// Starts the subcommand `name` of `program`, one of the two [`Commands`].
    pub fn start(program: &Path, name: &str, args: &[String]) -> Result<Self, EvalError> {
        let mut command = Command::new(program);
        command.arg(name).args(args);
        Self::spawn(command, &called(program, name))
    }

    /// Starts a program that may say much, called `name` in messages; what it prints goes to
    /// `stdout`. If it is dropped, it is asked to end and given some seconds for it: so a
    /// `daos` has its command end, too.
    pub fn start_talkative(
        mut command: Command,
        name: &str,
        stdout: impl Into<Stdio>,
    ) -> Result<Self, EvalError> {
        let failed = |why| EvalError::Run { name: name.to_owned(), why };
        let file = tempfile::tempfile().map_err(EvalError::Scratch)?;
        let ours = file.try_clone().map_err(EvalError::Scratch)?;
        command.stdin(Stdio::null()).stdout(stdout).stderr(file);
        let child = command.spawn().map_err(failed)?;
        Ok(Self { name: name.to_owned(), child, stderr: Stderr::File(ours), grace: GRACE })
    }

    /// Starts a program whose output goes where its caller said, called `name` in messages.
    pub fn start_quiet(mut command: Command, name: &str) -> Result<Self, EvalError> {
        let failed = |why| EvalError::Run { name: name.to_owned(), why };
        let child = command.stdin(Stdio::null()).spawn().map_err(failed)?;
        let name = name.to_owned();
        Ok(Self { name, child, stderr: Stderr::Elsewhere, grace: Duration::ZERO })
    }

    /// The same, in a cgroup from before it takes any memory: `processes` is the file to
    /// which it writes its number.
    pub fn start_within(
        processes: &Path,
        program: &Path,
        name: &str,
        args: &[String],
    ) -> Result<Self, EvalError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]);
        command.arg(processes).arg(program).arg(name).args(args);
        Self::spawn(command, &called(program, name))
    }

    fn spawn(mut command: Command, name: &str) -> Result<Self, EvalError> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| EvalError::Run { name: name.to_owned(), why })?;
        let stderr = child.stderr.take().expect("standard error is piped");
        let stderr = Stderr::Pipe(BufReader::new(stderr));
        Ok(Self { name: name.to_owned(), child, stderr, grace: Duration::ZERO })
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on its standard error that begins with `word`.
    pub fn wait_for_line(&mut self, word: &str) -> Result<(), EvalError> {
        let mut said = String::new();
        loop {
            let begin = said.len();
            let read = match &mut self.stderr {
                Stderr::Pipe(pipe) => pipe.read_line(&mut said),
                // Nobody waits for what a file holds later.
                Stderr::File(_) | Stderr::Elsewhere => Ok(0),
            };
            let read = read.map_err(|source| self.failed(source))?;
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
    pub fn has_ended(&mut self) -> Result<bool, EvalError> {
        Ok(self.child.try_wait().map_err(|source| self.failed(source))?.is_some())
    }

    /// Waits until it has ended, or until `deadline`: then the answer is `None`.
    pub fn wait_until(
        &mut self,
        deadline: Instant,
        stop: &AtomicBool,
    ) -> Result<Option<ExitStatus>, EvalError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(EvalError::Interrupted);
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

    /// Waits until it has ended, which should not take longer than `patience`, and says how.
    pub fn status(
        &mut self,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<ExitStatus, EvalError> {
        let status = self.wait_until(Instant::now() + patience, stop)?;
        status.ok_or(EvalError::Stuck(self.name.clone()))
    }

    /// The same, and complains if it failed.
    pub fn finish(self, patience: Duration, stop: &AtomicBool) -> Result<(), EvalError> {
        self.finish_with_words(patience, stop).map(drop)
    }

    /// The same, with what it said on its standard error.
    pub fn finish_with_words(
        mut self,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<String, EvalError> {
        let status = self.status(patience, stop)?;
        let said = self.stderr.rest().map_err(|why| self.failed(why))?;
        if status.success() { Ok(said) } else { Err(self.failure(status, said)) }
    }

    fn failed(&self, why: std::io::Error) -> EvalError {
        EvalError::Run { name: self.name.clone(), why }
    }

    fn failure(&self, status: ExitStatus, said: String) -> EvalError {
        let last = said.trim_end().lines().last().unwrap_or("it said nothing");
        let said = last.strip_prefix("daos: ").unwrap_or(last).to_owned();
        EvalError::Failed { name: self.name.clone(), status, said }
    }
}

impl Stderr {
    /// What it said and nobody read yet.
    fn rest(&mut self) -> std::io::Result<String> {
        let mut said = Vec::new();
        match self {
            Stderr::Pipe(pipe) => pipe.read_to_end(&mut said)?,
            Stderr::File(file) => {
                file.rewind()?;
                file.read_to_end(&mut said)?
            }
            Stderr::Elsewhere => 0,
        };
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// What a program with this subcommand is called in messages.
fn called(program: &Path, name: &str) -> String {
    let program = program.file_name().unwrap_or(program.as_os_str());
    format!("{} {name}", program.display())
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.grace.is_zero() {
            self.ask_to_end();
            let deadline = Instant::now() + self.grace;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(NAP);
            }
        }
        // Both fail only if it has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
