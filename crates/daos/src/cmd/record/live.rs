//! Recording of live processes.

use super::header;
use super::output::{Output, Recording};
use super::summary::Totals;
use crate::child::Started;
use crate::{cli, is_broken_pipe, signals};
use anyhow::{Context, Result, anyhow};
use daos_bpf::VirtualMemory;
use daos_core::{AccessCheck, AnyMonitor, HOT_RATE, Snapshot, SnapshotSource};
use daos_linux::{Driver, Process, ProcessError, Stop, cpu, damon};
use daos_report::units;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// How long a command may take to end by itself after a Ctrl-C that reached it too.
const AFTER_CTRL_C_S: i64 = 1;

/// Records the processes, or the command, that `args` names.
pub fn run(args: &cli::Record, monitor: AnyMonitor) -> Result<i32> {
    // What can be refused is refused before anything is started or written.
    let forms = &args.target.forms;
    let mut processes = Vec::new();
    for &pid in &forms.pid {
        if !processes.iter().any(|p: &Process| p.pid() == pid) {
            processes.push(Process::open(pid)?);
        }
    }
    let mut memory = VirtualMemory::new()?.with_children(args.target.children);
    let mut pidfds = Vec::new();
    for process in processes {
        add(&mut memory, &mut pidfds, process)?;
    }
    let output = Output::open(&args.output)?;
    if !args.quiet {
        tell_of_others();
    }

    let stop_flag = signals::stop_flag()?;
    let asked_to_stop = Arc::clone(&stop_flag);
    let started = match forms.command.as_slice() {
        [] => None,
        command => {
            let started = Started::spawn(command, output.is_stdout())?;
            match Process::open(started.pid()) {
                Ok(process) => add(&mut memory, &mut pidfds, process)?,
                // One that is over already leaves an empty record.
                Err(ProcessError::Zombie(_) | ProcessError::NotFound(_)) => {}
                Err(err) => return Err(err.into()),
            }
            Some(started)
        }
    };

    let mut driver =
        Driver::new(monitor, memory, stop_flag, args.duration).context("preparing the timer")?;
    for pidfd in &pidfds {
        driver.watch(pidfd).context("watching for the target's end")?;
    }
    let setup_cpu_us = cpu::used_us();
    driver.begin()?;
    let target = match forms.command.as_slice() {
        [] => forms.pid.iter().map(|pid| format!("--pid {pid}")).collect(),
        command => command.to_vec(),
    };
    let backend = driver.access().capabilities().name;
    let recording = output.begin(&header(args, backend, target, driver.start_us()))?;

    let watching_only = started.is_none();
    let bar = progress(!args.quiet && watching_only, args.duration);
    let mut totals = Totals::new(&args.monitoring.looking);
    let recorded = record(&mut driver, recording, &mut totals, &bar);
    bar.finish_and_clear();

    let recorded = match (recorded, &started) {
        (Err(err), Some(_)) if !is_broken_pipe(&err) => {
            eprintln!("daos: recording ended early: {err:#}; the command goes on");
            Err(anyhow!("the record lacks its end"))
        }
        (recorded, _) => recorded,
    };
    let stop = driver.stop();
    // From here on we may wait for the command: run where we like, watch no more.
    drop(driver);
    let exit_status = match (started, stop) {
        (None, _) => None,
        (Some(started), Some(Stop::Duration)) => started.finish(0)?.and(None),
        (Some(started), Some(Stop::Asked)) => started.finish(AFTER_CTRL_C_S)?,
        (Some(started), Some(Stop::TargetsEnded) | None) => {
            started.wait(&asked_to_stop, AFTER_CTRL_C_S)?
        }
    };
    let end = totals.end(reason(stop), exit_status, setup_cpu_us);
    match recorded {
        Ok(recording) => recording.finish(&end)?,
        // Nobody reads on: no failure of the command, whose status stands.
        Err(err) if is_broken_pipe(&err) => return Ok(exit_status.unwrap_or(0)),
        Err(err) => return Err(err),
    }
    if !args.quiet {
        totals.tell(&end, &args.output.display().to_string());
    }
    Ok(exit_status.unwrap_or(0))
}

/// Makes `process` a target whose end is noticed at once.
fn add(memory: &mut VirtualMemory, pidfds: &mut Vec<OwnedFd>, process: Process) -> Result<()> {
    let pidfd = process.as_fd().try_clone_to_owned();
    pidfds.push(pidfd.context("keeping a hold of the target")?);
    memory.add(process)?;
    Ok(())
}

/// Records until the driver stops. Gives the recording back to be finished.
fn record(
    driver: &mut Driver<VirtualMemory>,
    mut recording: Recording,
    totals: &mut Totals,
    bar: &ProgressBar,
) -> Result<Recording> {
    while let Some(snapshot) = driver.next_snapshot()? {
        recording.snapshot(&driver.changed_targets(), &snapshot)?;
        totals.add(&snapshot);
        show(bar, &snapshot);
    }
    Ok(recording)
}

fn reason(stop: Option<Stop>) -> &'static str {
    match stop {
        Some(Stop::Duration) => "the duration was over",
        Some(Stop::Asked) => "it was interrupted",
        Some(Stop::TargetsEnded) | None => "the target ended",
    }
}

/// Others clear accessed bits too, and then memory looks colder than it is.
fn tell_of_others() {
    if let Some(kdamond) = damon::running(Path::new("/sys")).first() {
        eprintln!(
            "daos: note: a DAMON of the kernel is running ({kdamond}); it clears accessed bits too, so some accesses may be missed"
        );
    }
}

/// A line on the terminal, for processes that do not write to it themselves.
fn progress(wanted: bool, duration_us: Option<u64>) -> ProgressBar {
    if !wanted || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = match duration_us {
        Some(_) => "recording [{bar:30}] {msg}",
        None => "recording {spinner} {msg} (Ctrl-C ends it)",
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let bar = duration_us.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    bar.with_style(style.progress_chars("=> "))
}

fn show(bar: &ProgressBar, snapshot: &Snapshot) {
    if bar.is_hidden() {
        return;
    }
    let hot: u64 = snapshot
        .targets
        .iter()
        .flat_map(|t| &t.regions)
        .filter(|r| snapshot.access_rate(r) >= HOT_RATE)
        .map(|r| r.range.len())
        .sum();
    bar.set_position(snapshot.end_us);
    bar.set_message(format!(
        "{:.1} s, {} regions, {} hot, {:.2} % CPU",
        snapshot.end_us as f64 / 1e6,
        snapshot.nr_regions(),
        units::bytes(hot),
        100.0 * (snapshot.cost.cpu_us + snapshot.cost.target_us) as f64
            / (snapshot.end_us - snapshot.start_us).max(1) as f64
    ));
}
