//! The `daos-eval` command: measures `daos`.
//!
//! Exit status: 0 when done, 1 when it could not, 2 for wrong usage.

mod cli;
mod cmd;

use clap::Parser;
use cli::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    daos_cli::exit_code("daos-eval", cmd::run(Cli::parse()))
}
