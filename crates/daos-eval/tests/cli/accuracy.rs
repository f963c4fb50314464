//! `daos-eval accuracy` in the simulator, and the truth of `daos-eval workload`: the forms
//! that programs rely on.

use daos_testing::{Place, assert_fields};
use serde_json::Value;

#[test]
fn the_truth_of_a_workload() {
    let place = Place::new("daos-eval");
    let load = "a, 1M\nb, 1M\n\none\n50ms\na, random, 1, 2, ro\n\ntwo\n50ms\n";
    std::fs::write(place.path("load.cfg"), load).unwrap();
    place.run(&["workload", "load.cfg", "--truth", "truth", "--quiet"]).succeeded();
    let truth = std::fs::read_to_string(place.path("truth")).unwrap();
    let phases: Vec<Value> =
        truth.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(phases.len(), 2);
    for phase in &phases {
        assert_fields(phase, &["start_us", "end_us", "regions"]);
        for region in phase["regions"].as_array().unwrap() {
            let fields = ["name", "start", "end", "pattern", "weight", "accesses", "mode"];
            assert_fields(region, &fields);
        }
    }
    assert!(phases[0]["regions"][0]["accesses"].as_u64() > Some(0));
    assert_eq!(phases[1]["regions"][0]["accesses"], 0);
}

#[test]
fn the_accuracy_in_the_simulator() {
    let place = Place::new("daos-eval");
    let ran =
        place.run(&["accuracy", "--sim", "--workload", "load.cfg", "--runs", "3"]).succeeded();
    assert!(String::from_utf8(ran.stdout).unwrap().contains("recall"));
    let args = ["accuracy", "--sim", "--workload", "load.cfg", "--format", "json"];
    let options = ["--seconds", "3", "--warmup", "1.5", "--runs", "2"];
    let result = place.run(&[&args[..], &options].concat()).succeeded().json();
    assert_fields(&result[0], &["workload", "monitor", "on", "figures"]);
    let recall = result[0]["figures"]["recall"]["median"].as_f64().unwrap();
    assert!(recall > 0.9, "{recall}");
}

#[test]
fn what_moves_what_is_in_many_mappings_and_what_was_just_begun_with_is_found() {
    let place = Place::new("daos-eval");
    let recall = |shape: &str, rate: &str, (warmup, seconds): (&str, &str)| {
        let args = ["accuracy", "--sim", "--size", "1G", "--shape", shape, "--rate", rate];
        let options = ["--warmup", warmup, "--seconds", seconds, "--monitors", "windows"];
        let runs = ["--runs", "1", "--format", "json"];
        let result = place.run(&[&args[..], &options, &runs].concat()).succeeded().json();
        result[0]["figures"]["recall"]["median"].as_f64().unwrap()
    };
    // When it is found to be in use it is known to be accessed once in seconds, or more often.
    let moving = recall("moving", "100", ("10", "20"));
    assert!(moving > 0.75, "{moving}");
    // What is armed is read before it says nothing any more, though thousands of others wait for
    // that.
    let sparse = recall("sparse", "10", ("10", "20"));
    assert!(sparse > 0.85, "{sparse}");
    // Page tables that are in use in part stay so where others of their pages are idle.
    let blocks = recall("blocks", "50", ("1", "5"));
    assert!(blocks > 0.63, "{blocks}");
}

#[test]
fn the_accuracy_on_a_simulated_machine() {
    let place = Place::new("daos-eval");
    let args = ["accuracy", "--sim", "--paddr", "--piece", "64K", "--processes", "5"];
    let options = ["--size", "160M", "--shape", "block", "--seconds", "6", "--warmup", "4"];
    let monitors = ["--runs", "1", "--monitors", "fullscan", "--format", "json"];
    let result = place.run(&[&args[..], &options, &monitors].concat()).succeeded().json();
    let [outcome] = &result.as_array().unwrap()[..] else { panic!("{result}") };
    assert_eq!(outcome["on"], "simulated physical memory");
    let recall = outcome["figures"]["recall"]["median"].as_f64();
    assert!(recall > Some(0.9), "{outcome}");
}

#[test]
fn the_accuracy_on_scenarios() {
    let place = Place::new("daos-eval");
    let args = ["accuracy", "--sim", "--size", "256M,64M", "--hot", "10%"];
    let options = ["--shape", "turning,block", "--seconds", "6", "--warmup", "2", "--runs", "1"];
    let monitors = ["--monitors", "reference,static,fullscan", "--format", "json"];
    let result = place.run(&[&args[..], &options, &monitors].concat()).succeeded().json();
    let list = result.as_array().unwrap();
    assert_eq!(list.len(), 2 * 2 * 3);
    for outcome in list {
        assert_fields(outcome, &["workload", "scenario", "budget", "monitor", "figures"]);
        assert_fields(&outcome["scenario"], &["shape", "bytes", "hot", "page"]);
        let figure = |key: &str| outcome["figures"][key]["median"].as_f64();
        let turns = outcome["scenario"]["shape"] == "turning";
        if outcome["monitor"] == "fullscan" {
            assert!(figure("recall") > Some(0.9) && figure("precision") > Some(0.9), "{outcome}");
            assert_eq!(figure("hot_most_ms").is_some(), turns, "{outcome}");
        }
        assert!(figure("cost_percent") > Some(0.0) && figure("times_cheaper") > Some(0.0));
    }
}

#[test]
fn small_blocks_in_much_memory_stay_found_however_often_they_are_used() {
    let place = Place::new("daos-eval");
    let args = ["accuracy", "--sim", "--size", "10G", "--hot", "1%", "--shape", "blocks"];
    let options = ["--rate", "50,0.5", "--seconds", "24", "--warmup", "20", "--max-overhead", "1"];
    let monitors = ["--runs", "1", "--monitors", "windows", "--format", "json"];
    let result = place.run(&[&args[..], &options, &monitors].concat()).succeeded().json();
    assert_eq!(result.as_array().unwrap().len(), 2);
    for outcome in result.as_array().unwrap() {
        let figure = |name: &str| outcome["figures"][name]["median"].as_f64();
        assert!(figure("recall") > Some(0.8) && figure("precision") > Some(0.9), "{outcome}");
    }
}
