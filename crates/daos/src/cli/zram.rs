//! What can be said of swap on the command line.

use clap::{Args, value_parser};
use daos_cli::values::{bytes, swap_bytes};
use daos_linux::SwapOptions;

/// Swap to compressed memory.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Zram {
    /// Swap to compressed memory: sets up a zram device of this size, such as 4G, and takes
    /// it away at the end. It is the machine's: other processes use it too
    #[arg(id = "zram", long = "zram", value_name = "SIZE", value_parser = swap_bytes)]
    pub bytes: Option<u64>,
    /// Most memory that it may take; what would be more is not swapped out
    /// [default: its size, or half of the machine's memory if that is less]
    #[arg(id = "zram-limit", long = "zram-limit", value_name = "SIZE", value_parser = limit,
          requires = "zram", conflicts_with = "sim")]
    pub limit_bytes: Option<u64>,
    /// Its priority: the kernel fills swap of the highest first [default: 32767, the highest]
    #[arg(id = "zram-priority", long = "zram-priority", value_name = "N", requires = "zram",
          value_parser = value_parser!(u16).range(..=i64::from(SwapOptions::FIRST)),
          conflicts_with = "sim")]
    pub priority: Option<u16>,
}

/// A bound on the memory that it takes.
fn limit(text: &str) -> Result<u64, String> {
    let bytes = bytes(text)?;
    SwapOptions::check_limit(bytes).map_err(|err| err.to_string())?;
    Ok(bytes)
}

impl Zram {
    /// What is asked for, if anything is.
    pub fn options(&self) -> Option<SwapOptions> {
        let options = SwapOptions::new(self.bytes?);
        let priority = self.priority.unwrap_or(options.priority);
        Some(SwapOptions { limit_bytes: self.limit_bytes, priority, ..options })
    }
}
