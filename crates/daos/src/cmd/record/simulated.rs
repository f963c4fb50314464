//! Recording of a simulated address space, as fast as it can be computed.

use super::header;
use super::output::Output;
use super::summary::Totals;
use crate::cli;
use crate::cmd::manager::simulated::Simulated;
use anyhow::Result;
use daos_monitor::AnyMonitor;
use std::path::Path;

/// Simulates the access pattern in `file` for its own length, or `--duration`.
pub fn run(args: &cli::Record, monitor: AnyMonitor, file: &Path) -> Result<i32> {
    let seed = args.monitoring.looking.seed;
    let mut simulated = Simulated::new(&args.schemes, monitor, file, seed, args.duration)?;
    let output = Output::open(&args.output)?;
    let target = vec!["--sim".to_owned(), file.display().to_string()];
    let mut recording = output.begin(&header(args, "sim", target, simulated.labels(), 0))?;
    let mut totals = Totals::new(&args.monitoring.looking);
    while let Some(interval) = simulated.next_interval()? {
        recording.interval(&simulated.changed_targets(), &interval)?;
        totals.add(&interval.snapshot);
    }
    let end = totals.end("the simulation ended", None, 0, simulated.outcome());
    recording.finish(&end)?;
    simulated.write_stats()?;
    if !args.quiet {
        daos_cli::say!("daos: simulated, not measured: the times and costs are those of a model");
        totals.tell(&end, &args.output.display().to_string());
        simulated.tell();
    }
    Ok(0)
}
