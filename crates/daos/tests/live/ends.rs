//! Every way in which a recording can end.

use daos_linux::cpu::monotonic_us;
use daos_record::Record;
use daos_testing::{Process, Scratch, eventually, until};
use rustix::process::Signal;
use test_tag::tag;

const LOAD: &str = "all, 64M\n\nbusy\n20s\nall, random, 1, 1\n";

/// Waits until the first second was recorded.
#[track_caller]
fn wait_for_a_second(scratch: &Scratch) {
    let recorded_us = || Record::open(scratch.path("record")).map_or(0, |r| r.extent().end_us);
    assert!(until(|| recorded_us() >= 1_000_000), "nothing is recorded");
}

#[track_caller]
fn assert_ended(scratch: &Scratch, reason: &str) {
    let record = scratch.record();
    assert_eq!(record.end().map(|end| end.reason.as_str()), Some(reason));
    assert_eq!(record.end().map(|end| end.snapshots), Some(record.extent().snapshots));
    // Intervals are stretched where all of this is slow.
    assert!(record.extent().end_us >= 500_000, "{:?}", record.extent());
}

#[tag(root)]
#[test]
fn the_target_exits() {
    eventually(|| {
        let scratch = Scratch::new();
        let workload = scratch.workload(&LOAD.replace("20s", "3s"), &[]);
        scratch.record_process(workload.pid(), &[]);
        workload.stop();
        assert_ended(&scratch, "the target ended");
    });
}

#[tag(root)]
#[test]
fn the_target_is_killed() {
    let scratch = Scratch::new();
    let mut workload = scratch.workload(LOAD, &[]);
    let mut recorder =
        Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
    wait_for_a_second(&scratch);
    workload.process.signal(Signal::KILL);
    workload.process.end();
    assert!(recorder.end().success());
    assert_ended(&scratch, "the target ended");
}

#[tag(root)]
#[test]
fn the_time_is_over() {
    eventually(|| {
        let scratch = Scratch::new();
        let workload = scratch.workload(LOAD, &[]);
        scratch.record_process(workload.pid(), &["--duration", "2s"]);
        workload.stop();
        assert_ended(&scratch, "the duration was over");
    });
}

#[tag(root)]
#[test]
fn daos_is_interrupted() {
    let scratch = Scratch::new();
    let mut workload = scratch.workload(LOAD, &[]);
    let mut recorder =
        Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
    wait_for_a_second(&scratch);
    recorder.signal(Signal::INT);
    assert!(recorder.end().success());
    assert!(workload.process.is_running(), "the target goes on");
    workload.stop();
    assert_ended(&scratch, "it was interrupted");
}

#[tag(root)]
#[test]
fn daos_is_killed() {
    eventually(|| {
        let scratch = Scratch::new();
        let mut workload = scratch.workload(LOAD, &[]);
        let mut recorder =
            Process::start(&mut scratch.recorder(&["--pid", &workload.pid().to_string()]));
        wait_for_a_second(&scratch);
        recorder.signal(Signal::KILL);
        let killed_us = monotonic_us();
        recorder.end();

        let record = Record::open(scratch.path("record")).expect("what is there can be read");
        assert_eq!(record.end(), None);
        let last_us = record.header().start_monotonic_us + record.extent().end_us;
        assert!(last_us + 1_000_000 >= killed_us, "{} us are lost", killed_us - last_us);

        assert!(workload.process.is_running(), "the target goes on");
        workload.stop();
    });
}
