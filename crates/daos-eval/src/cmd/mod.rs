//! One file for each subcommand.

mod accuracy;
mod schemes;
mod tuning;
mod workload;

use crate::cli::{Cli, Command};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Does what was asked for. Returns the exit status.
pub fn run(cli: Cli) -> Result<i32> {
    let daos = || cli.daos.clone().map_or_else(daos_beside_us, Ok);
    match &cli.command {
        Command::Accuracy(args) => accuracy::run(args, daos()?),
        Command::Schemes(args) => schemes::run(args, daos()?),
        Command::Tuning(args) => tuning::run(args, daos()?),
        Command::Workload(args) => workload::run(args),
    }
}

/// The `daos` that was built together with this program, else the one in `PATH`.
fn daos_beside_us() -> Result<PathBuf> {
    let us = std::env::current_exe().context("finding the daos to measure")?;
    let beside = us.with_file_name("daos");
    Ok(if beside.is_file() { beside } else { "daos".into() })
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
