//! Patterns with a known truth. A monitor that calls everything hot has the
//! precision of the hot share (here an eighth or so), one that sees nothing no
//! recall; the limits are far from both.

use daos_record::Record;
use daos_testing::{
    Foster, MONITORS, Process, Score, Scratch, WINDOWS, built, eventually, kib, only_target,
    read_truth, ready_pid, score,
};
use std::io::BufReader;
use std::process::Stdio;
use test_tag::tag;

/// An eighth of 384 MiB is in use.
const BLOCK: &str = "below, 144M\nhot, 48M\nabove, 192M\n\nbusy\n60s\nhot, random, 1, 1\n";

/// A busy machine takes CPU time from the target: it does less then, and less is seen. It
/// takes no cold memory for hot.
#[track_caller]
fn assert_accurate(score: Score, (recall, precision): (f64, f64)) {
    assert!(score.snapshots >= 10, "{score:?}");
    assert!(score.recall >= recall, "{score:?}, not {recall}");
    assert!(score.precision >= precision, "{score:?}, not {precision}");
}

/// Records process `pid` for a while.
fn record(scratch: &Scratch, pid: u32, monitor: &[&str]) -> Record {
    scratch.record_process(pid, &[&["--duration", "6s"], monitor].concat())
}

/// Records a workload, and compares from the third second on.
fn scored(config: &str, args: &[&str], monitor: &[&str]) -> Score {
    let scratch = Scratch::new();
    let workload = scratch.workload(config, args);
    let record = record(&scratch, workload.pid(), monitor);
    score(&record, only_target(&record), &workload.stop(), 3.0)
}

#[tag(root)]
#[test]
fn a_hot_part_of_a_large_block() {
    for (monitor, at_least) in MONITORS.into_iter().zip([(0.6, 0.9), (0.5, 0.6)]) {
        eventually(|| assert_accurate(scored(BLOCK, &["--thp", "never"], monitor), at_least));
    }
}

/// Far more edges than a random page of each region finds in time.
#[tag(root)]
#[test]
fn scattered_hot_parts() {
    let (mut parts, mut accesses) = (String::new(), String::new());
    for part in 0..16 {
        let kib = 600 + 330 * part;
        parts += &format!("cold{part}, {}K\nhot{part}, {kib}K\n", 8 * kib);
        accesses += &format!("hot{part}, random, 1, {kib}\n");
    }
    let config = format!("{parts}\nbusy\n60s\n{accesses}");
    eventually(|| assert_accurate(scored(&config, &["--thp", "never"], WINDOWS), (0.6, 0.9)));
}

#[tag(root)]
#[test]
fn several_threads() {
    let args = ["--thp", "never", "--threads", "3"];
    eventually(|| assert_accurate(scored(BLOCK, &args, WINDOWS), (0.6, 0.9)));
}

#[tag(root)]
#[test]
fn huge_pages_are_seen_and_not_split() {
    eventually(|| {
        let scratch = Scratch::new();
        let workload = scratch.workload(BLOCK, &["--thp", "always"]);
        let before = huge_kib(workload.pid());
        assert!(before >= 300 << 10, "only {before} KiB of huge pages; is there memory for them?");
        let records = MONITORS.map(|monitor| {
            let scratch = Scratch::new();
            let record = record(&scratch, workload.pid(), monitor);
            assert_eq!(huge_kib(workload.pid()), before, "{monitor:?} split huge pages");
            (scratch, record)
        });
        let truth = workload.stop();
        for (_scratch, record) in records {
            assert_accurate(score(&record, only_target(&record), &truth, 3.0), (0.6, 0.7));
        }
    });
}

fn huge_kib(pid: u32) -> u64 {
    kib(pid, "smaps_rollup", "AnonHugePages:")
}

#[tag(root)]
#[test]
fn a_hot_part_that_moves() {
    eventually(|| {
        let parts = (0..8).map(|part| format!("part{part}, 32M\n")).collect::<String>();
        let steps = [1, 5, 2].map(|part| format!("\nat {part}\n5s\npart{part}, random, 1, 1\n"));
        let scratch = Scratch::new();
        let workload = scratch.workload(&(parts + &steps.concat()), &["--thp", "never"]);
        let record = scratch.record_process(workload.pid(), WINDOWS);
        assert_accurate(score(&record, only_target(&record), &workload.stop(), 2.5), (0.6, 0.7));
    });
}

#[tag(root)]
#[test]
fn three_phases() {
    eventually(|| {
        let phases = "table, 160M\nindex, 48M\nlog, 96M\nrest, 48M\n\n\
            load\n6s\ntable, stride, 4096, 1\n\n\
            serve\n6s\nindex, random, 1, 1, ro\n\n\
            compact\n6s\nlog, random, 1, 1, wo\nindex, random, 1, 1, rw\n";
        let scratch = Scratch::new();
        let workload = scratch.workload(phases, &["--thp", "never"]);
        let record = scratch.record_process(workload.pid(), WINDOWS);
        assert_accurate(score(&record, only_target(&record), &workload.stop(), 3.0), (0.5, 0.7));
    });
}

#[tag(root)]
#[test]
fn a_child_process() {
    eventually(|| {
        let scratch = Scratch::new();
        scratch.configure(BLOCK);
        // The shell has something to do afterwards, so the workload is a child of it.
        let script = format!(
            "{} workload {} --truth {} --thp never; true",
            built("daos-eval").display(),
            scratch.text("load.cfg"),
            scratch.text("truth")
        );
        let mut shell = std::process::Command::new("sh");
        let mut shell = Process::start(shell.args(["-c", &script]).stderr(Stdio::piped()));
        let mut stderr = BufReader::new(shell.child().stderr.take().expect("it is piped"));
        let pid = ready_pid(&mut stderr);
        let child = Foster::take(pid);
        let record = record(&scratch, shell.pid(), &[&["--children"], WINDOWS].concat());
        child.ask_to_end();
        assert!(shell.end().success());
        let target =
            record.targets().find(|target| target.pid == Some(pid)).expect("it was watched");
        assert_accurate(
            score(&record, target.id, &read_truth(&scratch.path("truth")), 3.0),
            (0.6, 0.8),
        );
    });
}
