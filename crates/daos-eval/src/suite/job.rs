//! A workload, `daos` beside it, and samples of both from outside. The workload is started in the
//! same way in every configuration, and `daos` is told its number at once: so what `daos` takes to
//! begin is in the tables, as it is for who uses it.

use super::configuration::{BASELINE, Configuration};
use super::error::SuiteError;
use super::plan::Plan;
use super::records;
use super::results::mean;
use super::samples::Samples;
use super::script::{self, Given};
use super::store::{Measured, Store};
use super::tree::Sweep;
use super::workload::{Workload, quoted};
use crate::error::EvalError;
use crate::under_test::{Running, ends_before};
use daos_core::Side;
use daos_linux::{TempCgroup, User, cpu};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(200);
/// How long `daos` may take to end when the workload has ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to notice that end, before it is asked.
const SOON: Duration = Duration::from_secs(2);

/// A workload that is to be run once in a configuration, on a host that is as that asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The workload.
    pub workload: Workload,
    /// The configuration.
    pub configuration: Configuration,
    /// The round, from 0 on, which seeds what is drawn.
    pub round: u32,
    /// Which of two copies it is.
    pub side: Side,
    /// The most memory that it may have, in bytes, if it is limited.
    pub limit_bytes: Option<u64>,
    /// Seconds after which it is ended, if it is.
    pub most_seconds: Option<f64>,
    /// Another copy runs beside it, on which nothing may act.
    pub is_beside_another: bool,
    /// Where it runs.
    pub dir: PathBuf,
    /// Where what it says goes.
    pub log: PathBuf,
    /// Where its record goes, if that is kept.
    pub record: Option<PathBuf>,
    /// The `daos` that is evaluated.
    pub daos: PathBuf,
    /// What its script finds in `$DAOS_EVAL`.
    pub eval: PathBuf,
    /// What its script finds in `$SUITE`.
    pub suite: Option<PathBuf>,
    /// The name of the user as whom it runs; `None`: as who runs this.
    pub user: Option<String>,
}

impl Job {
    /// Without a limit, and alone.
    pub fn of(
        plan: &Plan,
        store: &Store,
        workload: &Workload,
        configuration: &Configuration,
        round: u32,
        side: Side,
    ) -> Result<Self, SuiteError> {
        let is_kept = plan.keep_records && configuration.records();
        let alone = store.measured(&workload.name, BASELINE);
        let longest = alone.iter().map(|run| run.runtime_s).reduce(f64::max);
        let record = is_kept.then(|| records::make(store, workload, configuration, round));
        Ok(Self {
            workload: workload.clone(),
            configuration: configuration.clone(),
            round,
            side,
            limit_bytes: None,
            most_seconds: workload.most_seconds(longest),
            is_beside_another: false,
            dir: script::directory(store, workload, side)?,
            log: script::log(store, workload, &side.called(&configuration.name))?,
            record: record.transpose()?,
            daos: plan.daos.clone(),
            eval: plan.eval.clone(),
            suite: plan.suite.directory.clone(),
            user: plan.user.as_ref().map(|user| user.name().to_owned()),
        })
    }

