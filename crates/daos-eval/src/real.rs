//! Real memory: a workload and its monitor are processes of their own, as in use.
//!
//! A run is two: the workload alone, and the workload with `daos record` beside
//! it, for the same time from the moment its memory is there. The accesses that it
//! made fewer are what it was slowed down by; that takes in the monitor's start.
//! Which of the two comes first changes from round to round, so that a machine
//! that warms up or tires favours neither.

use crate::budget::Budget;
use crate::cost::Costs;
use crate::error::BenchError;
use crate::figures::Figures;
use crate::ground::{Ground, Plan};
use crate::memory;
use crate::monitors::MonitorKind;
use crate::notice::Watch;
use crate::process::{Commands, Running};
use crate::scenario::{PageSize, Shape};
use crate::score::Scorer;
use crate::truth::TruePhase;
use crate::work::Work;
use daos_core::Interval;
use daos_record::Record;
use daos_workload::{Config, HugePages, PhaseTruth};
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
    /// Set from outside to end early.
    pub stop: Arc<AtomicBool>,
}

impl Ground for RealMemory {
    fn name(&self) -> &'static str {
        "real memory"
    }

    fn refuse(&self, work: &Work) -> Result<(), BenchError> {
        let bytes = match work {
            Work::File(path) => Config::read(path)?.bytes(),
            Work::Drawn(scenario) => {
                scenario.validate()?;
                if scenario.shape == Shape::Sparse {
                    return Err(BenchError::SimulatedOnly(scenario.to_string()));
                }
                scenario.bytes
            }
        };
        memory::enough_for(bytes)
    }

    /// What looking costs here is found out by looking.
    fn budget(&self, _: &Plan, _: &Work) -> Option<Budget> {
        None
    }

    fn run(
        &self,
        plan: &Plan,
        work: &Work,
        monitor: MonitorKind,
        round: u32,
    ) -> Result<Figures, BenchError> {
        let seed = plan.seed + u64::from(round);
        let place = tempfile::tempdir().map_err(BenchError::Scratch)?;
        let (workload, huge_pages, settle_us) = match work {
            Work::File(path) => (path.clone(), self.huge_pages, plan.warmup_us),
            Work::Drawn(scenario) => {
                let path = place.path().join("scenario.cfg");
                let text = scenario.config_text(seed)?;
                std::fs::write(&path, text).map_err(BenchError::Scratch)?;
                let huge_pages = match scenario.page {
                    PageSize::Small => HugePages::Never,
                    PageSize::Huge => HugePages::Always,
                };
                (path, huge_pages, 0)
            }
        };
        let run = Run { ground: self, plan, workload, huge_pages, settle_us, monitor, seed };
        let ((watched, mut figures), alone) = if round.is_multiple_of(2) {
            (run.watched()?, run.alone()?)
        } else {
            let alone = run.alone()?;
            (run.watched()?, alone)
        };
        let share = accesses_per_us(&alone).zip(accesses_per_us(&watched)).map(|(a, w)| w / a);
        figures.slowdown_percent = share.map(|share| 100.0 * (1.0 - share));
        figures.accesses_per_sec = accesses_per_us(&watched).map(|accesses| 1e6 * accesses);
        Ok(figures)
    }
}

/// One workload, to be run alone and watched.
#[derive(Debug)]
struct Run<'a> {
    ground: &'a RealMemory,
    plan: &'a Plan,
    /// Its configuration.
    workload: PathBuf,
    huge_pages: HugePages,
    /// How long a phase may run before it counts.
    settle_us: u64,
    monitor: MonitorKind,
    seed: u64,
}

