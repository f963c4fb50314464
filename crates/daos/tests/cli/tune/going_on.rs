//! Where a tuning is kept: it goes on there, whatever ended it, and nothing gets lost.

use super::{Kept, RANGE, SIM, number, tune, tuned};
use daos_testing::Place;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_tuning_goes_on_as_if_it_had_never_stopped() {
    let place = Place::new("daos");
    let param = ["--samples", "12", "--param", RANGE];
    let forms: [(&str, &[&str]); 4] = [
        ("gp", &[]),
        ("poly", &["--method", "poly"]),
        ("random", &["--method", "random"]),
        ("sweep", &["--sweep", "min_age=0s..2s/0.5s", "--repeat", "2"]),
    ];
    for (name, words) in forms {
        let args = if name == "sweep" { words.to_vec() } else { [&param[..], words].concat() };
        let whole = tuned(&place, name, &args);
        let (wanted, result) = (whole.measured(), whole.result());
        for left in [0, 1, 7] {
            whole.forget_after(left);
            let again = tuned(&place, name, &args);
            assert_eq!(again.measured(), wanted, "{name}, after {left}");
            assert_eq!(again.result()["at"], result["at"], "{name}, after {left}");
        }
    }
}

#[test]
fn what_is_there_is_shown_again_and_more_can_be_added() {
    let place = Place::new("daos");
    let kept = tuned(&place, "t", &["--samples", "4", "--param", RANGE]);
    let before = kept.measured();
    // Killed in the middle of a line.
    fs::write(kept.0.join("samples.jsonl"), kept.text("samples.jsonl") + "{\"at\":[1").unwrap();
    let ran = tune(&place, &["--out", "t", "--samples", "6", "--param", RANGE]).succeeded();
    assert!(ran.stderr.contains("goes on with the 4 samples in t"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--fresh"), "{}", ran.stderr);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    for number in 1..=6 {
        assert!(stdout.lines().any(|l| l.trim_start().starts_with(&format!("{number}  "))));
    }
    assert_eq!(kept.measured()[..4], before);
    assert_eq!(kept.samples().len(), 6);
}

#[test]
fn samples_of_something_else_are_not_mixed_in() {
    let place = Place::new("daos");
    fs::copy(place.path("load.cfg"), place.path("other.cfg")).unwrap();
    let kept = tuned(&place, "t", &["--samples", "3", "--param", RANGE]);
    let before = kept.text("samples.jsonl");
    let words = ["tune", "-q", "--out", "t", "--samples", "3", "--sim"];
    let as_before = ["load.cfg", "--zram", "256M", "--scheme", "prcl", "--param", RANGE];
    let scheme = "8K max min min 5s max pageout";
    for (at, word, what) in [
        (0, "other.cfg", "another workload"),
        (2, "512M", "another zram: there it is \"268435456\", here \"536870912\""),
        (4, scheme, "another scheme"),
        (6, "min_age=0s..3s", "another param: there it is \"min_age=0s..2s\""),
    ] {
        let mut other = as_before;
        other[at] = word;
        let args = [&words[..], &other].concat();
        place.cannot(&args, what);
        place.cannot(&args, "begin anew: remove it, or give daos tune --fresh");
    }
    let monitor = [&words[..], &as_before, &["--aggr", "200ms"]].concat();
    place.cannot(&monitor, "another monitor");
    assert_eq!(kept.text("samples.jsonl"), before);

    // How it is scored and searched for is no difference: samples are what was measured.
    tuned(&place, "t", &["--samples", "3", "--param", RANGE, "--score", "m", "--method", "random"]);
    assert_eq!(kept.text("samples.jsonl"), before);
    let other = "min_age=0s..3s";
    tuned(&place, "t", &["--fresh", "--samples", "3", "--param", other]);
    assert_ne!(kept.text("samples.jsonl"), before);
    assert_eq!(kept.samples().len(), 3);
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let place = Place::new("daos");
    fs::create_dir(place.path("mine")).unwrap();
    fs::write(place.path("mine/thesis.tex"), "x").unwrap();
    for more in [&[][..], &["--fresh"]] {
        let args = ["tune", "--quiet", "--samples", "3", "--out", "mine"];
        place.cannot(&[&args[..], &SIM, more].concat(), "mine holds other things than a tuning");
    }
    assert_eq!(fs::read_dir(place.path("mine")).unwrap().count(), 1);
}

#[test]
fn the_tuning_before_is_set_aside_and_mistakes_do_not_touch_it() {
    let place = Place::new("daos");
    tune(&place, &["--samples", "3", "--param", RANGE]).succeeded();
    let samples = |dir: &str| Kept(place.path(dir)).text("samples.jsonl");
    let first = samples("daos.tune");
    let ran = tune(&place, &["--samples", "4", "--param", RANGE]).succeeded();
    assert!(ran.stderr.contains("is in daos.tune.old now"), "{}", ran.stderr);
    let second = samples("daos.tune");
    assert_eq!((samples("daos.tune.old"), second.lines().count()), (first.clone(), 4));

    let sim = [&["tune", "--samples", "4"][..], &SIM].concat();
    let two = ["--param", RANGE, "--param", "max_freq=0..20%"];
    place.misused(&[&sim[..], &two, &["--method", "poly"]].concat(), "tunes one threshold, not 2");
    let crossed = "4K max min min 5s 10s pageout";
    let crossing = ["tune", "--samples", "4", "--sim", "load.cfg", "--scheme", crossed];
    place.misused(&crossing, "min_age can't be tuned up to 1m");
    let none = ["tune", "-q", "--samples", "4", "--sim", "none.cfg", "--scheme", "prcl"];
    place.cannot(&none, "cannot read none.cfg");
    assert_eq!((samples("daos.tune.old"), samples("daos.tune")), (first, second));
}

/// Waits until something is so, which has to be soon.
#[track_caller]
fn wait_until(mut what: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !what() {
        assert!(Instant::now() < deadline, "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A tuning that would take far too long, under way in `t`.
fn long_tuning(place: &Place) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daos"));
    command.arg("tune").args(SIM).args(["--samples", "9999", "--out", "t", "--method", "random"]);
    command.args(["--param", RANGE]).current_dir(place.path("."));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("daos runs")
}

fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

#[test]
fn an_interrupted_tuning_keeps_what_is_known() {
    let place = Place::new("daos");
    let kept = Kept(place.path("t"));
    let mut daos = long_tuning(&place);
    // Its pipes would fill up.
    let mut out = daos.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    wait_until(|| lines(&kept.0.join("samples.jsonl")) >= 4);
    // As Ctrl-C; but that is ignored where tests run in the background.
    kill_process(Pid::from_child(&daos), Signal::TERM).unwrap();
    assert_eq!(daos.wait().unwrap().code(), Some(130));
    let stdout = reader.join().unwrap().unwrap();
    assert!(stdout.contains("interrupted: "), "{stdout}");
    assert!(stdout.contains("the same command with --out t goes on with it"), "{stdout}");
    let result = kept.result();
    assert_eq!(result["end"], "interrupted");
    assert_eq!(number(&result, "/samples") as usize, kept.samples().len());
    assert!(result["score"]["mean"].is_number(), "{result}");
    kept.assert_pictures();
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let place = Place::new("daos");
    let kept = Kept(place.path("t"));
    let mut daos = long_tuning(&place);
    // As `| head -4` does.
    let mut out = BufReader::new(daos.stdout.take().unwrap());
    for _ in 0..4 {
        assert!(out.read_line(&mut String::new()).unwrap() > 0);
    }
    drop(out);
    let mut said = String::new();
    daos.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(daos.wait().unwrap().code(), Some(0), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(kept.samples().len() >= 3, "what was measured is kept: {said}");
}
