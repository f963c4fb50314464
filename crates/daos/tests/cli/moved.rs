//! What is in `daos-eval` now: whoever still asks `daos` for it is told.

use daos_testing::Place;

#[test]
fn commands_that_are_in_daos_eval_now() {
    let place = Place::new("daos");
    let cases: &[(&[&str], &str)] = &[
        (&["bench"], "`daos bench` is `daos-eval` now"),
        (&["bench", "--help"], "`daos bench` is `daos-eval` now"),
        (&["bench", "accuracy", "--sim"], "`daos bench accuracy` is `daos-eval accuracy` now"),
        (&["bench", "tuning", "--", "true"], "`daos bench tuning` is `daos-eval tuning` now"),
        (&["workload", "load.cfg", "-q"], "`daos workload` is `daos-eval workload` now"),
    ];
    for (args, says) in cases {
        let ran = place.run(args);
        assert_eq!((ran.status, ran.stderr), (Some(2), format!("daos: {says}\n")), "{args:?}");
    }
    let help = place.run(&["--help"]).succeeded().stdout;
    assert!(!String::from_utf8(help).unwrap().contains("daos-eval"), "they are not offered");
}

#[test]
fn monitors_that_are_there_to_compare_with() {
    for monitor in ["static", "fullscan"] {
        let says = format!("`daos-eval accuracy --monitors {monitor}`");
        Place::new("daos").misused(&["record", "--sim", "load.cfg", "--monitor", monitor], &says);
    }
}
