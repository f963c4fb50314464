//! One file for each subcommand.

mod accuracy;
mod programs;
mod record;
mod scan;
mod schemes;
mod suite;
mod tuning;
mod workload;

use crate::cli::{Cli, Command};
use anyhow::{Context, Result, bail};
use daos_cli::programs::find_program;
use daos_eval::under_test::Commands;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Does what was asked for. Returns the exit status.
pub fn run(cli: Cli) -> Result<i32> {
    let commands = || commands(cli.daos.as_ref());
    match &cli.command {
        Command::Accuracy(args) if args.is_of_programs() => programs::run(args, commands()?),
        // A simulation runs neither.
        Command::Accuracy(args) if args.sim => accuracy::run(args, commands().unwrap_or_default()),
        Command::Accuracy(args) => accuracy::run(args, commands()?),
        Command::Schemes(args) => schemes::run(args, commands()?),
        Command::Tuning(args) => tuning::run(args, commands()?.daos),
        Command::Service(args) => suite::service(args, commands()?),
        Command::Suite(args) => suite::run(args, commands()?),
        Command::Compare(args) => suite::compare(args),
        Command::Workload(args) => workload::run(args),
        Command::Record(args) => record::run(args),
        Command::Copy(args) => suite::copy(args),
        Command::Scan(args) => scan::run(args),
    }
}

/// This program, and the `daos` that was asked for, else the one that was built together
/// with it, else the one in `PATH`.
fn commands(daos: Option<&PathBuf>) -> Result<Commands> {
    let eval = std::env::current_exe().context("finding the daos to measure")?;
    let beside = eval.with_file_name("daos");
    let found = match daos {
        Some(named) if !named.is_file() => {
            bail!("--daos {}: there is no such file", named.display())
        }
        Some(named) => Some(named.clone()),
        None if beside.is_file() => Some(beside),
        None => find_program("daos".as_ref()),
    };
    let daos = found.context("there is no daos beside daos-eval or in PATH: give --daos FILE")?;
    Ok(Commands { daos, eval })
}

/// A bar that counts `what`, if there is somebody to see it.
fn progress(what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template(&format!("[{{bar:30}}] {{pos}} of {{len}} {what}, {{msg}}"));
    let style = style.expect("the template is valid").progress_chars("=> ");
    ProgressBar::no_length().with_style(style)
}
