//! A service that goes on: tuned by what it does, and left as the best scheme has it.

use super::bench::{Bench, number};
use daos_testing::{Process, built, resident, sleep_s, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use test_tag::tag;

const HOT_MIB: u64 = 8;
const COLD_MIB: u64 = 96;

/// The program of `tests/programs/service.rs`.
fn start(bench: &Bench) -> Process {
    let mut command = Command::new(built("examples/service"));
    command.args([HOT_MIB.to_string(), COLD_MIB.to_string(), bench.scratch.text("done")]);
    let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut line = String::new();
    let stdout = process.child().stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut line).expect("it says when it is ready");
    assert_eq!(line, "ready\n");
    process
}

fn resident_mib(service: &Process) -> u64 {
    resident(service.pid()) >> 20
}

/// What was in swap is back, but for what went to swap of others that stays.
#[track_caller]
fn assert_is_back(service: &Process) {
    let swaps = || fs::read_to_string("/proc/swaps").expect("it is there");
    let is_back = until(|| resident_mib(service) >= COLD_MIB);
    assert!(is_back || swaps().lines().count() > 1, "{} MiB, {}", resident_mib(service), swaps());
}

fn tune(bench: &Bench, service: &Process, more: &[&str]) -> Process {
    let (pid, metric) = (service.pid().to_string(), format!("cat {}", bench.scratch.text("done")));
    let form = [
        "--scheme",
        "prcl",
        "--param",
        "min_age=0s..2s",
        "--zram",
        bench.zram.text(),
        "--pid",
        &pid,
    ];
    let measuring = ["--metric", &metric, "--metric-is", "total", "--work-time", "2s"];
    let options = [&form[..], &measuring, more].concat();
    Process::start(&mut bench.command(&options, &[] as &[&str]))
}

#[tag(root)]
#[test]
fn the_best_scheme_stays_on_until_it_is_interrupted() {
    let bench = Bench::new();
    let mut service = start(&bench);
    // By what it saves alone: on a busy host the service is slow or fast by chance.
    let mut daos = tune(&bench, &service, &["--samples", "6", "--apply", "--score", "m"]);
    bench.wait_until(&mut daos, || bench.said("stderr").contains("applying 4K max min min "));
    let result = bench.result();
    assert_eq!((&result["samples"], &result["better_than_none"]), (&json!(6), &json!(true)));
    // A piece of work a millisecond, and what that takes.
    let rate = number(&result, "/orig/metric");
    assert!((10.0..1000.0).contains(&rate), "{result}");
    let (orig, mib) = (number(&result, "/orig/rss") / f64::from(1 << 20), HOT_MIB + COLD_MIB);
    assert!((orig - mib as f64).abs() < 0.1 * mib as f64, "{result}");
    bench.wait_until(&mut daos, || resident_mib(&service) < COLD_MIB / 2);
    sleep_s(1.0);
    assert!(daos.is_running() && bench.zram.devices().len() == 1, "it stays on");

    daos.signal(Signal::INT);
    assert_eq!(daos.end().code(), Some(0), "{}", bench.said("stderr"));
    bench.assert_nothing_left();
    bench.zram.assert_gone();
    assert!(service.is_running());
    assert_is_back(&service);
    drop(service.child().stdin.take());
    assert!(service.end().success());
}

#[tag(root)]
#[test]
fn interrupted_in_the_middle_it_leaves_the_service_alone() {
    let bench = Bench::new();
    let mut service = start(&bench);
    let mut daos = tune(&bench, &service, &["--samples", "9", "--apply"]);
    // In the middle of the third sample.
    bench.wait_until(&mut daos, || bench.samples().len() == 2);
    sleep_s(1.5);
    daos.signal(Signal::INT);
    assert_eq!(daos.end().code(), Some(130), "{}", bench.said("stderr"));
    bench.assert_nothing_left();
    bench.zram.assert_gone();
    assert!(service.is_running());
    assert_is_back(&service);
    let result = bench.result();
    assert_eq!((&result["end"], &result["samples"]), (&json!("interrupted"), &json!(2)));
    drop(service.child().stdin.take());
    assert!(service.end().success());
}

#[tag(root)]
#[test]
fn a_service_that_ends_leaves_what_is_known() {
    let bench = Bench::new();
    let mut service = start(&bench);
    let mut daos = tune(&bench, &service, &["--samples", "9"]);
    bench.wait_until(&mut daos, || bench.samples().len() == 3);
    drop(service.child().stdin.take());
    assert!(service.end().success());
    assert_eq!(daos.end().code(), Some(1));
    assert!(bench.said("stderr").contains("the service has ended"), "{}", bench.said("stderr"));
    assert_eq!(bench.samples().len(), 3);
    let result = bench.result();
    assert_eq!(result["samples"], 3);
    assert_ne!(result["score"], Value::Null, "{result}");
    assert!(bench.path("plot.svg").exists());
    bench.assert_nothing_left();
    bench.zram.assert_gone();
}
