//! `daos apply` on real memory: what it takes, what it leaves, and how it ends.

use daos_core::{Action, AddrRange};
use daos_testing::{
    Process, Scratch, ThpPolicy, WINDOWS, Workload, ZramSize, daos, eventually, intervals,
    resident, sleep_s, until,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::process::Command;
use test_tag::tag;

/// 64 MiB in use, 160 MiB idle.
const HALF_IDLE: &str = "hot, 64M\ncold, 160M\n\nrun\n300s\nhot, random, 1, 1\n";
const MIB: u64 = 1 << 20;
/// Pages out what was idle for two seconds.
const RECLAIM: &str = "4K max min min 2s max pageout";

/// `daos apply` with a scheme, and the counters in `stats`.
fn apply(scratch: &Scratch, scheme: &str, args: &[&str]) -> Command {
    let mut command = daos(&["apply", "--quiet", "--scheme", scheme]);
    command.args(["--stats", &scratch.text("stats")]).args(WINDOWS).args(args);
    command
}

/// Much of whose memory is idle. It has no huge pages, whatever the host's policy.
fn half_idle(scratch: &Scratch) -> Workload {
    scratch.workload(HALF_IDLE, &["--thp", "never"])
}

/// The same, and the `daos` that pages out what is idle.
fn reclaimed(scratch: &Scratch, zram: &ZramSize) -> (Workload, Process) {
    let load = half_idle(scratch);
    let args = ["--zram", zram.text(), "--pid", &load.pid().to_string()];
    let applier = Process::start(&mut apply(scratch, RECLAIM, &args));
    (load, applier)
}

/// Waits until what was paged out is back, when its swap is gone. A part of it may have
/// gone to swap of another test, which goes, too.
#[track_caller]
fn assert_is_back(load: &Workload) {
    let is_back = until(|| resident(load.pid()) > 200 * MIB);
    assert!(is_back, "{} MiB are resident", resident(load.pid()) / MIB);
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

#[tag(root)]
#[test]
fn idle_memory_goes_and_what_is_in_use_stays() {
    eventually(|| {
        let (scratch, bystander) = (Scratch::new(), Scratch::new());
        let zram = ZramSize::unique(512);
        let other = bystander.workload("cold, 64M\n\nidle\n300s\n", &[]);
        let others = resident(other.pid());
        let (load, mut applier) = reclaimed(&scratch, &zram);
        assert!(until(|| resident(load.pid()) < 100 * MIB), "{} MiB", resident(load.pid()) / MIB);
        sleep_s(1.0);
        let left = resident(load.pid());
        assert!((64 * MIB..100 * MIB).contains(&left), "{} MiB resident", left / MIB);
        assert!(resident(other.pid()) >= others, "another process was touched");
        assert!(applier.is_running());
        applier.signal(Signal::INT);
        assert!(applier.end().success());
        zram.assert_gone();

        let stats = stats(&scratch);
        let paged_out = number(&stats, "/schemes/0/applied_bytes");
        assert!((150 * MIB..200 * MIB).contains(&paged_out), "{stats}");
        assert!(number(&stats, "/resident_bytes/last") < 100 * MIB, "{stats}");
        assert_is_back(&load);
        let truth = load.stop();
        assert!(truth[0].regions[0].accesses > 0);
    });
}

#[tag(root)]
#[test]
fn a_program_that_uses_all_its_memory_keeps_it() {
    eventually(|| {
        let scratch = Scratch::new();
        let load = scratch.workload("all, 160M\n\nrun\n300s\nall, random, 1, 1\n", &[]);
        let pid = load.pid().to_string();
        let zram = ZramSize::unique(256);
        let args = ["--zram", zram.text(), "-d", "8s", "--pid", &pid];
        assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success());
        let paged_out = number(&stats(&scratch), "/schemes/0/applied_bytes");
        assert!(paged_out < 4 * MIB, "{} MiB", paged_out / MIB);
        load.stop();
    });
}

#[tag(root)]
#[test]
fn killed_in_the_middle_it_leaves_target_and_host_as_they_were() {
    let scratch = Scratch::new();
    let zram = ZramSize::unique(512);
    let (mut load, mut applier) = reclaimed(&scratch, &zram);
    assert!(until(|| resident(load.pid()) < 150 * MIB), "half of what is idle never goes");
    assert!(applier.is_running());
    applier.signal(Signal::KILL);
    applier.end();
    zram.assert_gone();
    assert!(load.process.is_running());
    assert_is_back(&load);
    assert!(load.stop()[0].regions[0].accesses > 0);
}

#[tag(root)]
#[test]
fn a_target_may_end_in_the_middle() {
    let scratch = Scratch::new();
    let zram = ZramSize::unique(512);
    let (mut load, mut applier) = reclaimed(&scratch, &zram);
    assert!(until(|| resident(load.pid()) < 200 * MIB), "nothing ever goes");
    assert!(applier.is_running());
    load.process.signal(Signal::KILL);
    load.process.end();
    assert!(applier.end().success(), "that is a good end");
    zram.assert_gone();
    assert!(number(&stats(&scratch), "/schemes/0/applied_bytes") > 0);
}

#[tag(root)]
#[test]
fn swap_that_is_full_is_said_and_harms_nobody() {
    eventually(|| {
        let scratch = Scratch::new();
        let mut load = scratch.workload(HALF_IDLE, &["--fill", "half", "--thp", "never"]);
        let pid = load.pid().to_string();
        let args = ["--zram", "32M", "-d", "8s", "--pid", &pid];
        assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success());
        let stats = stats(&scratch);
        let paged_out = number(&stats, "/schemes/0/applied_bytes");
        assert!((16 * MIB..=40 * MIB).contains(&paged_out), "{stats}");
        assert!(number(&stats, "/schemes/0/refused_bytes/no-room") > 64 * MIB, "{stats}");
        assert!(load.process.is_running());
        load.stop();
    });
}

