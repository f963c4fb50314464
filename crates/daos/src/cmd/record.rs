//! `daos record`: monitors a target and records what it sees.

mod live;
mod output;
mod simulated;
mod summary;

use crate::cli;
use crate::cmd::monitoring;
use anyhow::Result;
use daos_cli::Usage;
use daos_record::Header;

/// Records until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Record) -> Result<i32> {
    let monitor = monitoring::monitor(&args.monitoring)?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 records nothing; give a time such as 20s".into()).into());
    }
    match monitoring::simulated(&args.target, &args.monitoring)? {
        Some(file) => simulated::run(args, monitor, file),
        None => live::run(args, monitor),
    }
}

/// The facts of a recording that starts now.
fn header(
    args: &cli::Record,
    backend: &str,
    target: Vec<String>,
    schemes: Vec<String>,
    start_monotonic_us: u64,
) -> Header {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let cli::Monitoring { monitor, looking } = &args.monitoring;
    Header {
        daos_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now.map_or(0, |since| since.as_secs()),
        start_monotonic_us,
        attrs: looking.attrs().in_whole_ticks(),
        seed: looking.seed,
        monitor: monitor.name().to_owned(),
        max_overhead_percent: looking.max_overhead.map(percent),
        auto_intervals: looking.auto_intervals,
        backend: backend.to_owned(),
        command: target,
        schemes,
        host: daos_linux::host::here(),
    }
}

/// A share in percent, as it was typed: no more than nine decimals.
fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}
