//! What can be said of `daos-eval workload`.

use super::Huge;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Workload {
    /// Configuration: regions, then phases
    pub file: PathBuf,
    /// Write what was truly accessed here, a JSON line for each phase
    #[arg(long, value_name = "OUT")]
    pub truth: Option<PathBuf>,
    /// Threads that access the memory
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Huge pages for its memory
    #[arg(long, value_enum, default_value_t = Huge::Default)]
    pub thp: Huge,
    /// What the memory is
    #[arg(long, value_enum, default_value_t = Kind::Private)]
    pub memory: Kind,
    /// What is written to all of it first
    #[arg(long, value_enum, default_value_t = Filled::Touch)]
    pub fill: Filled,
    /// Accesses a second, all threads together; as many as possible otherwise
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Times to run all phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Seed of the random accesses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Filled {
    /// Nothing: a page is there from its first access on
    None,
    /// A byte of each page
    Touch,
    /// Random bytes to half of each page, so that it compresses to about half
    Half,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Anonymous memory of its own
    Private,
    /// Anonymous memory that could be shared
    Shared,
    /// Locked into memory
    Locked,
    /// A file of its own, mapped to be shared
    File,
}