#[tag(root)]
#[test]
fn schemes_are_read_again_when_they_change_and_kept_when_they_are_bad() {
    let scratch = Scratch::new();
    let file = scratch.path("my.scheme");
    fs::write(&file, "min max min min 2s max stat\n").unwrap();
    let load = half_idle(&scratch);
    let pid = load.pid().to_string();
    let zram = ZramSize::unique(512);
    let args = ["--zram", zram.text(), "--pid", &pid];
    let stderr = fs::File::create(scratch.path("stderr")).unwrap();
    let mut applier = Process::start(apply(&scratch, file.to_str().unwrap(), &args).stderr(stderr));
    let said = || fs::read_to_string(scratch.path("stderr")).unwrap();
    sleep_s(5.0);
    let before = resident(load.pid());
    assert!(before > 220 * MIB, "counting takes nothing: {} MiB", before / MIB);

    fs::write(&file, "min max min min 2s max evict\n").unwrap();
    applier.signal(Signal::HUP);
    assert!(until(|| said().contains("my.scheme:1:24: found \"evict\"")), "{}", said());
    assert!(applier.is_running() && resident(load.pid()) >= before);

    fs::write(&file, RECLAIM).unwrap();
    assert!(until(|| resident(load.pid()) < 110 * MIB), "{} MiB", resident(load.pid()) / MIB);
    applier.signal(Signal::INT);
    assert!(applier.end().success());
    let again = "read the schemes again: 4K max min min 2s max pageout";
    assert!(said().contains(again), "{}", said());
    load.stop();
}

#[tag(root)]
#[test]
fn a_dry_run_only_says_how_much() {
    eventually(|| {
        let scratch = Scratch::new();
        let load = half_idle(&scratch);
        let pid = load.pid().to_string();
        let before = resident(load.pid());
        let args = ["--dry-run", "-d", "6s", "--pid", &pid];
        assert!(apply(&scratch, RECLAIM, &args).status().unwrap().success(), "it needs no swap");
        let stats = stats(&scratch);
        let would = number(&stats, "/schemes/0/applied_bytes");
        assert!((150 * MIB..200 * MIB).contains(&would), "{stats}");
        assert!(resident(load.pid()) >= before);
        load.stop();
    });
}

#[tag(root)]
#[test]
fn a_record_holds_what_was_done() {
    eventually(|| {
        let scratch = Scratch::new();
        let load = half_idle(&scratch);
        let pid = load.pid();
        let zram = ZramSize::unique(512);
        let args = ["--scheme", RECLAIM, "--zram", zram.text(), "-d", "8s"];
        let record = scratch.record_process(pid, &[WINDOWS, &args].concat());
        assert_eq!(record.schemes(), [RECLAIM]);
        let done: Vec<_> =
            intervals(&record).into_iter().flat_map(|interval| interval.done).collect();
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
    });
}

#[tag(root, quiet)]
#[test]
fn hot_memory_gets_huge_pages_and_nothing_else_does() {
    eventually(|| {
        let scratch = Scratch::new();
        let _policy = ThpPolicy::set("madvise");
        let load = scratch.workload(HALF_IDLE, &[]);
        let pid = load.pid();
        let mut applier =
            Process::start(&mut apply(&scratch, "ethp", &["-d", "8s", "--pid", &pid.to_string()]));
        assert!(applier.end().success());
        let stats = stats(&scratch);
        let huge = number(&stats, "/schemes/0/applied_bytes");
        assert!((40 * MIB..=80 * MIB).contains(&huge), "{stats}");
        let bloat = stats.pointer("/schemes/0/bloat_bytes").and_then(Value::as_i64).unwrap();
        assert!(bloat.unsigned_abs() <= 4 * MIB, "{stats}");
        assert!(resident(pid) < 240 * MIB, "{} MiB", resident(pid) / MIB);
        load.stop();
    });
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
