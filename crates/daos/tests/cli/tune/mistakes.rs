//! Tunings that make no sense: what is said names the mistake, and what to do.

use super::{Kept, RANGE, SIM, tune, tuned};
use daos_linux::halves::keep_on;
use daos_testing::{Place, daos};
use rustix::thread::{CpuSet, sched_getaffinity};

#[test]
fn a_score_command_that_fails_says_so() {
    let place = Place::new("daos");
    for (score, says) in [
        ("false", "the score command `false` failed with status 1"),
        ("echo many", "has to print a number as its last word, not \"many\""),
    ] {
        let args = ["--quiet", "--out", "t", "--samples", "4", "--score", score];
        let ran = tune(&place, &args);
        assert_eq!(ran.status, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    // What was measured is not lost: scores are made of it anew.
    let kept = Kept(place.path("t"));
    let before = kept.samples();
    assert!(!before.is_empty());
    tuned(&place, "t", &["--samples", "4"]);
    assert_eq!(kept.samples()[..before.len()], before);
}

#[test]
fn a_limit_for_no_more_than_one_run_is_refused() {
    let place = Place::new("daos");
    let ran = tune(&place, &["--quiet", "--limit", "4s"]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("leaves no time for another"), "{}", ran.stderr);
    assert!(ran.stderr.contains("give --limit 3"), "{}", ran.stderr);
}

#[test]
fn tunings_that_make_no_sense() {
    let place = Place::new("daos");
    let pid = std::process::id().to_string();
    let pid = pid.as_str();
    let sweep = "min_age=0s..2s/1s";
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["--limit TIME, such as 10m", "--samples N"]),
        (&["--limit", "0s"], &["a time of 0"]),
        (&["--limit", "10"], &["--limit", "no unit", "10m"]),
        (&["--samples", "1"], &["--samples", "2..=10000"]),
        (&["--samples", "4", "--method", "best"], &["--method", "gp, poly, random"]),
        (&["--samples", "4", "--param", "min_ag=1s..2s"], &["min_ag", "did you mean min_age?"]),
        (&["--samples", "4", "--param", "min_age=9s..2s"], &["min_age", "to be the smaller"]),
        (&["--samples", "4", "--param", "min_age=1..2"], &["min_age", "with a unit"]),
        (&["--samples", "4", "--param", "min_age"], &["write NAME=LOW..HIGH"]),
        (&["--samples", "4", "--param", RANGE, "--param", RANGE], &["min_age is given twice"]),
        (&["--samples", "4", "--score", "0.5*q"], &["--score", "\"q\"", "one of p, m", "runtime"]),
        (&["--samples", "4", "--score", "0.5*"], &["--score", "column 5"]),
        (&["--samples", "4", "--metric", "echo 1"], &["--metric", "run time itself"]),
        (&["--samples", "4", "--metric-is", "less"], &["--metric"]),
        (&["--samples", "4", "--fresh"], &["--out"]),
        (&["--samples", "4", "--apply"], &["--apply", "--pid"]),
        (&["--samples", "4", "--work-time", "2s"], &["--work-time", "--pid"]),
        (&["--samples", "4", "--settle", "2s"], &["--settle", "--sim"]),
        (&["--samples", "4", "--pairs"], &["--pairs", "give one behind `--`", "--sim"]),
        (&["--sweep", sweep, "--param", RANGE], &["--sweep", "--param"]),
        (&["--sweep", sweep, "--method", "poly"], &["--sweep", "--method"]),
        (&["--sweep", sweep, "--max-loss", "2%"], &["--sweep", "--max-loss"]),
        (&["--sweep", sweep, "--repeat", "0"], &["--repeat"]),
        (&["--sweep", RANGE], &["write NAME=LOW..HIGH/STEP"]),
        (&["--sweep", "min_age=0s..2s/0s"], &["write NAME=LOW..HIGH/STEP"]),
        (&["--samples", "4", "--repeat", "3"], &["--sweep"]),
    ];
    for (args, says) in cases {
        for what in *says {
            place.misused(&[&["tune"][..], &SIM, *args].concat(), what);
        }
    }
    let tune = |args: &[&'static str]| [&["tune", "--samples", "4"], args].concat();
    place.misused(&tune(&["--scheme", "prcl"]), "COMMAND");
    place.misused(&tune(&["--scheme", "prcl", "--pairs", "--pid", "1"]), "give one behind `--`");
    place.misused(&tune(&["--sim", "load.cfg"]), "--scheme");
    place.misused(&tune(&["--sim", "load.cfg", "--scheme", "ethp"]), "ethp has 2 schemes");
    place.misused(&tune(&["--sim", "load.cfg", "--scheme", "prc"]), "no built-in scheme (prcl");
    let service = ["tune", "--samples", "4", "--scheme", "prcl", "--pid", pid];
    place.misused(&service, "give --metric CMD");
    place.misused(&[&service[..], &["--work-time", "2s"]].concat(), "give --metric CMD");
    place.misused(&[&service[..], &["--metric", "echo 1"]].concat(), "--work-time TIME");
    place.misused(
        &[&service[..], &["--metric", "echo 1", "--work-time", "0s"]].concat(),
        "a time of 0",
    );
    place.misused(
        &[&service[..], &["--metric", "echo 1", "--work-time", "20s", "--limit", "40s"]].concat(),
        "each sample takes 25 s with the time to settle",
    );
}

#[test]
fn pairs_need_two_cpus() {
    let allowed = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).unwrap();
    let place = Place::new("daos");
    let mut tune = daos(&["tune", "--scheme", "prcl", "--samples", "4", "--pairs", "--", "true"]);
    keep_on(&mut tune, &[cpu as u32]);
    let output = tune.current_dir(place.path(".")).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let says = "a CPU each, and there are 1 that this process may run on: leave --pairs out";
    assert!(stderr.contains(says), "{stderr}");
    assert_eq!(place.files(), ["load.cfg"], "nothing was begun");
}
