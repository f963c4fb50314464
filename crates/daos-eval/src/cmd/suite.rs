//! `daos-eval suite`: real programs under several configurations, in turn; `daos-eval compare`:
//! two such evaluations side by side.

use super::progress;
use crate::cli;
use anyhow::{Context, Result};
use daos_cli::{Plain, Usage, say, signals};
use daos_core::text::safe_lines;
use daos_eval::suite::configuration::BASELINE;
use daos_eval::suite::job::Job;
use daos_eval::suite::plan::refuse_missing;
use daos_eval::suite::report::{self, Report};
use daos_eval::suite::rounds::{self, Event, Progress};
use daos_eval::suite::{
    Configuration, Outcome, Plan, RawRun, Store, Suite, SuiteError, configuration,
};
use daos_eval::under_test::Commands;
use daos_linux::{User, halves};
use indicatif::ProgressBar;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::Path;
use std::time::Duration;

/// The ways to run workloads unless they are said; in pairs, without those that are of the whole
/// machine.
const USUAL: [&str; 5] = ["orig", "rec", "thp", "ethp", "prcl"];
const USUAL_IN_PAIRS: [&str; 4] = ["orig", "rec", "ethp", "prcl"];

/// Runs what is left to run, and shows all.
pub fn run(args: &cli::Suite, Commands { daos, eval }: Commands) -> Result<i32> {
    if let (true, Some(out)) = (args.report, &args.out) {
        let store = Store::read(out)?;
        return match report::write(&store) {
            Ok(report) => finish(&report, &store, out, args.format),
            // Those who may not write there can see it all the same.
            Err(err) => {
                say!("daos-eval: only shown: {err}");
                show_all(&Report::of(&store), &store, args.format)
            }
        };
    }
    let suite = match (&args.suite, &args.command[..]) {
        (Some(file), _) => Suite::read(file),
        (None, []) => Suite::built_in(),
        (None, command) => Suite::of_command(command),
    };
    let suite = suite.map_err(usage)?.only(&args.only).map_err(usage)?;
    if args.list {
        return list(&suite);
    }
    let configurations = configurations(args).map_err(usage)?;
    let pairs = args.pairs.then(|| halves::of_cpus(Path::new("/"))).transpose();
    let user = User::for_command(args.user.as_deref());
    let mut plan = Plan {
        suite,
        configurations,
        runs: args.runs,
        pairs: pairs.map_err(|err| usage(err.into()))?,
        out: args.out.clone().unwrap_or_default(),
        zram_bytes: args.zram,
        user: user.map_err(|err| Usage(err.to_string()))?,
        keep: args.keep,
        keep_records: args.keep_records,
        daos,
        eval,
        stop: signals::stop_flag(None)?,
    };
    let skipped = if args.skip_missing { plan.leave_out_missing() } else { Vec::new() };
    if !skipped.is_empty() {
        say!("daos-eval: left out, since programs are missing: {}", skipped.join(", "));
    }
    let single = if args.pairs { plan.leave_out_single() } else { Vec::new() };
    if !single.is_empty() {
        say!("daos-eval: left out, since they cannot run twice at once: {}", single.join(", "));
    }
    if args.dry_run {
        return dry_run(&plan);
    }
    let Some(out) = &args.out else {
        return Err(Usage("give a directory for the results: --out DIR".into()).into());
    };
    refuse_missing(&plan.suite.workloads)?;
    plan.check(Store::read(out).ok().as_ref()).map_err(usage)?;

    go(&plan, args.format)
}

/// What was asked for, or the usual. In pairs the baseline is beside all, also where nobody
/// said so.
fn configurations(args: &cli::Suite) -> Result<Vec<Configuration>, SuiteError> {
    let usual: &[&str] = if args.pairs { &USUAL_IN_PAIRS } else { &USUAL };
    let mut names = args.configurations.clone();
    if names.is_empty() {
        names = usual.iter().map(|name| (*name).to_owned()).collect();
    }
    let mut all = Configuration::parse_all(&names)?;
    if args.pairs && all.iter().all(|one| one.name != BASELINE) {
        all.insert(0, Configuration::baseline());
    }
    Ok(all)
}

