//! The `daos` command: reads the command line and hands over to one file per
//! subcommand.
//!
//! Exit status: that of the command for `record -- COMMAND` and `apply -- COMMAND`; else 0 when done, 1
//! when it could not, 2 for wrong usage.

/// Writes a line to standard error. Where nobody can read it any more, as on a terminal that
/// was closed, nothing comes of it.
macro_rules! say {
    ($($what:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($what)*);
    }};
}

mod child;
mod cli;
mod cmd;
mod schemes;
mod signals;
mod units;
mod whole_file;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

/// Something was asked for that makes no sense. Exit status 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl Usage {
    /// Refuses the first of these options that is given: it says `OPTION why`.
    fn refuse(options: &[(&str, bool)], why: &str) -> anyhow::Result<()> {
        match options.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Self(format!("{option} {why}")).into()),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (see `daos --help`)", self.0)
    }
}

impl std::error::Error for Usage {}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Doctor(args) => cmd::doctor::run(&args),
        Command::Record(args) => cmd::record::run(&args),
        Command::Apply(args) => cmd::apply::run(&args),
        Command::Tune(args) => cmd::tune::run(&args),
        Command::Report(args) => cmd::report::run(&args),
        Command::Workload(args) => cmd::workload::run(&args),
        Command::Bench(cli::Bench::Accuracy(args)) => cmd::bench::accuracy(&args),
        Command::Bench(cli::Bench::Schemes(args)) => cmd::bench::schemes(&args),
        Command::Bench(cli::Bench::Tuning(args)) => cmd::bench::tuning::run(&args),
        Command::Guard(args) => Ok(i32::from(!daos_linux::guard::stand(args.bytes, args.user))),
    };
    match done {
        // An exit status is a byte, also that of a command.
        Ok(status) => ExitCode::from(status as u8),
        Err(err) if is_broken_pipe(&err) => ExitCode::SUCCESS,
        Err(err) => {
            say!("daos: {err:#}");
            ExitCode::from(if err.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// Nobody reads our output any more, as behind `| head`: no reason to complain.
pub fn is_broken_pipe(err: &anyhow::Error) -> bool {
    err.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
