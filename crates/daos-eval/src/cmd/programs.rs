//! `daos-eval accuracy --suite` and `-- COMMAND`: what monitors report of real programs, against
//! a scan of all their pages.

use super::accuracy::attrs;
use super::progress;
use super::suite::usage;
use crate::cli;
use anyhow::Result;
use daos_cli::{Backend, Plain, Usage, say, signals};
use daos_eval::accuracy::programs::{ProgramEvent, ProgramPlan, measure, report};
use daos_eval::monitors::ComparedKind;
use daos_eval::suite::Suite;
use daos_eval::suite::plan::refuse_missing;
use daos_eval::under_test::Commands;
use daos_linux::User;
use daos_monitor::MonitorKind;
use std::io::{IsTerminal, stderr, stdout};

/// What programs are watched by unless it is said.
const USUAL: [ComparedKind; 2] =
    [ComparedKind::Product(MonitorKind::Windows), ComparedKind::FullScan];

/// Compares what monitors report with what programs truly access. It is a failure if nothing was
/// measured.
pub fn run(args: &cli::Accuracy, commands: Commands) -> Result<i32> {
    let plan = plan(args)?;
    let user = User::for_command(None).map_err(|err| Usage(err.to_string()))?;
    let bar = progress("runs");
    let is_terminal = stderr().is_terminal();
    let measured = measure(&plan, commands, user, signals::stop_flag(None)?, |event| match event {
        ProgramEvent::Begins { done, total, program, doing } => {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(format!("{program}: {doing}"));
            if !is_terminal {
                say!("{} of {total} runs: {program}, {doing}", done + 1);
            }
        }
        ProgramEvent::Failed { program, why } => {
            bar.suspend(|| say!("daos-eval: {program} is left out: {why}"));
        }
    });
    bar.finish_and_clear();
    let results = measured.map_err(usage)?;
    let mut out = stdout().lock();
    match args.format {
        Plain::Text if results.is_empty() => {}
        Plain::Text => report::text(&results, &plan, &mut out)?,
        Plain::Json => report::json(&results, &plan, &mut out)?,
    }
    Ok(i32::from(results.is_empty()))
}

fn plan(args: &cli::Accuracy) -> Result<ProgramPlan> {
    let attrs = attrs(args)?;
    if args.looking.backend == Backend::Sim {
        return Err(Usage("--backend sim watches no real programs".into()).into());
    }
    if args.idle < args.scan {
        return Err(
            Usage("--idle must not be less than --scan, which would not see it".into()).into()
        );
    }
    if args.attach >= args.seconds {
        return Err(Usage(
            "--attach must be less than --seconds, else the program is over before".into(),
        )
        .into());
    }
    let suite = match &args.suite {
        Some(Some(file)) => Suite::read(file),
        Some(None) => Suite::built_in(),
        None => Suite::of_command(&args.command),
    };
    let mut suite = suite.map_err(usage)?.only(&args.only).map_err(usage)?;
    if args.skip_missing {
        let (there, missing): (Vec<_>, Vec<_>) =
            suite.workloads.into_iter().partition(|workload| workload.missing().is_empty());
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|workload| &*workload.name).collect();
            say!("daos-eval: left out, since programs are missing: {}", names.join(", "));
        }
        suite.workloads = there;
    }
    refuse_missing(&suite.workloads)?;
    Ok(ProgramPlan {
        suite,
        monitors: if args.monitors.is_empty() { USUAL.to_vec() } else { args.monitors.clone() },
        runs: args.runs,
        length_us: args.seconds,
        warmup_us: args.warmup,
        attach_us: args.attach,
        scan_us: args.scan,
        idle_us: args.idle,
        attrs,
        options: args.looking.options(),
        seed: args.looking.seed,
    })
}
