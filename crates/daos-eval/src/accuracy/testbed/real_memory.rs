//! Real memory: a workload and its monitor are processes of their own, as in use.
//!
//! A run is two: the workload alone, and the workload with `daos record` beside
//! it, for the same time from the moment its memory is there. The accesses that it
//! made fewer are what it was slowed down by; that takes in the monitor's start.
//! Which of the two comes first changes from round to round, so that a machine
//! that warms up or tires favours neither.

use super::{AccuracyPlan, Testbed, WorkloadSpec};
use crate::accuracy::budget::Budget;
use crate::accuracy::run_metrics::{RunMeter, RunMetrics};
use crate::accuracy::scenario::{PageSize, Shape};
use crate::accuracy::truth::TruePhase;
use crate::error::EvalError;
use crate::monitors::ComparedKind;
use crate::under_test::{Commands, Running, available_memory};
use daos_core::Interval;
use daos_record::Record;
use daos_workload::{Backing, Config, HugePages, Mode, PhaseTruth};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a program may take to end once it should.
const PATIENCE: Duration = Duration::from_secs(20);

/// Real memory.
#[derive(Debug)]
pub struct RealMemory {
    /// What is run.
    pub commands: Commands,
    /// Threads of the workload.
    pub threads: u32,
    /// Huge pages for its memory, where it is not said with the scenario.
    pub huge_pages: HugePages,
    /// What its memory is.
    pub backing: Backing,
    /// Set from outside to end early.
    pub stop: Arc<AtomicBool>,
}

impl Testbed for RealMemory {
    fn name(&self) -> &'static str {
        "real memory"
    }

    fn refuse(&self, workload: &WorkloadSpec) -> Result<(), EvalError> {
        let bytes = match workload {
            WorkloadSpec::File(path) => Config::read(path)?.bytes(),
            WorkloadSpec::Scenario(scenario) => {
                scenario.validate()?;
                if scenario.shape == Shape::Sparse {
                    return Err(EvalError::SimulatedOnly(scenario.to_string()));
                }
                scenario.bytes
            }
        };
        available_memory::enough_for(bytes)
    }

    /// What a check costs here is not known before it is made.
    fn budget(&self, _: &AccuracyPlan, _: &WorkloadSpec) -> Option<Budget> {
        None
    }

    fn run(
        &self,
        plan: &AccuracyPlan,
        workload: &WorkloadSpec,
        monitor: ComparedKind,
        round: u32,
    ) -> Result<RunMetrics, EvalError> {
        let seed = plan.seed + u64::from(round);
        let place = tempfile::tempdir().map_err(EvalError::Scratch)?;
        let mut rate = None;
        let (config, huge_pages, settle_us) = match workload {
            WorkloadSpec::File(path) => (path.clone(), self.huge_pages, plan.warmup_us),
            WorkloadSpec::Scenario(scenario) => {
                let path = place.path().join("scenario.cfg");
                rate = scenario.accesses_per_sec();
                // What is written to a file would be written to the disk again and again.
                let mode = if self.backing == Backing::File { Mode::Ro } else { Mode::Wo };
                let text = scenario.config_text(seed, mode)?;
                std::fs::write(&path, text).map_err(EvalError::Scratch)?;
                let huge_pages = match scenario.page {
                    PageSize::Small => HugePages::Never,
                    PageSize::Huge => HugePages::Always,
                };
                (path, huge_pages, 0)
            }
        };
        let run = Run { testbed: self, plan, config, huge_pages, settle_us, monitor, seed, rate };
        let ((watched, mut metrics), alone) = if round.is_multiple_of(2) {
            (run.watched()?, run.alone()?)
        } else {
            let alone = run.alone()?;
            (run.watched()?, alone)
        };
        let share = accesses_per_us(&alone).zip(accesses_per_us(&watched)).map(|(a, w)| w / a);
        metrics.slowdown_percent = share.map(|share| 100.0 * (1.0 - share));
        metrics.accesses_per_sec = accesses_per_us(&watched).map(|accesses| 1e6 * accesses);
        Ok(metrics)
    }
}

/// One workload, to be run alone and watched.
#[derive(Debug)]
struct Run<'a> {
    testbed: &'a RealMemory,
    plan: &'a AccuracyPlan,
    /// Its configuration.
    config: PathBuf,
    huge_pages: HugePages,
    /// How long a phase may run before it counts.
    settle_us: u64,
    monitor: ComparedKind,
    seed: u64,
    /// Accesses in a second, if they are to be no more.
    rate: Option<f64>,
}

