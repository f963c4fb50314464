//! What `daos-eval accuracy` says to the `daos-eval record` that it starts.

use super::monitor;
use clap::Args;
use daos_cli::Looking;
use daos_eval::monitors::ComparedKind;
use std::path::PathBuf;

/// Record with any of the monitors that are compared, until the process ends
#[derive(Debug, Args)]
pub struct Record {
    /// The process
    #[arg(long)]
    pub pid: u32,
    /// Record what it starts, too
    #[arg(long)]
    pub children: bool,
    /// File to record to
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How to monitor
    #[arg(long, value_name = "NAME", value_parser = monitor)]
    pub monitor: ComparedKind,
    #[command(flatten)]
    pub looking: Looking,
}
