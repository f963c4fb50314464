//! `daos record`: monitors a target and records what it sees.

mod output;
mod summary;

use crate::cli;
use crate::cmd::account::{Told, tell_slowdown};
use crate::cmd::monitoring;
use crate::cmd::session::{self, Prepared, Purpose};
use crate::cmd::unwatched;
use anyhow::{Result, anyhow};
use daos_cli::{Usage, is_broken_pipe, say, signals};
use daos_core::units::display;
use daos_core::{AccessCheck, HOT_RATE, Snapshot};
use daos_monitor::AnyMonitor;
use daos_record::Header;
use daos_session::session::ErrorOf;
use daos_session::{Session, Source, Surroundings};
use indicatif::ProgressBar;
use output::{Output, Recording};
use std::path::Path;
use summary::Totals;

/// Records until the target ends, the time is over or Ctrl-C. The exit status is
/// that of the command, if one was started and ended by itself.
pub fn run(args: &cli::Record) -> Result<i32> {
    let monitor = monitoring::monitor(&args.monitoring)?;
    if args.duration == Some(0) {
        return Err(Usage("--duration 0 records nothing; give a time such as 20s".into()).into());
    }
    if args.output == Path::new("-") && args.schemes.stats.as_deref() == Some(Path::new("-")) {
        let why =
            "--stats - and --output - would mix on standard output: name a file for one of them";
        return Err(Usage(why.to_owned()).into());
    }
    match monitoring::simulated(&args.target, &args.monitoring, args.user.as_deref())? {
        Some(file) => simulated(args, monitor, file),
        None => live(args, monitor),
    }
}

/// Records to the end of the session.
fn record<S>(
    session: &mut Session<S>,
    recording: &mut Recording,
    totals: &mut Totals,
    bar: &ProgressBar,
) -> Result<()>
where
    S: Source,
    ErrorOf<S>: Into<anyhow::Error>,
{
    while let Some(interval) = session.next_interval().map_err(Into::into)? {
        session::tell_notes(session);
        if let Some(schemes) = session.take_new_schemes() {
            recording.schemes(&schemes)?;
        }
        recording.interval(&session.changed_targets(), &interval)?;
        totals.add(&interval.snapshot);
        show(bar, &interval.snapshot);
    }
    Ok(())
}

/// Records the processes, or the command, that `args` names.
fn live(args: &cli::Record, monitor: AnyMonitor) -> Result<i32> {
    // What can be refused is refused before anything is started or written.
    let user = session::user_of_command(&args.target, args.user.as_deref())?;
    let looking = &args.monitoring.looking;
    let prepared =
        Prepared::new(&args.target, &args.schemes, args.user.as_deref(), looking, Purpose::Tell)?;
    let output = Output::open(&args.output)?;
    if !args.quiet {
        output.tell_of_its_name();
        session::tell_of_others();
        session::tell_user(user.as_ref());
    }
    let swap = prepared.set_up_swap(args.quiet)?;

    let stop = signals::stop_flag(prepared.reload_flag())?;
    let surroundings =
        if output.is_stdout() { Surroundings::SharedStderr } else { Surroundings::Shared };
    let command = session::start(&args.target, user.as_ref(), surroundings)?;
    let mut session =
        prepared.watch(command.as_ref(), monitor, args.duration, &stop, swap.as_ref())?;
    let backend = session.source().memory().capabilities().name;
    let start_us = session.source().start_us();
    let labels = session.schemes().labels();
    let header = header(args, backend, session::named(&args.target), labels, start_us);
    let mut recording = match output.begin(&header) {
        Ok(recording) => recording,
        // It runs by now, so it is not ended because of that.
        Err(err) if command.is_some() => {
            say!("daos: {err:#}; the command goes on");
            let (live, ..) = session.into_parts();
            session::tell_end(&live.finish(command, &stop)?, args.quiet);
            return session::take_away(swap, Err(anyhow!("nothing was recorded")));
        }
        Err(err) => return Err(err),
    };
    session::keep_rights(&args.schemes, command.as_ref(), swap.as_ref())?;

    let wanted = !args.quiet && command.is_none();
    let bar = session::progress(wanted, "recording", args.duration);
    let mut totals = Totals::new(&args.monitoring.looking);
    let recorded = record(&mut session, &mut recording, &mut totals, &bar);
    bar.finish_and_clear();

    let recorded = match recorded {
        Err(err) if command.is_some() && !is_broken_pipe(&err) => {
            let schemes = if args.schemes.schemes.is_empty() { "" } else { ", without schemes" };
            say!("daos: recording ended early: {err:#}; the command goes on{schemes}");
            Err(anyhow!("the record lacks its end"))
        }
        recorded => recorded,
    };
    let setup_cpu_us = session.source().setup_cpu_us;
    let (live, schemes, account) = session.into_parts();
    let told = Told { schemes: &schemes, account: &account };
    let without_children = live.told_of_children();
    let ending = live.finish(command, &stop)?;
    session::tell_end(&ending, args.quiet);
    let exit_status = ending.exit_status();
    let end = totals.end(ending.reason(), exit_status, setup_cpu_us, told.scheme_ends());
    let recorded = recorded.and_then(|()| recording.finish(&end));
    // What schemes did is worth having also when the record failed.
    let stats = told.write_stats(args.schemes.stats.as_deref());
    if !args.quiet && recorded.is_ok() {
        let nothing = totals.are_of_nothing().then(|| {
            let act = !args.schemes.schemes.is_empty();
            unwatched::told(Path::new("/"), &args.target, args.user.as_deref(), act)
        });
        let output = args.output.display().to_string();
        totals.tell(&end, &output, without_children, nothing.as_deref());
    }
    if !args.quiet {
        told.tell();
    }
    let recorded = match recorded {
        // Nobody reads on: no failure of the command, whose status stands.
        Err(err) if is_broken_pipe(&err) => Ok(()),
        recorded => recorded,
    };
    session::take_away(swap, recorded)?;
    stats?;
    Ok(exit_status.unwrap_or(0))
}

