//! The seam between what is compared and where: a ground runs one monitor on one
//! workload once. The rounds are here, and the same for every ground.

use crate::error::BenchError;
use crate::figures::Figures;
use daos_core::{MonitorAttrs, MonitorKind, MonitorOptions};
use std::path::{Path, PathBuf};

/// What to run and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Configurations of workloads.
    pub workloads: Vec<PathBuf>,
    /// Runs of every monitor on every workload.
    pub runs: u32,
    /// How long a run takes, in microseconds; less if the workload ends before.
    pub length_us: u64,
    /// Snapshots count that begin this many microseconds after monitoring and
    /// their phase did.
    pub warmup_us: u64,
    /// How closely to look.
    pub attrs: MonitorAttrs,
    /// What only some monitors heed.
    pub options: MonitorOptions,
    /// Seed of the first round; each round has the next.
    pub seed: u64,
}

/// Where monitors are compared.
pub trait Ground {
    /// In words, behind "on".
    fn name(&self) -> &'static str;

    /// Runs `monitor` on `workload` in this round, the first being 0.
    fn run(
        &self,
        plan: &Plan,
        workload: &Path,
        monitor: MonitorKind,
        round: u32,
    ) -> Result<Figures, BenchError>;
}

/// What the runs of one monitor on one workload showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The configuration.
    pub workload: PathBuf,
    /// The monitor.
    pub monitor: MonitorKind,
    /// One for each round.
    pub runs: Vec<Figures>,
}

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Runs that are done.
    pub done: u64,
    /// Runs that there will be.
    pub total: u64,
    /// The configuration.
    pub workload: &'a Path,
    /// The monitor.
    pub monitor: MonitorKind,
}

/// Runs all that is planned. Round by round and not workload by workload, so that
/// a minute in which the machine was busy with something else spoils one run of
/// each and all of none. Outcomes are in the order of the workloads, then of the
/// monitors.
pub fn compare(
    ground: &dyn Ground,
    plan: &Plan,
    mut tell: impl FnMut(Step<'_>),
) -> Result<Vec<Outcome>, BenchError> {
    let cases = plan.workloads.iter().flat_map(|workload| {
        MonitorKind::ALL.iter().map(move |&monitor| Outcome {
            workload: workload.clone(),
            monitor,
            runs: Vec::new(),
        })
    });
    let mut outcomes: Vec<Outcome> = cases.collect();
    let total = u64::from(plan.runs) * outcomes.len() as u64;
    let mut done = 0;
    for round in 0..plan.runs {
        for Outcome { workload, monitor, runs } in &mut outcomes {
            tell(Step { done, total, workload, monitor: *monitor });
            runs.push(ground.run(plan, workload, *monitor, round)?);
            done += 1;
        }
    }
    Ok(outcomes)
}
