//! Huge pages: a space in which one page of each huge page was touched once, and a hot part
//! that is accessed at random, which is what the TLB is too small for.
//!
//! Compared with no huge pages, and with huge pages for all of it.

use super::sizes::Sizes;
use super::trial::{Configuration, Trial, ratio};
use crate::error::EvalError;
use crate::metrics::{Goal, Measurement, Unit};
use daos_linux::support::HugePages;
use std::path::Path;

/// MiB of the hot part. Chosen: more than a TLB reaches with small pages.
const HOT: u64 = 512;
/// MiB of each of the parts before and behind it. Chosen: a round of the workload (1024
/// accesses) touches all of one, so that a phase of a millisecond does.
const SPARSE: u64 = 1792;
/// Seconds of a run. Chosen.
const SECONDS: f64 = 45.0;
/// The share of them, the last, that counts. Chosen: huge pages come in slowly at first, as a
/// hypervisor backs them when they are touched.
const COUNTS: f64 = 1.0 / 3.0;
/// The goal: at least this share of what huge pages everywhere gain. Chosen.
const LEAST_GAIN: f64 = 0.8;
/// The goal: at most this share of the memory that huge pages everywhere take. Chosen.
const MOST_BLOAT: f64 = 0.1;

pub(super) fn about(sizes: &Sizes) -> String {
    let (hot, sparse) = (sizes.mib(HOT), sizes.mib(SPARSE));
    format!(
        "{} MiB, of which {hot} MiB are accessed at random, and of the rest a page in 2 MiB was \
         touched once",
        hot + 2 * sparse
    )
}

/// Where the host gives huge pages to all memory, or to none, there is nothing to compare.
pub(super) fn refuse() -> Result<(), EvalError> {
    let policy = HugePages::read(Path::new("/sys")).enabled;
    if policy == "madvise" { Ok(()) } else { Err(EvalError::HugePagePolicy(policy)) }
}

pub(super) fn configurations(sizes: &Sizes) -> Vec<Configuration> {
    let (hot, sparse, ms) = (sizes.mib(HOT), sizes.mib(SPARSE), sizes.ms(SECONDS));
    let counts = (ms as f64 * COUNTS).round() as u64;
    let touch = |part: &str| format!("touch {part}\n1ms\n{part}, stride, 2M, 1, wo\n\n");
    let access = |phase: &str, ms| format!("{phase}\n{ms}ms\nhot, random, 1, 1, rw\n\n");
    let never = Configuration {
        name: "regular pages",
        workload: format!(
            "before, {sparse}M\nhot, {hot}M\nbehind, {sparse}M\n\n{}{}{}{}",
            touch("before"),
            touch("behind"),
            access("warm up", (ms - counts).max(1)),
            access("count", counts.max(1)),
        ),
        options: vec!["--fill=none".into(), "--thp=default".into()],
        ..Configuration::default()
    };
    let always = Configuration {
        name: "huge pages",
        options: vec!["--fill=none".into(), "--thp=always".into()],
        ..never.clone()
    };
    let with_scheme =
        Configuration { name: "ethp", scheme: Some(sizes.scheme("ethp")), ..never.clone() };
    vec![never, always, with_scheme]
}

pub(super) fn measurements(trials: &[Trial]) -> Vec<Measurement> {
    let [never, always, with] = trials else { return Vec::new() };
    let rate = |trial: &Trial| trial.accesses_per_sec(None);
    let more = |trial: &Trial| Some(rate(trial)? - rate(never)?);
    let gain = |trial: &Trial| Some(100.0 * ratio(more(trial)?, rate(never)?)?);
    let gain_share = more(with).zip(more(always)).and_then(|(a, b)| ratio(a, b));
    let bloat = |trial: &Trial| Some(trial.resident_bytes()? - never.resident_bytes()?);
    let bloat_share = bloat(with).zip(bloat(always)).and_then(|(a, b)| ratio(a, b));
    let system = |trial: &Trial| trial.cpu_percent().map(|(system, _)| system);
    let (monitor, schemes) = with.costs();
    let new = Measurement::new;
    vec![
        new("rate_never", "accesses a second, regular pages", Unit::Millions, rate(never)),
        new("rate_always", "  huge pages", Unit::Millions, rate(always)),
        new("rate", "  ethp", Unit::Millions, rate(with)),
        new("gain_always_percent", "gain of huge pages", Unit::Percent, gain(always)),
        new("gain_percent", "  of ethp", Unit::Percent, gain(with)),
        new("gain_share", "  ethp's share", Unit::Share, gain_share)
            .with_goal(Goal::AtLeast(LEAST_GAIN)),
        new("resident_never", "resident, regular pages", Unit::Bytes, never.resident_bytes()),
        new("bloat_always", "bloat of huge pages", Unit::Bytes, bloat(always)),
        new("bloat", "  of ethp", Unit::Bytes, bloat(with)),
        new("bloat_share", "  ethp's share", Unit::Share, bloat_share)
            .with_goal(Goal::AtMost(MOST_BLOAT)),
        new("system_never_percent", "system time, regular pages", Unit::Percent, system(never)),
        new("system_always_percent", "  huge pages", Unit::Percent, system(always)),
        new("system_percent", "  ethp", Unit::Percent, system(with)),
        new("schemes_cpu_percent", "CPU of the scheme", Unit::Percent, schemes),
        new("monitor_cpu_percent", "CPU of monitoring", Unit::Percent, monitor),
    ]
}
