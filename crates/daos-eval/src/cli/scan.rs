//! What `daos-eval suite` says to the `daos-eval scan` that it starts.

use clap::Args;
use daos_cli::values;

/// Scan all pages of a process and of what it starts, again and again, until it ends
#[derive(Debug, Args)]
pub struct Scan {
    /// The process
    #[arg(long)]
    pub pid: u32,
    /// From one scan to the next
    #[arg(long, value_name = "TIME", value_parser = values::seconds_us)]
    pub every: u64,
}
