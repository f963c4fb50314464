//! What a tuning found for a workload, as it stays in the directory of the evaluation.

use super::store::Store;
use super::workload::Workload;
use crate::tuning::programs::Tuned;
use std::path::{Path, PathBuf};

/// Samples of a tuning, those without a scheme included: as the paper has it.
pub const SAMPLES: u32 = 10;

/// Whether a tuning was done before.
pub fn is_done(store: &Store, workload: &Workload, configuration: &str) -> bool {
    found(&directory(store, &workload.name, configuration)).is_some()
}

/// The thresholds that were found for a workload, or that none are better than no scheme, in
/// words; `None` where nothing was tuned.
pub fn thresholds(store: &Store, workload: &str, configuration: &str) -> Option<String> {
    found(&directory(store, workload, configuration)).map(|tuned| tuned.thresholds())
}

/// Where what is found is written.
pub fn directory(store: &Store, workload: &str, configuration: &str) -> PathBuf {
    store.dir().join("tuned").join(configuration).join(workload)
}

/// What a tuning that was not interrupted found.
pub fn found(results: &Path) -> Option<Tuned> {
    let tuned = Tuned::read(&results.join("result.json")).ok()?;
    (tuned.samples >= u64::from(SAMPLES)).then_some(tuned)
}
