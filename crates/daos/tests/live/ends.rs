//! Every way in which a recording can end.

use crate::support::{PATIENCE, Process, Scratch, monotonic_us, sleep_s};
use daos_record::Record;
use rustix::process::Signal;
use test_tag::tag;

const LOAD: &str = "all, 64M\n\nbusy\n6s\nall, random, 1, 1\n";

#[track_caller]
fn assert_ended(scratch: &Scratch, reason: &str) {
    let record = scratch.record();
    assert_eq!(record.end().map(|end| end.reason.as_str()), Some(reason));
    assert_eq!(record.end().map(|end| end.snapshots), Some(record.extent().snapshots));
    // Intervals are stretched where all of this is slow.
    assert!(record.extent().end_us >= 1_000_000, "{:?}", record.extent());
}

#[tag(root)]
#[test]
fn the_target_exits() {
    let scratch = Scratch::new();
    let workload = scratch.workload(&LOAD.replace("6s", "3s"), &[]);
    scratch.record_process(workload.pid(), &[]);
    workload.stop();
    assert_ended(&scratch, "the target ended");
}

#[tag(root)]
#[test]
fn the_target_is_killed() {
    let scratch = Scratch::new();
    let mut workload = scratch.workload(LOAD, &[]);
    let mut recorder =
        Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
    sleep_s(3.0);
    workload.process.signal(Signal::KILL);
    workload.process.end();
    assert!(recorder.end().success());
    assert_ended(&scratch, "the target ended");
}

#[tag(root)]
#[test]
fn the_time_is_over() {
    let scratch = Scratch::new();
    let workload = scratch.workload(LOAD, &[]);
    scratch.record_process(workload.pid(), &["--duration", "2s"]);
    workload.stop();
    assert_ended(&scratch, "the duration was over");
}

#[tag(root)]
#[test]
fn daos_is_interrupted() {
    let scratch = Scratch::new();
    let mut workload = scratch.workload(LOAD, &[]);
    let mut recorder =
        Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
    sleep_s(3.0);
    recorder.signal(Signal::INT);
    assert!(recorder.end().success());
    assert!(workload.process.is_running(), "the target goes on");
    workload.stop();
    assert_ended(&scratch, "it was interrupted");
}

#[tag(root)]
#[test]
fn daos_is_killed() {
    let scratch = Scratch::new();
    let mut workload = scratch.workload(LOAD, &[]);
    let mut recorder =
        Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
    sleep_s(3.0);
    recorder.signal(Signal::KILL);
    let killed_us = monotonic_us();
    recorder.end();

    let record = Record::open(scratch.path("record")).expect("what is there can be read");
    assert_eq!(record.end(), None);
    let last_us = record.header().start_monotonic_us + record.extent().end_us;
    assert!(last_us + 1_000_000 >= killed_us, "{} us are lost", killed_us - last_us);

    let status = workload.process.end_within(PATIENCE).expect("it ends in its time");
    assert!(status.success(), "the target goes on to its end");
}
