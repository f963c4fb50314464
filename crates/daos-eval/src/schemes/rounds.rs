//! All that is planned, round by round.

use super::case::Case;
use super::sizes::Sizes;
use super::trial::Trial;
use crate::error::EvalError;
use crate::metrics::Measurement;
use crate::under_test::{Commands, available_memory};
use daos_linux::{GuardedSwap, SwapOptions};
use daos_workload::Config;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to run.
#[derive(Debug)]
pub struct SchemesPlan {
    /// The cases, in the order in which they are shown.
    pub cases: Vec<Case>,
    /// How often each is run.
    pub runs: u32,
    /// How large and how long.
    pub sizes: Sizes,
    /// What is run. `daos` is also the guard of the swap, see [`daos_linux::guard`].
    pub commands: Commands,
    /// Set from outside to end early.
    pub stop: Arc<AtomicBool>,
}

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemesProgress {
    /// Runs that are done.
    pub done: u64,
    /// Runs that there will be.
    pub total: u64,
    /// The case.
    pub case: Case,
    /// The name of its configuration.
    pub configuration: &'static str,
}

/// What the runs of a case showed.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseResult {
    /// Which.
    pub case: Case,
    /// What it is about.
    pub about: String,
    /// Of each round the same metrics.
    pub rounds: Vec<Vec<Measurement>>,
}

/// Runs it all, and leaves nothing running, and the host as it was, also on an error.
pub fn run(
    plan: &SchemesPlan,
    mut tell: impl FnMut(SchemesProgress),
) -> Result<Vec<CaseResult>, EvalError> {
    let sizes = &plan.sizes;
    let mut total = 0;
    for case in &plan.cases {
        case.refuse()?;
        for configuration in case.configurations(sizes) {
            let bytes = Config::parse(configuration.name, &configuration.workload)?.bytes();
            if let Some(available) = available_memory::short_for(bytes)? {
                return Err(EvalError::CaseMemory { case: case.name(), bytes, available });
            }
            total += u64::from(plan.runs);
        }
    }
    let result =
        |case: &Case| CaseResult { case: *case, about: case.about(sizes), rounds: Vec::new() };
    let mut results: Vec<CaseResult> = plan.cases.iter().map(result).collect();
    let mut done = 0;
    for round in 0..plan.runs {
        for CaseResult { case, rounds, .. } in &mut results {
            let tell = |configuration| {
                tell(SchemesProgress { done, total, case: *case, configuration });
                done += 1;
            };
            rounds.push(run_round(plan, *case, round, tell)?);
        }
    }
    Ok(results)
}

/// All configurations of a case, forwards in the first round, backwards in the next.
fn run_round(
    plan: &SchemesPlan,
    case: Case,
    round: u32,
    mut tell: impl FnMut(&'static str),
) -> Result<Vec<Measurement>, EvalError> {
    let configurations = case.configurations(&plan.sizes);
    let mut order: Vec<usize> = (0..configurations.len()).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    let set_up =
        |bytes| GuardedSwap::set_up_by(Command::new(&plan.commands.daos), SwapOptions::new(bytes));
    let swap = case.swap_bytes(&plan.sizes).map(set_up).transpose()?;
    let mut trials = vec![Trial::default(); configurations.len()];
    for at in order {
        tell(configurations[at].name);
        let seed = u64::from(round) + 1;
        trials[at] = super::run::run(&configurations[at], seed, &plan.commands, &plan.stop)?;
    }
    swap.map_or(Ok(()), GuardedSwap::take_away)?;
    Ok(case.measurements(&plan.sizes, &trials))
}
