//! Mistakes: each gets one clear message and the right exit status, and leaves
//! nothing behind.

use daos_testing::Place;
use std::fs;

#[test]
fn attributes_that_cannot_work() {
    let place = Place::new("daos");
    let cases: &[(&[&str], &str)] = &[
        (&["--sample", "0s"], "sampling interval is zero"),
        (&["--aggr", "0"], "aggregation interval is zero"),
        (&["--update", "0ms"], "update interval is zero"),
        (&["--sample", "200ms"], "longer than the aggregation interval"),
        (&["--sample", "5"], "write 5us, 5ms, 5s"),
        (&["--min-regions", "100", "--max-regions", "50"], "(100) is above the maximum (50)"),
        (&["--min-regions", "2"], "at least 3"),
        (&["--duration", "0s"], "records nothing"),
    ];
    for (options, says) in cases {
        for target in [&["--sim", "load.cfg"][..], &["--pid", "1"], &["--", "sleep", "9"]] {
            place.misused(&[&["record"], *options, target].concat(), says);
        }
    }
}

#[test]
fn intervals_that_are_too_short_for_live_targets() {
    let place = Place::new("daos");
    let record = |options: &[&'static str]| [&["record", "-q", "-d", "1s"], options].concat();
    let short = record(&["--sample", "1us", "--aggr", "10ms"]);
    place.misused(&[&short[..], &["--pid", "1"]].concat(), "give 100 us or more");
    place.misused(&[&short[..], &["--", "sleep", "9"]].concat(), "--sample 1 us is too short");
    let often = record(&["--sample", "100us", "--aggr", "500us"]);
    place.misused(&[&often[..], &["--all"]].concat(), "give 1 ms or more");
    place.misused(&["owners", "--sample", "1us"], "give 100 us or more");
    place.run(&[&often[..], &["--sim", "load.cfg"]].concat()).succeeded();
}

#[test]
fn options_that_the_monitor_does_not_heed() {
    let place = Place::new("daos");
    for option in [&["--max-overhead", "1%"][..], &["--auto-intervals"]] {
        let says = format!("the reference monitor does not heed {}", option[0]);
        for target in [&["--sim", "load.cfg"][..], &["--pid", "1"], &["--", "sleep", "9"]] {
            let record = ["record", "--monitor", "reference"];
            place.misused(&[&record, option, target].concat(), &says);
        }
    }
    place.misused(&["record", "--max-overhead", "0", "--sim", "load.cfg"], "more than 0");
}

#[test]
fn targets_that_make_no_sense() {
    let place = Place::new("daos");
    place.misused(&["record"], "required");
    place.misused(&["record", "--pid", "1", "--sim", "load.cfg"], "cannot be used with");
    place.misused(&["record", "--pid", "1", "--", "true"], "cannot be used with");
    place.misused(&["record", "--pid", "x"], "expected the number of a process");
    place.misused(&["record", "--pid", "1,,2"], "expected the number of a process");
    place.cannot(&["record", "--pid", "4194305, 4194306"], "there is no process 4194305");
    place.misused(&["record", "--sim", "load.cfg", "--backend", "ebpf"], "--backend");
    place.misused(&["record", "--pid", "1", "--backend", "sim"], "--sim FILE");
}

#[test]
fn all_processes_and_some_do_not_go_together() {
    let place = Place::new("daos");
    place.misused(&["record", "--all", "--pid", "1"], "cannot be used with");
    place.misused(&["record", "--all", "--children"], "cannot be used with");
    place.misused(&["record", "--pid", "1", "--cgroup", "x"], "--all");
    place.misused(&["apply", "-s", "prcl", "--pid", "1", "--include-system"], "--all");
    place.misused(&["record", "--all", "--cgroup", "/a[b"], "`*` stands for any text");
    for command in [&["record", "--all"][..], &["apply", "-s", "prcl", "--all"], &["owners"]] {
        place.misused(&[command, &["--cgroup", ""]].concat(), "name a cgroup");
    }
    place.misused(&["record", "--all", "--min-rss", "big"], "such as 512M");
    place.misused(&["record", "--all", "--user", "no-such-user"], "no user \"no-such-user\"");
    place.misused(&["tune", "-s", "prcl", "--limit", "1m", "--all"], "no one score of all");
    place.misused(&["owners", "--for", "0s"], "sees nothing");
    // Before anything is looked at.
    place.misused(&["owners", "-o", "bill.png"], "text, json or csv");
    place.misused(&["owners", "--backend", "sim"], "leave out --backend sim");
    place.misused(&["owners", "--user", "no-such-user"], "no user \"no-such-user\"");
}

#[test]
fn users_that_there_are_not() {
    let place = Place::new("daos");
    let user = ["--user", "no-such-user"];
    let command = ["--", "touch", "touched"];
    for how in [&["record"][..], &["apply", "-s", "prcl"], &["tune", "-s", "prcl", "--samples=9"]] {
        place.misused(&[how, &user, &command].concat(), "no user \"no-such-user\"");
    }
    place.misused(&["record", "--user", "root", "--pid", "1"], "--user is for a command");
    for command in ["record", "apply -s prcl", "tune -s prcl --limit 1m"] {
        let args: Vec<_> =
            command.split(' ').chain(["--user", "root", "--sim", "load.cfg"]).collect();
        place.misused(&args, "--sim runs none");
    }
}

#[test]
fn processes_that_are_no_targets() {
    let place = Place::new("daos");
    place.cannot(&["record", "--pid", "4194305"], "there is no process 4194305");
    place.cannot(&["record", "--pid", "0"], "there is no process 0");
    // `/proc/thread-self` is PID/task/TID.
    let myself = fs::read_link("/proc/thread-self").unwrap();
    let thread = myself.file_name().and_then(|tid| tid.to_str()).unwrap();
    place.cannot(&["record", "--pid", thread], "is a thread of process");
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id().to_string();
    child.wait().unwrap();
    place.cannot(&["record", "--pid", &pid], "it has ended, or never was");
}

#[test]
fn configurations_that_cannot_be_read() {
    let place = Place::new("daos");
    fs::write(place.path("typo.cfg"), "hot, 16M\n\nbusy\n3s\nhto, random, 1, 1\n").unwrap();
    fs::write(place.path("size.cfg"), "cold, 1M\nhot, 16Q\n\nbusy\n3s\nhot, random, 1, 1\n")
        .unwrap();
    let with = |file| ["record", "--sim", file];
    place.cannot(&with("typo.cfg"), "typo.cfg:5:1: no region is called \"hto\"");
    place.cannot(&with("size.cfg"), "size.cfg:2:6: ");
    place.cannot(&with("none.cfg"), "cannot read none.cfg");
}

#[test]
fn outputs_that_cannot_be_written() {
    let place = Place::new("daos");
    let record = |output| ["record", "--quiet", "--sim", "load.cfg", "-o", output];
    place.cannot(&record("none/record"), "cannot create the record none/record");
    place.cannot(&record("."), ". is a directory");
    place.cannot(&record("/dev/full"), "cannot write to /dev/full");
    place.cannot(&record("load.cfg"), "is not a daos record, so it was left as it is");
    assert_eq!(fs::read_to_string(place.path("load.cfg")).unwrap(), daos_testing::LOAD);

    let ran =
        place.run(&["record", "--sim", "load.cfg", "-d", "1s", "-o", "/dev/null"]).succeeded();
    assert!(!ran.stderr.contains("report heatmap"), "nothing can be read there: {}", ran.stderr);

    let place = Place::with_record();
    place.cannot(&["report", "wss", "-o", "none/wss.json"], "cannot write none/wss.json");
    place.cannot(&["report", "wss", "-o", "/dev/full"], "No space left");
}

#[test]
fn a_failed_recording_keeps_an_older_record() {
    let place = Place::with_record();
    let older = fs::read(place.path("daos.data")).unwrap();
    place.cannot(&["record", "--sim", "none.cfg"], "cannot read none.cfg");
    place.cannot(&["record", "--pid", "4194305"], "there is no process");
    assert_eq!(fs::read(place.path("daos.data")).unwrap(), older);
    assert!(!place.path("daos.data.old").exists());
}

#[test]
fn a_record_of_the_usual_name_is_kept_when_the_next_begins() {
    let place = Place::with_record();
    let older = fs::read(place.path("daos.data")).unwrap();
    let again = ["record", "-q", "--sim", "load.cfg", "-d", "1s"];
    place.run(&again).succeeded();
    assert_eq!(fs::read(place.path("daos.data.old")).unwrap(), older);
    assert!(fs::read(place.path("daos.data")).unwrap().len() < older.len());
    // A name that was given is as it is said.
    place.run(&[&again[..], &["-o", "mine"]].concat()).succeeded();
    place.run(&[&again[..], &["-o", "mine"]].concat()).succeeded();
    assert!(!place.path("mine.old").exists());
}

#[test]
fn sizes_of_swap_that_there_are_not() {
    let place = Place::new("daos");
    let apply = ["apply", "-s", "prcl", "--pid", "1"];
    for size in ["0", "1", "10K", "100T"] {
        place.misused(&[&apply[..], &["--zram", size]].concat(), "1 MiB to 16 TiB");
    }
    let limit = ["--zram", "1G", "--zram-limit", "0"];
    place.misused(&[&apply[..], &limit].concat(), "1 MiB of memory or more");
}

#[test]
fn a_scheme_with_a_mistake_in_it_is_wrong_usage_wherever_it_stands() {
    let place = Place::new("daos");
    fs::write(place.path("a.scheme"), "4K max min min 5s max pageut\n").unwrap();
    let apply = |scheme| ["apply", "--sim", "load.cfg", "--scheme", scheme];
    place.misused(&apply("4K max min min 5s max pageut"), "did you mean pageout?");
    place.misused(&apply("a.scheme"), "a.scheme:1:23: ");
    fs::write(place.path("b.scheme"), [0xff]).unwrap();
    place.cannot(&apply("b.scheme"), "cannot read the schemes in b.scheme");
}

#[test]
fn the_simulator_refuses_what_it_cannot_tell() {
    let place = Place::with_record();
    let apply = ["apply", "--sim", "load.cfg", "--scheme", "prcl-gentle"];
    place.cannot(&apply, "it is not known how much of it is free");
}
