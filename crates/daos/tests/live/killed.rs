//! What is there after `kill -9`, and where `daos` is not at home.

use daos_testing::{Process, Scratch, built, daos, until};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use test_tag::tag;

#[tag(root)]
#[test]
fn claims_of_a_daos_that_was_killed_are_taken_away() {
    let scratch = Scratch::new();
    let load = scratch.workload("all, 16M\n\nrun\n300s\nall, random, 1, 1\n", &[]);
    let claim = Path::new("/run/daos/claims").join(load.pid().to_string());
    let mut recorder = Process::start(&mut scratch.recorder(&["--pid", &load.pid().to_string()]));
    assert!(until(|| claim.exists()));
    let clean = || {
        let output = daos(&["doctor", "--clean"]).output().expect("daos runs");
        String::from_utf8(output.stdout).expect("text")
    };
    clean();
    assert!(claim.exists(), "it is held");
    recorder.signal(Signal::KILL);
    recorder.end();
    assert!(claim.exists(), "nobody could take it away");
    // Other tests may have left others.
    until(|| {
        clean();
        !claim.exists()
    });
    assert!(!claim.exists());
    load.stop();
}

/// A run of a tuning ends when `daos` is killed.
#[tag(root)]
#[test]
fn no_run_is_left_of_a_tuning_that_was_killed() {
    let scratch = Scratch::new();
    let ran = scratch.path("ran");
    let script = format!("echo $$ > {}; exec sleep 300", ran.display());
    let mut tune = daos(&["tune", "--scheme", "prcl", "--limit", "1m", "--quiet", "--out"]);
    tune.args([&scratch.text("out"), "--user", "root", "--zram", "64M", "--"]);
    tune.args(["sh", "-c", &script]).stderr(Stdio::null());
    let mut tune = Process::start(&mut tune);
    let pid = || fs::read_to_string(&ran).ok()?.trim().parse::<u32>().ok();
    assert!(until(|| pid().is_some()), "a run begins");
    let run = Path::new("/proc").join(pid().expect("a number").to_string());
    assert!(run.exists());
    tune.signal(Signal::KILL);
    tune.end();
    assert!(until(|| !run.exists()), "the run goes on");
}

/// Process numbers of one namespace, `/proc` of another.
#[tag(root)]
#[test]
fn a_proc_of_another_pid_namespace_is_refused() {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork"]).arg(built("daos"));
    let output = command.args(["record", "--pid", "1"]).output().expect("unshare is there");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("/proc is that of another PID namespace"), "{stderr}");
}

/// In a container, process 1 is as any other.
#[tag(root)]
#[test]
fn process_1_of_a_container_is_managed_and_that_of_the_host_is_not() {
    let args = "apply --scheme '4K max min min 1h max cold' --quiet -d 1s --pid 1";
    let inside = format!("{} {args}; exit $?", built("daos").display());
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "sh", "-c", &inside]);
    let output = command.output().expect("unshare is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let outside = format!("{} {args}", built("daos").display());
    let output = Command::new("sh").args(["-c", &outside]).output().expect("a shell");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("process 1 (init) is never acted on"), "{stderr}");
}