    /// What was written to a file, as JSON.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let failed = |why| SuiteError::Read { path: path.to_owned(), why };
        let text = fs::read(path).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|err| failed(err.into()))
    }

    /// Runs it as this user, who is [`Job::user`]. Whatever happens, nothing of it stays behind.
    pub fn run(&self, user: Option<&User>, stop: &AtomicBool) -> Result<Measured, SuiteError> {
        let is_told_apart = self.is_beside_another && self.configuration.acts_on_machine();
        let has_cgroup = is_told_apart || self.limit_bytes.is_some();
        let cgroup = has_cgroup.then(|| TempCgroup::make(Path::new("/"), self.limit_bytes));
        let cgroup = cgroup.transpose()?;
        let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
        let text = cgroup.as_ref().map(wait_to_be_in).unwrap_or_default() + &self.workload.command;
        let given = Given { eval: &self.eval, suite: self.suite.as_deref(), user };
        let command = script::shell(given, &self.workload, self.side, &text, &self.dir, &self.log)?;
        // After all that has to stay until the workload has ended.
        let sweep = Sweep::new();
        let mut samples = Samples::begin();
        let cpu_before = cpu::of_children_us();

        let begun = Instant::now();
        let mut running = Running::start_quiet(command, &self.workload.name)?;
        let hold = script::hold(running.pid())?;
        if let Some(cgroup) = &cgroup {
            let path = cgroup.processes();
            let moved = fs::write(&path, running.pid().to_string());
            moved.map_err(|why| SuiteError::Write { path, why })?;
        }
        // Of the machine only this copy.
        let only = cgroup.as_ref().filter(|_| is_told_apart);
        let mut daos = self.start_daos(running.pid(), scratch.path(), only)?;
        self.sample_until_end(begun, &hold, &running, &mut daos, &mut samples, stop)?;
        let runtime_s = begun.elapsed().as_secs_f64();
        let status = running.status(PATIENCE, stop)?;
        let daos_pid: Vec<u32> = daos.iter().map(Running::pid).collect();
        sweep.end_all_but(&daos_pid);
        let cpu_workload = cpu::of_children_us();
        if let Some(daos) = daos {
            end_daos(daos, status, stop)?;
        }
        let cpu_all = cpu::of_children_us();
        drop(cgroup);
        script::judge(status, &self.workload.name, &self.log)?;

        let mean = |values: &[f64]| mean(values).unwrap_or(0.0);
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
        Ok(Measured {
            runtime_s,
            user_s: seconds(cpu_before.0, cpu_workload.0),
            system_s: seconds(cpu_before.1, cpu_workload.1),
            rss_bytes: mean(&samples.resident),
            rss_late_bytes: mean(samples.late()),
            memused_bytes: mean(&samples.used),
            swap_bytes: mean(&samples.swap),
            huge_bytes: mean(&samples.huge),
            daos_cpu_s: seconds(cpu_workload.0, cpu_all.0) + seconds(cpu_workload.1, cpu_all.1),
            daos_rss_bytes: mean(&samples.daos),
        })
    }

    /// Starts what the configuration runs beside the workload, if anything. `scratch`: where its
    /// record goes that is not kept; `only`: the cgroup that it is to keep to.
    fn start_daos(
        &self,
        workload: u32,
        scratch: &Path,
        only: Option<&TempCgroup>,
    ) -> Result<Option<Running>, SuiteError> {
        let record = self.record.clone().unwrap_or_else(|| scratch.join("record"));
        let words = self.configuration.words(workload, &record, self.round + 1);
        let Some(words) = words else { return Ok(None) };
        let mut command = Command::new(self.configuration.program(&self.daos, &self.eval));
        command.args(words).args(only.map(|cgroup| format!("--cgroup=*/{}", cgroup.name())));
        Ok(Some(Running::start_talkative(command, "daos", Stdio::null())?))
    }

    /// Takes samples of both until the workload ends. `begun`: when it did; `hold`: what tells of
    /// its end. An error if it takes too long, or if `daos` ends before it does.
    fn sample_until_end(
        &self,
        begun: Instant,
        hold: &OwnedFd,
        workload: &Running,
        daos: &mut Option<Running>,
        samples: &mut Samples,
        stop: &AtomicBool,
    ) -> Result<(), SuiteError> {
        for number in 0.. {
            let next = begun + PERIOD * number;
            if ends_before(hold, next) {
                break;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(EvalError::Interrupted.into());
            }
            if let Some(most) = self.most_seconds
                && begun.elapsed().as_secs_f64() > most
            {
                return Err(SuiteError::TooLong(most));
            }
            if let Some(beside) = daos
                && beside.has_ended()?
                // It notices the end of the workload, too.
                && !ends_before(hold, Instant::now() + SOON)
            {
                if let Some(ended) = daos.take() {
                    ended.finish(PATIENCE, stop)?;
                }
                return Err(EvalError::TooEarly("daos".to_owned()).into());
            }
            samples.take(workload.pid(), daos.as_ref().map(Running::pid));
        }
        Ok(())
    }
}

/// Waits until `daos` has ended by itself, as it does behind the workload, and else asks it to.
/// `status`: how the workload ended.
fn end_daos(mut daos: Running, status: ExitStatus, stop: &AtomicBool) -> Result<(), EvalError> {
    if daos.wait_until(Instant::now() + SOON, stop)?.is_none() {
        daos.ask_to_end();
    }
    match daos.finish(PATIENCE, stop) {
        // A workload that failed at once leaves nothing to watch.
        Err(_) if !status.success() => Ok(()),
        ended => ended,
    }
}

/// What a script does first, before it starts anything: waits until it was put into a cgroup,
/// which takes root.
fn wait_to_be_in(cgroup: &TempCgroup) -> String {
    let name = quoted(&cgroup.name());
    format!("until grep -qF {name} /proc/$$/cgroup; do sleep 0.01; done\n")
}
