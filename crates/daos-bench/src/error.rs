//! What can go wrong. The message says which of the programs it was, and hands
//! on what that program said.

use daos_core::AttrsError;
use daos_record::ReadError;
use daos_workload::{ConfigError, TruthError};
use std::io;
use std::process::ExitStatus;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum BenchError {
    /// The configuration of a workload can't be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such scenario.
    #[error("no scenario can have {0}")]
    Scenario(String),
    /// A scenario that real memory can't have.
    #[error("{0}: its mappings can only be simulated; add --sim")]
    SimulatedOnly(String),
    /// There is not enough memory.
    #[error(
        "the workload takes {need} MiB and some to spare, and {have} MiB are available; choose a smaller --size, or add --sim",
        need = .bytes >> 20, have = .available >> 20
    )]
    Memory {
        /// What it takes.
        bytes: u64,
        /// What there is.
        available: u64,
    },
    /// The kernel does not say how much memory there is.
    #[error("cannot read /proc/meminfo")]
    Meminfo(#[source] io::Error),
    /// No monitor works with these attributes.
    #[error(transparent)]
    Attrs(#[from] AttrsError),
    /// A program could not be started or waited for.
    #[error("cannot run `daos {name}`")]
    Run {
        /// Its subcommand.
        name: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A program ended in failure.
    #[error("`daos {name}` failed ({status}): {said}")]
    Failed {
        /// Its subcommand.
        name: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error last.
        said: String,
    },
    /// A program does not end although it should.
    #[error("`daos {0}` did not end when it should have, and was killed")]
    Stuck(&'static str),
    /// There was no place for records and truths.
    #[error("cannot make a temporary directory")]
    Scratch(#[source] io::Error),
    /// What the workload counted could not be read.
    #[error(transparent)]
    Truth(#[from] TruthError),
    /// What the monitor recorded could not be read.
    #[error(transparent)]
    Record(#[from] ReadError),
    /// The stop flag was set, as by Ctrl-C.
    #[error("interrupted; nothing was left running")]
    Interrupted,
}
