//! Names from outside are shown, but steer no terminal.

use daos_core::{AddrRange, Host, Interval, Mapping, MonitorAttrs, RegionSnapshot, Snapshot};
use daos_core::{OwnedPart, Owner, Ownership, TargetId, TargetInfo, TargetSnapshot};
use daos_record::{Header, Writer};
use daos_testing::{LOAD, Place};
use std::fs;

/// Clears the screen.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}2Jb";
/// What is there of it in any message, some of which quote it as Rust does.
const PART: &str = "[2J";
/// What is shown of it in reports.
const HARMLESS: &str = "a?[2J?2Jb";

/// Runs `daos` with these words, and returns all that it says.
#[track_caller]
fn said(place: &Place, args: &[&str]) -> String {
    let ran = place.run(args);
    let said = String::from_utf8(ran.stdout).expect("it is text") + &ran.stderr;
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!said.contains(steers), "{args:?}: {said:?}");
    said
}

#[test]
fn of_files_and_commands() {
    let place = Place::new("daos");
    for args in [
        &["record", "--sim", HOSTILE][..],
        &["report", "info", HOSTILE],
        &["apply", "-s", HOSTILE, "--sim", "load.cfg"],
        &["record", "--sim", "load.cfg", "-o", &format!("{HOSTILE}/x")],
        &["apply", "-s", "prcl", "--sim", "load.cfg", "--stats", &format!("{HOSTILE}/x")],
        &[
            "tune",
            "-s",
            "prcl",
            "--samples=9",
            "--out",
            &format!("{HOSTILE}/x/y"),
            "--sim",
            HOSTILE,
        ],
    ] {
        let said = said(&place, args);
        assert!(said.contains(PART), "{args:?}: {said}");
    }
    // Where it may not monitor it says that, and not that there is no such command.
    said(&place, &["record", "--", HOSTILE]);
}

#[test]
fn of_workloads() {
    let place = Place::new("daos");
    fs::write(place.path(HOSTILE), LOAD).unwrap();
    assert!(said(&place, &["record", "-o", HOSTILE, "--sim", HOSTILE]).contains(PART));
    for report in ["info", "heatmap", "wss", "regions", "overhead"] {
        said(&place, &["report", report, HOSTILE]);
    }
    fs::write(place.path("bad.cfg"), format!("{HOSTILE}, 1G, {HOSTILE}\n")).unwrap();
    said(&place, &["record", "--sim", "bad.cfg"]);
}

#[test]
fn of_schemes() {
    let place = Place::new("daos");
    let scheme = "[[scheme]]\nname = \"a\\u001b[2J\\u009b2Jb\"\nsize = [\"min\", \"max\"]\n\
        frequency = [\"min\", \"min\"]\nage = [\"1s\", \"max\"]\naction = \"pageout\"\n";
    fs::write(place.path("s.toml"), scheme).unwrap();
    let applied = said(&place, &["apply", "-s", "s.toml", "--sim", "load.cfg"]);
    assert!(applied.contains(PART), "{applied}");
    fs::write(place.path("s.toml"), scheme.replace("action", HOSTILE)).unwrap();
    said(&place, &["apply", "-s", "s.toml", "--sim", "load.cfg"]);
    said(&place, &["apply", "-s", HOSTILE, "--sim", "load.cfg"]);
}

/// Names of a process, its mappings, a host, a kernel, a monitor and a scheme.
#[test]
fn in_records() {
    let place = Place::new("daos");
    let name = || HOSTILE.to_owned();
    let header = Header {
        daos_version: name(),
        created_unix_s: 0,
        start_monotonic_us: 0,
        attrs: MonitorAttrs::default(),
        seed: 0,
        monitor: name(),
        max_overhead_percent: None,
        auto_intervals: false,
        backend: name(),
        command: vec![name()],
        schemes: vec![name()],
        host: Host {
            kernel: name(),
            arch: name(),
            hostname: name(),
            cpus: 1,
            mem_total_bytes: 1 << 30,
            page_size: 4096,
        },
    };
    let range = AddrRange::new(0x1000, 0x9000);
    let region = RegionSnapshot { range, access_rate: 0.5, unobserved: 0.0, age_us: 0 };
    let target = TargetSnapshot { regions: vec![region], ..TargetSnapshot::default() };
    let snapshot = Snapshot { end_us: 100_000, targets: vec![target], ..Snapshot::default() };
    let mut file = fs::File::create(place.path("daos.data")).unwrap();
    let mut writer = Writer::new(&mut file, &header).unwrap();
    let mappings = vec![Mapping { range, name: name(), shared: false }];
    writer
        .target(&TargetInfo {
            id: TargetId(0),
            pid: Some(7),
            name: name(),
            mappings,
            cgroup: Some(name()),
            memory: None,
            ownership: Some(Ownership {
                owners: vec![Owner { pid: Some(7), name: name() }],
                parts: vec![OwnedPart { range, shares: vec![(0, range.len())] }],
            }),
            page_cache: None,
        })
        .unwrap();
    writer.interval(&Interval::from(snapshot)).unwrap();
    for report in ["info", "heatmap", "wss", "owners", "regions", "schemes", "overhead"] {
        let shown = said(&place, &["report", report]);
        assert!(shown.contains(HARMLESS), "{report}: {shown}");
        said(&place, &["report", report, "--format", "csv"]);
    }
}
