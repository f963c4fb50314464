//! A run: the workload, `daos` beside it, and samples of both from outside. The workload is
//! started in the same way in every configuration, and `daos` is told its number at once: so
//! what `daos` takes to begin is in the tables, as it is for who uses it.

use super::configuration::{Configuration, Swap};
use super::error::SuiteError;
use super::host::{FileSwap, HugePagePolicy, drop_caches};
use super::plan::Plan;
use super::store::{Measured, Store};
use super::tree::{self, Sweep};
use super::tuning;
use super::workload::Workload;
use crate::error::EvalError;
use crate::under_test::{Running, available_memory, ends_before};
use daos_linux::memory::ProcessMemory;
use daos_linux::{GuardedSwap, SwapOptions, TempCgroup, cpu, host, user};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(200);
/// Samples from one in which huge pages are counted to the next: for that the kernel walks
/// page tables.
const HUGE_EVERY: u64 = 10;
/// How long `daos` may take to end when the workload has ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to notice that end, before it is asked.
const SOON: Duration = Duration::from_secs(2);
/// The last of so many parts of a run is late.
const LATE: usize = 4;
/// Most bytes of what a program said that are looked at for its last line.
const TAIL: usize = 4096;

/// Makes what the workload works on, if that was not done.
pub fn set_up(plan: &Plan, store: &Store, workload: &Workload) -> Result<(), SuiteError> {
    let dir = directory(store, workload)?;
    let Some(setup) = &workload.setup else { return Ok(()) };
    let done = dir.join(".set-up");
    if fs::read_to_string(&done).is_ok_and(|before| before == *setup) {
        return Ok(());
    }
    let what = format!("the set-up of {}", workload.name);
    let log = log(store, workload, "setup")?;
    let _sweep = Sweep::new();
    let command = shell(plan, setup, &dir, &log)?;
    let mut running = Running::start_quiet(command, &what)?;
    let hold = hold(running.pid())?;
    while !ends_before(&hold, Instant::now() + PERIOD) {
        if plan.stop.load(Ordering::Relaxed) {
            return Err(EvalError::Interrupted.into());
        }
    }
    let status = running.status(PATIENCE, &plan.stop)?;
    judge(status, &what, &log)?;
    let failed = |source| SuiteError::Write { path: done.clone(), source };
    fs::write(&done, setup).map_err(failed)
}

/// Takes away what the workload worked on.
pub fn clear_away(store: &Store, workload: &Workload) {
    if workload.directory.is_none() {
        // What stays takes room and does no harm.
        let _ = fs::remove_dir_all(store.dir().join("work").join(&workload.name));
    }
}

