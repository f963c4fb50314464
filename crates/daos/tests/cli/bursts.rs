//! Memory that is used in bursts, simulated: it is in use between them, too.

use daos_testing::Place;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// The shares of snapshots, from `from` seconds on, in which nine tenths of the first `hot` bytes
/// were told to be accessed once in ten seconds or more often, and in which a tenth of all else
/// was; and the share of the former that was in the last. It is used for 60 ms of each second, so
/// many times.
fn told(hot: u64, cold: u64, times: usize, from_s: u64) -> (f64, f64, f64) {
    let place = Place::new("daos");
    let burst = "at work\n60ms\nhot, stride, 4096, 1\n\nwaiting\n940ms\n\n".repeat(times);
    let pattern = format!("hot, {hot}\ncold, {cold}\n\n{burst}over\n{}s\n", 40 - times);
    std::fs::write(place.path("bursts.cfg"), pattern).unwrap();
    place.run(&["record", "-q", "--sim", "bursts.cfg", "-d", "40s"]).succeeded();
    let snapshots = place.run(&["report", "regions", "--format", "json"]).succeeded().json();
    let number = |value: &Value| value.as_u64().unwrap();
    let late = snapshots.as_array().unwrap().iter();
    let late: Vec<&Value> = late.filter(|s| number(&s["end_us"]) > from_s * 1_000_000).collect();
    let start = number(&late[0]["regions"][0]["start"]);
    let (mut found, mut wrong, mut last) = (0.0, 0.0, 0.0);
    for snapshot in &late {
        let mut told = [0, 0];
        for region in snapshot["regions"].as_array().unwrap() {
            // The chance of an access in 5 ms.
            if region["access_rate"].as_f64() >= Some(0.0005) {
                let (from, to) = (number(&region["start"]), number(&region["end"]));
                let of_hot = to.min(start + hot).saturating_sub(from);
                told[0] += of_hot;
                told[1] += to - from - of_hot;
            }
        }
        found += f64::from(u8::from(told[0] * 10 >= hot * 9));
        wrong += f64::from(u8::from(told[1] * 10 >= cold));
        last = told[0] as f64 / hot as f64;
    }
    (found / late.len() as f64, wrong / late.len() as f64, last)
}

/// Known page by page; and more than that.
const SIZES: [(u64, u64); 2] = [(128 * MIB, 896 * MIB), (512 * MIB, 3584 * MIB)];

#[test]
fn what_is_used_once_a_second_in_a_moment_is_in_use() {
    for (hot, cold) in SIZES {
        let (found, wrong, _) = told(hot, cold, 39, 10);
        assert!(found > 0.97 && wrong < 0.02, "{found}, {wrong} of {}", hot + cold);
    }
}

#[test]
fn it_is_idle_once_that_is_over() {
    for (hot, cold) in SIZES {
        let (_, _, last) = told(hot, cold, 15, 39);
        assert!(last < 0.05, "{last} of {}", hot + cold);
    }
}