/// Runs a copy of a pair, and says what came of it.
pub fn copy(args: &cli::Copy) -> Result<i32> {
    let stop = signals::stop_flag(None)?;
    let job = Job::read(&args.job)?;
    let user = job.user.as_deref().map(User::find).transpose()?;
    let outcome = match job.run(user.as_ref(), &stop) {
        Ok(measured) => Outcome::Measured(measured),
        Err(err) => Outcome::Failed { failed: err.to_string() },
    };
    writeln!(stdout(), "{}", serde_json::to_string(&outcome)?)?;
    Ok(0)
}

/// Makes the runs that are left, with a bar, and shows all.
fn go(plan: &Plan, format: Plain) -> Result<i32> {
    let out = &plan.out;
    let bar = progress("runs");
    let is_terminal = stderr().is_terminal();
    let ended = rounds::run(plan, |event| tell(&bar, is_terminal, &event));
    bar.finish_and_clear();
    match ended {
        Ok(store) => finish(&report::write(&store)?, &store, out, format),
        Err(err) => {
            // What was measured until then is worth its tables.
            if let Ok(store) = Store::read(out)
                && !store.runs.is_empty()
                && report::write(&store).is_ok()
            {
                let again = "the same command goes on where it was";
                say!("daos-eval: {} runs are kept in {}; {again}", store.runs.len(), out.display());
            }
            Err(usage(err))
        }
    }
}

/// Runs a server that is mostly idle, alone and with what is idle paged out.
pub fn service(args: &cli::Service, Commands { daos, eval }: Commands) -> Result<i32> {
    let plan = Plan {
        suite: Suite::service(args.seconds / 1_000_000).map_err(usage)?,
        configurations: configuration::service(),
        runs: args.runs,
        pairs: None,
        out: args.out.clone(),
        zram_bytes: args.swap,
        user: None,
        keep: false,
        keep_records: false,
        daos,
        eval,
        stop: signals::stop_flag(None)?,
    };
    go(&plan, args.format)
}

/// Shows the tables that matter most, and says where all are.
fn finish(report: &Report, store: &Store, out: &Path, format: Plain) -> Result<i32> {
    let status = show_all(report, store, format)?;
    if format == Plain::Text {
        writeln!(stdout(), "\nAll tables: {}", out.join("report.{md,json,html}").display())?;
    }
    Ok(status)
}

/// Shows those that matter most. It is a failure if nothing was measured.
fn show_all(report: &Report, store: &Store, format: Plain) -> Result<i32> {
    show(report, &[("", store)], format)?;
    Ok(if store.runs.iter().any(|run| run.measured().is_some()) { 0 } else { 1 })
}

/// Shows two evaluations.
pub fn compare(args: &cli::Compare) -> Result<i32> {
    let [before, after] = [&args.before, &args.after].map(|dir| Store::read(dir));
    let (before, after) = (before?, after?);
    let name = |dir: &Path| dir.display().to_string();
    let names = [name(&args.before), name(&args.after)];
    let names = [&*names[0], &*names[1]];
    let report = Report::of_two(&before, &after, names);
    if report.main.iter().all(|table| table.rows.is_empty() || table.columns.is_empty()) {
        anyhow::bail!("{} and {} have no workload and configuration in common", names[0], names[1]);
    }
    show(&report, &[(names[0], &before), (names[1], &after)], args.format)?;
    Ok(0)
}

fn show(report: &Report, stores: &[(&str, &Store)], format: Plain) -> Result<()> {
    let text = match format {
        // A program that fails may have said anything.
        Plain::Text => safe_lines(&report.text()),
        Plain::Json => report.json(stores)?,
    };
    stdout().lock().write_all(text.as_bytes()).context("showing the tables")
}

