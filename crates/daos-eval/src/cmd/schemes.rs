//! `daos-eval schemes`: what schemes gain and cost.

use super::progress;
use crate::cli;
use anyhow::Result;
use daos_cli::{Plain, signals};
use daos_eval::{Commands, schemes};
use std::io::stdout;

/// Compares programs with schemes and without.
pub fn run(args: &cli::Schemes, commands: Commands) -> Result<i32> {
    let cases = if args.cases.is_empty() { schemes::Case::ALL } else { &args.cases };
    let plan = schemes::Plan {
        cases: cases.to_vec(),
        runs: args.runs,
        sizes: schemes::Sizes {
            scale: Some(args.scale),
            seconds: args.seconds,
            scheme: args.scheme.clone(),
        },
        commands,
        stop: signals::stop_flag(None)?,
    };
    let bar = progress("runs");
    let outcomes = schemes::run(&plan, |step| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(format!("{}: {}", step.case.name(), step.arm));
    });
    bar.finish_and_clear();
    let mut out = stdout().lock();
    match args.format {
        Plain::Text => schemes::table::text(&outcomes?, &plan, &mut out)?,
        Plain::Json => schemes::table::json(&outcomes?, &plan, &mut out)?,
    }
    Ok(0)
}
