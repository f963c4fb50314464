//! Monitors that `daos` does not have, on real memory.

use daos_testing::{Place, built, eventually};
use test_tag::tag;

#[tag(root)]
#[test]
fn all_monitors_are_compared() {
    let place = Place::new("daos-eval");
    let options = ["--workload", "load.cfg", "--thp", "never", "--runs", "1", "--warmup", "2"];
    let monitors = ["--seconds", "6", "--monitors", "fullscan,static", "--format", "json"];
    std::fs::write(place.path("load.cfg"), "cold, 48M\nhot, 16M\n\nbusy\n30s\nhot, random, 1, 1\n")
        .expect("a file can be written");
    eventually(|| {
        let list = place.run(&[&["accuracy"], &options[..], &monitors].concat()).succeeded().json();
        let recall = |at: usize| list[at]["figures"]["recall"]["median"].as_f64();
        assert_eq!(list[1]["monitor"], "static");
        assert!(recall(0) > Some(0.6) && recall(1).is_some(), "{list}");
    });
}

#[tag(root)]
#[test]
fn monitors_are_compared_on_a_program() {
    let place = Place::new("daos-eval");
    std::fs::write(place.path("load.cfg"), "cold, 48M\nhot, 16M\n\nbusy\n60s\nhot, random, 1, 1\n")
        .expect("a file can be written");
    let program = format!("exec {} workload load.cfg --thp never", built("daos-eval").display());
    let options = ["--runs", "1", "--seconds", "9", "--warmup", "5", "--idle", "2s"];
    let monitors = ["--monitors", "windows,fullscan", "--format", "json"];
    let command = ["--", "sh", "-c", &*program];
    eventually(|| {
        let args = [&["accuracy"], &options[..], &monitors, &command].concat();
        let list = place.run(&args).succeeded().json();
        for (at, monitor) in ["windows", "fullscan"].into_iter().enumerate() {
            let figure = |key: &str| list[at]["figures"][key]["median"].as_f64();
            let mib = |key: &str| figure(key).expect(key) / f64::from(1 << 20);
            assert_eq!(list[at]["monitor"], monitor);
            // The program itself takes a few MiB, too.
            assert!((64.0..90.0).contains(&mib("resident_bytes")), "{list}");
            assert!((15.0..22.0).contains(&mib("accessed_bytes")), "{list}");
            assert!((46.0..70.0).contains(&mib("idle_bytes")), "{list}");
            assert!(figure("cost_percent") > Some(0.0), "{list}");
            let timeline = list[at]["timelines"][0].as_array().unwrap();
            assert_eq!(figure("scans"), Some(timeline.len() as f64), "{list}");
            assert!(figure("same_addresses") > Some(0.9), "{list}");
            assert!(figure("idle_precision") > Some(0.8), "{list}");
            assert!(figure("idle_recall") > Some(0.5), "{list}");
        }
        let of_scan = |key: &str| list[1]["figures"][key]["median"].as_f64();
        assert!(of_scan("accessed_recall") > Some(0.9), "{list}");
        assert!(of_scan("idle_recall") > Some(0.9), "{list}");
    });
}

#[tag(root)]
#[test]
fn a_monitor_is_attached_to_a_program_that_runs() {
    let place = Place::new("daos-eval");
    let with = |command: &'static str| {
        let times = ["--seconds", "5", "--warmup", "1", "--attach", "2s", "--scan", "500ms"];
        let rest = ["--runs", "1", "--monitors", "windows", "--format", "json", "--"];
        place.run(&[&["accuracy"], &times[..], &rest, &["sh", "-c", command]].concat())
    };
    eventually(|| {
        let list = with("while :; do :; done").succeeded().json();
        assert_eq!(list[0]["attach_us"], 2_000_000);
        let first = list[0]["timelines"][0][0]["at_us"].as_u64();
        assert!((Some(2_000_000)..Some(4_000_000)).contains(&first), "{list}");
    });
    let early = with("sleep 1");
    assert_eq!(early.status, Some(1), "{}", early.stderr);
    assert!(early.stderr.contains("ended before its time"), "{}", early.stderr);
}

#[tag(root)]
#[test]
fn a_program_that_fails_or_ends_at_once_is_told() {
    let place = Place::new("daos-eval");
    let with = |command: &'static str| {
        let args = ["accuracy", "--runs", "1", "--seconds", "4", "--warmup", "1"];
        [&args[..], &["--", "sh", "-c", command]].concat()
    };
    for (command, says) in [("sleep 2; exit 3", "exit status 3"), ("sleep 0.5", "--warmup")] {
        let ran = place.run(&with(command));
        let said = &ran.stderr;
        assert_eq!(ran.status, Some(1), "{said}");
        assert!(said.contains("sh is left out") && said.contains(says), "{said}");
    }
}
