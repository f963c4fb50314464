//! Mistakes: each gets one clear message and the right exit status.

use daos_testing::Place;
use std::fs;

#[test]
fn configurations_that_cannot_be_read() {
    let place = Place::new("daos-eval");
    fs::write(place.path("typo.cfg"), "hot, 16M\n\nbusy\n3s\nhto, random, 1, 1\n").unwrap();
    for command in [&["workload"][..], &["accuracy", "--workload"]] {
        let with = |file| [command, &[file]].concat();
        place.cannot(&with("typo.cfg"), "typo.cfg:5:1: no region is called \"hto\"");
        place.cannot(&with("none.cfg"), "cannot read none.cfg");
    }
}

#[test]
fn a_daos_that_is_not_there_and_swap_that_cannot_be() {
    let place = Place::new("daos-eval");
    let suite = ["--daos", "no/daos", "suite", "--dry-run", "--", "true"];
    place.cannot(&suite, "--daos no/daos: there is no such file");
    for command in [&["suite", "--zram", "0"][..], &["service", "--swap", "100K"]] {
        place.misused(command, "a swap device can have 1 MiB to 16 TiB");
    }
}

#[test]
fn workloads_that_make_no_sense() {
    let place = Place::new("daos-eval");
    place.misused(&["workload", "load.cfg", "--repeat", "0"], "--repeat 0");
    place.misused(&["workload", "load.cfg", "--rate", "0"], "--rate 0");
    place.misused(&["workload", "load.cfg", "--threads", "0"], "--threads");
    place.cannot(&["workload", "load.cfg", "--truth", "none/truth"], "cannot write the truth");
    let bench = ["accuracy", "--sim", "--workload", "load.cfg"];
    place.misused(&[&bench[..], &["--seconds", "5"]].concat(), "more than --warmup");
    place.misused(&[&bench[..], &["--runs", "0"]].concat(), "--runs");
    place.misused(&[&bench[..], &["--size", "1G"]].concat(), "--size");
}

#[test]
fn scenarios_that_make_no_sense() {
    let place = Place::new("daos-eval");
    let bench = |options: &[&'static str]| [&["accuracy"], options].concat();
    place.misused(&bench(&["--sim", "--size", "big"]), "such as 512M, 10G or 5T");
    place.misused(&bench(&["--sim", "--shape", "round"]), "there are block, blocks, stripes");
    place.misused(&bench(&["--sim", "--page", "8k"]), "pages are of 4k or of 2m");
    place.misused(&bench(&["--sim", "--monitors", "best"]), "no such monitor");
    place.misused(&bench(&["--sim", "--monitor", "reference"]), "--monitors");
    place.misused(&bench(&["--sim", "--validate"]), "--validate");
    place.misused(&bench(&["--paddr"]), "--sim");
    place.misused(&bench(&["--sim", "--piece", "64K"]), "--paddr");
    let tiny = ["--sim", "--paddr", "--size", "1G", "--piece", "4K"];
    place.cannot(&bench(&tiny), "simulate less, or larger pieces");
    place.cannot(&bench(&["--sim", "--hot", "60%"]), "at most 40 %");
    place.cannot(&bench(&["--sim", "--size", "100K"]), "256 KiB to 16 TiB");
    place.cannot(&bench(&["--size", "16T"]), "choose a smaller --size, or add --sim");
    place.cannot(&bench(&["--shape", "sparse"]), "can only be simulated; add --sim");
}

#[test]
fn programs_that_make_no_sense() {
    let place = Place::new("daos-eval");
    let with = |options: &[&'static str]| [&["accuracy"], options].concat();
    place.misused(&with(&["--suite", "--size", "1G"]), "--size");
    place.misused(&with(&["--sim", "--", "true"]), "--sim");
    place.misused(&with(&["--only", "redis"]), "--suite");
    place.misused(&with(&["--suite", "--only", "no-such"]), "no-such");
    place.misused(&with(&["--scan", "1us", "--", "true"]), "10ms");
    place.misused(&with(&["--idle", "100ms", "--", "true"]), "less than --scan");
    place.misused(&with(&["--seconds", "5", "--", "true"]), "more than --warmup");
    place.misused(&with(&["--attach", "20s", "--", "true"]), "less than --seconds");
    place.misused(&with(&["--attach", "4", "--", "true"]), "write 4us, 4ms, 4s");
    place.cannot(&with(&["--suite", "none.toml"]), "cannot read none.toml");
}
