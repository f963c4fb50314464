//! Schemes on a simulated address space, as fast as it can be computed.

use crate::cli;
use crate::cmd::manager::simulated::Simulated;
use anyhow::Result;
use daos_monitor::AnyMonitor;
use std::path::Path;

/// Applies the schemes to the access pattern in `file`.
pub fn run(args: &cli::Apply, monitor: AnyMonitor, file: &Path) -> Result<i32> {
    let seed = args.monitoring.looking.seed;
    let mut simulated = Simulated::new(&args.schemes, monitor, file, seed, args.duration)?;
    while simulated.next_interval()?.is_some() {}
    simulated.write_stats()?;
    if !args.quiet {
        daos_cli::say!("daos: simulated, not measured: the times and costs are those of a model");
        simulated.tell();
    }
    Ok(0)
}
