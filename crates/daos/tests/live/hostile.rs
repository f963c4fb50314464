//! Targets that make it hard for whoever watches them: `daos` goes on, sees what a
//! well-behaved neighbour of theirs does, keeps its bound, and ends when it is asked to.

use crate::bound::overhead;
use daos_testing::{Process, Scratch, WINDOWS, Workload, built, daos, eventually, score, sleep_s};
use rustix::process::Signal;
use std::fs::{File, read_to_string};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use test_tag::tag;

const NEIGHBOUR: &str = "cold, 96M\nhot, 32M\nidle, 128M\n\nbusy\n60s\nhot, random, 1, 1\n";

/// Starts the program of `tests/programs/hostile.rs`, which runs until this is dropped.
pub fn hostile(args: &[&str]) -> Process {
    let mut command = Command::new(built("examples/hostile"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process::start(&mut command);
    let mut line = String::new();
    let stdout = process.child().stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it says when it is ready");
    assert_eq!(line, "ready\n", "{args:?}");
    process
}

fn neighbour(scratch: &Scratch) -> Workload {
    scratch.workload(NEIGHBOUR, &["--thp", "never"])
}

/// Watches both for some seconds, asks `daos` to end, and judges what was seen of the
/// neighbour.
fn watch_beside(args: &[&str]) {
    eventually(|| {
        let scratch = Scratch::new();
        let neighbour = neighbour(&scratch);
        let hostile = hostile(args);
        let pids = format!("{},{}", neighbour.pid(), hostile.pid());
        let mut recorder = scratch.recorder(&[&["--pid", &pids, "--children"], WINDOWS].concat());
        let mut recorder = Process::start(&mut recorder);
        sleep_s(8.0);
        assert!(recorder.is_running(), "it ended before it was asked to");
        recorder.signal(Signal::INT);
        assert!(recorder.end().success());
        drop(hostile);
        see_neighbour(&scratch, neighbour);
    });
}

/// Watches it for more than ten seconds: the bound holds over any ten of them, the first too.
fn keep_bound_on(args: &[&str]) {
    eventually(|| {
        let scratch = Scratch::new();
        let hostile = hostile(args);
        let pid = hostile.pid().to_string();
        // A tenth of what others are watched with: what is dear here is dear with any bound.
        let args = ["--pid", &pid, "--children", "--duration", "12s", "--max-overhead", "1"];
        let mut recorder = Process::start(&mut scratch.recorder(&args));
        assert!(recorder.end().success());
        drop(hostile);
        let overhead = overhead(&scratch);
        println!("{overhead}");
        let worst = overhead["worst_10s_percent"].as_f64().expect("it took ten seconds");
        assert!(worst <= 1.1, "{worst} %: {overhead}");
    });
}

#[tag(root)]
#[test]
fn the_bound_holds_on_two_thousand_children() {
    keep_bound_on(&["children", "2000"]);
}

#[tag(root)]
#[test]
fn the_bound_holds_on_a_hundred_thousand_mappings() {
    keep_bound_on(&["mappings", "60000"]);
}

#[tag(root)]
#[test]
fn the_bound_holds_in_a_storm_of_forks() {
    keep_bound_on(&["forks"]);
}

#[tag(root)]
#[test]
fn the_bound_holds_while_memory_is_mapped_and_unmapped() {
    keep_bound_on(&["remap"]);
}

/// Judges what the record here shows of it.
fn see_neighbour(scratch: &Scratch, neighbour: Workload) {
    let record = scratch.record();
    let target = record.targets().find(|target| target.pid == Some(neighbour.pid()));
    let id = target.expect("it was watched").id;
    let score = score(&record, id, &neighbour.stop(), 3.0);
    assert!(score.snapshots >= 2, "{score:?}");
    assert!(score.recall >= 0.6, "{score:?}");
    assert!(score.precision >= 0.6, "{score:?}");
}

#[tag(root)]
#[test]
fn a_storm_of_forks() {
    watch_beside(&["forks"]);
}

#[tag(root)]
#[test]
fn a_thousand_children() {
    watch_beside(&["children", "1000"]);
}

#[tag(root)]
#[test]
fn memory_that_is_mapped_and_unmapped_under_the_walk() {
    watch_beside(&["remap"]);
}

#[tag(root)]
#[test]
fn a_hundred_thousand_mappings() {
    watch_beside(&["mappings", "60000"]);
}

#[tag(root)]
#[test]
fn a_target_with_real_time_priority() {
    watch_beside(&["realtime"]);
}

/// More children than the limit on open files has room for: they are not all watched, and
/// that is all.
#[tag(root)]
#[test]
fn more_children_than_files_may_be_open() {
    eventually(|| {
        let scratch = Scratch::new();
        let neighbour = neighbour(&scratch);
        let hostile = hostile(&["children", "300"]);
        let pids = format!("{},{}", neighbour.pid(), hostile.pid());
        let mut recorder = Command::new("sh");
        recorder.args(["-c", "ulimit -n 160; exec \"$@\"", "sh"]).arg(built("daos"));
        recorder.args(["record", "--quiet", "-o", &scratch.text("record"), "--pid", &pids]);
        recorder.args(["--children", "--duration", "8s"]).args(WINDOWS);
        let stderr = File::create(scratch.path("stderr")).expect("it can be made");
        assert!(Process::start(recorder.stderr(stderr)).end().success());
        drop(hostile);
        see_neighbour(&scratch, neighbour);
        let said = read_to_string(scratch.path("stderr")).expect("it is there");
        assert_eq!(
            said.matches("processes are not watched, as no more files").count(),
            1,
            "{said}"
        );
        assert!(scratch.record().targets().count() < 30, "files were left for all else");
    });
}

/// Who may not claim processes can't keep them from being watched; who may, keeps no others.
#[tag(root)]
#[test]
fn claims_that_are_taken_first() {
    eventually(|| {
        let scratch = Scratch::new();
        let neighbour = neighbour(&scratch);
        let parent = hostile(&["children", "1"]);
        let children = format!("/proc/{0}/task/{0}/children", parent.pid());
        let child = std::fs::read_to_string(children).expect("it runs");
        let first = Scratch::new();
        let mut first = Process::start(&mut first.recorder(&["--pid", child.trim()]));
        sleep_s(1.5);
        let hostile = hostile(&["claims", &neighbour.pid().to_string(), child.trim()]);
        // The child is claimed, so all but that one are watched.
        let pids = format!("{},{},{}", neighbour.pid(), hostile.pid(), parent.pid());
        let args = [&["--pid", &pids, "--children", "--duration", "7s"], WINDOWS].concat();
        assert!(Process::start(&mut scratch.recorder(&args)).end().success());
        let refused = daos(&["record", "--quiet", "--pid", child.trim()]).output();
        let refused = refused.expect("daos runs");
        assert_eq!(refused.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("another daos is watching"));
        assert!(first.is_running(), "it was first");
        see_neighbour(&scratch, neighbour);
        assert_eq!(scratch.record().targets().count(), 3);
    });
}
