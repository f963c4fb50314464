//! `daos-eval schemes`, scaled down: what it says of a scheme is what happened, and nothing
//! of it stays.

use daos_testing::{Process, eval, eventually, until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use test_tag::tag;

/// 128 MiB of which 16 are in use: time to converge also for a `daos` that was built
/// without optimization.
const PRCL: &[&str] = &["schemes", "--case", "prcl", "--runs", "1", "--scale", "0.125"];

fn prcl(seconds: &str) -> Command {
    let mut command = eval(PRCL);
    command.args(["--seconds", seconds, "--format", "json"]);
    command
}

/// Swap that a `daos` with this number set up would be written down there.
fn swap_of(pid: u32) -> bool {
    let holds = |file: fs::DirEntry| {
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        text.contains(&format!("\"pid\":{pid},"))
    };
    fs::read_dir("/run/daos").into_iter().flatten().flatten().any(holds)
}

/// The processes that `pid` has started and that are still there.
fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

#[tag(root, quiet)]
#[test]
fn what_is_idle_is_reclaimed_and_what_is_in_use_stays() {
    eventually(|| {
        let output = prcl("20").output().expect("daos runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let list: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
        let figure = |key: &str| {
            let median = &list[0]["figures"][key]["median"];
            median.as_f64().unwrap_or_else(|| panic!("no {key} in {list}"))
        };
        let mib = f64::from(1 << 20);
        let (alone, left) = (figure("resident_alone"), figure("resident"));
        assert!(alone > 128.0 * mib, "{list}");
        assert!(left < 0.6 * alone, "{list}");
        // All that is hot; programs have a few MiB of their own, which go.
        assert!(left > 14.0 * mib, "{list}");
        let (swap, zram) = (figure("swap"), figure("zram"));
        assert!(swap > 0.35 * alone && swap + left > 0.95 * alone, "{list}");
        // Half of each page is random.
        assert!(zram > 0.4 * swap && zram < 0.8 * swap, "{list}");
        assert!(figure("schemes_cpu_percent") > 0.0, "{list}");
    });
}

#[tag(root, quiet)]
#[test]
fn an_interrupted_one_leaves_nothing_behind() {
    let mut bench = Process::start(prcl("12").stdout(Stdio::null()).stderr(Stdio::null()));
    // In the second run, the one with a scheme.
    let mut running = Vec::new();
    let is_second = || {
        running = children(bench.pid());
        running.len() == 2
    };
    assert!(until(is_second), "{running:?} are running");
    let (workload, apply) = (running[0], running[1]);
    assert!(until(|| swap_of(apply)), "there is no swap yet");
    bench.signal(Signal::INT);
    assert_eq!(bench.end().code(), Some(1));
    let is_there = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(!is_there(workload) && !is_there(apply));
    assert!(until(|| !swap_of(apply)), "the swap was left behind by its guard");
}
