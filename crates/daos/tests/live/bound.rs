//! What monitoring may cost, on a target that is busy with all it has.

use daos_testing::{Scratch, daos, eventually};
use serde_json::Value;
use test_tag::tag;

/// All of it in use, in several threads: looking costs the most here.
const BUSY: &str = "all, 256M\n\nbusy\n60s\nall, random, 1, 1\n";

/// `report overhead` on the record here.
pub fn overhead(scratch: &Scratch) -> Value {
    let args = ["report", "overhead", "--format", "json", &scratch.text("record")];
    let output = daos(&args).output().expect("daos runs");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[tag(root)]
#[test]
fn the_bound_is_kept() {
    eventually(|| {
        let scratch = Scratch::new();
        let workload = scratch.workload(BUSY, &["--thp", "never", "--threads", "2"]);
        for bound in ["0.2", "1"] {
            let args = ["--duration", "11s", "--max-overhead", bound];
            let record = scratch.record_process(workload.pid(), &args);
            let overhead = overhead(&scratch);
            println!("{overhead}");
            let worst = overhead["worst_10s_percent"].as_f64().expect("it took ten seconds");
            let bound: f64 = bound.parse().expect("a number");
            assert!(worst <= 1.1 * bound, "{worst} %, not {bound} %: {overhead}");
            assert_eq!(overhead["bound_kept"], true);
            assert!(record.extent().snapshots >= 1, "something was seen");
        }
        workload.stop();
    });
}

/// The bound that holds unless one is given.
#[tag(root)]
#[test]
fn the_bound_is_kept_by_default() {
    eventually(|| {
        let scratch = Scratch::new();
        let workload = scratch.workload(BUSY, &["--thp", "never"]);
        scratch.record_process(workload.pid(), &["--duration", "11s"]);
        workload.stop();
        let overhead = overhead(&scratch);
        println!("{overhead}");
        let most = 110.0 * daos_monitor::windows::DEFAULT_MAX_OVERHEAD;
        assert!(overhead["worst_10s_percent"].as_f64().is_some_and(|w| w <= most), "{overhead}");
    });
}
