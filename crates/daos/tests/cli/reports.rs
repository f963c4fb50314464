//! The JSON that programs rely on: the fields that `docs/json.md` tells of, on standard
//! output alone.

use daos_record::json::LineJson;
use daos_record::{Destination, Header, Record};
use daos_testing::{Place, assert_fields};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

fn report(place: &Place, name: &str) -> Value {
    let ran = place.run(&["report", name, "--format", "json"]).succeeded();
    assert_eq!(ran.stderr, "");
    ran.json()
}

/// Three seconds have thirty intervals, of which the last may be over only when the
/// recording is.
#[track_caller]
fn assert_whole(snapshots: Option<u64>) {
    assert!(matches!(snapshots, Some(29 | 30)), "{snapshots:?} snapshots");
}

#[test]
fn the_working_set() {
    let wss = report(&Place::with_record(), "wss");
    assert_fields(&wss, &["unit", "snapshots", "percentiles", "mean"]);
    assert_fields(&wss["percentiles"], &["0", "25", "50", "75", "100"]);
    assert_eq!(wss["unit"], "bytes");
    assert_whole(wss["snapshots"].as_u64());
    let median = wss["percentiles"]["50"].as_u64().unwrap();
    assert!((8 << 20..=64 << 20).contains(&median), "{median}");
    assert!(wss["mean"].is_number());
}

#[test]
fn the_owners() {
    let place = Place::with_record();
    let bill = report(&place, "owners");
    assert_fields(&bill, &["unit", "at_us", "watched_us", "total", "owners"]);
    let [owner] = &bill["owners"].as_array().unwrap()[..] else { panic!("one: {bill}") };
    let fields = ["name", "cgroup", "processes", "resident", "accessed_1s", "accessed_1m"];
    assert_fields(owner, &fields);
    assert_fields(owner, &["idle_5s", "idle_1m", "idle_10m", "unseen", "anonymous", "swapped"]);
    assert!(owner["idle_5s"].is_null(), "three seconds were watched: {owner}");
    assert!(owner["accessed_1s"].as_u64().is_some_and(|bytes| bytes > 0), "{owner}");
    let ran = place.run(&["report", "owners", "--by", "name", "--format", "csv"]).succeeded();
    assert_eq!(String::from_utf8_lossy(&ran.stdout).lines().count(), 2);
    place.misused(&["report", "owners", "--format", "svg"], "possible values: text, json, csv]");
    place.misused(&["report", "owners", "-o", "bill.svg"], "text, json or csv");
    place.misused(&["report", "info", "--format", "csv"], "possible values: text, json]");
}

#[test]
fn a_record_of_physical_addresses_has_no_bill() {
    let place = Place::with_record();
    let simulated = Record::open(place.path("daos.data")).unwrap();
    let header = Header { backend: "ebpf-paddr".to_owned(), ..simulated.header().clone() };
    let writer = Destination::open(place.path("ram.data")).unwrap().begin(&header).unwrap();
    writer.finish(simulated.end().unwrap()).unwrap();
    place.misused(&["report", "owners", "ram.data"], "`report owners` is for records of processes");
    place.run(&["report", "wss", "ram.data"]).succeeded();
}

#[test]
fn a_time_behind_the_end_of_the_record_is_told() {
    let place = Place::with_record();
    for name in ["heatmap", "wss", "owners", "regions", "schemes"] {
        let ran = place.run(&["report", name, "--time", "100s-200s"]).succeeded();
        assert!(ran.stderr.contains("so there is nothing from 100 s on"), "{}", ran.stderr);
        assert_eq!(place.run(&["report", name, "--time", "1s-200s"]).succeeded().stderr, "");
    }
}

#[test]
fn the_regions() {
    let regions = report(&Place::with_record(), "regions");
    let list = regions.as_array().unwrap();
    assert_whole(Some(list.len() as u64));
    for (at, snapshot) in list.iter().enumerate() {
        assert_fields(snapshot, &["start_us", "end_us", "target", "regions"]);
        assert_eq!(snapshot["start_us"].as_u64(), Some(at as u64 * 100_000));
        for region in snapshot["regions"].as_array().unwrap() {
            assert_fields(region, &["start", "end", "access_rate", "age_us"]);
            assert!(region["start"].as_u64() < region["end"].as_u64());
            assert!((0.0..=1.0).contains(&region["access_rate"].as_f64().unwrap()));
        }
    }
}

