//! A scheme is tuned for a workload before it is run with it, by `daos tune`, once. What was
//! found stays in the directory of the evaluation.

use super::error::SuiteError;
use super::plan::Plan;
use super::script;
use super::store::Store;
use super::tree::Sweep;
use super::tuned::{SAMPLES, directory, found};
use super::workload::{Workload, quoted};
use crate::tuning::programs::{Limit, Program, ProgramsPlan, tune};
use daos_core::Side;
use std::path::Path;
use std::sync::Arc;

/// Most of the performance that may be lost. Chosen: what the project aims at for tuned schemes.
const MAX_LOSS: f64 = 0.01;

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
    workload.check_memory(if plan.pairs.is_some() { 2 } else { 1 })?;
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
