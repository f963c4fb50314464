//! All that is planned, run by run.

use super::configuration::{BASELINE, Configuration};
use super::daos_build::daos_build;
use super::error::SuiteError;
use super::host::{Machine, OneSuite};
use super::pair;
use super::plan::{Plan, Step};
use super::run;
use super::script;
use super::store::{Header, Measured, Outcome, RawRun, Store};
use super::workload::Workload;
use daos_core::Side;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// What is about to run.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Runs that were made or given up.
    pub done: usize,
    /// Runs in all.
    pub total: usize,
    /// About how long the rest takes.
    pub left: Duration,
    /// The workload.
    pub workload: &'a str,
    /// What is done with it.
    pub doing: &'a str,
}

/// What one has to know while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// A run begins.
    Begins(Progress<'a>),
    /// A run ended.
    Ended {
        /// The run.
        run: &'a RawRun,
        /// Runs that were made or given up.
        done: usize,
        /// Runs in all.
        total: usize,
        /// About how long the rest takes.
        left: Duration,
    },
}

/// Makes all runs that were not made yet. Leaves nothing running and the host as it was, also
/// on an error; what was measured until then is written down.
///
/// What fails is told, and not tried again in the same configuration; where the first
/// configuration of a workload fails, or its set-up, there is nothing to compare with, and the
/// workload is left out.
pub fn run(plan: &Plan, mut tell: impl FnMut(Event<'_>)) -> Result<Store, SuiteError> {
    if !rustix::process::geteuid().is_root() {
        return Err(SuiteError::NotRoot);
    }
    let _only = OneSuite::take()?;
    let mut store = open_store(plan)?;
    plan.check(Some(&store))?;
    plan.keep_own_schemes(&store)?;
    let mut rounds = Rounds {
        plan,
        total: plan.steps().len(),
        steps: plan.left(Some(&store)).collect(),
        given_up: BTreeSet::new(),
    };
    for at in 0..rounds.steps.len() {
        let step = rounds.steps[at];
        if rounds.is_given_up(step) {
            continue;
        }
        let (done, total, left) = rounds.progress(at, &store);
        let workload = &*plan.of(step).0.name;
        let begins =
            |doing: &str| tell(Event::Begins(Progress { done, total, left, workload, doing }));
        let (outcome, beside) = rounds.attempt(step, &store, begins)?;
        let run = made_now(plan, step, outcome, beside);
        store.add(run.clone())?;
        let (done, total, left) = rounds.progress(at + 1, &store);
        tell(Event::Ended { run: &run, done, total, left });
    }
    if !plan.keep {
        for &side in sides(plan) {
            plan.suite.workloads.iter().for_each(|one| script::clear_away(&store, one, side));
        }
    }
    Ok(store)
}

/// The directory of the evaluation, which is new, or has runs of the same kind.
fn open_store(plan: &Plan) -> Result<Store, SuiteError> {
    let header = Header {
        zram_bytes: plan.zram_bytes,
        daos: daos_build(&plan.daos),
        pairs: plan.pairs.is_some(),
        ..Header::new(Machine::here())
    };
    Store::open(&plan.out, header, &plan.suite.workloads, &plan.configurations)
}

/// The sides on which workloads run.
fn sides(plan: &Plan) -> &'static [Side] {
    if plan.pairs.is_some() { &Side::BOTH } else { &[Side::First] }
}

/// A run that has just been made, as it is written down.
fn made_now(plan: &Plan, step: Step, outcome: Outcome, beside: Option<Measured>) -> RawRun {
    let (workload, configuration) = plan.of(step);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    RawRun {
        workload: workload.name.clone(),
        config: configuration.name.clone(),
        round: step.round,
        at: now.map_or(0, |time| time.as_secs()),
        outcome,
        beside,
    }
}

/// A run, and in pairs what ran alone beside it.
fn measure(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
    round: u32,
) -> Result<(Measured, Option<Measured>), SuiteError> {
    match &plan.pairs {
        None => Ok((run::run(plan, store, workload, configuration, round)?, None)),
        Some(halves) => {
            let pair = pair::run(plan, halves, store, workload, configuration, round)?;
            Ok((pair.0, Some(pair.1)))
        }
    }
}

/// How far it is.
#[derive(Debug)]
struct Rounds<'a> {
    plan: &'a Plan,
    /// All that is planned.
    total: usize,
    /// What was not made when it began.
    steps: Vec<Step>,
    /// What is not tried again: a workload, in a configuration or in all.
    given_up: BTreeSet<(usize, Option<usize>)>,
}

impl Rounds<'_> {
    fn is_given_up(&self, step: Step) -> bool {
        let of = |configuration| self.given_up.contains(&(step.workload, configuration));
        of(None) || of(Some(step.configuration))
    }

    /// Makes a run, its input first, and in pairs that beside it. If it fails, that is what came of
    /// it, and it is not tried again, unless nothing else could be run either.
    fn attempt(
        &mut self,
        step: Step,
        store: &Store,
        mut begins: impl FnMut(&str),
    ) -> Result<(Outcome, Option<Measured>), SuiteError> {
        let plan = self.plan;
        let (workload, configuration) = plan.of(step);
        begins("set-up");
        let set_up =
            sides(plan).iter().try_for_each(|&side| script::set_up(plan, store, workload, side));
        let is_set_up = set_up.is_ok();
        let measured = set_up.and_then(|()| {
            begins(&configuration.name);
            let configuration = run::for_workload(plan, store, workload, configuration)?;
            measure(plan, store, workload, &configuration, step.round)
        });
        match measured {
            Ok((measured, beside)) => Ok((Outcome::Measured(measured), beside)),
            Err(err) if err.ends_all() => Err(err),
            Err(err) => {
                self.give_up(step, is_set_up, store, &err);
                Ok((Outcome::Failed { failed: err.to_string() }, None))
            }
        }
    }

    /// Notes what is not tried again after a step failed: its workload in its configuration, or in
    /// all, where there is no input or nothing to compare with.
    fn give_up(&mut self, step: Step, is_set_up: bool, store: &Store, err: &SuiteError) {
        let configurations = &self.plan.configurations;
        let baseline = configurations.iter().position(|one| one.name == BASELINE).unwrap_or(0);
        let is_baseline = match &self.plan.pairs {
            Some(_) => matches!(err, SuiteError::Copy { name, .. } if name == BASELINE),
            None => step.configuration == baseline,
        };
        let (workload, _) = self.plan.of(step);
        let has_baseline = !store.measured(&workload.name, BASELINE).is_empty();
        let is_all = !is_set_up || is_baseline && !has_baseline;
        self.given_up.insert((step.workload, (!is_all).then_some(step.configuration)));
    }

    /// Runs before the step at this place, runs in all, and about how long the rest takes.
    fn progress(&self, at: usize, store: &Store) -> (usize, usize, Duration) {
        let left = self.steps[at..].iter().filter(|step| !self.is_given_up(**step));
        let seconds = left.map(|&step| self.plan.seconds(step, Some(store))).sum();
        (self.total - self.steps.len() + at, self.total, Duration::from_secs_f64(seconds))
    }
}
