//! The seam between what is compared and where: a testbed runs one monitor on one
//! workload once. The rounds are here, and the same for every testbed.

mod real_memory;
mod simulator;

pub use real_memory::RealMemory;
pub use simulator::{PhysicalSpace, Simulator};

use super::budget::Budget;
use super::run_metrics::RunMetrics;
use super::scenario::Scenario;
use crate::error::EvalError;
use crate::metrics::MetricRow;
use crate::monitors::ComparedKind;
use daos_core::MonitorAttrs;
use daos_monitor::MonitorOptions;
use std::fmt;
use std::path::PathBuf;

/// What is done to the memory that monitors watch.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkloadSpec {
    /// A configuration in a file.
    File(PathBuf),
    /// A scenario, drawn anew with the seed of each round.
    Scenario(Scenario),
}

impl fmt::Display for WorkloadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkloadSpec::File(path) => path.display().fmt(f),
            WorkloadSpec::Scenario(scenario) => scenario.fmt(f),
        }
    }
}

/// What to run and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyPlan {
    /// What to compare them on.
    pub workloads: Vec<WorkloadSpec>,
    /// What to compare.
    pub monitors: Vec<ComparedKind>,
    /// Runs of every monitor on every workload.
    pub runs: u32,
    /// How long a run takes, in microseconds; less if the workload ends before.
    pub length_us: u64,
    /// Snapshots count that begin this many microseconds after monitoring did, and, if
    /// the workload is a file, after their phase did.
    pub warmup_us: u64,
    /// The intervals and the bounds on regions of the monitors.
    pub attrs: MonitorAttrs,
    /// What only some monitors heed.
    pub options: MonitorOptions,
    /// Seed of the first round; each round has the next.
    pub seed: u64,
}

/// Where monitors are compared.
pub trait Testbed {
    /// In words, behind "on".
    fn name(&self) -> &'static str;

    /// Refuses what could never be run, before anything is.
    fn refuse(&self, workload: &WorkloadSpec) -> Result<(), EvalError>;

    /// What the bound on the overhead buys, where prices are known.
    fn budget(&self, plan: &AccuracyPlan, workload: &WorkloadSpec) -> Option<Budget>;

    /// Runs `monitor` on `workload` in this round, the first being 0.
    fn run(
        &self,
        plan: &AccuracyPlan,
        workload: &WorkloadSpec,
        monitor: ComparedKind,
        round: u32,
    ) -> Result<RunMetrics, EvalError>;
}

/// What the runs of one monitor on one workload showed.
#[derive(Debug, Clone, PartialEq)]
pub struct AccuracyResult {
    /// What they were run on.
    pub workload: WorkloadSpec,
    /// What the bound on the overhead buys there.
    pub budget: Option<Budget>,
    /// The monitor.
    pub monitor: ComparedKind,
    /// One for each round.
    pub runs: Vec<RunMetrics>,
}

impl AccuracyResult {
    /// Each metric with its values over the rounds.
    pub fn rows(&self) -> Vec<MetricRow> {
        let rounds: Vec<_> = self.runs.iter().map(RunMetrics::measurements).collect();
        MetricRow::of_rounds(&rounds)
    }
}

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AccuracyProgress<'a> {
    /// Runs that are done.
    pub done: u64,
    /// Runs that there will be.
    pub total: u64,
    /// What it is run on.
    pub workload: &'a WorkloadSpec,
    /// The monitor.
    pub monitor: ComparedKind,
}

/// Runs all that is planned. Round by round and not workload by workload, so that
/// a minute in which the machine was busy with something else spoils one run of
/// each and all of none. Results are in the order of the workloads, then of the
/// monitors.
pub fn compare(
    testbed: &dyn Testbed,
    plan: &AccuracyPlan,
    mut tell: impl FnMut(AccuracyProgress<'_>),
) -> Result<Vec<AccuracyResult>, EvalError> {
    plan.workloads.iter().try_for_each(|workload| testbed.refuse(workload))?;
    let cases = plan.workloads.iter().flat_map(|workload| {
        let budget = testbed.budget(plan, workload);
        plan.monitors.iter().map(move |&monitor| AccuracyResult {
            workload: workload.clone(),
            budget,
            monitor,
            runs: Vec::new(),
        })
    });
    let mut results: Vec<AccuracyResult> = cases.collect();
    let total = u64::from(plan.runs) * results.len() as u64;
    let mut done = 0;
    for round in 0..plan.runs {
        for AccuracyResult { workload, monitor, runs, .. } in &mut results {
            tell(AccuracyProgress { done, total, workload, monitor: *monitor });
            runs.push(testbed.run(plan, workload, *monitor, round)?);
            done += 1;
        }
    }
    Ok(results)
}
