//! Recording of a simulated address space, as fast as it can be computed.

use super::header;
use super::output::Output;
use super::summary::Totals;
use crate::cli;
use anyhow::Result;
use daos_core::{AnyMonitor, SnapshotSource};
use daos_sim::{CostModel, SimOptions, SimSource, SimSpace};
use daos_workload::Config;
use std::path::Path;

/// Simulates the access pattern in `file` for its own length, or `--duration`.
pub fn run(args: &cli::Record, monitor: AnyMonitor, file: &Path) -> Result<i32> {
    let config = Config::read(file)?;
    let duration_us = args.duration.unwrap_or_else(|| config.duration_us());
    let options = SimOptions { seed: args.monitoring.looking.seed, ..SimOptions::default() };
    let space = SimSpace::new(config, options);
    let mut source = SimSource::new(monitor, space, CostModel::SAME_CPU, duration_us);

    let output = Output::open(&args.output)?;
    let target = vec!["--sim".to_owned(), file.display().to_string()];
    let mut recording = output.begin(&header(args, "sim", target, 0))?;
    let mut totals = Totals::new(&args.monitoring.looking);
    while let Some(snapshot) = source.next_snapshot()? {
        recording.snapshot(&source.changed_targets(), &snapshot)?;
        totals.add(&snapshot);
    }
    let end = totals.end("the simulation ended", None, 0);
    recording.finish(&end)?;
    if !args.quiet {
        eprintln!("daos: simulated, not measured: the times and costs are those of a model");
        totals.tell(&end, &args.output.display().to_string());
    }
    Ok(0)
}
