//! Recording of live processes.

use super::header;
use super::output::Output;
use super::summary::Totals;
use crate::cli;
use crate::cmd::manager::Manager;
use crate::cmd::session::{self, Prepared};
use anyhow::{Result, anyhow};
use daos_cli::command::Stage;
use daos_cli::{is_broken_pipe, signals};
use daos_core::units::display;
use daos_core::{AccessCheck, HOT_RATE, Interval, Snapshot, SnapshotSource};
use daos_monitor::AnyMonitor;
use indicatif::ProgressBar;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Records the processes, or the command, that `args` names.
pub fn run(args: &cli::Record, monitor: AnyMonitor) -> Result<i32> {
    // What can be refused is refused before anything is started or written.
    let prepared = Prepared::new(&args.target, args.schemes.act())?;
    let mut manager = Manager::new(&args.schemes, prepared.memory())?;
    let output = Output::open(&args.output)?;
    if !args.quiet {
        session::tell_of_others();
    }
    manager.set_up()?;

    let stop = signals::stop_flag(manager.reload_flag())?;
    let command = &args.target.forms.command;
    let stage = if output.is_stdout() { Stage::SharedStderr } else { Stage::Shared };
    let mut session = prepared.start(command, monitor, args.duration, Arc::clone(&stop), stage)?;
    let backend = session.driver.access().capabilities().name;
    let target = session::named(&args.target);
    let start_us = session.driver.start_us();
    let header = header(args, backend, target, manager.labels(), start_us);
    let mut recording = output.begin(&header)?;

    let wanted = !args.quiet && !session.has_command();
    let bar = session::progress(wanted, "recording", args.duration);
    let mut totals = Totals::new(&args.monitoring.looking);
    let recorded = session.run(|driver, snapshot| {
        let done = manager.manage(driver, &snapshot)?;
        if manager.is_abandoned() {
            stop.store(true, Ordering::Relaxed);
        }
        if let Some(schemes) = manager.take_changed() {
            recording.schemes(&schemes)?;
        }
        let interval = Interval { snapshot, done };
        recording.interval(&driver.changed_targets(), &interval)?;
        totals.add(&interval.snapshot);
        show(&bar, &interval.snapshot);
        Ok(())
    });
    bar.finish_and_clear();

    let recorded = match recorded {
        Err(err) if session.has_command() && !is_broken_pipe(&err) => {
            daos_cli::say!("daos: recording ended early: {err:#}; the command goes on");
            Err(anyhow!("the record lacks its end"))
        }
        recorded => recorded,
    };
    let setup_cpu_us = session.setup_cpu_us;
    let ending = session.finish()?;
    let end = totals.end(ending.reason, ending.exit_status, setup_cpu_us, manager.outcome());
    match recorded {
        Ok(()) => recording.finish(&end)?,
        // Nobody reads on: no failure of the command, whose status stands.
        Err(err) if is_broken_pipe(&err) => return Ok(ending.exit_status.unwrap_or(0)),
        Err(err) => return Err(err),
    }
    manager.write_stats()?;
    if !args.quiet {
        totals.tell(&end, &args.output.display().to_string());
        manager.tell();
    }
    manager.take_down()?;
    Ok(ending.exit_status.unwrap_or(0))
}

fn show(bar: &ProgressBar, snapshot: &Snapshot) {
    if bar.is_hidden() {
        return;
    }
    let hot: u64 = snapshot
        .targets
        .iter()
        .flat_map(|t| &t.regions)
        .filter(|r| r.access_rate >= HOT_RATE)
        .map(|r| r.range.len())
        .sum();
    bar.set_position(snapshot.end_us);
    bar.set_message(format!(
        "{:.1} s, {} regions, {} hot, {:.2} % CPU",
        snapshot.end_us as f64 / 1e6,
        snapshot.nr_regions(),
        display::bytes(hot),
        100.0 * (snapshot.cost.cpu_us + snapshot.cost.target_us) as f64
            / (snapshot.end_us - snapshot.start_us).max(1) as f64
    ));
}
