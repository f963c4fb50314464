//! The scripts of a workload: where they run, what they say, and how they ended. The one that
//! makes its input is run here.

use super::error::SuiteError;
use super::no_link::no_link;
use super::plan::Plan;
use super::store::Store;
use super::tree::Sweep;
use super::workload::Workload;
use crate::error::EvalError;
use crate::under_test::{Running, ends_before};
use daos_core::Side;
use daos_linux::{User, user};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long to wait at once.
const TURN: Duration = Duration::from_millis(200);
/// How long what has ended may take to be gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// Most bytes of what a program said that are looked at for its last line.
const TAIL: usize = 4096;

/// What all scripts are given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// The program that they find in `$DAOS_EVAL`.
    pub eval: &'a Path,
    /// The directory that they find in `$SUITE`.
    pub suite: Option<&'a Path>,
    /// As whom they run; `None`: as who runs this.
    pub user: Option<&'a User>,
}

impl Plan {
    /// What scripts are given.
    pub(crate) fn given(&self) -> Given<'_> {
        let suite = self.suite.directory.as_deref();
        Given { eval: &self.eval, suite, user: self.user.as_ref() }
    }
}

/// Makes what a copy of the workload works on, if that was not done.
pub(crate) fn set_up(
    plan: &Plan,
    store: &Store,
    workload: &Workload,
    side: Side,
) -> Result<(), SuiteError> {
    let dir = directory(store, workload, side)?;
    let Some(setup) = &workload.setup else { return Ok(()) };
    let done = mark_of_setup(store, workload, side)?;
    if fs::read_to_string(&done).is_ok_and(|before| before == *setup) {
        return Ok(());
    }
    let what = format!("the set-up of {}", workload.name);
    let log = log(store, workload, &side.called("setup"))?;
    let _sweep = Sweep::new();
    let command = shell(plan.given(), workload, side, setup, &dir, &log)?;
    let mut running = Running::start_quiet(command, &what)?;
    let hold = hold(running.pid())?;
    while !ends_before(&hold, Instant::now() + TURN) {
        if plan.stop.load(Ordering::Relaxed) {
            return Err(EvalError::Interrupted.into());
        }
    }
    let status = running.status(PATIENCE, &plan.stop)?;
    judge(status, &what, &log)?;
    let failed = |why| SuiteError::Write { path: done.clone(), why };
    fs::write(&done, setup).map_err(failed)
}

/// Where it says what made its input: not where the workload, which may be another user's, can
/// put a link.
fn mark_of_setup(store: &Store, workload: &Workload, side: Side) -> Result<PathBuf, SuiteError> {
    // A file for each, whatever names they share the beginning of.
    let name = workload.name.replace('/', "%");
    Ok(make_dir(store.dir().join(side.called("set-up")))?.join(name))
}

/// Takes away what a copy of the workload worked on.
pub(crate) fn clear_away(store: &Store, workload: &Workload, side: Side) {
    if workload.directory.is_none() {
        // What stays takes room and does no harm.
        let _ = fs::remove_dir_all(store.dir().join(side.called("work")).join(&workload.name));
        let _ = mark_of_setup(store, workload, side).map(fs::remove_file);
    }
}

/// A script for the shell, as whom workloads run.
pub(crate) fn shell(
    given: Given<'_>,
    workload: &Workload,
    side: Side,
    script: &str,
    dir: &Path,
    log: &Path,
) -> Result<Command, SuiteError> {
    let failed = |why| SuiteError::Write { path: log.to_owned(), why };
    let out = no_link().write(true).create(true).truncate(true).open(log).map_err(failed)?;
    let err = out.try_clone().map_err(failed)?;
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(dir).stdout(out).stderr(err);
    command.env("DAOS_EVAL", given.eval).env(Side::COPY, side.number().to_string());
    if let Some(suite) = given.suite {
        command.env("SUITE", suite);
    }
    if let (Some(user), None) = (given.user, &workload.directory) {
        let own = std::os::unix::fs::chown(dir, Some(user.uid()), None);
        own.map_err(|why| SuiteError::Write { path: dir.to_owned(), why })?;
    }
    user::confine(&mut command, given.user);
    user::end_with_me(&mut command);
    Ok(command)
}

/// Where a copy of the workload runs.
pub(crate) fn directory(
    store: &Store,
    workload: &Workload,
    side: Side,
) -> Result<PathBuf, SuiteError> {
    if let Some(dir) = &workload.directory {
        return Ok(dir.clone());
    }
    make_dir(store.dir().join(side.called("work")).join(&workload.name))
}

/// Where what it says goes.
pub(crate) fn log(store: &Store, workload: &Workload, of: &str) -> Result<PathBuf, SuiteError> {
    Ok(make_dir(store.dir().join("logs").join(&workload.name))?.join(of))
}

pub(crate) fn make_dir(dir: PathBuf) -> Result<PathBuf, SuiteError> {
    let made = fs::create_dir_all(&dir).and_then(|()| fs::canonicalize(&dir));
    made.map_err(|why| SuiteError::Write { path: dir, why })
}

/// A hold of a process that we started and have not waited for.
pub(crate) fn hold(pid: u32) -> Result<OwnedFd, SuiteError> {
    let name = || format!("process {pid}");
    let pid = Pid::from_raw(pid as i32).ok_or_else(|| EvalError::TooEarly(name()))?;
    let hold = pidfd_open(pid, PidfdFlags::empty());
    Ok(hold.map_err(|err| EvalError::Run { name: name(), why: err.into() })?)
}

/// Complains if it failed, with the last that it said.
pub(crate) fn judge(status: ExitStatus, what: &str, log: &Path) -> Result<(), SuiteError> {
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
