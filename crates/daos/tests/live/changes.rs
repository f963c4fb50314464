//! Targets that don't stay what they are.

use crate::kinds::Target;
use crate::support::{
    PATIENCE, Process, Scratch, bytes_where, monotonic_us, only_target, read_truth, score, sleep_s,
    snapshots,
};
use daos_core::HOT_RATE;
use rustix::process::Signal;
use test_tag::tag;

const BLOCK: &str = "cold, 96M\nhot, 32M\nidle, 128M\n\nbusy\n6s\nhot, random, 1, 1\n";

#[tag(root)]
#[test]
fn a_target_that_executes_another_program() {
    let scratch = Scratch::new();
    scratch.configure(BLOCK);
    let script = format!(
        "sleep 1; exec {} workload --quiet {} --truth {} --thp never",
        env!("CARGO_BIN_EXE_daos"),
        scratch.text("load.cfg"),
        scratch.text("truth")
    );
    let mut recorder = Process::start(scratch.recorder(&["--"]).args(["sh", "-c", &script]));
    let status = recorder.end_within(PATIENCE).expect("it ends with its command");
    assert!(status.success());
    let record = scratch.record();
    let score = score(&record, only_target(&record), &read_truth(&scratch.path("truth")), 3.0);
    assert!(score.recall.is_some_and(|recall| recall >= 0.6), "{score:?}");
    assert!(score.precision.is_some_and(|precision| precision >= 0.6), "{score:?}");
}

#[tag(root)]
#[test]
fn a_target_that_is_stopped_and_continued() {
    let scratch = Scratch::new();
    let long = BLOCK.replace("6s", "60s");
    let workload = scratch.workload(&long, &["--thp", "never"]);
    let mut recorder = scratch.recorder(&["--pid", &workload.pid().to_string()]);
    let mut recorder = Process::start(recorder.args(["--duration", "9s"]));
    sleep_s(3.0);
    workload.process.signal(Signal::STOP);
    let stopped_us = monotonic_us();
    sleep_s(2.5);
    workload.process.signal(Signal::CONT);
    let continued_us = monotonic_us();
    assert!(recorder.end().success());
    let hot = workload.stop()[0].regions[1].range();

    let record = scratch.record();
    let origin_us = record.header().start_monotonic_us;
    // Of the hot memory the share reported hot, in snapshots that began in this time.
    let seen_hot = |from_us: u64, to_us: u64| {
        let times = (from_us - origin_us)..(to_us - origin_us);
        let mut within = snapshots(&record);
        within.retain(|snapshot| times.contains(&snapshot.start_us));
        assert!(within.len() >= 5, "only {} snapshots: the monitor was blocked", within.len());
        let bytes = within.iter().map(|s| bytes_where(s, hot, |r| s.access_rate(r) >= HOT_RATE));
        bytes.sum::<u64>() as f64 / (within.len() as u64 * hot.len()) as f64
    };
    let settled_us = 500_000;
    let stopped = seen_hot(stopped_us + settled_us, continued_us);
    let going_on = seen_hot(continued_us + 2 * settled_us, origin_us + 9_000_000);
    assert!(stopped < 0.1, "of a process that is stopped {stopped} was hot");
    assert!(going_on > 0.6, "of a process that goes on only {going_on} was hot");
}

#[tag(root)]
#[test]
fn a_target_that_forks() {
    for args in [&["--duration", "4s"][..], &["--duration", "4s", "--children"]] {
        let scratch = Scratch::new();
        let target = Target::start(&scratch, "forks", 32);
        let record = scratch.record_process(target.pid(), args);
        target.end_undisturbed();
        assert!(record.extent().snapshots >= 30, "{:?}", record.extent());
    }
}

#[tag(root)]
#[test]
fn a_target_that_maps_and_unmaps_ten_thousand_ranges() {
    let scratch = Scratch::new();
    let target = Target::start(&scratch, "churn", 32);
    let record = scratch.record_process(target.pid(), &["--duration", "5s"]);
    target.end_undisturbed();
    assert!(record.extent().snapshots >= 35, "{:?}", record.extent());
    let bound = record.header().attrs.max_regions as usize;
    assert!(snapshots(&record).iter().all(|s| s.nr_regions() <= bound));
    assert!(snapshots(&record).iter().flat_map(|s| &s.cost.checks).all(|&c| c as usize <= bound));
}
