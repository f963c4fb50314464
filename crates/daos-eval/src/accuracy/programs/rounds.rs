//! All that is planned: round by round each program under the scan, then under each monitor.

use super::comparison::{Moment, Pairs, compare};
use super::plan::ProgramPlan;
use super::program_metrics::ProgramMetrics;
use super::run::Place;
use super::scan::ScanLog;
use crate::accuracy::cost::Costs;
use crate::error::EvalError;
use crate::metrics::MetricRow;
use crate::monitors::ComparedKind;
use crate::suite::script;
use crate::suite::{Header, Machine, Plan, Store, SuiteError, Workload};
use crate::under_test::Commands;
use daos_core::{Interval, Side, Snapshot, TargetInfo};
use daos_linux::User;
use daos_record::Record;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A program under a monitor.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramResult {
    /// The program's name.
    pub program: String,
    /// The monitor.
    pub monitor: ComparedKind,
    /// One for each round that did not fail.
    pub runs: Vec<ProgramMetrics>,
    /// What each of these is of, by rising time.
    pub timelines: Vec<Vec<Moment>>,
}

impl ProgramResult {
    /// Each metric with its values over the rounds.
    pub fn rows(&self) -> Vec<MetricRow> {
        let rounds: Vec<_> = self.runs.iter().map(ProgramMetrics::measurements).collect();
        MetricRow::of_rounds(&rounds)
    }
}

/// What one has to know while it goes on.
#[derive(Debug)]
pub enum ProgramEvent<'a> {
    /// Something is about to run.
    Begins {
        /// Runs that were made.
        done: u64,
        /// Runs in all.
        total: u64,
        /// The program.
        program: &'a str,
        /// What is done with it.
        doing: &'a str,
    },
    /// A program failed, and is left out from here on.
    Failed {
        /// The program.
        program: &'a str,
        /// Why.
        why: String,
    },
}

