//! Processes that end with the test.

use crate::PATIENCE;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// A process that ends when this is dropped, also by a panic: asked to first, so
/// that a `daos` can end what it has started.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|err| panic!("{command:?}: {err}")))
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Its pipes, and all else.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Sends it a signal. It must not have been waited for.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("not waited for yet");
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.0.try_wait().expect("it is ours").is_none()
    }

    /// Its exit status, which it should have within `patience`.
    pub fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            let status = self.0.try_wait().expect("it is ours");
            if status.is_some() || Instant::now() > deadline {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its exit status, at its end.
    pub fn end(&mut self) -> ExitStatus {
        self.end_within(PATIENCE).expect("it should have ended by now")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_running() {
            self.signal(Signal::CONT);
            self.signal(Signal::TERM);
            if self.end_within(Duration::from_secs(8)).is_none() {
                // Both fail only if it has ended after all.
                let _ = self.0.kill();
                let _ = self.0.wait();
            }
        }
    }
}

/// A process that something else has started for this test. Ends with it, too.
#[derive(Debug)]
pub struct Foster(OwnedFd);

impl Foster {
    /// Takes over process `pid`, which must be running.
    pub fn take(pid: u32) -> Self {
        let pid = Pid::from_raw(pid as i32).expect("a process number");
        Self(pidfd_open(pid, PidfdFlags::empty()).expect("it runs"))
    }

    /// Sends it SIGTERM.
    pub fn ask_to_end(&self) {
        pidfd_send_signal(&self.0, Signal::TERM).expect("it runs");
    }
}

impl Drop for Foster {
    fn drop(&mut self) {
        // It may have ended.
        let _ = pidfd_send_signal(&self.0, Signal::KILL);
    }
}
