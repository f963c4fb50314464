//! Runs a command in a directory of its own, and looks at what it says.

use crate::{PATIENCE, built};
use assert_cmd::Command;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A workload that is simulated at once.
pub const LOAD: &str = "cold, 48M\nhot, 16M\n\nbusy\n3s\nhot, random, 1, 1\n";

/// A directory, and a command that is run in it.
#[derive(Debug)]
pub struct Place {
    dir: TempDir,
    /// `daos` or `daos-eval`.
    program: &'static str,
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// All that it wrote to standard output.
    pub stdout: Vec<u8>,
    /// All that it wrote to standard error.
    pub stderr: String,
}

impl Place {
    /// For `program`, with nothing but a workload's configuration, `load.cfg`.
    pub fn new(program: &'static str) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let place = Self { dir, program };
        fs::write(place.path("load.cfg"), LOAD).expect("a file can be written");
        place
    }

    /// For `daos`, with a simulated record, too, under the name of the default.
    pub fn with_record() -> Self {
        let place = Self::new("daos");
        place.run(&["record", "--quiet", "--sim", "load.cfg"]).succeeded();
        place
    }

    /// The path of what has this name here.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names of what is here, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).expect("it is there").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Runs it with these words behind it, to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(built(self.program));
        command.current_dir(self.dir.path()).timeout(3 * PATIENCE);
        let output = command.args(args).output().expect("it runs");
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
        assert!(ran.stderr.starts_with(&format!("{}: ", self.program)), "{}", ran.stderr);
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
    /// The same, which must have gone well.
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

/// Complains if a JSON object lacks one of these fields.
#[track_caller]
pub fn assert_fields(value: &serde_json::Value, fields: &[&str]) {
    let object = value.as_object().expect("an object");
    for field in fields {
        assert!(object.contains_key(*field), "no {field:?} in {value}");
    }
}
