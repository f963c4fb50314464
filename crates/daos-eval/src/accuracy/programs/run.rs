//! One run of a program: from its start, with a scan or a monitor beside it, until the time is
//! over or it ends. Nothing of it stays behind.

use super::page_scan::{Found, PageScan};
use super::plan::ProgramPlan;
use super::scan::ScanLog;
use crate::accuracy::cost::Costs;
use crate::error::EvalError;
use crate::monitors::ComparedKind;
use crate::suite::script;
use crate::suite::tree::Sweep;
use crate::suite::{Plan, Store, SuiteError, Workload};
use crate::under_test::{Running, ends_before};
use daos_core::{Side, SnapshotSource};
use daos_linux::{cpu, layout};
use daos_session::{LiveError, Targets};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long what is beside a program may take to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to notice the program's end.
const SOON: Duration = Duration::from_secs(2);
/// How often to look whether it is still there.
const TURN: Duration = Duration::from_millis(200);
/// What scanning may cost in all, as a share of one CPU: it is not bounded.
pub(super) const ANY_COST: f64 = 1.0;

/// Where programs are run.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub plan: &'a ProgramPlan,
    pub suite: &'a Plan,
    pub store: &'a Store,
}

/// A program that runs, and what ends with it.
struct Started<'a> {
    place: &'a Place<'a>,
    workload: &'a Workload,
    log: std::path::PathBuf,
    running: Running,
    hold: OwnedFd,
    sweep: Sweep,
    /// On `CLOCK_MONOTONIC`, in microseconds.
    begun_us: u64,
    deadline: Instant,
}

impl Place<'_> {
    /// Starts it.
    fn start<'a>(
        &'a self,
        workload: &'a Workload,
        called: &str,
    ) -> Result<Started<'a>, SuiteError> {
        workload.check_memory(1)?;
        let dir = script::directory(self.store, workload, Side::First)?;
        let log = script::log(self.store, workload, called)?;
        let mut command = script::shell(
            self.suite.given(),
            workload,
            Side::First,
            &workload.command,
            &dir,
            &log,
        )?;
        layout::repeat(&mut command);
        let sweep = Sweep::new();
        let begun_us = cpu::monotonic_us();
        let running = Running::start_quiet(command, &workload.name)?;
        let hold = script::hold(running.pid())?;
        let deadline = Instant::now() + Duration::from_micros(self.plan.length_us);
        Ok(Started { place: self, workload, log, running, hold, sweep, begun_us, deadline })
    }

    /// The program under a scan: all that it did, and what that cost.
    pub fn scanned(&self, workload: &Workload) -> Result<(ScanLog, Costs), SuiteError> {
        let started = self.start(workload, "scan")?;
        let (pid, begun_us) = (started.running.pid(), started.begun_us);
        let stop = Arc::new(AtomicBool::new(false));
        // Watching asks for short turns of the CPU, for the thread that does it.
        let scanned = std::thread::scope(|scope| {
            let scan = scope.spawn(|| scan(self.plan, pid, begun_us, stop.clone()));
            let waited = started.wait(|| Ok(scan.is_finished()));
            stop.store(true, Ordering::Relaxed);
            let scanned = scan.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            waited.and(Ok(scanned))
        });
        let ended = started.end(&[]);
        let scanned = scanned?;
        ended?;
        Ok(scanned.map_err(EvalError::from)?)
    }

    /// The program with a monitor beside it, which records to `record`. Returns when it began,
    /// on `CLOCK_MONOTONIC` in microseconds.
    pub fn recorded(
        &self,
        workload: &Workload,
        monitor: ComparedKind,
        seed: u64,
        record: &Path,
    ) -> Result<u64, SuiteError> {
        let mut started = self.start(workload, monitor.name())?;
        let ProgramPlan { attrs, options, attach_us, .. } = self.plan;
        if *attach_us > 0 {
            let attached = Instant::now() + Duration::from_micros(*attach_us);
            if started.running.wait_until(attached, &self.suite.stop)?.is_some() {
                started.end(&[])?;
                return Err(EvalError::TooEarly(workload.name.clone()).into());
            }
        }
        let program = if monitor.is_yardstick() { &self.suite.eval } else { &self.suite.daos };
        let mut command = Command::new(program);
        command.arg("record").args(monitor.words(attrs, options, seed));
        command.arg(format!("--pid={}", started.running.pid())).arg("--children");
        command.arg("--output").arg(record);
        let mut beside = Running::start_talkative(command, "daos record", Stdio::null())?;
        let begun_us = started.begun_us;
        let waited = started.wait(|| beside.has_ended());
        if beside.wait_until(Instant::now(), &self.suite.stop).is_ok_and(|ended| ended.is_none())
            && !ends_before(&started.hold, Instant::now())
        {
            beside.ask_to_end();
        }
        let finished = beside.finish(PATIENCE, &self.suite.stop);
        let ended = started.end(&[]);
        waited?;
        ended?;
        finished?;
        Ok(begun_us)
    }
}

impl Started<'_> {
    /// Waits for its end, or that of the time. What is beside it must not end before.
    fn wait(
        &self,
        mut has_ended: impl FnMut() -> Result<bool, EvalError>,
    ) -> Result<(), SuiteError> {
        while !ends_before(&self.hold, self.deadline.min(Instant::now() + TURN)) {
            if self.place.suite.stop.load(Ordering::Relaxed) {
                return Err(EvalError::Interrupted.into());
            }
            if Instant::now() >= self.deadline {
                return Ok(());
            }
            // It notices the end of the program, too, and says itself what is wrong else.
            if has_ended()? {
                ends_before(&self.hold, Instant::now() + SOON);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Ends it, if it has not by itself; then it must not have failed.
    fn end(mut self, spared: &[u32]) -> Result<(), SuiteError> {
        if ends_before(&self.hold, Instant::now()) {
            let status = self.running.status(PATIENCE, &self.place.suite.stop)?;
            self.sweep.end_all_but(spared);
            return script::judge(status, &self.workload.name, &self.log);
        }
        self.sweep.end_all_but(spared);
        Ok(())
    }
}

/// Scans until `stop` is set, or the program has ended.
fn scan(
    plan: &ProgramPlan,
    pid: u32,
    begun_us: u64,
    stop: Arc<AtomicBool>,
) -> Result<(ScanLog, Costs), LiveError> {
    let (to, found) = mpsc::channel();
    let monitor = PageScan::new(plan.scan_us, plan.idle_us, to);
    let targets = Targets::open(&[pid], true, false, Some(ANY_COST))?;
    let mut live = targets.watch(None, monitor, None, stop)?;
    let mut costs = Costs::default();
    while let Some(snapshot) = live.next_snapshot()? {
        costs.add(&snapshot);
    }
    let start_us = live.start_us() - begun_us;
    drop(live);
    let mut log = ScanLog { every_us: plan.scan_us, idle_us: plan.idle_us, ..ScanLog::default() };
    for found in found {
        match found {
            Found::Scan(mut scan) => {
                scan.at_us += start_us;
                log.scans.push(scan);
            }
            Found::Process(info) => match log.processes.iter_mut().find(|p| p.id == info.id) {
                Some(known) => *known = info,
                None => log.processes.push(info),
            },
        }
    }
    Ok((log, costs))
}