#[test]
fn the_overhead() {
    let place = Place::new("daos");
    let args = ["record", "--quiet", "--monitor", "reference", "--sim", "load.cfg"];
    place.run(&args).succeeded();
    let overhead = report(&place, "overhead");
    let fields = ["ticks", "checks_per_tick", "regions", "cpu_percent", "elapsed_us"];
    assert_fields(&overhead, &fields);
    assert_fields(&overhead, &["setup_cpu_us", "peak_rss_bytes"]);
    assert_fields(&overhead["checks_per_tick"], &["min", "p50", "p99", "max"]);
    assert_fields(&overhead["regions"], &["min", "p50", "max"]);
    let added = ["pages_per_tick", "armed_per_tick", "target_percent", "total_percent"];
    assert_fields(&overhead, &added);
    assert_fields(&overhead, &["worst_10s_percent", "max_overhead_percent", "bound_kept"]);
    let [own, target, total] = ["cpu_percent", "target_percent", "total_percent"]
        .map(|name| overhead[name].as_f64().unwrap());
    assert!((own + target - total).abs() < 1e-5, "{overhead}");
    let counted = (overhead["ticks"].as_u64(), overhead["elapsed_us"].as_u64());
    assert_eq!(counted, (Some(600), Some(3_000_000)));
    assert_eq!(overhead["max_overhead_percent"], Value::Null, "that monitor keeps none");
    let bounded = report(&Place::with_record(), "overhead");
    assert_eq!(bounded["max_overhead_percent"], 0.5);
    assert_eq!(bounded["bound_kept"], true, "{bounded}");
}

#[test]
fn the_information() {
    let info = report(&Place::with_record(), "info");
    let fields = ["attributes", "seed", "targets", "backend", "host", "kernel", "version"];
    assert_fields(&info, &fields);
    assert_eq!(info["backend"], "sim");
    assert_eq!(info["auto_intervals"], false);
    assert_eq!(info["max_overhead_percent"], 0.5, "the default");
    assert_eq!(info["monitor"], "windows", "the default");
    assert_whole(info["snapshots"].as_u64());
    let intervals_us = info["snapshots"].as_u64().map(|nr| nr * 100_000);
    assert_eq!(info["duration_us"].as_u64(), intervals_us);
}

#[test]
fn the_doctor() {
    let ran = Place::new("daos").run(&["doctor", "--format", "json"]).succeeded();
    let doctor = ran.json();
    assert_fields(&doctor, &["kernel", "arch", "backends", "actions", "swap", "thp"]);
    assert_fields(&doctor, &["zram", "leftovers"]);
    let actions = ["willneed", "cold", "hugepage", "nohugepage", "pageout", "lock", "stat"];
    assert_fields(&doctor["actions"], &actions);
    let all = ["backends", "actions"].map(|part| doctor[part].as_object().unwrap().values());
    for finding in all.into_iter().flatten() {
        assert!(finding["ok"].is_boolean() && finding["why"].is_string(), "{finding}");
    }
    assert_eq!(doctor["backends"]["sim"]["ok"], true);
}

#[test]
fn the_stream_of_a_recording() {
    let ran = Place::new("daos").run(&["record", "--sim", "load.cfg", "-o", "-"]).succeeded();
    assert!(ran.stderr.contains("simulated"), "{}", ran.stderr);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<LineJson> =
        stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let LineJson::Target(target) = &lines[0] else { panic!("{}", stdout.lines().next().unwrap()) };
    assert!(!target.mappings.is_empty(), "{target:?}");
    let snapshots = lines.iter().filter(|line| matches!(line, LineJson::Snapshot(_))).count();
    assert_whole(Some(snapshots as u64));
}

#[test]
fn nobody_needs_to_read_it_all() {
    let place = Place::with_record();
    let mut report = Command::new(env!("CARGO_BIN_EXE_daos"))
        .args(["report", "regions", "--format", "json"])
        .arg(place.path("daos.data"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(report.stdout.take());
    let output = report.wait_with_output().unwrap();
    assert!(output.status.success());
    std::io::stderr().write_all(&output.stderr).unwrap();
    assert!(output.stderr.is_empty());
}
