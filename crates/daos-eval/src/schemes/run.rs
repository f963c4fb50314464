//! Runs one trial: the program, a scheme beside it, and a sampler of the program.

use super::counters::Counters;
use super::trial::{Configuration, Trial};
use crate::error::EvalError;
use crate::under_test::{Commands, ResidentPages, Running, Sampler, TimeSeries, zram_bytes};
use daos_linux::{TempCgroup, cpu};
use daos_workload::{Config, PhaseTruth};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(200);
/// How long a program may take to end once it should.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a workload may take over its own time, which does not count in it: a huge page
/// that is new to the machine takes milliseconds, and of them there are thousands.
const OVERTIME: Duration = Duration::from_secs(120);

/// The programs of a trial. What is dropped is killed, in this order: so what the program
/// had in swap is gone when the swap is taken away.
#[derive(Debug)]
struct TrialProcesses {
    workload: Running,
    apply: Option<Running>,
}

/// Runs it once, to the end of its workload. `seed` is that of the accesses.
pub fn run(
    configuration: &Configuration,
    seed: u64,
    Commands { daos, eval }: &Commands,
    stop: &AtomicBool,
) -> Result<Trial, EvalError> {
    let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
    let file = |name: &str| scratch.path().join(name);
    let (config, truth, stats) = (file("workload.cfg"), file("truth"), file("stats"));
    fs::write(&config, &configuration.workload).map_err(EvalError::Scratch)?;
    let length = Duration::from_micros(
        Config::parse(configuration.name, &configuration.workload)?.duration_us(),
    );
    let zram_before = zram_bytes(Path::new("/sys"));
    let make_cgroup = |bytes| TempCgroup::make(Path::new("/"), Some(bytes));
    let cgroup = configuration.limit_bytes.map(make_cgroup).transpose()?;

    let workload = start_workload(configuration, &config, &truth, seed, eval, cgroup.as_ref())?;
    let mut processes = TrialProcesses { workload, apply: None };
    processes.workload.wait_for_line("ready:")?;
    let pid = processes.workload.pid();
    let watched = configuration.watched_bytes.and_then(|bytes| ResidentPages::find(pid, bytes));
    let mut sampler = Sampler::new(pid, zram_before).with_watched(watched);

    let mut trial = Trial::default();
    trial.time_series.samples.extend(sampler.sample());
    trial.begun_us = cpu::monotonic_us();
    processes.apply = start_apply(configuration, pid, &stats, daos)?;
    processes.sample_until_end(length, &mut sampler, &mut trial.time_series, stop)?;
    let TrialProcesses { workload, apply } = processes;
    match workload.finish(PATIENCE, stop) {
        Err(EvalError::Failed { status, .. })
            if cgroup.is_some() && status.signal() == Some(Signal::KILL.as_raw()) =>
        {
            return Ok(Trial { is_killed: true, ..Trial::default() });
        }
        ended => ended?,
    }
    if let Some(apply) = apply {
        apply.finish(PATIENCE, stop)?;
        trial.counters = Some(Counters::read(&stats)?);
    }
    trial.counted = PhaseTruth::read_all(&truth)?.pop();
    Ok(trial)
}

/// Starts the program, in the cgroup that limits it, if one does. `config`: its workload; `truth`:
/// where it says what it did.
fn start_workload(
    configuration: &Configuration,
    config: &Path,
    truth: &Path,
    seed: u64,
    eval: &Path,
    cgroup: Option<&TempCgroup>,
) -> Result<Running, EvalError> {
    let mut args = vec![
        config.display().to_string(),
        format!("--truth={}", truth.display()),
        format!("--seed={seed}"),
    ];
    args.extend_from_slice(&configuration.options);
    match cgroup {
        Some(cgroup) => Running::start_within(&cgroup.processes(), eval, "workload", &args),
        None => Running::start(eval, "workload", &args),
    }
}

/// Starts `daos apply` beside the program with this number, if the configuration has a scheme.
/// `stats`: where it writes what the scheme did.
fn start_apply(
    configuration: &Configuration,
    pid: u32,
    stats: &Path,
    daos: &Path,
) -> Result<Option<Running>, EvalError> {
    let Some(scheme) = &configuration.scheme else { return Ok(None) };
    let mut args = vec![
        format!("--scheme={scheme}"),
        format!("--pid={pid}"),
        format!("--stats={}", stats.display()),
        "--quiet".to_owned(),
    ];
    args.extend(configuration.zram_bytes.map(|bytes| format!("--zram={bytes}")));
    Running::start(daos, "apply", &args).map(Some)
}

impl TrialProcesses {
    /// Takes samples of the program until it ends, which should be after `length`. Neither may it
    /// take much longer, nor may the scheme end before.
    fn sample_until_end(
        &mut self,
        length: Duration,
        sampler: &mut Sampler,
        series: &mut TimeSeries,
        stop: &AtomicBool,
    ) -> Result<(), EvalError> {
        let begun = Instant::now();
        for round in 1u32.. {
            let next = begun + PERIOD * round;
            if self.workload.wait_until(next, stop)?.is_some() {
                break;
            }
            if begun.elapsed() > length + OVERTIME {
                return Err(EvalError::Stuck("daos-eval workload".to_owned()));
            }
            if let Some(apply) = &mut self.apply
                && apply.has_ended()?
                // It notices the end of its target before we do.
                && self.workload.wait_until(Instant::now() + PERIOD, stop)?.is_none()
            {
                let failed = self.apply.take().map(|apply| apply.finish(PATIENCE, stop));
                failed.unwrap_or(Ok(()))?;
                return Err(EvalError::TooEarly("daos apply".to_owned()));
            }
            series.samples.extend(sampler.sample());
        }
        Ok(())
    }
}
