//! `daos-eval scan`: what reading all pages costs, beside a program.

use crate::cli;
use anyhow::Result;
use daos_cli::signals;
use daos_eval::accuracy::programs::scan_beside;

/// Scans until the process ends, or until it is asked to end.
pub fn run(args: &cli::Scan) -> Result<i32> {
    scan_beside(args.pid, args.every, signals::stop_flag(None)?)?;
    Ok(0)
}