/// Simulates the access pattern in `file` for its own length, or `--duration`, as fast as it
/// can be computed.
fn simulated(args: &cli::Record, monitor: AnyMonitor, file: &Path) -> Result<i32> {
    let seed = args.monitoring.looking.seed;
    let mut session = session::simulated(&args.schemes, monitor, file, seed, args.duration)?;
    let output = Output::open(&args.output)?;
    if !args.quiet {
        output.tell_of_its_name();
    }
    let target = vec!["--sim".to_owned(), file.display().to_string()];
    let header = header(args, "sim", target, session.schemes().labels(), 0);
    let mut recording = output.begin(&header)?;
    let mut totals = Totals::new(&args.monitoring.looking);
    record(&mut session, &mut recording, &mut totals, &ProgressBar::hidden())?;
    let (mut source, schemes, account) = session.into_parts();
    let told = Told { schemes: &schemes, account: &account };
    let end = totals.end("the simulation ended", None, 0, told.scheme_ends());
    recording.finish(&end)?;
    let stats = told.write_stats(args.schemes.stats.as_deref());
    if !args.quiet {
        session::tell_simulated();
        totals.tell(&end, &args.output.display().to_string(), false, None);
        told.tell();
        if !schemes.is_empty() {
            tell_slowdown(&source.space_mut().memory());
        }
    }
    stats?;
    Ok(0)
}

/// The facts of a recording that starts now.
fn header(
    args: &cli::Record,
    backend: &str,
    target: Vec<String>,
    schemes: Vec<String>,
    start_monotonic_us: u64,
) -> Header {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let cli::Monitoring { monitor, looking } = &args.monitoring;
    Header {
        daos_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_unix_s: now.map_or(0, |since| since.as_secs()),
        start_monotonic_us,
        attrs: looking.attrs().in_whole_ticks(),
        seed: looking.seed,
        monitor: monitor.name().to_owned(),
        max_overhead_percent: looking.max_overhead.map(percent),
        auto_intervals: looking.auto_intervals,
        backend: backend.to_owned(),
        command: target,
        schemes,
        host: daos_linux::host::here(),
    }
}

/// A share in percent, as it was typed: no more than nine decimals.
fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}

fn show(bar: &ProgressBar, snapshot: &Snapshot) {
    if bar.is_hidden() {
        return;
    }
    let regions = snapshot.targets.iter().flat_map(|target| &target.regions);
    let hot = regions.filter(|region| region.access_rate >= HOT_RATE);
    bar.set_position(snapshot.end_us);
    bar.set_message(format!(
        "{:.1} s, {} regions, {} hot, {:.2} % CPU",
        snapshot.end_us as f64 / 1e6,
        snapshot.nr_regions(),
        display::bytes(hot.map(|region| region.range.len()).sum()),
        100.0 * (snapshot.cost.cpu_us + snapshot.cost.target_us) as f64
            / (snapshot.end_us - snapshot.start_us).max(1) as f64
    ));
}
