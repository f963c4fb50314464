//! Memory pressure: a program whose memory is limited to a few times its hot part, and that
//! runs over cold memory all the time. What the kernel has to find room for is always newer
//! than the hot pages, so it pages these out, though each is accessed several times as often
//! as a cold one.
//!
//! All of it is in terms of the program's own accesses, not of time, so that a machine that
//! pages faster shows the same: while eight times as many cold pages as there are hot ones
//! go by, each hot page is accessed once; there is room for a sixth of these cold pages. There is
//! so much cold memory that each of its pages is accessed a tenth as often as a hot one.

use super::sizes::Sizes;
use super::trial::{Configuration, Trial, ratio};
use crate::metrics::{Goal, Measurement, Unit};

/// MiB that are accessed at random. This and the next are chosen, as said above.
const HOT: u64 = 96;
/// MiB that are run over.
const COLD: u64 = 8192;
/// MiB of memory that there are for these.
const ROOM: u64 = 136;
/// Accesses of cold memory, a page each, for one of hot memory.
const COLD_ACCESSES: u64 = 8;
/// MiB that the program takes itself.
const OWN: u64 = 8;
/// Seconds of a run. Chosen.
const SECONDS: f64 = 45.0;
/// The share of them, the last, that counts. Chosen: what comes before settles.
const COUNTS: f64 = 2.0 / 3.0;
/// A hot page is accessed every two seconds, as fast as paging lets the program go: no
/// monitor's 25 %, but ten times the rate of a cold page. For two seconds, lest what was just
/// gone over is taken for hot.
const SCHEME: &str = "4K max 0.13 max 2s max lock";

/// The goal for the pressure: at most this share of the hot pages is resident without the
/// scheme. Chosen.
const MOST_ALONE: f64 = 0.8;
/// The goal for the scheme: at least this share of them is. Chosen.
const LEAST: f64 = 0.95;

pub(super) fn about(sizes: &Sizes) -> String {
    format!(
        "{} MiB accessed at random, {} MiB run over, {} MiB of memory",
        sizes.mib(HOT),
        sizes.mib(COLD),
        limit_mib(sizes)
    )
}

fn limit_mib(sizes: &Sizes) -> u64 {
    sizes.mib(HOT) + sizes.mib(ROOM) + OWN
}

/// Everything may have to go there.
pub(super) fn swap_bytes(sizes: &Sizes) -> u64 {
    (2 * (sizes.mib(HOT) + sizes.mib(COLD))) << 20
}

pub(super) fn configurations(sizes: &Sizes) -> Vec<Configuration> {
    let (hot, ms) = (sizes.mib(HOT), sizes.ms(SECONDS));
    // It has to be of another size: by that the hot part is found.
    let cold = sizes.mib(COLD).max(hot + 2);
    let counts = (ms as f64 * COUNTS).round() as u64;
    let phase = |phase: &str, ms: u64| {
        let ms = ms.max(1);
        format!(
            "{phase}\n{ms}ms\nhot, random, 1, 1, rw\ncold, stride, 4096, {COLD_ACCESSES}, rw\n\n"
        )
    };
    let alone = Configuration {
        name: "alone",
        workload: format!(
            "hot, {hot}M\ncold, {cold}M\n\n{}{}",
            phase("settle", ms - counts),
            phase("count", counts)
        ),
        options: vec!["--fill=half".into()],
        limit_bytes: Some(limit_mib(sizes) << 20),
        watched_bytes: Some(hot << 20),
        ..Configuration::default()
    };
    let with_scheme =
        Configuration { name: "lock", scheme: Some(sizes.scheme(SCHEME)), ..alone.clone() };
    // With a monitor beside it, and some CPU awake for it, paging alone goes at another speed.
    let scheme = Some("min max min max min max stat".to_owned());
    let watched = Configuration { name: "only watched", scheme, ..alone.clone() };
    vec![alone, watched, with_scheme]
}

pub(super) fn measurements(trials: &[Trial]) -> Vec<Measurement> {
    let [alone, watched, with] = trials else { return Vec::new() };
    let speed = |trial: &Trial| trial.accesses_per_sec(Some("hot"));
    let gain = |before| speed(with).zip(speed(before)).and_then(|(a, b)| ratio(a, b));
    let least = |trial: &Trial| trial.watched_share().map(|(least, _)| least);
    let middle = |trial: &Trial| trial.watched_share().map(|(_, middle)| middle);
    let killed = |trial: &Trial| {
        let is_over = trial.is_killed || trial.counted.is_some();
        is_over.then_some(if trial.is_killed { 1.0 } else { 0.0 })
    };
    let (monitor, schemes) = with.costs();
    let new = Measurement::new;
    vec![
        new("resident_alone", "hot pages resident, alone", Unit::Share, middle(alone))
            .with_goal(Goal::AtMost(MOST_ALONE)),
        new("least_resident_alone", "  at least", Unit::Share, least(alone)),
        new("resident", "hot pages resident, lock", Unit::Share, middle(with)),
        new("least_resident", "  at least", Unit::Share, least(with))
            .with_goal(Goal::AtLeast(LEAST)),
        new("killed_alone", "killed for lack of memory, alone", Unit::Number, killed(alone)),
        new("killed", "  lock", Unit::Number, killed(with)).with_goal(Goal::AtMost(0.0)),
        new("rate_alone", "hot accesses a second, alone", Unit::Number, speed(alone)),
        new("rate_watched", "  only watched", Unit::Number, speed(watched)),
        new("rate", "  lock", Unit::Number, speed(with)),
        new("speed", "speed with lock, of that alone", Unit::Share, gain(alone)),
        new("speed_of_watched", "  of that only watched", Unit::Share, gain(watched)),
        new("schemes_cpu_percent", "CPU of the scheme", Unit::Percent, schemes),
        new("monitor_cpu_percent", "CPU of monitoring", Unit::Percent, monitor),
    ]
}
