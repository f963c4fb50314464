//! Workloads on real memory, and records of them.

use crate::{Process, daos, eval, read_truth};
use daos_record::Record;
use daos_workload::PhaseTruth;
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStderr, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A directory for one test, with what it leaves in it.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Scratch {
    /// An empty one.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    /// The path of what has this name here.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("temporary paths are text").to_owned()
    }

    /// The record that was written here.
    pub fn record(&self) -> Record {
        let record = Record::open(self.path("record")).expect("the record can be read");
        assert_eq!(record.damage(), None);
        record
    }

    /// Writes a workload's configuration, to `load.cfg`.
    pub fn configure(&self, config: &str) {
        std::fs::write(self.path("load.cfg"), config).expect("a file can be written");
    }

    /// Starts the workload of a configuration, and waits until its memory is there.
    pub fn workload(&self, config: &str, args: &[&str]) -> Workload {
        self.configure(config);
        let mut command = eval(&["workload", &self.text("load.cfg")]);
        command.args(["--truth", &self.text("truth")]).args(args).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut stderr = BufReader::new(process.child().stderr.take().expect("it is piped"));
        ready_pid(&mut stderr);
        Workload { process, _stderr: stderr, truth: self.path("truth") }
    }

    /// `daos record` with these words behind it, into the record here.
    pub fn recorder(&self, args: &[&str]) -> Command {
        let mut command = daos(&["record", "--quiet", "-o", &self.text("record")]);
        command.args(args);
        command
    }

    /// Records process `pid` until it or the time ends, which must go well.
    pub fn record_process(&self, pid: u32, args: &[&str]) -> Record {
        let mut recorder = Process::start(self.recorder(&["--pid", &pid.to_string()]).args(args));
        let status = recorder.end_within(Duration::from_secs(120));
        assert!(status.is_some_and(|s| s.success()), "daos record: {status:?}");
        self.record()
    }
}

/// Waits for the line that says that a workload's memory is there; its process.
pub fn ready_pid(stderr: &mut impl BufRead) -> u32 {
    let mut line = String::new();
    stderr.read_line(&mut line).expect("the workload says when it is ready");
    let pid = line.strip_prefix("ready: pid ").and_then(|rest| rest.split_once(','));
    pid.unwrap_or_else(|| panic!("not ready: {line:?}")).0.parse().expect("a process number")
}

/// A `daos-eval workload` that runs.
#[derive(Debug)]
pub struct Workload {
    /// Its process.
    pub process: Process,
    /// Held open: it still has something to say at its end.
    _stderr: BufReader<ChildStderr>,
    truth: PathBuf,
}

impl Workload {
    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Asks it to end, or waits for its end; what it truly accessed.
    pub fn stop(mut self) -> Vec<PhaseTruth> {
        if self.process.is_running() {
            self.process.signal(Signal::TERM);
        }
        assert!(self.process.end().success());
        read_truth(&self.truth)
    }
}
