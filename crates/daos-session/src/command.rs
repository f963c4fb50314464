//! The command that `daos` was asked to start and watch.

use daos_linux::process::has_others_in_group;
use daos_linux::user::{self, User};
use daos_linux::{Process, cpu};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thiserror::Error;

/// How long a command may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// How often it is checked whether all of a run have ended.
const CHECKED: Duration = Duration::from_millis(50);

/// Why a command can't be run.
#[derive(Debug, Error)]
pub enum CommandError {
    /// It has no words.
    #[error("no command was given")]
    Empty,
    /// It can't be started.
    #[error("cannot start {program:?}{whose}; check its name, and that it may be executed")]
    Start {
        /// Its first word.
        program: String,
        /// ` as USER`, where it is another than who runs this.
        whose: String,
        /// Why not.
        source: io::Error,
    },
    /// What it takes to follow it can't be had.
    #[error("{what} {program:?}")]
    Follow {
        /// What was being done.
        what: &'static str,
        /// The command's first word.
        program: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It has ended.
    Status {
        /// As a shell gives it: 128 and the signal's number where one ended it.
        status: i32,
        /// CPU time of it and of those that it waited for, user and system, in microseconds.
        cpu_us: (u64, u64),
    },
    /// It does not end though it was asked to, and was left running.
    LeftRunning {
        /// Its first word.
        program: String,
        /// Its process number.
        pid: u32,
    },
}

/// Where a command lives.
#[derive(Debug, Clone, Copy)]
pub enum Surroundings<'a> {
    /// Where `daos` does: it reads and writes there, and Ctrl-C reaches it too.
    Shared,
    /// The same, but what it would write to standard output goes to standard error.
    SharedStderr,
    /// By itself, as one of many runs: it reads from and writes to these files. All that it
    /// started ends with it; what does not when it is asked to is killed. It is killed when
    /// the thread that started it ends before.
    Apart {
        /// What it reads; nothing if there is none.
        stdin: Option<&'a File>,
        /// Where its output goes.
        stdout: &'a File,
        /// Where its messages go.
        stderr: &'a File,
        /// What it finds in its environment beside what is in ours: a name and a value.
        variable: Option<(&'a str, &'a str)>,
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
    /// Starts `command` as `user`, or as who runs this; [confined](user::confine) in either
    /// case.
    ///
    /// # Errors
    ///
    /// [`CommandError`] when it has no words or can't be started.
    pub fn spawn(
        command: &[String],
        user: Option<&User>,
        surroundings: Surroundings<'_>,
    ) -> Result<Self, CommandError> {
        let (program, args) = command.split_first().ok_or(CommandError::Empty)?;
        let failed =
            |what| move |source| CommandError::Follow { what, program: program.clone(), source };
        let mut builder = Command::new(program);
        builder.args(args);
        match surroundings {
            Surroundings::Shared => {}
            Surroundings::SharedStderr => {
                builder.stdout(Stdio::from(std::io::stderr()));
            }
            Surroundings::Apart { stdin, stdout, stderr, variable } => {
                let twin = |file: &File| file.try_clone().map_err(failed("keeping the output of"));
                builder
                    .stdin(stdin.map_or_else(|| Ok(Stdio::null()), |f| twin(f).map(Into::into))?);
                builder.stdout(twin(stdout)?).stderr(twin(stderr)?);
                builder.envs(variable).process_group(0);
            }
        }
        user::confine(&mut builder, user);
        let apart = matches!(surroundings, Surroundings::Apart { .. });
        if apart {
            user::end_with_me(&mut builder);
        }
        let began = Instant::now();
        let mut child = builder.spawn().map_err(|source| {
            let whose = user.map_or(String::new(), |user| format!(" as {}", user.name()));
            CommandError::Start { program: program.clone(), whose, source }
        })?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(|errno| {
            // Nobody could follow it. It has only begun.
            let _ = child.kill();
            let _ = child.wait();
            failed("taking hold of")(errno.into())
        })?;
        Ok(Self { child, pidfd, name: program.clone(), began, apart, asked: false, done: false })
    }

    /// When it was started.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// A hold of it, by which others can wait for its end.
    ///
    /// # Errors
    ///
    /// [`CommandError::Follow`] when there are too many open files.
    pub fn pidfd(&self) -> Result<OwnedFd, CommandError> {
        self.pidfd.try_clone().map_err(|source| self.failed("keeping a hold of", source))
    }

    fn failed(&self, what: &'static str, source: io::Error) -> CommandError {
        CommandError::Follow { what, program: self.name.clone(), source }
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Gives it a moment to end by itself, as when Ctrl-C reached it too, then asks
    /// it to. Where it goes on regardless, it is left running, unless it is one of many.
    ///
    /// # Errors
    ///
    /// [`CommandError::Follow`] when it can't be waited for.
    pub fn finish(mut self, patience: Duration) -> Result<Ended, CommandError> {
        if !self.ended_within(patience) {
            self.ask_to_end();
        }
        if !self.ended_within(GRACE) {
            if self.apart {
                self.signal(Signal::KILL);
                return self.reap();
            }
            self.done = true;
            return Ok(Ended::LeftRunning { program: self.name.clone(), pid: self.pid() });
        }
        self.reap()
    }

    /// Waits for it to end, or for `stop`: then it is [finished](Self::finish).
    ///
    /// # Errors
    ///
    /// [`CommandError::Follow`] when it can't be waited for.
    pub fn wait(self, stop: &AtomicBool, patience: Duration) -> Result<Ended, CommandError> {
        while !self.ended_within(Duration::from_secs(1)) {
            if stop.load(Ordering::Relaxed) {
                return self.finish(patience);
            }
        }
        self.reap()
    }

    /// How it ended, once it has.
    fn reap(mut self) -> Result<Ended, CommandError> {
        if self.apart {
            if !self.asked {
                // What it has left running in the background.
                self.ask_to_end();
            }
            while !self.ended_within(GRACE) {}
            self.end_rest();
        }
        let cpu_us = cpu::of_ended_child_us(self.pid()).unwrap_or_default();
        let status = self.child.wait().map_err(|source| self.failed("waiting for", source))?;
        self.done = true;
        Ok(Ended::Status { status: exit_code(status), cpu_us })
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
    /// won't. It has ended itself, but is not waited for before they have: until then the
    /// number of its group can't be another's.
    fn end_rest(&self) {
        let deadline = Instant::now() + GRACE;
        while has_others_in_group(Path::new("/proc"), self.pid()) {
            if Instant::now() > deadline {
                self.signal(Signal::KILL);
                return;
            }
            std::thread::sleep(CHECKED);
        }
    }

    /// To it, or to all that belongs to a run. It may have ended meanwhile, but was not waited
    /// for; then there is nobody to be told.
    fn signal(&self, signal: Signal) {
        if self.apart {
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        } else {
            let started = Process::open(self.pid()).map_or(Vec::new(), |own| own.descendants());
            let _ = pidfd_send_signal(&self.pidfd, signal);
            // What a script waits for would go on without it.
            for process in started {
                let _ = process.ask_to_end();
            }
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
            if self.apart {
                self.end_rest();
            }
            let _ = self.child.wait();
        }
    }
}

impl Ended {
    /// Its exit status, if it has ended.
    pub fn status(&self) -> Option<i32> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::LeftRunning { .. } => None,
        }
    }
}

/// 128 + the signal's number for a command that a signal ended.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|s| 128 + s)).unwrap_or(1)
}
