//! `daos record`: monitors a target and records what it sees.

mod live;
mod output;
mod simulated;
mod summary;

use crate::Usage;
use crate::cli::{self, Backend};
use anyhow::Result;
use daos_core::{AnyMonitor, MonitorOptions};
use daos_record::Header;

/// Records until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Record) -> Result<i32> {
    let monitor = monitor(&args.monitoring)?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 records nothing; give a time such as 20s".into()).into());
    }
    match (&args.target.forms.sim, args.monitoring.looking.backend) {
        (Some(file), Backend::Auto | Backend::Sim) => simulated::run(args, monitor, file),
        (Some(_), Backend::Ebpf) => {
            Err(Usage("--sim is simulated; leave out --backend ebpf".into()).into())
        }
        (None, Backend::Sim) => {
            Err(Usage("--backend sim takes an access pattern: give --sim FILE".into()).into())
        }
        (None, Backend::Auto | Backend::Ebpf) => live::run(args, monitor),
    }
}

/// The monitor asked for, if it can do what is asked of it.
pub fn monitor(cli::Monitoring { monitor, looking }: &cli::Monitoring) -> Result<AnyMonitor> {
    let options = looking.options();
    let MonitorOptions { max_overhead, auto_intervals } = options;
    let asked = [("--max-overhead", max_overhead.is_some()), ("--auto-intervals", auto_intervals)];
    let unheeded = asked.into_iter().find(|(_, asked)| *asked && !monitor.heeds_options());
    if let Some((option, _)) = unheeded {
        let name = monitor.name();
        return Err(Usage(format!(
            "the {name} monitor does not heed {option}; leave {option} out, or use --monitor windows"
        ))
        .into());
    }
    let monitor = AnyMonitor::new(*monitor, looking.attrs(), options, looking.seed);
    monitor.map_err(|err| Usage(err.to_string()).into())
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
