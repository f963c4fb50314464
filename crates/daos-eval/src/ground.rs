//! The seam between what is compared and where: a ground runs one monitor on one
//! workload once. The rounds are here, and the same for every ground.

use crate::budget::Budget;
use crate::error::BenchError;
use crate::figures::Figures;
use crate::monitors::MonitorKind;
use crate::work::Work;
use daos_core::MonitorAttrs;
use daos_monitor::MonitorOptions;

/// What to run and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What to compare them on.
    pub works: Vec<Work>,
    /// What to compare.
    pub monitors: Vec<MonitorKind>,
    /// Runs of every monitor on every work.
    pub runs: u32,
    /// How long a run takes, in microseconds; less if the workload ends before.
    pub length_us: u64,
    /// Snapshots count that begin this many microseconds after monitoring did, and, if
    /// the work is a file, after their phase did.
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

    /// Refuses what could never be run, before anything is.
    fn refuse(&self, work: &Work) -> Result<(), BenchError>;

    /// What the bound on the overhead buys, where prices are known.
    fn budget(&self, plan: &Plan, work: &Work) -> Option<Budget>;

    /// Runs `monitor` on `work` in this round, the first being 0.
    fn run(
        &self,
        plan: &Plan,
        work: &Work,
        monitor: MonitorKind,
        round: u32,
    ) -> Result<Figures, BenchError>;
}

/// What the runs of one monitor on one work showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// What they were run on.
    pub work: Work,
    /// What the bound on the overhead buys there.
    pub budget: Option<Budget>,
    /// The monitor.
    pub monitor: MonitorKind,
    /// One for each round.
    pub runs: Vec<Figures>,
}

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step<'a> {
    /// Runs that are done.
    pub done: u64,
    /// Runs that there will be.
    pub total: u64,
    /// What it is run on.
    pub work: &'a Work,
    /// The monitor.
    pub monitor: MonitorKind,
}

/// Runs all that is planned. Round by round and not work by work, so that
/// a minute in which the machine was busy with something else spoils one run of
/// each and all of none. Outcomes are in the order of the works, then of the
/// monitors.
pub fn compare(
    ground: &dyn Ground,
    plan: &Plan,
    mut tell: impl FnMut(Step<'_>),
) -> Result<Vec<Outcome>, BenchError> {
    plan.works.iter().try_for_each(|work| ground.refuse(work))?;
    let cases = plan.works.iter().flat_map(|work| {
        let budget = ground.budget(plan, work);
        plan.monitors.iter().map(move |&monitor| Outcome {
            work: work.clone(),
            budget,
            monitor,
            runs: Vec::new(),
        })
    });
    let mut outcomes: Vec<Outcome> = cases.collect();
    let total = u64::from(plan.runs) * outcomes.len() as u64;
    let mut done = 0;
    for round in 0..plan.runs {
        for Outcome { work, monitor, runs, .. } in &mut outcomes {
            tell(Step { done, total, work, monitor: *monitor });
            runs.push(ground.run(plan, work, *monitor, round)?);
            done += 1;
        }
    }
    Ok(outcomes)
}
