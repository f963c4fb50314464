//! What reports show of schemes, from a record that is written here by hand.

use daos_core::{Action, AddrRange, Done, Interval, SchemeStats, TargetId};
use daos_record::{Destination, Record, SchemeEnd};
use daos_testing::Place;
use serde_json::Value;
use std::process::Command;

const LABEL: &str = "4K max min min 5s max pageout";
const MIB: u64 = 1 << 20;

/// A place whose record has a scheme that acts at the end of the fifth interval, on the
/// lowest two MiB of the first region, and later another.
fn place() -> Place {
    let place = Place::with_record();
    let simulated = Record::open(place.path("daos.data")).unwrap();
    let mut header = simulated.header().clone();
    header.schemes = vec![LABEL.to_owned()];
    let intervals: Vec<Interval> = simulated.intervals().map(Result::unwrap).collect();
    let mut end = simulated.end().unwrap().clone();
    let stats = SchemeStats { applied_bytes: MIB, ..SchemeStats::default() };
    end.schemes = vec![SchemeEnd { label: LABEL.to_owned(), stats }];

    let path = place.path("schemes.data");
    let mut writer = Destination::open(&path).unwrap().begin(&header).unwrap();
    simulated.targets().for_each(|target| writer.target(target).unwrap());
    for (at, mut interval) in intervals.into_iter().enumerate() {
        let start = interval.snapshot.targets[0].regions[0].range.start;
        let done = |from, to, action| Done {
            scheme: 0,
            action,
            target: TargetId(0),
            range: AddrRange::new(start + from * MIB, start + to * MIB),
        };
        match at {
            4 => interval.done = vec![done(1, 2, Action::Pageout), done(0, 1, Action::Pageout)],
            8 => {
                writer.schemes(&["another".to_owned()]).unwrap();
                interval.done = vec![done(2, 3, Action::Cold)];
            }
            _ => {}
        }
        writer.interval(&interval).unwrap();
    }
    writer.finish(&end).unwrap();
    place
}

fn start(place: &Place) -> u64 {
    let json = place.run(&["report", "regions", "schemes.data", "--format", "json"]).json();
    json[0]["regions"][0]["start"].as_u64().unwrap()
}

#[test]
fn the_schemes_of_a_record() {
    let place = place();
    let json = place.run(&["report", "schemes", "schemes.data", "--format", "json"]).json();
    let [first, second] = [&json["schemes"][0], &json["schemes"][1]];
    assert_eq!(first["label"], LABEL);
    assert_eq!((&first["action"], &second["action"]), (&"pageout".into(), &"cold".into()));
    assert_eq!(first["timeline"], serde_json::json!([[500_000, 2 * MIB]]));
    assert_eq!(first["stats"]["applied_bytes"], MIB);
    assert_eq!(second["label"], "another");
    assert_eq!(second["first_us"], 900_000);

    let info = place.run(&["report", "info", "schemes.data", "--format", "json"]).json();
    assert_eq!(info["schemes"], serde_json::json!([LABEL, "another"]));
}

#[test]
fn a_part_of_what_was_done() {
    let place = place();
    let bytes = |zoom: &[&str]| {
        let args = ["report", "schemes", "schemes.data", "--format", "json"];
        let json = place.run(&[&args[..], zoom].concat()).succeeded().json();
        [0, 1].map(|scheme| json["schemes"][scheme]["bytes"].as_u64().unwrap() / MIB)
    };
    assert_eq!(bytes(&[]), [2, 1]);
    assert_eq!(bytes(&["--time", "0.6s-2s"]), [0, 1]);
    let address = format!("{}+2M", start(&place) + MIB);
    assert_eq!(bytes(&["--address", &address]), [1, 1]);
}

#[test]
fn the_heat_map_marks_actions_unless_told_not_to() {
    let place = place();
    let map = |more: &[&str]| {
        let args = ["report", "heatmap", "schemes.data"];
        let ran = place.run(&[&args[..], more].concat()).succeeded();
        String::from_utf8(ran.stdout).unwrap()
    };
    for format in ["text", "json", "csv", "svg"] {
        let with = map(&["--format", format]);
        let without = map(&["--format", format, "--no-actions"]);
        assert!(with.contains("pageout") && with.contains("cold"), "{with}");
        assert!(!without.contains("pageout") && !without.contains("cold"), "{without}");
    }
    let watched = place.run(&["report", "heatmap"]).succeeded();
    assert!(!String::from_utf8(watched.stdout).unwrap().contains("schemes did"));
}

#[test]
fn what_was_done_stands_beside_the_regions() {
    let place = place();
    let json = place.run(&["report", "regions", "schemes.data", "--format", "json"]).json();
    let start = start(&place);
    let expected = serde_json::json!([
        {"scheme": 0, "action": "pageout", "start": start, "end": start + 2 * MIB}
    ]);
    assert_eq!(json[4]["done"], expected);
    assert!(json[5].get("done").is_none());
}

#[test]
fn a_record_without_schemes_says_so() {
    let ran = Place::with_record().run(&["report", "schemes"]).succeeded();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.ends_with("the record has no schemes\n"), "{text}");
}

#[test]
fn counters_go_to_standard_output_where_that_is_asked_for() {
    let place = Place::with_record();
    let apply = ["apply", "-q", "--sim", "load.cfg", "-d", "1s", "-s", "prcl", "--stats", "-"];
    let ran = place.run(&apply).succeeded();
    let stats: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(stats["schemes"][0]["action"], "pageout", "{stats}");
    assert!(!place.path("-").exists());
}

#[test]
fn what_was_done_is_told_though_its_counters_cannot_be_written() {
    let place = Place::new("daos");
    // A limit on the size of files, which is an error to whoever ignores its signal.
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec {} apply --sim load.cfg -d 1s -s prcl --stats stats",
        daos_testing::built("daos").display()
    );
    let mut command = Command::new("sh");
    let ran = command.args(["-c", &script]).current_dir(place.path("")).output().unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("resident set"), "{stderr}");
    let why =
        "cannot write the counters to stats; choose another file, or free some room: File too";
    assert!(stderr.lines().last().unwrap().contains(why), "{stderr}");
    assert_eq!(place.files(), ["load.cfg"]);
}
