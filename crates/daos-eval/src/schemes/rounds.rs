//! All that is planned, round by round.

use super::arm::Ran;
use super::case::{Case, Sizes};
use crate::error::BenchError;
use crate::finding::Finding;
use crate::memory;
use crate::process::Commands;
use daos_linux::GuardedSwap;
use daos_workload::Config;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to run.
#[derive(Debug)]
pub struct Plan {
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
pub struct Step {
    /// Runs that are done.
    pub done: u64,
    /// Runs that there will be.
    pub total: u64,
    /// Of this case
    pub case: Case,
    /// this arm.
    pub arm: &'static str,
}

/// What the runs of a case showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which.
    pub case: Case,
    /// What it is about.
    pub about: String,
    /// Of each round the same figures.
    pub rounds: Vec<Vec<Finding>>,
}

/// Runs it all, and leaves nothing running, and the host as it was, also on an error.
pub fn run(plan: &Plan, mut tell: impl FnMut(Step)) -> Result<Vec<Outcome>, BenchError> {
    let sizes = &plan.sizes;
    let mut total = 0;
    for case in &plan.cases {
        case.refuse()?;
        for arm in case.arms(sizes) {
            let bytes = Config::parse(arm.name, &arm.workload)?.bytes();
            if let Some(available) = memory::short_for(bytes)? {
                return Err(BenchError::CaseMemory { case: case.name(), bytes, available });
            }
            total += u64::from(plan.runs);
        }
    }
    let outcome =
        |case: &Case| Outcome { case: *case, about: case.about(sizes), rounds: Vec::new() };
    let mut outcomes: Vec<Outcome> = plan.cases.iter().map(outcome).collect();
    let mut done = 0;
    for round in 0..plan.runs {
        for Outcome { case, rounds, .. } in &mut outcomes {
            let tell = |arm| {
                tell(Step { done, total, case: *case, arm });
                done += 1;
            };
            rounds.push(run_round(plan, *case, round, tell)?);
        }
    }
    Ok(outcomes)
}

/// All arms of a case, forwards in the first round, backwards in the next.
fn run_round(
    plan: &Plan,
    case: Case,
    round: u32,
    mut tell: impl FnMut(&'static str),
) -> Result<Vec<Finding>, BenchError> {
    let arms = case.arms(&plan.sizes);
    let mut order: Vec<usize> = (0..arms.len()).collect();
    if round % 2 == 1 {
        order.reverse();
    }
    let set_up = |bytes| GuardedSwap::set_up_by(Command::new(&plan.commands.daos), bytes);
    let swap = case.swap_bytes(&plan.sizes).map(set_up).transpose()?;
    let mut ran = vec![Ran::default(); arms.len()];
    for at in order {
        tell(arms[at].name);
        let seed = u64::from(round) + 1;
        ran[at] = super::run::run(&arms[at], seed, &plan.commands, &plan.stop)?;
    }
    swap.map_or(Ok(()), GuardedSwap::take_away)?;
    Ok(case.findings(&plan.sizes, &ran))
}
