//! `daos apply`: runs schemes on a target.

use crate::cli;
use crate::cmd::account::{Told, tell_slowdown};
use crate::cmd::monitoring;
use crate::cmd::session::{self, Prepared, Purpose};
use crate::cmd::unwatched;
use anyhow::Result;
use daos_cli::{Usage, say, signals};
use daos_monitor::AnyMonitor;
use daos_session::{Session, Source, Surroundings};
use indicatif::ProgressBar;
use std::io::{IsTerminal, stderr};
use std::path::Path;

/// Applies schemes until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Apply) -> Result<i32> {
    let monitor = monitoring::monitor(&args.monitoring)?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 does nothing; give a time such as 20s".into()).into());
    }
    match monitoring::simulated(&args.target, &args.monitoring, args.user.as_deref())? {
        Some(file) => simulated(args, monitor, file),
        None => live(args, monitor),
    }
}

/// When what was done so far is told for the first time where no terminal shows it, as in a
/// journal, and the time between two such lines, in microseconds. Chosen.
const FIRST_TOLD_US: u64 = 60_000_000;
const TOLD_EVERY_US: u64 = 600_000_000;

/// Applies them to the end of the session, and shows what was done so far, in lines or by the bar.
/// Whether there was something to watch, or it ended before that could be known.
fn apply<S>(session: &mut Session<S>, bar: &ProgressBar, in_lines: bool) -> Result<bool>
where
    S: Source,
    daos_session::session::ErrorOf<S>: Into<anyhow::Error>,
{
    let mut told_from_us = FIRST_TOLD_US;
    let mut most_regions = None;
    while let Some(interval) = session.next_interval().map_err(Into::into)? {
        session::tell_notes(session);
        most_regions = most_regions.max(Some(interval.snapshot.nr_regions()));
        if in_lines && interval.snapshot.end_us >= told_from_us {
            say!("daos: after {}", Told::of(session).line());
            told_from_us = interval.snapshot.end_us + TOLD_EVERY_US;
        }
        if session.has_sampled(&interval.snapshot) {
            bar.set_position(interval.snapshot.end_us);
            bar.set_message(Told::of(session).line());
        }
    }
    Ok(most_regions != Some(0))
}

fn live(args: &cli::Apply, monitor: AnyMonitor) -> Result<i32> {
    // What can be refused is refused before anything is started or changed.
    let user = session::user_of_command(&args.target, args.user.as_deref())?;
    let looking = &args.monitoring.looking;
    let prepared =
        Prepared::new(&args.target, &args.schemes, args.user.as_deref(), looking, Purpose::Manage)?;
    if !args.quiet {
        session::tell_of_others();
        session::tell_user(user.as_ref());
    }
    let swap = prepared.set_up_swap(args.quiet)?;

    let stop = signals::stop_flag(prepared.reload_flag())?;
    let command = session::start(&args.target, user.as_ref(), Surroundings::Shared)?;
    let mut session =
        prepared.watch(command.as_ref(), monitor, args.duration, &stop, swap.as_ref())?;
    session::keep_rights(&args.schemes, command.as_ref(), swap.as_ref())?;
    // A command has the terminal for itself.
    let wanted = !args.quiet && command.is_none();
    let bar = session::progress(wanted, "applying", args.duration);
    let in_lines = !args.quiet && !stderr().is_terminal();
    let applied = apply(&mut session, &bar, in_lines);
    bar.finish_and_clear();
    if let Err(err) = &applied
        && command.is_some()
    {
        say!("daos: applying ended early: {err:#}; the command goes on");
    }
    let (live, schemes, account) = session.into_parts();
    let told = Told { schemes: &schemes, account: &account };
    let without_children = live.told_of_children();
    let ending = live.finish(command, &stop)?;
    session::tell_end(&ending, args.quiet);
    // The counters are worth having also when something failed.
    let stats = told.write_stats(args.schemes.stats.as_deref());
    if !args.quiet {
        told.tell();
        if without_children {
            say!("daos: what the target has started was left alone: --children adds it");
        }
        if let Ok(false) = applied {
            let user = args.user.as_deref();
            say!("daos: {}", unwatched::told(Path::new("/"), &args.target, user, true));
        }
    }
    session::take_away(swap, applied)?;
    stats?;
    Ok(ending.exit_status().unwrap_or(0))
}

/// Schemes on a simulated address space, as fast as it can be computed.
fn simulated(args: &cli::Apply, monitor: AnyMonitor, file: &Path) -> Result<i32> {
    let seed = args.monitoring.looking.seed;
    let mut session = session::simulated(&args.schemes, monitor, file, seed, args.duration)?;
    apply(&mut session, &ProgressBar::hidden(), false)?;
    let (mut source, schemes, account) = session.into_parts();
    let told = Told { schemes: &schemes, account: &account };
    let stats = told.write_stats(args.schemes.stats.as_deref());
    if !args.quiet {
        session::tell_simulated();
        told.tell();
        tell_slowdown(&source.space_mut().memory());
    }
    stats?;
    Ok(0)
}