/// Runs all that is planned. A program that fails is told, and left out from then on. Results are
/// in the order of the programs, then of the monitors; those without a run are left out.
///
/// # Errors
///
/// [`SuiteError`] when all has to end: it was interrupted, or there is no room for what is run.
pub fn measure(
    plan: &ProgramPlan,
    commands: Commands,
    user: Option<User>,
    stop: Arc<AtomicBool>,
    mut tell: impl FnMut(ProgramEvent<'_>),
) -> Result<Vec<ProgramResult>, SuiteError> {
    if !rustix::process::geteuid().is_root() {
        return Err(SuiteError::NotRoot);
    }
    let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
    let suite = as_suite(plan, scratch.path().join("programs"), commands, user, stop);
    let workloads = &plan.suite.workloads;
    let store = Store::open(&suite.out, Header::new(Machine::here()), workloads, &[])?;
    let place = Place { plan, suite: &suite, store: &store };
    let mut results = without_runs(plan);
    let mut given_up = vec![false; workloads.len()];
    let each = plan.monitors.len() as u64 + 1;
    let total = u64::from(plan.runs) * workloads.len() as u64 * each;
    let mut done = 0;
    for round in 0..plan.runs {
        for (at, workload) in workloads.iter().enumerate() {
            let mut made = done;
            done += each;
            if given_up[at] {
                continue;
            }
            let mut begins = |doing: &str| {
                tell(ProgramEvent::Begins { done: made, total, program: &workload.name, doing });
                made += 1;
            };
            let seed = plan.seed + u64::from(round);
            match place.round(workload, seed, &mut begins) {
                Ok(runs) => {
                    for (result, (metrics, timeline)) in results[at].iter_mut().zip(runs) {
                        result.runs.push(metrics);
                        result.timelines.push(timeline);
                    }
                }
                Err(err) if err.ends_all() => return Err(err),
                Err(err) => {
                    given_up[at] = true;
                    let (program, why) = (&*workload.name, err.without_log());
                    tell(ProgramEvent::Failed { program, why });
                }
            }
        }
    }
    let results = results.into_iter().flatten();
    Ok(results.filter(|result| !result.runs.is_empty()).collect())
}

/// The plan of a suite with these programs, which says where and as whom they run.
fn as_suite(
    plan: &ProgramPlan,
    out: PathBuf,
    Commands { daos, eval }: Commands,
    user: Option<User>,
    stop: Arc<AtomicBool>,
) -> Plan {
    Plan {
        suite: plan.suite.clone(),
        configurations: Vec::new(),
        runs: plan.runs,
        pairs: None,
        out,
        zram_bytes: 0,
        user,
        keep: false,
        keep_records: false,
        daos,
        eval,
        stop,
    }
}

/// Of each program, a result for each monitor, to which its runs are added.
fn without_runs(plan: &ProgramPlan) -> Vec<Vec<ProgramResult>> {
    let of_program = |workload: &Workload| {
        let result = |&monitor: &ComparedKind| ProgramResult {
            program: workload.name.clone(),
            monitor,
            runs: Vec::new(),
            timelines: Vec::new(),
        };
        plan.monitors.iter().map(result).collect()
    };
    plan.suite.workloads.iter().map(of_program).collect()
}

/// What a run showed, and of which times.
type Compared = (ProgramMetrics, Vec<Moment>);

impl Place<'_> {
    /// A program under the scan, and under each monitor.
    fn round(
        &self,
        workload: &Workload,
        seed: u64,
        begins: &mut impl FnMut(&str),
    ) -> Result<Vec<Compared>, SuiteError> {
        script::set_up(self.suite, self.store, workload, Side::First)?;
        begins("full scan");
        let (truth, _) = self.scanned(workload)?;
        let mut runs = Vec::new();
        for &monitor in &self.plan.monitors {
            begins(monitor.name());
            let (metrics, timeline) = match monitor {
                ComparedKind::FullScan => self.against_scan(&truth, workload)?,
                _ => self.against_record(&truth, workload, monitor, seed)?,
            };
            if metrics.scans.is_none() {
                let (name, warmup_us) = (workload.name.clone(), self.plan.warmup_us);
                let warmup_s = warmup_us as f64 / 1e6;
                return Err(EvalError::NothingToCompare { name, warmup_s }.into());
            }
            runs.push((metrics, timeline));
        }
        Ok(runs)
    }

    fn against_scan(&self, truth: &ScanLog, workload: &Workload) -> Result<Compared, SuiteError> {
        let (other, costs) = self.scanned(workload)?;
        let told = other.scans.iter().map(|scan| Ok::<_, Infallible>(other.told(scan)));
        let pairs = Pairs::of(&truth.processes, &other.processes);
        let Ok(comparison) = compare(truth, self.plan.warmup_us, &pairs, told, 0);
        Ok((ProgramMetrics::of(&comparison, &costs), comparison.timeline))
    }

    fn against_record(
        &self,
        truth: &ScanLog,
        workload: &Workload,
        monitor: ComparedKind,
        seed: u64,
    ) -> Result<Compared, SuiteError> {
        let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
        let path = scratch.path().join("record");
        let begun_us = self.recorded(workload, monitor, seed, &path)?;
        let record = Record::open(&path).map_err(EvalError::from)?;
        let offset_us = record.header().start_monotonic_us.saturating_sub(begun_us);
        let infos: Vec<TargetInfo> = record.targets().cloned().collect();
        let pairs = Pairs::of(&truth.processes, &infos);
        let mut costs = Costs::default();
        let said = record.intervals().map(|interval| {
            let Interval { snapshot, .. } = interval.map_err(EvalError::from)?;
            costs.add(&snapshot);
            Ok::<Snapshot, EvalError>(snapshot)
        });
        let comparison = compare(truth, self.plan.warmup_us, &pairs, said, offset_us)?;
        Ok((ProgramMetrics::of(&comparison, &costs), comparison.timeline))
    }
}
