//! `daos apply` on real memory: what it takes, what it leaves, and how it ends.

use crate::support::{Process, Scratch, WINDOWS, Workload, daos, intervals, sleep_s};
use crate::swap::Devices;
use daos_core::Action;
use daos_core::AddrRange;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use test_tag::tag;

/// 64 MiB in use, 160 MiB idle.
const HALF_IDLE: &str = "hot, 64M\ncold, 160M\n\nrun\n60s\nhot, random, 1, 1\n";
const MIB: u64 = 1 << 20;
/// Pages out what was idle for two seconds.
const RECLAIM: &str = "4K max min min 2s max pageout";

/// `daos apply` with a scheme, and the counters in `stats`.
fn apply(scratch: &Scratch, scheme: &str, args: &[&str]) -> Command {
    let mut command = daos(&["apply", "--quiet", "--scheme", scheme]);
    command.args(["--stats", &scratch.text("stats")]).args(WINDOWS).args(args);
    command
}

/// Half of whose memory is idle, and the `daos` that pages that out.
fn reclaimed(scratch: &Scratch) -> (Workload, Process) {
    let load = scratch.workload(HALF_IDLE, &[]);
    let args = ["--zram", "512M", "--pid", &load.pid().to_string()];
    let applier = Process::start(&mut apply(scratch, RECLAIM, &args));
    (load, applier)
}

fn stats(scratch: &Scratch) -> Value {
    let text = fs::read(scratch.path("stats")).expect("the counters were written");
    serde_json::from_slice(&text).expect("they are JSON")
}

fn number(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {value}"))
}

/// Where the regions of the workload in `scratch` lie, once it has ended.
fn regions(truth: &[daos_workload::PhaseTruth]) -> Vec<AddrRange> {
    truth[0].regions.iter().map(|region| region.range()).collect()
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[tag(root)]
#[test]
fn idle_memory_goes_and_what_is_in_use_stays() {
    let (scratch, bystander) = (Scratch::new(), Scratch::new());
    let devices = Devices::now();
    let other = bystander.workload("cold, 64M\n\nidle\n60s\n", &[]);
    let load = scratch.workload(HALF_IDLE, &[]);
    let pid = load.pid().to_string();
    let others = resident(other.pid());
    let mut applier = Process::start(&mut apply(
        &scratch,
        RECLAIM,
        &["--zram", "512M", "-d", "9s", "--pid", &pid],
    ));
    sleep_s(8.0);
    assert!(applier.is_running());
    let left = resident(load.pid());
    assert!((64 * MIB..100 * MIB).contains(&left), "{} MiB resident", left / MIB);
    assert!(resident(other.pid()) >= others, "another process was touched");
    assert!(applier.end().success());
    Devices::assert_restored(&devices);

    let stats = stats(&scratch);
    let paged_out = number(&stats, "/schemes/0/applied_bytes");
    assert!((150 * MIB..200 * MIB).contains(&paged_out), "{stats}");
    assert!(number(&stats, "/resident_bytes/last") < 100 * MIB, "{stats}");
    assert!(resident(load.pid()) > 200 * MIB, "what was in swap is back");
    let truth = load.stop();
    assert!(truth[0].regions[0].accesses > 0);
}

#[tag(root)]
#[test]
fn a_program_that_uses_all_its_memory_keeps_it() {
    let scratch = Scratch::new();
    let load = scratch.workload("all, 160M\n\nrun\n60s\nall, random, 1, 1\n", &[]);
    let pid = load.pid().to_string();
    let args = ["--zram", "256M", "-d", "8s", "--pid", &pid];
    assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success());
    let paged_out = number(&stats(&scratch), "/schemes/0/applied_bytes");
    assert!(paged_out < 4 * MIB, "{} MiB", paged_out / MIB);
    load.stop();
}

#[tag(root)]
#[test]
fn killed_in_the_middle_it_leaves_target_and_host_as_they_were() {
    let scratch = Scratch::new();
    let devices = Devices::now();
    let (mut load, mut applier) = reclaimed(&scratch);
    // It is at it: half of the idle memory is gone.
    while resident(load.pid()) > 150 * MIB {
        assert!(applier.is_running() && load.process.is_running());
        sleep_s(0.02);
    }
    applier.signal(Signal::KILL);
    applier.end();
    Devices::assert_restored(&devices);
    assert!(load.process.is_running());
    assert!(resident(load.pid()) > 200 * MIB, "what was in swap is back");
    assert!(load.stop()[0].regions[0].accesses > 0);
}

#[tag(root)]
#[test]
fn a_target_may_end_in_the_middle() {
    let scratch = Scratch::new();
    let devices = Devices::now();
    let (mut load, mut applier) = reclaimed(&scratch);
    while resident(load.pid()) > 200 * MIB {
        assert!(applier.is_running());
        sleep_s(0.005);
    }
    load.process.signal(Signal::KILL);
    load.process.end();
    assert!(applier.end().success(), "that is a good end");
    Devices::assert_restored(&devices);
    assert!(number(&stats(&scratch), "/schemes/0/applied_bytes") > 0);
}