impl Run<'_> {
    /// The workload alone: what it accessed.
    fn alone(&self) -> Result<Vec<PhaseTruth>, EvalError> {
        let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
        self.run_workload(&scratch, |_| Ok(None))
    }

    /// The workload with a monitor beside it: what it accessed, and what the
    /// monitor's record shows.
    fn watched(&self) -> Result<(Vec<PhaseTruth>, RunMetrics), EvalError> {
        let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
        let record = scratch.path().join("record");
        let truth =
            self.run_workload(&scratch, |pid| self.start_monitor(pid, &record).map(Some))?;
        let metrics = self.metrics(&Record::open(&record)?, &truth)?;
        Ok((truth, metrics))
    }

    /// Runs the workload, and what `beside` starts, until the time is over.
    fn run_workload(
        &self,
        scratch: &TempDir,
        beside: impl FnOnce(u32) -> Result<Option<Running>, EvalError>,
    ) -> Result<Vec<PhaseTruth>, EvalError> {
        let stop = &self.testbed.stop;
        let truth = scratch.path().join("truth");
        let mut workload = self.start_workload(&truth)?;
        workload.wait_for_line("ready:")?;
        let deadline = Instant::now() + Duration::from_micros(self.plan.length_us);
        let mut beside = beside(workload.pid())?;
        // A monitor ends with its target, or when it fails.
        beside.as_mut().unwrap_or(&mut workload).wait_until(deadline, stop)?;
        workload.ask_to_end();
        workload.finish(PATIENCE, stop)?;
        beside.map_or(Ok(()), |monitor| monitor.finish(PATIENCE, stop))?;
        Ok(PhaseTruth::read_all(&truth)?)
    }

    fn start_workload(&self, truth: &Path) -> Result<Running, EvalError> {
        let RealMemory { commands, threads, .. } = self.testbed;
        let huge_pages = match self.huge_pages {
            HugePages::Default => "default",
            HugePages::Always => "always",
            HugePages::Never => "never",
        };
        let memory = match self.testbed.backing {
            Backing::Private => "private",
            Backing::Shared => "shared",
            Backing::Locked => "locked",
            Backing::File => "file",
        };
        let mut args = vec![
            self.config.display().to_string(),
            format!("--truth={}", truth.display()),
            format!("--threads={threads}"),
            format!("--thp={huge_pages}"),
            format!("--memory={memory}"),
        ];
        args.extend(self.rate.map(|rate| format!("--rate={rate}")));
        Running::start(&commands.eval, "workload", &args)
    }

    fn start_monitor(&self, pid: u32, record: &Path) -> Result<Running, EvalError> {
        let AccuracyPlan { attrs, options, .. } = self.plan;
        let mut args = self.monitor.words(attrs, options, self.seed);
        args.extend([format!("--pid={pid}"), format!("--output={}", record.display())]);
        let Commands { daos, eval } = &self.testbed.commands;
        let program = if self.monitor.is_yardstick() { eval } else { daos };
        Running::start(program, "record", &args)
    }

    /// What the record shows, but the slowdown.
    fn metrics(&self, record: &Record, truth: &[PhaseTruth]) -> Result<RunMetrics, EvalError> {
        let phases: Vec<TruePhase> =
            truth.iter().map(|phase| TruePhase::counted(phase, &self.plan.attrs)).collect();
        let origin_us = record.header().start_monotonic_us;
        let mut meter = RunMeter::new(phases, origin_us, self.plan.warmup_us, self.settle_us);
        for interval in record.intervals() {
            let Interval { snapshot, .. } = interval?;
            meter.add(&snapshot);
        }
        let peak_rss_bytes = record.end().map(|end| end.peak_rss_bytes as f64);
        Ok(RunMetrics { peak_rss_bytes, ..meter.metrics() })
    }
}

/// `None` when nothing was accessed.
fn accesses_per_us(truth: &[PhaseTruth]) -> Option<f64> {
    let accesses: u64 = truth.iter().flat_map(|phase| &phase.regions).map(|r| r.accesses).sum();
    let elapsed_us: u64 = truth.iter().map(|phase| phase.end_us - phase.start_us).sum();
    (accesses > 0 && elapsed_us > 0).then(|| accesses as f64 / elapsed_us as f64)
}
