//! `daos-eval schemes`: what schemes gain and cost.

use super::progress;
use crate::cli;
use anyhow::Result;
use daos_cli::{Plain, signals};
use daos_eval::schemes;
use daos_eval::under_test::Commands;
use std::io::stdout;

/// Compares programs with schemes and without.
pub fn run(args: &cli::Schemes, commands: Commands) -> Result<i32> {
    let cases = if args.cases.is_empty() { schemes::Case::ALL } else { &args.cases };
    let plan = schemes::SchemesPlan {
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
    let results = schemes::run(&plan, |step| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(format!("{}: {}", step.case.name(), step.configuration));
    });
    bar.finish_and_clear();
    let mut out = stdout().lock();
    match args.format {
        Plain::Text => schemes::table::text(&results?, &plan, &mut out)?,
        Plain::Json => schemes::table::json(&results?, &plan, &mut out)?,
    }
    Ok(0)
}
