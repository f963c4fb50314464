//! Processes that end with the test, workloads with their truth, and records.

use daos_core::{AddrRange, Interval, RegionSnapshot, Snapshot, TargetId};
use daos_eval::{Score, Scorer, TruePhase};
use daos_record::Record;
use daos_workload::PhaseTruth;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The monitors that people use, as options of `daos record`. Bounds on the cost are high,
/// as a `daos` that was built without optimization costs many times what a real one does.
pub const MONITORS: [&[&str]; 2] = [WINDOWS, &["--monitor", "reference"]];
/// The default, which no bound stands in the way of.
pub const WINDOWS: &[&str] = &["--max-overhead", "10"];

/// How long anything may take that should take no time.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A `daos` with these words behind it.
pub fn daos(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daos"));
    command.args(args);
    command
}

/// A program of `tests/programs`. Cargo builds them with the tests, next to the `daos`
/// that they run.
pub fn program(name: &str) -> PathBuf {
    let daos = Path::new(env!("CARGO_BIN_EXE_daos"));
    let program = daos.with_file_name("examples").join(name);
    assert!(program.exists(), "run `cargo build -p daos --examples` first");
    program
}

/// `CLOCK_MONOTONIC` in microseconds, as in truths and records.
pub fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

pub fn sleep_s(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

/// A process that ends when this is dropped, also by a panic: asked to first, so
/// that a `daos` can end what it has started.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap_or_else(|err| panic!("{command:?}: {err}")))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).expect("not waited for yet");
    }

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
    pub fn take(pid: u32) -> Self {
        let pid = Pid::from_raw(pid as i32).expect("a process number");
        Self(pidfd_open(pid, PidfdFlags::empty()).expect("it runs"))
    }

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

/// A directory for one test, with what it leaves in it.
#[derive(Debug)]
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory can be made"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

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
        let mut command = daos(&["workload", &self.text("load.cfg")]);
        command.args(["--truth", &self.text("truth")]).args(args).stderr(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut stderr = BufReader::new(process.child().stderr.take().expect("it is piped"));
        ready_pid(&mut stderr);
        Workload { process, _stderr: Box::new(stderr), truth: self.path("truth") }
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
        let status = recorder.end_within(Duration::from_secs(60));
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

/// A `daos workload` that runs.
pub struct Workload {
    pub process: Process,
    /// Held open: it still has something to say at its end.
    _stderr: Box<dyn Read>,
    truth: PathBuf,
}

impl Workload {
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

pub fn read_truth(path: &Path) -> Vec<PhaseTruth> {
    PhaseTruth::read_all(path).expect("the truth can be read")
}

/// The only target of a record.
pub fn only_target(record: &Record) -> TargetId {
    let ids: Vec<TargetId> = record.targets().map(|target| target.id).collect();
    assert_eq!(ids.len(), 1);
    ids[0]
}

pub fn intervals(record: &Record) -> Vec<Interval> {
    record.intervals().map(|interval| interval.expect("it was read before")).collect()
}

/// What was seen in them.
pub fn snapshots(record: &Record) -> Vec<Snapshot> {
    intervals(record).into_iter().map(|interval| interval.snapshot).collect()
}

/// How accurate a record is on one of its targets.
pub fn score(record: &Record, id: TargetId, truth: &[PhaseTruth], warmup_s: f64) -> Score {
    let header = record.header();
    let phases = truth.iter().map(|phase| TruePhase::counted(phase, &header.attrs)).collect();
    let mut scorer = Scorer::new(phases, header.start_monotonic_us, (warmup_s * 1e6) as u64);
    for snapshot in snapshots(record) {
        for target in snapshot.targets.iter().filter(|target| target.id == id) {
            scorer.add(&snapshot, target);
        }
    }
    let score = scorer.score();
    // Seen with --nocapture: how far from the limits it is.
    println!("{score:?}");
    score
}

/// Bytes of `range` in regions that `wanted` takes, in one snapshot.
pub fn bytes_where(
    snapshot: &Snapshot,
    range: AddrRange,
    wanted: impl Fn(&RegionSnapshot) -> bool,
) -> u64 {
    let regions = snapshot.targets.iter().flat_map(|target| &target.regions);
    regions.filter(|r| wanted(r)).filter_map(|r| Some(r.range.intersect(&range)?.len())).sum()
}
