//! `daos-eval record`: what `daos record` does, with a monitor that `daos` does not have.

use crate::cli;
use anyhow::Result;
use daos_cli::{Usage, signals};
use daos_core::AccessCheck;
use daos_eval::monitors::ComparedMonitor;
use daos_linux::host;
use daos_record::{Destination, End, Header};
use daos_session::{ActiveSchemes, Session, Targets};

/// Records until the process ends, or until Ctrl-C.
pub fn run(args: &cli::Record) -> Result<i32> {
    let cli::Record { pid, children, output, monitor, looking } = args;
    let compared = ComparedMonitor::new(*monitor, looking.attrs(), looking.options(), looking.seed)
        .map_err(|err| Usage(err.to_string()))?;
    let targets = Targets::open(&[*pid], *children, false, looking.max_overhead)?;
    let destination = Destination::open(output)?;

    let live = targets.watch(None, compared, None, signals::stop_flag(None)?)?;
    let mut end = End { setup_cpu_us: live.setup_cpu_us, ..End::default() };
    let backend = live.memory().capabilities().name;
    let mut writer = destination.begin(&header(args, backend, live.start_us()))?;
    let mut session = Session::new(live, ActiveSchemes::default());
    while let Some(interval) = session.next_interval()? {
        for target in session.changed_targets() {
            writer.target(&target)?;
        }
        writer.interval(&interval)?;
        let snapshot = &interval.snapshot;
        end.snapshots += 1;
        end.checks += snapshot.cost.checks.windows();
        end.late_ticks += u64::from(snapshot.cost.late_ticks);
        end.missed_ticks += u64::from(snapshot.cost.missed_ticks);
        end.cpu_us += snapshot.cost.cpu_us;
        end.elapsed_us = snapshot.end_us;
    }
    end.reason = "the target ended, or it was interrupted".to_owned();
    end.peak_rss_bytes = host::my_peak_rss();
    writer.finish(&end)?;
    Ok(0)
}

/// The facts of a recording that starts now.
fn header(args: &cli::Record, backend: &str, start_monotonic_us: u64) -> Header {
    let cli::Record { pid, monitor, looking, .. } = args;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Header {
        daos_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now.map_or(0, |since| since.as_secs()),
        start_monotonic_us,
        attrs: looking.attrs().in_whole_ticks(),
        seed: looking.seed,
        monitor: monitor.name().to_owned(),
        max_overhead_percent: None,
        auto_intervals: false,
        backend: backend.to_owned(),
        command: vec![format!("--pid {pid}")],
        schemes: Vec::new(),
        host: host::here(),
    }
}
