//! Runs `daos` in a directory of its own.

use assert_cmd::Command;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A workload that is simulated at once.
pub const LOAD: &str = "cold, 48M\nhot, 16M\n\nbusy\n3s\nhot, random, 1, 1\n";

/// A directory, and `daos` run in it.
pub struct Place(TempDir);

/// What a run of `daos` came to.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Place {
    /// With nothing but a workload's configuration, `load.cfg`.
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a temporary directory can be made"));
        fs::write(place.path("load.cfg"), LOAD).expect("a file can be written");
        place
    }

    /// With a simulated record, too, under the name of the default.
    pub fn with_record() -> Self {
        let place = Self::new();
        place.run(&["record", "--quiet", "--sim", "load.cfg"]).succeeded();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The names of what is here, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("it is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_daos"));
        command.current_dir(self.0.path()).timeout(Duration::from_secs(60));
        let output = command.args(args).output().expect("daos runs");
        let stderr = String::from_utf8(output.stderr).expect("messages are text");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ran { status: output.status.code(), stdout: output.stdout, stderr }
    }

    /// Runs what can't be done: one message with `says` in it, exit status 1, and
    /// no file that was not there before.
    #[track_caller]
    pub fn cannot(&self, args: &[&str], says: &str) {
        let before = self.files();
        let ran = self.run(args);
        assert_eq!(ran.status, Some(1), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: not {says:?}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("daos: "), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "one message: {}", ran.stderr);
        assert_eq!(ran.stdout, b"", "{args:?}");
        assert_eq!(self.files(), before, "{args:?}");
    }

    /// Runs what makes no sense: a message with `says` in it, exit status 2, and no
    /// file that was not there before.
    #[track_caller]
    pub fn misused(&self, args: &[&str], says: &str) {
        let before = self.files();
        let ran = self.run(args);
        assert_eq!(ran.status, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: not {says:?}: {}", ran.stderr);
        assert_eq!(self.files(), before, "{args:?}");
    }
}

impl Ran {
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert_eq!(self.status, Some(0), "{}", self.stderr);
        self
    }

    /// Standard output, which is one JSON value.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).expect("standard output is JSON alone")
    }
}
