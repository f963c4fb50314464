//! `daos-eval tuning`: what it says of curves whose best is known, and what it refuses
//! before it runs any program.

use daos_testing::Place;
use std::fs;

#[test]
fn methods_on_curves() {
    let place = Place::new("daos-eval");
    let asked = ["tuning", "--seeds", "2", "--samples", "5,6", "--method", "poly,random"];
    let json = place.run(&[&asked[..], &["--format", "json"]].concat()).succeeded().json();
    assert_eq!(
        (&json["seeds"], &json["first_seed"], &json["noise"]),
        (&2.into(), &1000.into(), &0.05.into())
    );
    let methods: Vec<(&str, u64)> = json["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["method"].as_str().unwrap(), one["samples"].as_u64().unwrap()))
        .collect();
    assert_eq!(methods, [("poly", 5), ("poly", 6), ("random", 5), ("random", 6)]);
    let losses = |json: &serde_json::Value| {
        let of = |one: &serde_json::Value| one["mean_loss"].as_f64().unwrap();
        json["methods"].as_array().unwrap().iter().map(of).collect::<Vec<f64>>()
    };
    assert!(losses(&json).iter().all(|loss| (0.0..=1.0).contains(loss)), "{json}");

    let other = ["--first-seed", "7", "--noise", "0%", "--format", "json"];
    let other = place.run(&[&asked[..], &other].concat()).succeeded().json();
    assert_ne!(losses(&json), losses(&other));

    let text = place.run(&asked).succeeded();
    let text = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(text.contains("2 seeds each from 1000 on, noise 5 %"), "{text}");
}

#[test]
fn what_makes_no_sense() {
    let place = Place::new("daos-eval");
    let cases: &[(&[&str], &str)] = &[
        (&["--method", "best"], "no such method; there are gp, poly, random"),
        (&["--samples", "1"], "1 is not in"),
        (&["--seeds", "0"], "0 is not in"),
        (&["--limit", "1m"], "give -- COMMAND or --programs"),
        (&["--metric", "tail -n 1"], "--metric is for programs"),
        (&["--settle", "8s"], "--settle is for programs"),
        (&["--runs", "5"], "--runs is for programs"),
        (&["--seeds", "5", "--", "true"], "--seeds is for simulated shapes"),
        (&["--samples", "5,10", "--", "true"], "one number of --samples"),
        (&["--method", "gp,poly", "--", "true"], "one --method"),
        (&["--samples", "5", "--limit", "1m", "--", "true"], "cannot be used with"),
        (&["--scheme", "4K max", "--", "true"], "2 fields instead of 7"),
        (&["--programs", "--", "true"], "cannot be used with"),
    ];
    for (args, says) in cases {
        place.misused(&[&["tuning"], *args].concat(), says);
    }
}

#[test]
fn programs_that_are_not_there() {
    let place = Place::new("daos-eval");
    // This one has no `workloads/programs`.
    place.cannot(&["tuning", "--programs"], "programs in workloads/programs");
    fs::create_dir(place.path("mine")).unwrap();
    place.cannot(&["tuning", "--programs=mine"], "there is no program in mine");
}