/// With the scheme that is tuned for this workload, where a configuration has one: it is tuned
/// now, if it was not before.
pub fn tuned(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
) -> Result<Configuration, SuiteError> {
    let Some(scheme) = configuration.tuned() else { return Ok(configuration.clone()) };
    let dir = directory(store, workload)?;
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
    let (proc, root) = (Path::new("/proc"), Path::new("/"));
    if let Some(need) = workload.memory_bytes()
        && let Some(have) = available_memory::short_for(need)?
    {
        return Err(SuiteError::Memory { need, have });
    }
    let limit = limit(store, workload, configuration)?;
    let dir = directory(store, workload)?;
    let log = log(store, workload, &configuration.name)?;

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
    let command = shell(plan, &workload.command, &dir, &log)?;
    // After all that has to stay until the workload has ended.
    let sweep = Sweep::new();
    drop_caches()?;
    let free_before = host::meminfo(proc, "MemFree").unwrap_or(0) as f64;
    let cpu_before = cpu::of_children_us();

    let begun = Instant::now();
    let mut running = Running::start_quiet(command, &workload.name)?;
    if let Some(cgroup) = &cgroup {
        let path = cgroup.processes();
        let failed = |source| SuiteError::Write { path: path.clone(), source };
        fs::write(&path, running.pid().to_string()).map_err(failed)?;
    }
    let hold = hold(running.pid())?;
    let words = configuration.words(running.pid(), &scratch.path().join("record"), round + 1);
    let mut daos = match words {
        None => None,
        Some(words) => {
            let mut command = Command::new(&plan.daos);
            command.args(words);
            Some(Running::start_talkative(command, "daos", Stdio::null())?)
        }
    };

    let mut means = Means::default();
    let mut resident = Vec::new();
    for sample in 0.. {
        let next = begun + PERIOD * sample;
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
        let pids = tree::processes(running.pid());
        let memory = tree::memory(proc, &pids);
        let free = host::meminfo(proc, "MemFree").unwrap_or(0) as f64;
        resident.push(memory.resident_bytes as f64);
        means.add(Mean::Swap, memory.swap_bytes as f64);
        means.add(Mean::Used, free_before - free);
        if u64::from(sample) % HUGE_EVERY == HUGE_EVERY / 2 {
            means.add(Mean::Huge, tree::huge(&pids) as f64);
        }
        let beside = daos.as_ref().and_then(|daos| ProcessMemory::read(proc, daos.pid()));
        if let Some(memory) = beside {
            means.add(Mean::Daos, memory.resident_bytes as f64);
        }
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
    judge(status, &workload.name, &log)?;

    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e6;
    Ok(Measured {
        runtime_s,
        user_s: seconds(cpu_before.0, cpu_workload.0),
        system_s: seconds(cpu_before.1, cpu_workload.1),
        rss_bytes: mean(&resident),
        rss_late_bytes: mean(&resident[resident.len() - resident.len().div_ceil(LATE)..]),
        memused_bytes: means.of(Mean::Used),
        swap_bytes: means.of(Mean::Swap),
        huge_bytes: means.of(Mean::Huge),
        daos_cpu_s: seconds(cpu_workload.0, cpu_all.0) + seconds(cpu_workload.1, cpu_all.1),
        daos_rss_bytes: means.of(Mean::Daos),
    })
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
    if runs.is_empty() {
        return Err(SuiteError::NotYet(format!("{other} has to run before, and did not")));
    }
    let mean = runs.iter().map(|run| run.rss_bytes).sum::<f64>() / runs.len() as f64;
    Ok(Some(mean as u64))
}

/// A script for the shell, as whom workloads run.
fn shell(plan: &Plan, script: &str, dir: &Path, log: &Path) -> Result<Command, SuiteError> {
    let failed = |source| SuiteError::Write { path: log.to_owned(), source };
    let out = File::create(log).map_err(failed)?;
    let err = out.try_clone().map_err(failed)?;
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir).stdout(out).stderr(err);
    command.env("DAOS_EVAL", &plan.eval);
    if let Some(suite) = &plan.suite.directory {
        command.env("SUITE", suite);
    }
    if let Some(user) = &plan.user {
        let own = std::os::unix::fs::chown(dir, Some(user.uid()), None);
        own.map_err(|source| SuiteError::Write { path: dir.to_owned(), source })?;
    }
    user::confine(&mut command, plan.user.as_ref());
    user::end_with_me(&mut command);
    Ok(command)
}

fn directory(store: &Store, workload: &Workload) -> Result<PathBuf, SuiteError> {
    if let Some(dir) = &workload.directory {
        return Ok(dir.clone());
    }
    make_dir(store.dir().join("work").join(&workload.name))
}

/// Where what it says goes.
fn log(store: &Store, workload: &Workload, of: &str) -> Result<PathBuf, SuiteError> {
    Ok(make_dir(store.dir().join("logs").join(&workload.name))?.join(of))
}

fn make_dir(dir: PathBuf) -> Result<PathBuf, SuiteError> {
    let made = fs::create_dir_all(&dir).and_then(|()| fs::canonicalize(&dir));
    made.map_err(|source| SuiteError::Write { path: dir, source })
}

/// A hold of a process that we started and have not waited for.
fn hold(pid: u32) -> Result<OwnedFd, SuiteError> {
    let name = || format!("process {pid}");
    let pid = Pid::from_raw(pid as i32).ok_or_else(|| EvalError::TooEarly(name()))?;
    let hold = pidfd_open(pid, PidfdFlags::empty());
    Ok(hold.map_err(|err| EvalError::Run { name: name(), source: err.into() })?)
}

/// Complains if it failed, with the last that it said.
fn judge(status: ExitStatus, what: &str, log: &Path) -> Result<(), SuiteError> {
    if status.success() {
        return Ok(());
    }
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL)..]).into_owned();
    let said = text.trim_end().lines().last().unwrap_or("it said nothing");
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(9)) => "killed, by the kernel if memory ran out".to_owned(),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    };
    let (what, said, log) = (what.to_owned(), said.to_owned(), log.to_owned());
    Err(SuiteError::Failed { what, how, said, log })
}

/// 0 of nothing.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What a mean is of.
#[derive(Debug, Clone, Copy)]
enum Mean {
    Swap,
    Used,
    Huge,
    Daos,
}

/// Sums of samples that are equally far apart, and their numbers.
#[derive(Debug, Default)]
struct Means([(f64, u64); 4]);

impl Means {
    fn add(&mut self, which: Mean, value: f64) {
        let (sum, count) = &mut self.0[which as usize];
        *sum += value;
        *count += 1;
    }

    /// 0 without samples.
    fn of(&self, which: Mean) -> f64 {
        let (sum, count) = self.0[which as usize];
        if count == 0 { 0.0 } else { sum / count as f64 }
    }
}
