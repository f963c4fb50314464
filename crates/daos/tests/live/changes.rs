//! Targets that don't stay what they are.

use crate::kinds::Target;
use daos_core::HOT_RATE;
use daos_linux::cpu::monotonic_us;
use daos_testing::{
    MONITORS, PATIENCE, Process, Scratch, WINDOWS, built, bytes_where, eventually, only_target,
    read_truth, score, sleep_s, snapshots,
};
use rustix::process::Signal;
use test_tag::tag;

const BLOCK: &str = "cold, 96M\nhot, 32M\nidle, 128M\n\nbusy\n6s\nhot, random, 1, 1\n";

#[tag(root)]
#[test]
fn a_target_that_executes_another_program() {
    eventually(|| {
        let scratch = Scratch::new();
        scratch.configure(BLOCK);
        let script = format!(
            "sleep 1; exec {} workload --quiet {} --truth {} --thp never",
            built("daos-eval").display(),
            scratch.text("load.cfg"),
            scratch.text("truth")
        );
        let mut recorder = scratch.recorder(&[WINDOWS, &["--", "sh", "-c", &script]].concat());
        let mut recorder = Process::start(&mut recorder);
        let status = recorder.end_within(PATIENCE).expect("it ends with its command");
        assert!(status.success());
        let record = scratch.record();
        let score = score(&record, only_target(&record), &read_truth(&scratch.path("truth")), 3.0);
        assert!(score.recall >= 0.6, "{score:?}");
        assert!(score.precision >= 0.6, "{score:?}");
    });
}

#[tag(root)]
#[test]
fn what_a_target_maps_in_its_first_seconds_is_described() {
    eventually(|| {
        let scratch = Scratch::new();
        let program = "our $x = 'x' x (8 << 20); sleep 2; our $y = 'y' x (64 << 20); sleep 3";
        let mut recorder = scratch.recorder(&[WINDOWS, &["--", "perl", "-e", program]].concat());
        assert!(Process::start(&mut recorder).end().success());
        let record = scratch.record();
        let target = record.targets().next().expect("it was watched");
        let mapped: u64 = target.mappings.iter().map(|mapping| mapping.range.len()).sum();
        assert!(mapped > 72 << 20, "{mapped}");
        let anonymous = target.memory.map_or(0, |memory| memory.anonymous_bytes);
        assert!(anonymous > 72 << 20, "{anonymous}");
    });
}

#[tag(root)]
#[test]
fn a_target_that_is_stopped_and_continued() {
    eventually(|| {
        let scratch = Scratch::new();
        let long = BLOCK.replace("6s", "60s");
        let workload = scratch.workload(&long, &["--thp", "never"]);
        let mut recorder = scratch.recorder(&["--pid", &workload.pid().to_string()]);
        let mut recorder = Process::start(recorder.args(["--duration", "9s"]).args(WINDOWS));
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
            let bytes = within.iter().map(|s| bytes_where(s, hot, |r| r.access_rate >= HOT_RATE));
            bytes.sum::<u64>() as f64 / (within.len() as u64 * hot.len()) as f64
        };
        let settled_us = 500_000;
        let stopped = seen_hot(stopped_us + settled_us, continued_us);
        let going_on = seen_hot(continued_us + 2 * settled_us, origin_us + 9_000_000);
        assert!(stopped < 0.1, "of a process that is stopped {stopped} was hot");
        assert!(going_on > 0.6, "of a process that goes on only {going_on} was hot");
    });
}

#[tag(root)]
#[test]
fn a_target_that_forks() {
    eventually(|| {
        for monitor in MONITORS {
            for children in [&[][..], &["--children"]] {
                let scratch = Scratch::new();
                let target = Target::start(&scratch, "forks", 32);
                let args = [&["--duration", "3s"], children, monitor].concat();
                let record = scratch.record_process(target.pid(), &args);
                target.end_undisturbed();
                assert!(record.extent().snapshots >= 10, "{monitor:?}: {:?}", record.extent());
            }
        }
    });
}

#[tag(root)]
#[test]
fn a_target_that_maps_and_unmaps_ten_thousand_ranges() {
    eventually(|| {
        for monitor in MONITORS {
            let scratch = Scratch::new();
            let target = Target::start(&scratch, "churn", 32);
            let args = [&["--duration", "4s"], monitor].concat();
            let record = scratch.record_process(target.pid(), &args);
            target.end_undisturbed();
            // To the end, however slow it is with so many ranges.
            assert!(record.extent().end_us >= 2_500_000, "{monitor:?}: {:?}", record.extent());
            let bound = record.header().attrs.max_regions as usize;
            for snapshot in snapshots(&record) {
                assert!(snapshot.nr_regions() <= bound, "{monitor:?}");
                assert!(
                    snapshot.cost.checks.runs().all(|(c, _)| c as usize <= bound),
                    "{monitor:?}"
                );
            }
        }
    });
}

#[tag(root)]
#[test]
fn targets_of_which_one_ends() {
    eventually(|| {
        let scratch = Scratch::new();
        let [first, second] = [Scratch::new(), Scratch::new()];
        let short = first.workload(&BLOCK.replace("6s", "60s"), &["--thp", "never"]);
        let long = second.workload(&BLOCK.replace("6s", "60s"), &["--thp", "never"]);
        let pids = format!("{},{}", short.pid(), long.pid());
        let args = [&["--pid", &pids, "--duration", "7s"], WINDOWS].concat();
        let mut recorder = Process::start(&mut scratch.recorder(&args));
        sleep_s(2.0);
        short.stop();
        assert!(recorder.end().success());
        let record = scratch.record();
        let id = |pid| record.targets().find(|t| t.pid == Some(pid)).expect("it was watched").id;
        let all = snapshots(&record);
        let long_pid = long.pid();
        let only = |nr: usize| all[nr].targets.iter().map(|t| t.id).collect::<Vec<_>>();
        assert_eq!(all[0].targets.len(), 2);
        assert_eq!(only(all.len() - 1), [id(long_pid)]);
        let score = score(&record, id(long_pid), &long.stop(), 3.0);
        assert!(score.recall >= 0.6, "{score:?}");
        assert!(score.precision >= 0.8, "{score:?}");
    });
}
