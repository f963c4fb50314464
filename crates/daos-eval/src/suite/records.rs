//! What `daos record` wrote beside workloads, where that is kept.

use super::configuration::Configuration;
use super::error::SuiteError;
use super::results::Results;
use super::script::make_dir;
use super::store::Store;
use super::workload::Workload;
use std::path::{Path, PathBuf};

/// The records of a workload in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// The configuration and the workload.
    pub of: String,
    /// One of each run.
    pub files: Vec<PathBuf>,
}

/// Where that of a run goes: its directory is there then, and no older record.
pub(super) fn make(
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
    round: u32,
) -> Result<PathBuf, SuiteError> {
    let path = path(store.dir(), &workload.name, &configuration.name, round);
    // A run that failed may have left one.
    let _ = std::fs::remove_file(&path);
    path.parent().map_or(Ok(()), |dir| make_dir(dir.to_owned()).map(drop))?;
    Ok(path)
}

/// Those that there are of runs that went well.
pub(super) fn all(store: &Store, results: &Results<'_>) -> Vec<Records> {
    let mut all = Vec::new();
    for workload in &results.workloads {
        for config in &results.configurations {
            let runs = store.runs.iter().filter(|run| run.measured().is_some());
            let runs = runs.filter(|run| run.workload == *workload && run.config == *config);
            let mut rounds: Vec<u32> = runs.map(|run| run.round).collect();
            rounds.sort_unstable();
            let files = rounds.into_iter().map(|round| path(store.dir(), workload, config, round));
            let files: Vec<PathBuf> = files.filter(|file| file.exists()).collect();
            if !files.is_empty() {
                all.push(Records { of: format!("{config}, {workload}"), files });
            }
        }
    }
    all
}

fn path(dir: &Path, workload: &str, config: &str, round: u32) -> PathBuf {
    dir.join("records").join(workload).join(format!("{config}-{}.daos", round + 1))
}

impl Records {
    /// In a line.
    pub fn words(&self) -> String {
        let files = self.files.iter().map(|file| file.display().to_string());
        format!("{}: {}", self.of, files.collect::<Vec<_>>().join(", "))
    }
}
