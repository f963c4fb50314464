//! `daos record`: monitors a target and records what it sees.

mod live;
mod output;
mod simulated;
mod summary;

use crate::Usage;
use crate::cli::{self, Backend};
use anyhow::Result;
use daos_core::AnyMonitor;
use daos_record::Header;

/// Records until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Record) -> Result<i32> {
    let attrs = args.monitoring.attrs();
    let (options, seed) = (args.monitoring.options(), args.monitoring.seed);
    let monitor = AnyMonitor::new(args.monitoring.monitor, attrs, options, seed)
        .map_err(|err| Usage(err.to_string()))?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 records nothing; give a time such as 20s".into()).into());
    }
    match (&args.target.forms.sim, args.monitoring.backend) {
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

/// The facts of a recording that starts now.
fn header(
    args: &cli::Record,
    backend: &str,
    target: Vec<String>,
    start_monotonic_us: u64,
) -> Header {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Header {
        daos_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now.map_or(0, |since| since.as_secs()),
        start_monotonic_us,
        attrs: args.monitoring.attrs().in_whole_ticks(),
        seed: args.monitoring.seed,
        monitor: args.monitoring.monitor.name().to_owned(),
        backend: backend.to_owned(),
        command: target,
        host: daos_linux::host::here(),
    }
}
