//! A place where something is tuned, and what may be left of it when it is over.

use daos_testing::{PATIENCE, Process, Scratch, WINDOWS, ZramSize, daos, sleep_s, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A scheme that only counts, and its threshold: it needs no swap.
pub const HARMLESS: &[&str] =
    &["--scheme", "4K max min min 1s max stat", "--param", "min_age=0s..1s"];

/// In the environment of all that a bench starts, and of what that starts.
const MARK: &str = "DAOS_TEST_BENCH";

/// How long what was ended may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// A directory, and all that is started for it.
pub struct Bench {
    pub scratch: Scratch,
    /// The swap that is set up here.
    pub zram: ZramSize,
}

/// What a tuning came to.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Bench {
    pub fn new() -> Self {
        Self { scratch: Scratch::new(), zram: ZramSize::unique(256) }
    }

    /// A file of the tuning.
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path("t").join(name)
    }

    /// The same as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("temporary paths are text").to_owned()
    }

    /// A shell script as a command. `$n` is the number of the run, from 1.
    pub fn job(&self, script: &str) -> [String; 2] {
        let (job, runs) = (self.scratch.text("job"), self.scratch.text("runs"));
        let count = format!("echo run >>{runs}; n=$(wc -l <{runs})");
        fs::write(&job, format!("{count}\n{script}\n")).expect("a file can be written");
        ["sh".to_owned(), job]
    }

    /// How many runs of a job there were.
    pub fn runs(&self) -> usize {
        fs::read_to_string(self.scratch.path("runs")).map_or(0, |text| text.lines().count())
    }

    /// `daos tune` of a command, kept here.
    pub fn command(&self, options: &[&str], command: &[impl AsRef<str>]) -> Command {
        let mut tune = daos(&["tune", "--out", &self.scratch.text("t")]);
        tune.args(WINDOWS).args(options).env(MARK, self.scratch.path(""));
        if !command.is_empty() {
            tune.arg("--").args(command.iter().map(AsRef::as_ref));
        }
        let log = |name| fs::File::create(self.scratch.path(name)).expect("it can be made");
        // Files, for nobody reads while it runs; and what it leaves would hold a pipe open.
        tune.stdin(Stdio::null()).stdout(log("stdout")).stderr(log("stderr"));
        tune
    }

    /// Runs it to its end.
    pub fn run(&self, options: &[&str], command: &[impl AsRef<str>]) -> Ran {
        let mut daos = Process::start(&mut self.command(options, command));
        let status = daos.end_within(3 * PATIENCE).expect("it ends");
        let ran =
            Ran { status: status.code(), stdout: self.said("stdout"), stderr: self.said("stderr") };
        assert!(!ran.stderr.contains("panicked"), "{ran:?}");
        ran
    }

    /// What it has written there so far.
    pub fn said(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).expect("it is text")
    }

    /// What its command has written.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("output.log")).expect("it is text")
    }

    /// Waits until something is so, while `daos` runs.
    #[track_caller]
    pub fn wait_until(&self, daos: &mut Process, what: impl Fn() -> bool) {
        let deadline = Instant::now() + 2 * PATIENCE;
        while !what() {
            assert!(daos.is_running(), "{}{}", self.said("stdout"), self.said("stderr"));
            assert!(Instant::now() < deadline, "{}", self.said("stdout"));
            sleep_s(0.02);
        }
    }

    pub fn samples(&self) -> Vec<Value> {
        let lines = fs::read_to_string(self.path("samples.jsonl")).unwrap_or_default();
        lines.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    }

    pub fn result(&self) -> Value {
        let text = fs::read(self.path("result.json")).expect("there is a result");
        serde_json::from_slice(&text).expect("it is JSON")
    }

    /// Processes that came of this, by their numbers and names; after a while, if there
    /// are some.
    fn left(&self) -> Vec<(i32, String)> {
        let deadline = Instant::now() + GONE;
        loop {
            let left = self.marked();
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            sleep_s(0.05);
        }
    }

    fn marked(&self) -> Vec<(i32, String)> {
        let mark = format!("{MARK}={}", self.scratch.text(""));
        let processes = fs::read_dir("/proc").expect("it is there").flatten();
        let marked = processes.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            // Nothing of one that has ended, or that just ends.
            let environ = fs::read(entry.path().join("environ")).ok()?;
            let is_marked = environ.split(|&byte| byte == 0).any(|word| word == mark.as_bytes());
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            is_marked.then_some((pid, name))
        });
        marked.collect()
    }

    /// No process of it is left, neither of `daos` nor of what that has started.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        assert_eq!(self.left(), []);
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Nobody, unless the test has failed.
        for (pid, _) in self.left() {
            if let Some(pid) = Pid::from_raw(pid) {
                // It may have ended by now.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        if !until(|| self.zram.devices().is_empty()) {
            println!("{:?} are left: daos doctor --clean", self.zram.devices());
        }
    }
}

#[track_caller]
pub fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value}"))
}
