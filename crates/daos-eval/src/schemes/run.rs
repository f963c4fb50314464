//! Runs one arm: the program, a scheme beside it, and someone who looks.

use super::arm::{Arm, Ran};
use super::counters::Counters;
use crate::error::BenchError;
use crate::looker::{Looker, zram_bytes};
use crate::pagemap::Watched;
use crate::process::{Commands, Running};
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

/// The programs of a run. What is dropped is killed, in this order: so what the program
/// had in swap is gone when the swap is taken away.
#[derive(Debug)]
struct Both {
    workload: Running,
    apply: Option<Running>,
}

/// Runs it once, to the end of its workload. `seed` is that of the accesses.
pub fn run(
    arm: &Arm,
    seed: u64,
    Commands { daos, eval }: &Commands,
    stop: &AtomicBool,
) -> Result<Ran, BenchError> {
    let scratch = tempfile::tempdir().map_err(BenchError::Scratch)?;
    let file = |name: &str| scratch.path().join(name);
    let (config, truth, stats) = (file("workload.cfg"), file("truth"), file("stats"));
    fs::write(&config, &arm.workload).map_err(BenchError::Scratch)?;
    let length = Duration::from_micros(Config::parse(arm.name, &arm.workload)?.duration_us());
    let zram_before = zram_bytes(Path::new("/sys"));
    let make_cgroup = |bytes| TempCgroup::make(Path::new("/"), bytes);
    let cgroup = arm.limit_bytes.map(make_cgroup).transpose()?;

    let mut args = vec![
        config.display().to_string(),
        format!("--truth={}", truth.display()),
        format!("--seed={seed}"),
    ];
    args.extend_from_slice(&arm.options);
    let workload = match &cgroup {
        Some(cgroup) => Running::start_within(&cgroup.processes(), eval, "workload", &args),
        None => Running::start(eval, "workload", &args),
    };
    let mut both = Both { workload: workload?, apply: None };
    both.workload.wait_for_line("ready:")?;
    let pid = both.workload.pid();
    let watched = arm.watched_bytes.and_then(|bytes| Watched::find(pid, bytes));
    let mut looker = Looker::new(pid, zram_before).with_watched(watched);

    let mut ran = Ran::default();
    ran.course.samples.extend(looker.look());
    ran.begun_us = cpu::monotonic_us();
    if let Some(scheme) = &arm.scheme {
        let mut args = vec![
            format!("--scheme={scheme}"),
            format!("--pid={pid}"),
            format!("--stats={}", stats.display()),
            "--quiet".to_owned(),
        ];
        args.extend(arm.zram_bytes.map(|bytes| format!("--zram={bytes}")));
        both.apply = Some(Running::start(daos, "apply", &args)?);
    }

    let begun = Instant::now();
    for round in 1u32.. {
        let next = begun + PERIOD * round;
        if both.workload.wait_until(next, stop)?.is_some() {
            break;
        }
        if begun.elapsed() > length + OVERTIME {
            return Err(BenchError::Stuck("daos-eval workload".to_owned()));
        }
        if let Some(apply) = &mut both.apply
            && apply.has_ended()?
            // It notices the end of its target before we do.
            && both.workload.wait_until(Instant::now() + PERIOD, stop)?.is_none()
        {
            let failed = both.apply.take().map(|apply| apply.finish(PATIENCE, stop));
            failed.unwrap_or(Ok(()))?;
            return Err(BenchError::TooEarly("daos apply".to_owned()));
        }
        ran.course.samples.extend(looker.look());
    }
    let Both { workload, apply } = both;
    match workload.finish(PATIENCE, stop) {
        Err(BenchError::Failed { status, .. })
            if cgroup.is_some() && status.signal() == Some(Signal::KILL.as_raw()) =>
        {
            return Ok(Ran { is_killed: true, ..Ran::default() });
        }
        ended => ended?,
    }
    if let Some(apply) = apply {
        apply.finish(PATIENCE, stop)?;
        ran.counters = Some(Counters::read(&stats)?);
    }
    ran.counted = PhaseTruth::read_all(&truth)?.pop();
    Ok(ran)
}
