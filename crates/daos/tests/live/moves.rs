//! Memory that is not what it was any more when a scheme gets to it.

use crate::hostile::hostile;
use daos_testing::{
    Process, Scratch, WINDOWS, ZramSize, daos, eventually, resident, sleep_s, until,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use test_tag::tag;

const MIB: u64 = 1 << 20;
/// Pages out what was idle for a second.
const IDLE: &str = "4K max min min 1s max pageout";
/// All memory.
const ALL: &str = "4K max min max min max";

/// `daos apply` with these schemes on a process, and swap.
fn apply(scratch: &Scratch, zram: &ZramSize, schemes: &[&str], pid: u32) -> Process {
    let mut command = daos(&["apply", "--quiet"]);
    command.args(schemes.iter().flat_map(|scheme| ["--scheme", scheme]));
    command.args(["--stats", &scratch.text("stats"), "--zram", zram.text()]);
    Process::start(command.args(WINDOWS).args(["--pid", &pid.to_string()]))
}

/// Its page faults so far for which a page had to be read in.
fn major_faults(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let mut fields = stat.rsplit(") ").next().expect("fields").split(' ');
    fields.nth(9).and_then(|faults| faults.parse().ok()).expect("a number")
}

/// The target uses half of its memory all the time, and never what has become idle: any page
/// that it has to read in is one that was taken while it was in use.
#[tag(root)]
#[test]
fn memory_in_use_that_moves_to_where_idle_memory_was_stays() {
    eventually(|| {
        let scratch = Scratch::new();
        let target = hostile(&["moves"]);
        let before = major_faults(target.pid());
        let zram = ZramSize::unique(512);
        let mut applier = apply(&scratch, &zram, &[IDLE], target.pid());
        sleep_s(20.0);
        let read_in = (major_faults(target.pid()) - before) * 4096;
        applier.signal(Signal::INT);
        assert!(applier.end().success());
        let stats = fs::read(scratch.path("stats")).expect("the counters were written");
        let stats: Value = serde_json::from_slice(&stats).expect("they are JSON");
        let paged_out = stats.pointer("/schemes/0/applied_bytes").and_then(Value::as_u64);
        let paged_out = paged_out.expect("a number");
        println!("{} KiB of {} KiB were in use", read_in >> 10, paged_out >> 10);
        assert!(paged_out > 16 * MIB, "idle memory goes: {stats}");
        assert!(read_in < paged_out / 50, "{} KiB of {} KiB", read_in >> 10, paged_out >> 10);
    });
}

#[tag(root)]
#[test]
fn faults_that_the_target_serves_are_not_caused() {
    eventually(|| {
        let scratch = Scratch::new();
        let mut target = hostile(&["userfaults"]);
        let zram = ZramSize::unique(512);
        let end = |mut applier: Process| {
            assert!(applier.is_running(), "it does not wait for the target");
            applier.signal(Signal::INT);
            assert!(applier.end().success());
        };
        let applier = apply(&scratch, &zram, &[IDLE], target.pid());
        let is_out = until(|| resident(target.pid()) < 16 * MIB);
        assert!(is_out, "{} MiB are left of its idle memory", resident(target.pid()) / MIB);
        let all = ["lock", "willneed", "nohugepage", "cold"];
        let all = all.map(|action| format!("{ALL} {action}"));
        end(applier);
        let applier = apply(&scratch, &zram, &all.each_ref().map(String::as_str), target.pid());
        sleep_s(4.0);
        end(applier);
        drop(target.child().stdin.take());
        assert!(target.end().success(), "it says what was done to it");
    });
}