#[tag(root)]
#[test]
fn swap_that_is_full_is_said_and_harms_nobody() {
    let scratch = Scratch::new();
    let mut load = scratch.workload(HALF_IDLE, &["--fill", "half"]);
    let pid = load.pid().to_string();
    let args = ["--zram", "32M", "-d", "8s", "--pid", &pid];
    assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success());
    let stats = stats(&scratch);
    let paged_out = number(&stats, "/schemes/0/applied_bytes");
    assert!((16 * MIB..=40 * MIB).contains(&paged_out), "{stats}");
    assert!(number(&stats, "/schemes/0/refused_bytes/no-room") > 64 * MIB, "{stats}");
    assert!(load.process.is_running());
    load.stop();
}

#[tag(root)]
#[test]
fn schemes_are_read_again_when_they_change_and_kept_when_they_are_bad() {
    let scratch = Scratch::new();
    let file = scratch.path("my.scheme");
    fs::write(&file, "min max min min 2s max stat\n").unwrap();
    let load = scratch.workload(HALF_IDLE, &[]);
    let pid = load.pid().to_string();
    let mut command = apply(&scratch, file.to_str().unwrap(), &["--zram", "512M", "--pid", &pid]);
    let mut applier = Process::start(command.stderr(Stdio::piped()));
    sleep_s(5.0);
    let before = resident(load.pid());
    assert!(before > 220 * MIB, "counting takes nothing: {} MiB", before / MIB);

    fs::write(&file, "min max min min 2s max evict\n").unwrap();
    applier.signal(Signal::HUP);
    sleep_s(1.5);
    assert!(applier.is_running() && resident(load.pid()) >= before);

    fs::write(&file, RECLAIM).unwrap();
    sleep_s(5.0);
    assert!(resident(load.pid()) < 110 * MIB, "{} MiB", resident(load.pid()) / MIB);
    applier.signal(Signal::INT);
    assert!(applier.end().success());
    let mut said = String::new();
    applier.child().stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("my.scheme:1:24: found \"evict\""), "{said}");
    assert!(said.contains("read the schemes again: 4K max min min 2s max pageout"), "{said}");
    load.stop();
}

#[tag(root)]
#[test]
fn a_dry_run_only_says_how_much() {
    let scratch = Scratch::new();
    let load = scratch.workload(HALF_IDLE, &[]);
    let pid = load.pid().to_string();
    let before = resident(load.pid());
    let args = ["--dry-run", "-d", "6s", "--pid", &pid];
    assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success(), "it needs no swap");
    let stats = stats(&scratch);
    let would = number(&stats, "/schemes/0/applied_bytes");
    assert!((150 * MIB..200 * MIB).contains(&would), "{stats}");
    assert!(resident(load.pid()) >= before);
    load.stop();
}

#[tag(root)]
#[test]
fn a_record_holds_what_was_done() {
    let scratch = Scratch::new();
    let load = scratch.workload(HALF_IDLE, &[]);
    let pid = load.pid();
    let args = ["--scheme", RECLAIM, "--zram", "512M", "-d", "8s"];
    let record = scratch.record_process(pid, &[WINDOWS, &args].concat());
    assert_eq!(record.schemes(), [RECLAIM]);
    let done: Vec<_> = intervals(&record).into_iter().flat_map(|interval| interval.done).collect();
    assert!(done.iter().all(|done| done.action == Action::Pageout && done.scheme == 0));
    let truth = load.stop();
    let [hot, cold] = regions(&truth)[..] else { panic!("two regions") };
    let inside = |range: AddrRange| -> u64 {
        done.iter().filter_map(|d| d.range.intersect(&range)).map(|part| part.len()).sum()
    };
    assert!(inside(cold) > 150 * MIB, "{} MiB", inside(cold) / MIB);
    assert!(inside(hot) < 2 * MIB, "{} MiB", inside(hot) / MIB);
    let end = record.end().expect("it ended well");
    assert!(end.schemes[0].stats.applied_bytes > 150 * MIB);
}

#[tag(root)]
#[test]
fn hot_memory_gets_huge_pages_and_nothing_else_does() {
    let scratch = Scratch::new();
    let load = scratch.workload(HALF_IDLE, &[]);
    let pid = load.pid();
    let mut applier =
        Process::start(&mut apply(&scratch, "ethp", &["-d", "8s", "--pid", &pid.to_string()]));
    assert!(applier.end_within(Duration::from_secs(30)).is_some_and(|status| status.success()));
    let stats = stats(&scratch);
    let huge = number(&stats, "/schemes/0/applied_bytes");
    assert!((40 * MIB..=80 * MIB).contains(&huge), "{stats}");
    let bloat = stats.pointer("/schemes/0/bloat_bytes").and_then(Value::as_i64).unwrap();
    assert!(bloat.unsigned_abs() <= 4 * MIB, "{stats}");
    assert!(resident(pid) < 240 * MIB, "{} MiB", resident(pid) / MIB);
    load.stop();
}

#[tag(root)]
#[test]
fn a_command_runs_as_without_and_init_is_left_alone() {
    let scratch = Scratch::new();
    let args = ["--zram", "64M", "--", "sh", "-c", "exit 7"];
    let status = apply(&scratch, "prcl-gentle", &args).status().unwrap();
    assert_eq!(status.code(), Some(7));
    for pid in ["1", "2"] {
        let output = daos(&["apply", "-s", RECLAIM, "--zram", "64M", "--pid", pid]).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("process 1 (init) is never acted on") || said.contains("kernel thread")
        );
    }
}
