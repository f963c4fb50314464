//! A scheme is tuned for a workload before it is run with it, by `daos tune`, once. What was
//! found stays in the directory of the evaluation.

use super::error::SuiteError;
use super::plan::Plan;
use super::run::check_memory;
use super::script;
use super::store::Store;
use super::tree::Sweep;
use super::workload::{Workload, quoted};
use crate::tuning::programs::{Limit, Program, ProgramsPlan, Tuned, tune};
use daos_core::Side;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Samples of a tuning, those without a scheme included: as the paper has it.
pub const SAMPLES: u32 = 10;
/// Most of the performance that may be lost. Chosen: what the project aims at for tuned schemes.
const MAX_LOSS: f64 = 0.01;

/// Whether it was done before.
pub fn is_done(store: &Store, workload: &Workload, configuration: &str) -> bool {
    found(&directory(store, &workload.name, configuration)).is_some()
}

/// The thresholds that were found for a workload, or that none are better than no scheme, in
/// words; `None` where nothing was tuned.
pub fn thresholds(store: &Store, workload: &str, configuration: &str) -> Option<String> {
    found(&directory(store, workload, configuration)).map(|tuned| tuned.thresholds())
}

/// The scheme that is best for a workload: that which was found before, or finds it, in pairs
/// where the plan is. `None` where none is better than no scheme.
pub fn scheme(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &str,
    scheme: &str,
) -> Result<Option<String>, SuiteError> {
    let results = directory(store, &workload.name, configuration);
    if let Some(tuned) = found(&results) {
        return Ok(tuned.scheme);
    }
    check_memory(workload, if plan.pairs.is_some() { 2 } else { 1 })?;
    let cd = |side| {
        let dir = script::directory(store, workload, side)?;
        Ok::<_, SuiteError>(format!("cd {}", quoted(&dir.to_string_lossy())))
    };
    let place = match &plan.pairs {
        None => format!("export COPY=1; {}", cd(Side::First)?),
        Some(_) => {
            let [first, second] = [cd(Side::First)?, cd(Side::Second)?];
            format!("case $COPY in 1) {first} ;; *) {second} ;; esac")
        }
    };
    let eval = quoted(&plan.eval.to_string_lossy());
    let suite = plan.suite.directory.as_deref().unwrap_or(Path::new(""));
    let suite = quoted(&suite.to_string_lossy());
    let script = format!("{place}\nexport DAOS_EVAL={eval} SUITE={suite}\n{}", workload.command);
    let program = Program {
        name: workload.name.clone(),
        about: workload.about.clone(),
        command: vec!["sh".to_owned(), "-ec".to_owned(), script],
    };
    let tuning = ProgramsPlan {
        programs: Vec::new(),
        scheme: scheme.to_owned(),
        limit: Limit::Samples(SAMPLES),
        params: Vec::new(),
        max_loss: Some(MAX_LOSS),
        metric: None,
        settle_us: 0,
        method: None,
        zram_bytes: Some(plan.zram_bytes),
        children: true,
        pairs: plan.pairs.is_some(),
        user: plan.user.as_ref().map(|user| user.name().to_owned()),
        runs: 0,
        out: None,
        daos: plan.daos.clone(),
        stop: Arc::clone(&plan.stop),
    };
    let _sweep = Sweep::new();
    Ok(tune(&tuning, &program, &results)?.scheme)
}

fn directory(store: &Store, workload: &str, configuration: &str) -> PathBuf {
    store.dir().join("tuned").join(configuration).join(workload)
}

/// What a tuning that was not interrupted found.
fn found(results: &Path) -> Option<Tuned> {
    let tuned = Tuned::read(&results.join("result.json")).ok()?;
    (tuned.samples >= u64::from(SAMPLES)).then_some(tuned)
}
