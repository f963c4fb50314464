//! Monitors that `daos` does not have, on real memory.

use daos_testing::{Place, eventually};
use test_tag::tag;

#[tag(root)]
#[test]
fn all_monitors_are_compared() {
    let place = Place::new("daos-eval");
    let options = ["--workload", "load.cfg", "--thp", "never", "--runs", "1", "--warmup", "2"];
    let monitors = ["--seconds", "6", "--monitors", "fullscan,static", "--format", "json"];
    std::fs::write(place.path("load.cfg"), "cold, 48M\nhot, 16M\n\nbusy\n30s\nhot, random, 1, 1\n")
        .expect("a file can be written");
    eventually(|| {
        let list = place.run(&[&["accuracy"], &options[..], &monitors].concat()).succeeded().json();
        let recall = |at: usize| list[at]["figures"]["recall"]["median"].as_f64();
        assert_eq!(list[1]["monitor"], "static");
        assert!(recall(0) > Some(0.6) && recall(1).is_some(), "{list}");
    });
}
