//! Why there is no evaluation, or none of a workload.

use crate::error::EvalError;
use daos_linux::SwapError;
use daos_linux::halves::FewCpus;
use daos_linux::temp_cgroup::CgroupError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub enum SuiteError {
    /// A file can't be read.
    #[error("cannot read {path}: {why}", path = .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A file can't be written.
    #[error("cannot write {path}: {why}", path = .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        why: io::Error,
    },
    /// A suite makes no sense.
    #[error("the suite {path}: {why}", path = .path.display())]
    Suite {
        /// Its file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no such workload.
    #[error("there is no workload {name:?} in the suite; there are {there_are}")]
    UnknownWorkload {
        /// What was asked for.
        name: String,
        /// Those that there are.
        there_are: String,
    },
    /// There is no such configuration.
    #[error(
        "there is no configuration {name:?}; there are {there_are}, and any file of schemes, or NAME=SCHEME, or NAME=DIR with a file for each workload"
    )]
    UnknownConfiguration {
        /// What was asked for.
        name: String,
        /// Those that there are.
        there_are: String,
    },
    /// A configuration is there twice, or its name will not do.
    #[error("configuration {name:?}: {why}")]
    Configuration {
        /// What was asked for.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// This `daos` can't do what a configuration is.
    #[error("this daos cannot do {name}: {why}")]
    Unsupported {
        /// The configuration.
        name: String,
        /// What is missing.
        why: String,
    },
    /// Programs are not there.
    #[error("{0}")]
    Missing(String),
    /// Only root can do this.
    #[error(
        "an evaluation drops caches, sets the policy for huge pages and watches programs: run it as root"
    )]
    NotRoot,
    /// Another evaluation would disturb this one.
    #[error(
        "another evaluation is running on this machine (process {0}); two would measure each other: wait for that one, or end it"
    )]
    Another(String),
    /// The directory holds something else.
    #[error("{path} {why}; choose another --out", path = .path.display())]
    Mismatch {
        /// The directory.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// A setting of the host can't be changed.
    #[error("cannot set {path} to {value:?}: {why}", path = .path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// What was to be written.
        value: String,
        /// Why not.
        why: String,
    },
    /// What was changed of the host can't be put back: what is left, and what to do.
    #[error("cannot put the host back as it was: {0}")]
    NotPutBack(String),
    /// A workload or its set-up failed.
    #[error("{what} failed ({how}): {said} (see {log})", log = .log.display())]
    Failed {
        /// The workload, or its set-up.
        what: String,
        /// How it ended.
        how: String,
        /// What it said last.
        said: String,
        /// All that it said.
        log: PathBuf,
    },
    /// A copy of a pair failed.
    #[error("the copy in {name}: {why}")]
    Copy {
        /// The configuration that it was in.
        name: String,
        /// What it said.
        why: String,
    },
    /// There are not two halves of the CPUs.
    #[error("{0}: leave --pairs out")]
    FewCpus(#[from] FewCpus),
    /// Workloads can't run twice at once.
    #[error(
        "{0} cannot run twice at once (`pairs = false` in the suite, or a directory that both would have): leave --pairs out, or run other workloads"
    )]
    NoPairs(String),
    /// A run took far too long.
    #[error("it did not end within {0:.0} s, and was killed")]
    TooLong(f64),
    /// A run is not possible yet.
    #[error("{0}")]
    NotYet(String),
    /// There is not enough memory.
    #[error("it takes about {need} MiB, and {have} MiB are available", need = .need >> 20, have = .have >> 20)]
    Memory {
        /// What it takes, in bytes.
        need: u64,
        /// What there is, in bytes.
        have: u64,
    },
    /// There is no swap.
    #[error(transparent)]
    Swap(#[from] SwapError),
    /// There is no cgroup.
    #[error(transparent)]
    Cgroup(#[from] CgroupError),
    /// A program could not be run.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

impl SuiteError {
    /// What is wrong, where no log of it is kept.
    pub(crate) fn without_log(&self) -> String {
        match self {
            Self::Failed { what, how, said, .. } => format!("{what} failed ({how}): {said}"),
            other => other.to_string(),
        }
    }

    /// Whether all has to end, and not just this run.
    pub(crate) fn ends_all(&self) -> bool {
        matches!(
            self,
            Self::Eval(EvalError::Interrupted)
                | Self::Write { .. }
                | Self::Host { .. }
                | Self::NotPutBack(_)
        )
    }

    /// Whether what was asked for is wrong.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::UnknownWorkload { .. }
                | Self::UnknownConfiguration { .. }
                | Self::Configuration { .. }
                | Self::FewCpus(_)
                | Self::NoPairs(_)
        )
    }
}
