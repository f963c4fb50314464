//! Programs that use all of their memory: nothing is idle, so nothing should be reclaimed.
//!
//! One accesses it as fast as it can. The other leaves each page alone for half a second
//! on average: too seldom to be seen in most samples, often enough not to be idle.

use super::sizes::Sizes;
use super::trial::{Configuration, Trial, ratio};
use crate::metrics::{Measurement, Unit};

/// MiB in all. Chosen.
const ALL: u64 = 512;
/// Accesses of a page a second, of the slow one. Chosen: too few to be hot.
const SLOW_RATE: u64 = 2;
/// Seconds of a run. Chosen.
const SECONDS: f64 = 30.0;
/// Pages in a MiB.
const PAGES: u64 = 256;

pub(super) fn about(sizes: &Sizes) -> String {
    let mib = sizes.mib(ALL);
    format!(
        "{mib} MiB, all accessed at random: at full speed; {SLOW_RATE} times a second each page"
    )
}

pub(super) fn configurations(sizes: &Sizes) -> Vec<Configuration> {
    let mib = sizes.mib(ALL);
    let full = Configuration {
        name: "full speed, alone",
        workload: format!("all, {mib}M\n\ncount\n{}ms\nall, random, 1, 1, rw\n", sizes.ms(SECONDS)),
        options: vec!["--fill=half".into()],
        ..Configuration::default()
    };
    let mut slow = Configuration { name: "slow, alone", ..full.clone() };
    slow.options.push(format!("--rate={}", SLOW_RATE * mib * PAGES));
    let with_scheme = |name, alone: &Configuration| Configuration {
        name,
        scheme: Some(sizes.scheme("prcl")),
        zram_bytes: Some((2 * mib) << 20),
        ..alone.clone()
    };
    let full_with = with_scheme("full speed, prcl", &full);
    let slow_with = with_scheme("slow, prcl", &slow);
    vec![full, full_with, slow, slow_with]
}

pub(super) fn measurements(trials: &[Trial]) -> Vec<Measurement> {
    let [full, full_with, slow, slow_with] = trials else { return Vec::new() };
    let share = |with: &Trial, alone: &Trial| {
        let reclaimed = with.counters.as_ref()?.applied_bytes();
        ratio(reclaimed as f64, alone.last(|sample| sample.resident_bytes)?)
    };
    let bytes = |with: &Trial| with.counters.as_ref().map(|c| c.applied_bytes() as f64);
    let cpu = |trial: &Trial| trial.cpu_percent().map(|(_, all)| all);
    let (full_cpu, slow_cpu) = (full_with.costs(), slow_with.costs());
    let new = Measurement::new;
    vec![
        new("full_reclaimed", "full speed: reclaimed", Unit::Bytes, bytes(full_with)),
        new("full_share", "  of its memory", Unit::Share, share(full_with, full)),
        new("full_slowdown_percent", "  slowdown", Unit::Percent, full_with.slowdown_percent(full)),
        new(
            "full_slowdown_by_cpu_percent",
            "  same, by its own CPU time",
            Unit::Percent,
            full_with.slowdown_by_cpu_percent(full),
        ),
        new("full_schemes_cpu_percent", "  CPU of the scheme", Unit::Percent, full_cpu.1),
        new("full_monitor_cpu_percent", "  CPU of monitoring", Unit::Percent, full_cpu.0),
        new("slow_reclaimed", "slow: reclaimed", Unit::Bytes, bytes(slow_with)),
        new("slow_share", "  of its memory", Unit::Share, share(slow_with, slow)),
        new("slow_slowdown_percent", "  slowdown", Unit::Percent, slow_with.slowdown_percent(slow)),
        // Its speed is held, so what it is disturbed by shows here first.
        new("slow_cpu_percent", "  its own CPU", Unit::Percent, cpu(slow_with)),
        new("slow_cpu_alone_percent", "  same, without", Unit::Percent, cpu(slow)),
        new("slow_schemes_cpu_percent", "  CPU of the scheme", Unit::Percent, slow_cpu.1),
        new("slow_monitor_cpu_percent", "  CPU of monitoring", Unit::Percent, slow_cpu.0),
    ]
}
