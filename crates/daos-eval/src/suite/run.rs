//! A run: the workload, `daos` beside it, and samples of both from outside. The workload is
//! started in the same way in every configuration, and `daos` is told its number at once: so
//! what `daos` takes to begin is in the tables, as it is for who uses it.

use super::configuration::{Configuration, Swap};
use super::error::SuiteError;
use super::host::{FileSwap, HugePagePolicy, drop_caches};
use super::plan::Plan;
use super::results::mean;
use super::samples::Samples;
use super::script;
use super::store::{Measured, Store};
use super::tree::Sweep;
use super::tuning;
use super::workload::{Workload, quoted};
use crate::error::EvalError;
use crate::under_test::{Running, available_memory, ends_before};
use daos_linux::{GuardedSwap, SwapOptions, TempCgroup, cpu};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(200);
/// How long `daos` may take to end when the workload has ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to notice that end, before it is asked.
const SOON: Duration = Duration::from_secs(2);
/// With the scheme that is tuned for this workload, where a configuration has one: it is tuned
/// now, if it was not before.
pub fn tuned(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Configuration, SuiteError> {
    let Some(scheme) = configuration.tuned() else { return Ok(configuration.clone()) };
    let dir = script::directory(store, workload)?;
    let _policy = HugePagePolicy::set(Path::new("/"), configuration.huge_pages)?;
    let found = tuning::scheme(plan, store, workload, &configuration.name, scheme, &dir)?;
    Ok(configuration.with_tuned(found))
}

/// Runs it once. Whatever happens, nothing of it stays behind.
pub fn run(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
    round: u32,
) -> Result<Measured, SuiteError> {
    let root = Path::new("/");
    if let Some(need) = workload.memory_bytes()
        && let Some(have) = available_memory::short_for(need)?
    {
        return Err(SuiteError::Memory { need, have });
    }
    let limit = limit(store, workload, configuration)?;
    let dir = script::directory(store, workload)?;
    let log = script::log(store, workload, &configuration.name)?;

    let _policy = HugePagePolicy::set(root, configuration.huge_pages)?;
    let file = store.dir().join("swap");
    let _file_swap = (configuration.swap == Some(Swap::File))
        .then(|| FileSwap::set_up(&file, plan.zram_bytes))
        .transpose()?;
    let zram = (configuration.swap == Some(Swap::Zram)).then(|| {
        GuardedSwap::set_up_by(Command::new(&plan.daos), SwapOptions::new(plan.zram_bytes))
    });
    let zram = zram.transpose()?;
    let cgroup = limit.map(|bytes| TempCgroup::make(root, bytes)).transpose()?;
    let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
    let text = cgroup.as_ref().map(wait_to_be_in).unwrap_or_default() + &workload.command;
    let command = script::shell(plan, workload, &text, &dir, &log)?;
    // After all that has to stay until the workload has ended.
    let sweep = Sweep::new();
    drop_caches()?;
    let mut samples = Samples::begin();
    let cpu_before = cpu::of_children_us();

    let begun = Instant::now();
    let mut running = Running::start_quiet(command, &workload.name)?;
    let hold = script::hold(running.pid())?;
    if let Some(cgroup) = &cgroup {
        let path = cgroup.processes();
        let moved = fs::write(&path, running.pid().to_string());
        moved.map_err(|source| SuiteError::Write { path, source })?;
    }
    let words = configuration.words(running.pid(), &scratch.path().join("record"), round + 1);
    let mut daos = match words {
        None => None,
        Some(words) => {
            let mut command = Command::new(&plan.daos);
            command.args(words);
            Some(Running::start_talkative(command, "daos", Stdio::null())?)
        }
    };

    for number in 0.. {
        let next = begun + PERIOD * number;
        if ends_before(&hold, next) {
            break;
        }
        if plan.stop.load(Ordering::Relaxed) {
            return Err(EvalError::Interrupted.into());
        }
        if begun.elapsed().as_secs_f64() > workload.most_seconds() {
            return Err(SuiteError::TooLong(workload.most_seconds()));
        }
        if let Some(beside) = &mut daos
            && beside.has_ended()?
            // It notices the end of the workload, too.
            && !ends_before(&hold, Instant::now() + SOON)
        {
            if let Some(ended) = daos.take() {
                ended.finish(PATIENCE, &plan.stop)?;
            }
            return Err(EvalError::TooEarly("daos".to_owned()).into());
        }
        samples.take(running.pid(), daos.as_ref().map(Running::pid));
    }
    let runtime_s = begun.elapsed().as_secs_f64();
    let status = running.status(PATIENCE, &plan.stop)?;
    let daos_pid: Vec<u32> = daos.iter().map(Running::pid).collect();
    sweep.end_all_but(&daos_pid);
    let cpu_workload = cpu::of_children_us();
    if let Some(mut daos) = daos {
        if daos.wait_until(Instant::now() + SOON, &plan.stop)?.is_none() {
            daos.ask_to_end();
        }
        match daos.finish(PATIENCE, &plan.stop) {
            // A workload that failed at once leaves nothing to watch.
            Err(_) if !status.success() => {}
            ended => ended?,
        }
    }
    let cpu_all = cpu::of_children_us();
    drop(cgroup);
    zram.map_or(Ok(()), GuardedSwap::take_away)?;
    script::judge(status, &workload.name, &log)?;

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

/// What a script does first, before it starts anything: waits until it was put into a cgroup,
/// which takes root.
fn wait_to_be_in(cgroup: &TempCgroup) -> String {
    let path = cgroup.processes();
    let name = path.parent().and_then(Path::file_name).unwrap_or_default();
    let name = quoted(&name.to_string_lossy());
    format!("until grep -qF {name} /proc/$$/cgroup; do sleep 0.01; done\n")
}

/// The most memory that it may have, in bytes, if it is limited to what another configuration
/// left it.
fn limit(
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Option<u64>, SuiteError> {
    let Some(other) = &configuration.limit_of else { return Ok(None) };
    let runs = store.measured(&workload.name, other);
    let resident: Vec<f64> = runs.iter().map(|run| run.rss_bytes).collect();
    let not_yet = || SuiteError::NotYet(format!("{other} has to run before, and did not"));
    Ok(Some(mean(&resident).ok_or_else(not_yet)? as u64))
}
