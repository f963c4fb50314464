//! The `daos` command: reads the command line and hands over to one file per
//! subcommand.
//!
//! Exit status: that of the command for `record -- COMMAND` and `apply -- COMMAND`; else 0 when
//! done, 1 when it could not, 2 for wrong usage.

mod cli;
mod cmd;

use clap::Parser;
use cli::{Cli, Command};
use daos_monitor::windows::DEFAULT_MAX_OVERHEAD;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Record(mut args) => {
            args.monitoring = args.monitoring.bounded_by(DEFAULT_MAX_OVERHEAD);
            cmd::record::run(&args)
        }
        Command::Apply(mut args) => {
            args.monitoring = args.monitoring.bounded_by(cli::WHERE_SCHEMES_ACT);
            cmd::apply::run(&args)
        }
        Command::Tune(mut args) => {
            args.monitoring = args.monitoring.bounded_by(cli::WHERE_SCHEMES_ACT);
            cmd::tune::run(&args)
        }
        Command::Owners(mut args) => {
            args.monitoring = args.monitoring.bounded_by(cli::IN_A_SHORT_LOOK);
            cmd::owners::run(&args)
        }
        Command::Report(args) => cmd::report::run(&args),
        Command::Bench(args) => cmd::moved::bench(&args),
        Command::Workload(_) => cmd::moved::tell("workload", "workload"),
        Command::Guard(args) => Ok(i32::from(!daos_linux::guard::stand(args.options(), args.user))),
    };
    daos_cli::exit_code("daos", done)
}
