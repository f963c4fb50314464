//! What is planned: for which programs a scheme is tuned, and how they are run.

use super::program::Program;
use super::trial::TrialSettings;
use daos_tune::Method;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How long a tuning may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many samples, those without a scheme included.
    Samples(u32),
    /// Microseconds.
    TimeUs(u64),
}

/// What to run.
#[derive(Debug)]
pub struct ProgramsPlan {
    /// The programs.
    pub programs: Vec<Program>,
    /// The scheme, as it is: whatever `daos apply --scheme` takes.
    pub scheme: String,
    /// How long it may be tuned for each program.
    pub limit: Limit,
    /// What is tuned, as `daos tune --param` takes it; empty: what that does by itself.
    pub params: Vec<String>,
    /// Most of the performance that may be lost, as a share; as `daos tune` has it else.
    pub max_loss: Option<f64>,
    /// A command of the shell that reads what a program printed and prints, as its last word,
    /// the seconds that its work took; `None`: from its start to its end.
    pub metric: Option<String>,
    /// How much of a run's beginning does not count, in microseconds: what a program sets up.
    pub settle_us: u64,
    /// How the best is searched; `None`: what `daos tune` does by itself.
    pub method: Option<Method>,
    /// Compressed swap for the schemes, in bytes.
    pub zram_bytes: Option<u64>,
    /// As whom programs run; `None`: as `daos tune` has it.
    pub user: Option<String>,
    /// Whether what a program starts counts, too, and the scheme is applied to that.
    pub children: bool,
    /// Whether it is tuned in pairs: each sample is compared with a copy that runs beside it.
    pub pairs: bool,
    /// Rounds.
    pub runs: u32,
    /// A directory in which each program's tuning is kept, by its name; one that is there
    /// goes on. `None`: nothing is kept.
    pub out: Option<PathBuf>,
    /// The `daos` to run.
    pub daos: PathBuf,
    /// Set from outside to end early.
    pub stop: Arc<AtomicBool>,
}

impl ProgramsPlan {
    /// How each of its trials is run.
    pub(super) fn settings(&self) -> TrialSettings<'_> {
        let settle_s = self.settle_us as f64 / 1e6;
        TrialSettings {
            daos: &self.daos,
            metric: self.metric.as_deref(),
            settle_s,
            children: self.children,
            stop: &self.stop,
        }
    }
}
