//! The command line: what can be typed, and nothing of what it does.

mod accuracy;
mod record;
mod scan;
mod schemes;
mod suite;
pub mod tuning;
mod workload;

pub use accuracy::{Accuracy, Shapes};
pub use record::Record;
pub use scan::Scan;
pub use schemes::Schemes;
pub use suite::{Compare, Copy, Service, Suite};
pub use tuning::Tuning;
pub use workload::{Filled, Kind, Workload};

use clap::{Parser, Subcommand, ValueEnum};
use daos_cli::values;
use daos_eval::monitors::ComparedKind;
use std::path::PathBuf;

/// Measures daos: how accurate it is, what it costs, what schemes and tuning gain.
#[derive(Debug, Parser)]
#[command(name = "daos-eval", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// The daos to measure; by default the one beside this program, else that in PATH
    #[arg(long, value_name = "FILE", global = true)]
    pub daos: Option<PathBuf>,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare what monitors report with what workloads truly access, and say what it costs
    Accuracy(Box<Accuracy>),
    /// Say what schemes gain and what they cost, with and without them in turn
    Schemes(Schemes),
    /// Say how near to the best the tuner comes, simulated or for real programs
    Tuning(Box<Tuning>),
    /// Say what paging out what is idle saves of a server that is mostly idle
    Service(Service),
    /// Run real programs under several configurations, in turn, and make tables of it
    Suite(Box<Suite>),
    /// Show two evaluations that `suite` made side by side
    Compare(Compare),
    /// Run an access pattern on real memory (masim's configuration format)
    Workload(Workload),
    #[command(hide = true)]
    #[allow(missing_docs, reason = "nobody is offered it")]
    Record(Record),
    #[command(hide = true)]
    #[allow(missing_docs, reason = "nobody is offered it")]
    Copy(Copy),
    #[command(hide = true)]
    #[allow(missing_docs, reason = "nobody is offered it")]
    Scan(Scan),
}

/// Huge pages for a workload's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Huge {
    /// As the host is set
    Default,
    /// Ask for them
    Always,
    /// Refuse them
    Never,
}

/// The name of a monitor.
fn monitor(text: &str) -> Result<ComparedKind, String> {
    values::named(text, "monitor", ComparedKind::ALL, ComparedKind::name)
}