fn tell(bar: &ProgressBar, is_terminal: bool, event: &Event<'_>) {
    match event {
        Event::Begins(Progress { done, total, left, workload, doing }) => {
            bar.set_length(*total as u64);
            bar.set_position(*done as u64);
            bar.set_message(format!("{} left, {workload}: {doing}", words(*left)));
        }
        Event::Ended { run, done, total, left } => {
            let RawRun { workload, config, outcome, beside, .. } = run;
            match outcome {
                Outcome::Failed { failed } => {
                    bar.suspend(|| say!("daos-eval: {workload}, {config}: {failed}"));
                }
                Outcome::Measured(measured) if !is_terminal => say!(
                    "{done} of {total} runs, {} left; {workload}, {config}: {:.1} s{}, {:.0} MiB",
                    words(*left),
                    measured.runtime_s,
                    beside.map_or(String::new(), |one| format!(" (alone {:.1} s)", one.runtime_s)),
                    measured.rss_bytes / f64::from(1 << 20)
                ),
                Outcome::Measured(_) => {}
            }
        }
    }
}

/// `40 s`, `25 min`, `3 h 20 min`.
fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..90 => format!("{seconds} s"),
        seconds @ ..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn list(suite: &Suite) -> Result<i32> {
    let mut out = stdout().lock();
    let width = suite.workloads.iter().map(|one| one.name.len()).max().unwrap_or(0);
    writeln!(out, "Workloads:")?;
    for one in &suite.workloads {
        let memory = one.memory.as_deref().map_or(String::new(), |memory| format!(", {memory}"));
        let missing = match &one.missing()[..] {
            [] => String::new(),
            missing => format!("; missing: {}", missing.join(", ")),
        };
        let about = if one.about.is_empty() { &one.command } else { &one.about };
        let about = about.lines().next().unwrap_or_default();
        writeln!(out, "  {:width$}  {about} ({:.0} s{memory}{missing})", one.name, one.seconds)?;
    }
    writeln!(out, "Configurations:")?;
    for (name, about) in configuration::known() {
        writeln!(out, "  {name:width$}  {about}")?;
    }
    writeln!(out, "  {:width$}  a scheme: a file, or its text or name", "NAME=SCHEME")?;
    writeln!(out, "  {:width$}  a scheme for each workload: DIR/WORKLOAD.scheme", "NAME=DIR")?;
    Ok(0)
}

fn dry_run(plan: &Plan) -> Result<i32> {
    let store = (!plan.out.as_os_str().is_empty()).then(|| Store::read(&plan.out).ok()).flatten();
    plan.check(store.as_ref()).map_err(usage)?;
    let mut out = stdout().lock();
    for one in &plan.suite.workloads {
        writeln!(out, "{}:", one.name)?;
        one.command.trim().lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        for missing in one.missing() {
            writeln!(out, "  missing: {missing}")?;
        }
    }
    for one in &plan.configurations {
        let words = one.words(0, Path::new("RECORD"), 1).map(|words| words.join(" "));
        let beside = words.map_or("nothing beside it".to_owned(), |words| {
            let words = words.replace("--pid=0", "--pid=PID");
            format!("{} {words}", one.program("daos", "daos-eval"))
        });
        writeln!(out, "{}: {beside}", one.name)?;
    }
    let left: Vec<_> = plan.left(store.as_ref()).collect();
    let seconds = left.iter().map(|&step| plan.seconds(step, store.as_ref())).sum();
    let (all, left) = (plan.steps().len(), left.len());
    let done = if left < all { format!(", {} of them made", all - left) } else { String::new() };
    writeln!(out, "{all} runs{done}: about {}", words(Duration::from_secs_f64(seconds)))?;
    Ok(0)
}

/// A mistake of the command line is told as one.
pub(super) fn usage(err: SuiteError) -> anyhow::Error {
    if err.is_usage() { Usage(err.to_string()).into() } else { err.into() }
}
