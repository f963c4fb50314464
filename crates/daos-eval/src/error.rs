//! What can go wrong. The message says which of the programs it was, and hands
//! on what that program said.

use daos_core::AttrsError;
use daos_linux::SwapError;
use daos_linux::temp_cgroup::CgroupError;
use daos_record::ReadError;
use daos_session::LiveError;
use daos_workload::{ConfigError, TruthError};
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum EvalError {
    /// The configuration of a workload can't be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What should print seconds printed something else.
    #[error(
        "the metric `{metric}` has to print the seconds that the work took as its last word, not {said:?}"
    )]
    Metric {
        /// The command.
        metric: String,
        /// What it printed.
        said: String,
    },
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
    /// There is not enough memory for a case.
    #[error(
        "the case {case} takes {need} MiB and some to spare, and {have} MiB are available; choose a smaller --scale, or leave the case out",
        need = .bytes >> 20, have = .available >> 20
    )]
    CaseMemory {
        /// Its name.
        case: &'static str,
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
    #[error("cannot run `{name}`: {why}")]
    Run {
        /// What was called.
        name: String,
        /// Why.
        why: io::Error,
    },
    /// A program ended in failure.
    #[error("`{name}` failed ({status}): {said}")]
    Failed {
        /// What was called.
        name: String,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error last.
        said: String,
    },
    /// A program does not end although it should.
    #[error("`{0}` did not end when it should have, and was killed")]
    Stuck(String),
    /// There was no place for records and truths.
    #[error("cannot make a temporary directory")]
    Scratch(#[source] io::Error),
    /// What the workload counted could not be read.
    #[error(transparent)]
    Truth(#[from] TruthError),
    /// What the monitor recorded could not be read.
    #[error(transparent)]
    Record(#[from] ReadError),
    /// A case needs another policy of the host.
    #[error(
        "the case ethp compares memory with and without huge pages, and this host's policy for them is `{0}`; as root, `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`, or leave the case out"
    )]
    HugePagePolicy(String),
    /// The counters of schemes could not be read.
    #[error("cannot read the counters of the schemes from {path}: {why}", path = .path.display())]
    Counters {
        /// Their file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A program ended too early to be measured.
    #[error("`{0}` ended before its time")]
    TooEarly(String),
    /// A program ended while what it does does not count yet.
    #[error(
        "`{name}` ended within the {settle_s} s of --settle; give it more work, or a shorter --settle"
    )]
    WhileSettling {
        /// The program.
        name: String,
        /// How much of its beginning does not count, in seconds.
        settle_s: f64,
    },
    /// A program ended before there was anything to compare.
    #[error(
        "`{name}` ended within the {warmup_s} s of --warmup, or was not watched behind them; give it more work, or a shorter --warmup"
    )]
    NothingToCompare {
        /// The program.
        name: String,
        /// How much of its beginning does not count, in seconds.
        warmup_s: f64,
    },
    /// A program can't be watched.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// There is no swap for a case.
    #[error(transparent)]
    Swap(#[from] SwapError),
    /// There is no cgroup for a case.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// The programs to tune for can't be found.
    #[error("cannot read the programs in {path}: {why}", path = .path.display())]
    Programs {
        /// The directory.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// There are no programs to tune for.
    #[error("there is no program in {path}, that is, no file whose name ends in .sh", path = .0.display())]
    NoPrograms(PathBuf),
    /// What `daos tune` found could not be read.
    #[error("cannot read what the tuning found from {path}: {why}", path = .path.display())]
    Tuned {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// The stop flag was set, as by Ctrl-C.
    #[error("interrupted; nothing was left running")]
    Interrupted,
}
