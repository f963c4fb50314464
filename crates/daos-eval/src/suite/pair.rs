//! A pair: two copies of a workload at once, each on half of the CPUs, one in a configuration and
//! one as in the baseline. What the machine does meanwhile, it does to both.
//!
//! Each copy is run by a process of its own, which is kept on the copy's CPUs with all that it
//! starts: the workload, `daos` beside it, and who samples them. So the other copy has its CPUs
//! for itself, what `daos` takes is in the figures of the copy that it is beside, and CPU times
//! and what is left behind can be told apart.

use super::configuration::Configuration;
use super::error::SuiteError;
use super::host::{HostAsConfigured, drop_caches};
use super::job::Job;
use super::plan::Plan;
use super::run::limit;
use super::store::{Measured, Outcome, Store};
use super::tree::Sweep;
use super::workload::Workload;
use crate::error::EvalError;
use crate::under_test::Running;
use daos_core::Side;
use daos_linux::halves::keep_on;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often to look whether a copy has ended.
const TURN: Duration = Duration::from_millis(50);

/// Runs it once: the copy in the configuration, and that beside it. Whatever happens, nothing of
/// either stays behind.
pub fn run(
    plan: &Plan,
    halves: &[Vec<u32>; 2],
    store: &Store,
    workload: &Workload,
    configuration: &Configuration,
    round: u32,
) -> Result<(Measured, Measured), SuiteError> {
    workload.check_memory(2)?;
    let side = Side::of_round(round);
    let job = Job {
        limit_bytes: limit(store, workload, configuration)?,
        is_beside_another: true,
        ..Job::of(plan, store, workload, configuration, round, side)?
    };
    let alone = Configuration::baseline();
    let beside = Job::of(plan, store, workload, &alone, round, side.other())?;
    let host = HostAsConfigured::set_up(plan, store, configuration)?;
    host.put_back_after(run_both(plan, halves, job, beside))
}

/// Runs both at once, each on a half of the CPUs.
fn run_both(
    plan: &Plan,
    halves: &[Vec<u32>; 2],
    job: Job,
    beside: Job,
) -> Result<(Measured, Measured), SuiteError> {
    let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
    // After all that has to stay until both have ended.
    let _sweep = Sweep::new();
    drop_caches()?;
    let mut copy = Copy::start(job, halves, scratch.path())?;
    let mut beside = Copy::start(beside, halves, scratch.path())?;
    let ended = wait(plan, [&mut copy, &mut beside]);
    // Both at once, where they have not.
    copy.running.ask_to_end();
    beside.running.ask_to_end();
    // Ctrl-C is heard by the copies, too, which say so first.
    if plan.stop.load(Ordering::Relaxed) {
        return Err(EvalError::Interrupted.into());
    }
    ended?;
    Ok((copy.outcome()?, beside.outcome()?))
}

/// Waits until both have ended well, or one has not.
fn wait(plan: &Plan, mut copies: [&mut Copy; 2]) -> Result<(), SuiteError> {
    loop {
        let mut all_ended = true;
        for copy in &mut copies {
            match copy.running.has_ended()? {
                true => drop(copy.outcome()?),
                false => all_ended = false,
            }
        }
        if all_ended || plan.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        std::thread::sleep(TURN);
    }
}

/// A copy that runs.
#[derive(Debug)]
struct Copy {
    job: Job,
    running: Running,
    said: File,
}

impl Copy {
    /// Starts the process that runs it.
    fn start(job: Job, halves: &[Vec<u32>; 2], scratch: &Path) -> Result<Self, SuiteError> {
        let path = scratch.join(job.side.called("job"));
        let failed = |why| SuiteError::Write { path: path.clone(), why };
        let file = File::create(&path).map_err(failed)?;
        serde_json::to_writer(file, &job).map_err(|err| failed(err.into()))?;
        let said = tempfile::tempfile().map_err(EvalError::Scratch)?;
        let stdout = said.try_clone().map_err(EvalError::Scratch)?;
        let mut command = Command::new(&job.eval);
        command.arg("copy").arg(&path);
        let cpus: &Vec<u32> = job.side.of(halves);
        keep_on(&mut command, cpus);
        daos_linux::user::end_with_me(&mut command);
        let running = Running::start_talkative(command, "daos-eval copy", stdout)?;
        Ok(Self { job, running, said })
    }

    /// What came of it, when it has ended.
    fn outcome(&mut self) -> Result<Measured, SuiteError> {
        let name = &self.job.configuration.name;
        let failed = |why: String| SuiteError::Copy { name: name.clone(), why };
        let mut said = String::new();
        let read = self.said.rewind().and_then(|()| self.said.read_to_string(&mut said));
        read.map_err(EvalError::Scratch)?;
        match serde_json::from_str(&said) {
            Ok(Outcome::Measured(measured)) => Ok(measured),
            Ok(Outcome::Failed { failed: why }) => Err(failed(why)),
            Err(_) => Err(failed("it ended without a result".to_owned())),
        }
    }
}
