//! `daos apply`: runs schemes on a target.

use crate::cli;
use crate::cmd::manager::Manager;
use crate::cmd::monitoring;
use crate::cmd::session::{self, Prepared};
use anyhow::Result;
use daos_cli::Usage;
use daos_cli::command::Stage;
use daos_cli::signals;
use daos_monitor::AnyMonitor;
use std::sync::Arc;
use std::sync::atomic::Ordering;

mod simulated;

/// Applies schemes until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Apply) -> Result<i32> {
    let monitor = monitoring::monitor(&args.monitoring)?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 does nothing; give a time such as 20s".into()).into());
    }
    match monitoring::simulated(&args.target, &args.monitoring)? {
        Some(file) => simulated::run(args, monitor, file),
        None => live(args, monitor),
    }
}

fn live(args: &cli::Apply, monitor: AnyMonitor) -> Result<i32> {
    // What can be refused is refused before anything is started or changed.
    let prepared = Prepared::new(&args.target, args.schemes.act())?;
    let mut manager = Manager::new(&args.schemes, prepared.memory())?;
    if !args.quiet {
        session::tell_of_others();
    }
    manager.set_up()?;

    let stop = signals::stop_flag(manager.reload_flag())?;
    let command = &args.target.forms.command;
    let mut session =
        prepared.start(command, monitor, args.duration, Arc::clone(&stop), Stage::Shared)?;
    let bar = session::progress(!args.quiet, "applying", args.duration);
    let applied = session.run(|driver, snapshot| {
        manager.manage(driver, &snapshot)?;
        if manager.is_abandoned() {
            stop.store(true, Ordering::Relaxed);
        }
        if let Some(line) = manager.line(&snapshot) {
            bar.set_position(snapshot.end_us);
            bar.set_message(line);
        }
        Ok(())
    });
    bar.finish_and_clear();
    if let Err(err) = &applied
        && session.has_command()
    {
        daos_cli::say!("daos: applying ended early: {err:#}; the command goes on");
    }
    let ending = session.finish()?;
    // The counters are worth having also when something failed.
    manager.write_stats()?;
    if !args.quiet {
        manager.tell();
    }
    manager.take_down()?;
    applied?;
    Ok(ending.exit_status.unwrap_or(0))
}