impl Run<'_> {
    /// The workload alone: what it accessed.
    fn alone(&self) -> Result<Vec<PhaseTruth>, BenchError> {
        let scratch = tempfile::tempdir().map_err(BenchError::Scratch)?;
        self.work(&scratch, |_| Ok(None))
    }

    /// The workload with a monitor beside it: what it accessed, and what the
    /// monitor's record shows.
    fn watched(&self) -> Result<(Vec<PhaseTruth>, Figures), BenchError> {
        let scratch = tempfile::tempdir().map_err(BenchError::Scratch)?;
        let record = scratch.path().join("record");
        let truth = self.work(&scratch, |pid| self.start_monitor(pid, &record).map(Some))?;
        let figures = self.figures(&Record::open(&record)?, &truth)?;
        Ok((truth, figures))
    }

    /// Runs the workload, and what `beside` starts, until the time is over.
    fn work(
        &self,
        scratch: &TempDir,
        beside: impl FnOnce(u32) -> Result<Option<Running>, BenchError>,
    ) -> Result<Vec<PhaseTruth>, BenchError> {
        let stop = &self.ground.stop;
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

    fn start_workload(&self, truth: &Path) -> Result<Running, BenchError> {
        let RealMemory { commands, threads, .. } = self.ground;
        let huge_pages = match self.huge_pages {
            HugePages::Default => "default",
            HugePages::Always => "always",
            HugePages::Never => "never",
        };
        let args = [
            self.workload.display().to_string(),
            format!("--truth={}", truth.display()),
            format!("--threads={threads}"),
            format!("--thp={huge_pages}"),
        ];
        Running::start(&commands.eval, "workload", &args)
    }

    fn start_monitor(&self, pid: u32, record: &Path) -> Result<Running, BenchError> {
        let attrs = &self.plan.attrs;
        let mut args = vec![
            format!("--pid={pid}"),
            format!("--output={}", record.display()),
            format!("--sample={}us", attrs.sample_us),
            format!("--aggr={}us", attrs.aggregation_us),
            format!("--update={}us", attrs.update_us),
            format!("--min-regions={}", attrs.min_regions),
            format!("--max-regions={}", attrs.max_regions),
            format!("--seed={}", self.seed),
            format!("--monitor={}", self.monitor.name()),
        ];
        if self.monitor.heeds_options() {
            let options = &self.plan.options;
            args.extend(options.max_overhead.map(|o| format!("--max-overhead={}", 100.0 * o)));
            args.extend(options.auto_intervals.then(|| "--auto-intervals".to_owned()));
        }
        let Commands { daos, eval } = &self.ground.commands;
        if self.monitor.is_yardstick() {
            return Running::start(eval, "record", &args);
        }
        args.push("--quiet".to_owned());
        Running::start(daos, "record", &args)
    }

    /// What the record shows, but the slowdown.
    fn figures(&self, record: &Record, truth: &[PhaseTruth]) -> Result<Figures, BenchError> {
        let phases: Vec<TruePhase> =
            truth.iter().map(|phase| TruePhase::counted(phase, &self.plan.attrs)).collect();
        let origin_us = record.header().start_monotonic_us;
        let mut watch = Watch::new(&phases, origin_us);
        let mut scorer =
            Scorer::new(phases, origin_us, self.plan.warmup_us).settling(self.settle_us);
        let mut costs = Costs::default();
        for interval in record.intervals() {
            let Interval { snapshot, .. } = interval?;
            costs.add(&snapshot);
            if let Some(target) = snapshot.targets.first() {
                scorer.add(&snapshot, target);
                watch.add(&snapshot, target);
            }
        }
        let figures = Figures::of_score(&scorer.score(), &watch.noticed()).with_costs(&costs);
        let peak_rss_bytes = record.end().map(|end| end.peak_rss_bytes as f64);
        Ok(Figures { peak_rss_bytes, ..figures })
    }
}

/// `None` when nothing was accessed.
fn accesses_per_us(truth: &[PhaseTruth]) -> Option<f64> {
    let accesses: u64 = truth.iter().flat_map(|phase| &phase.regions).map(|r| r.accesses).sum();
    let elapsed_us: u64 = truth.iter().map(|phase| phase.end_us - phase.start_us).sum();
    (accesses > 0 && elapsed_us > 0).then(|| accesses as f64 / elapsed_us as f64)
}
