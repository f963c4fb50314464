//! Reclaiming what is not used: 1 GiB, of which 128 MiB are in use.

use super::sizes::Sizes;
use super::trial::{Configuration, Trial, ratio};
use crate::metrics::{Goal, Measurement, Unit};

/// MiB in all. Chosen.
const ALL: u64 = 1024;
/// MiB of them that are in use. Chosen: an eighth.
const HOT: u64 = 128;
/// MiB beyond these that the program may keep to reach the goal. Chosen: with it, the goal is
/// 150 MiB.
const SPARE: u64 = 22;
/// Seconds of a run. Chosen.
const SECONDS: f64 = 60.0;
/// The goal: seconds after which it is done. Chosen: thrice the age in the scheme.
const DONE: f64 = 15.0;

pub(super) fn about(sizes: &Sizes) -> String {
    format!("{} MiB, of which {} MiB are accessed at random", sizes.mib(ALL), sizes.mib(HOT))
}

pub(super) fn configurations(sizes: &Sizes) -> Vec<Configuration> {
    let (hot, cold) = (sizes.mib(HOT), sizes.mib(ALL - HOT));
    let alone = Configuration {
        name: "alone",
        workload: format!(
            "hot, {hot}M\ncold, {cold}M\n\ncount\n{}ms\nhot, random, 1, 1, rw\n",
            sizes.ms(SECONDS)
        ),
        // As compressible as what programs keep in memory.
        options: vec!["--fill=half".into()],
        ..Configuration::default()
    };
    let with_scheme = Configuration {
        name: "prcl",
        scheme: Some(sizes.scheme("prcl")),
        zram_bytes: Some((2 * (hot + cold)) << 20),
        ..alone.clone()
    };
    vec![alone, with_scheme]
}

pub(super) fn measurements(sizes: &Sizes, trials: &[Trial]) -> Vec<Measurement> {
    let [alone, with] = trials else { return Vec::new() };
    let goal_bytes = (sizes.mib(HOT) + SPARE) << 20;
    let at_most = Goal::AtMost(goal_bytes as f64);
    let done_us = with.begun_us + (DONE * 1e6) as u64;
    let after = with.time_series.at(done_us).map(|sample| sample.resident_bytes as f64);
    let last = with.last(|sample| sample.resident_bytes);
    let zram = with.last(|sample| sample.zram_bytes);
    let whole = alone.last(|sample| sample.resident_bytes);
    let saved = whole.zip(last.zip(zram));
    let saved = saved.and_then(|(whole, (last, zram))| ratio(whole - last - zram, whole));
    let (monitor, schemes) = with.costs();
    let new = Measurement::new;
    vec![
        new(
            "done_s",
            "resident set as small as below after",
            Unit::Seconds,
            with.time_series.seconds_until_at_most(goal_bytes, with.begun_us),
        )
        .with_goal(Goal::AtMost(DONE)),
        new("resident_15s", "resident after 15 s", Unit::Bytes, after).with_goal(at_most),
        new("resident", "resident at the end", Unit::Bytes, last).with_goal(at_most),
        new("resident_alone", "same, without the scheme", Unit::Bytes, whole),
        new("slowdown_percent", "slowdown", Unit::Percent, with.slowdown_percent(alone)),
        new(
            "slowdown_by_cpu_percent",
            "same, by its own CPU time",
            Unit::Percent,
            with.slowdown_by_cpu_percent(alone),
        ),
        new("swap", "in swap at the end", Unit::Bytes, with.last(|s| s.swap_bytes)),
        new("zram", "memory that this takes", Unit::Bytes, zram),
        new("saved", "memory saved, swap included", Unit::Share, saved),
        new("schemes_cpu_percent", "CPU of the scheme", Unit::Percent, schemes),
        new("monitor_cpu_percent", "CPU of monitoring", Unit::Percent, monitor),
    ]
}
