//! What the tests of `daos` and of `daos-eval` share: the commands where Cargo has built
//! them, places to run them in, processes that end with the test, and workloads whose
//! truth is known.
//!
//! | module | holds |
//! |---|---|
//! | [`place`] | a directory in which a command is run and what it says is looked at |
//! | [`process`] | processes that end with the test |
//! | [`scratch`] | workloads on real memory, and records of them |
//! | [`host`] | what a test changes of the host |
//! | [`judge`] | what a record shows, against the truth |
//! | [`patience`] | how long to wait, and how often to try |

#![forbid(unsafe_code)]

pub mod host;
pub mod judge;
pub mod patience;
pub mod place;
pub mod process;
pub mod scratch;

pub use host::{ThpPolicy, ZramSize};
pub use judge::{Score, bytes_where, intervals, only_target, read_truth, score, snapshots};
pub use patience::{PATIENCE, eventually, sleep_s, until};
pub use place::{LOAD, Place, Ran, assert_fields};
pub use process::{Foster, Process};
pub use scratch::{Scratch, Workload, ready_pid};

use std::path::PathBuf;
use std::process::Command;

/// The monitors that people use, as options of `daos record`. Bounds on the cost are high,
/// as a `daos` that was built without optimization costs many times what a real one does.
pub const MONITORS: [&[&str]; 2] = [WINDOWS, &["--monitor", "reference"]];
/// The default, which no bound stands in the way of.
pub const WINDOWS: &[&str] = &["--max-overhead", "10"];

/// A program of this workspace, by its path below `target/PROFILE`: `daos`, `daos-eval`, or
/// `examples/NAME`. A test is in `target/PROFILE/deps`.
///
/// # Panics
///
/// When it was not built. `cargo test --workspace` builds all of them before any test; a
/// test of one crate alone finds those that were built last.
pub fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE/deps");
    let program = profile.join(name);
    assert!(
        program.exists(),
        "there is no {}: run `cargo build --workspace --bins --examples` first (with --release, \
         if this test was built so)",
        program.display()
    );
    program
}

/// `daos` with these words behind it.
pub fn daos(args: &[&str]) -> Command {
    let mut command = Command::new(built("daos"));
    command.args(args);
    command
}

/// `daos-eval` with these words behind it.
pub fn eval(args: &[&str]) -> Command {
    let mut command = Command::new(built("daos-eval"));
    command.args(args);
    command
}

/// Bytes of a process that are resident.
pub fn resident(pid: u32) -> u64 {
    kib(pid, "status", "VmRSS:") << 10
}

/// A line of a file of `/proc/PID` that holds KiB.
pub fn kib(pid: u32, file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
