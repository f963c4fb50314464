//! `daos bench`: measures the monitor itself.

use crate::cli::{self, Backend, Huge, Plain};
use crate::{Usage, signals};
use anyhow::{Context, Result};
use daos_bench::{Ground, Plan, RealMemory, Simulator, Step, compare, report};
use daos_sim::CostModel;
use daos_workload::Config;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stdout};

/// Compares what monitors report with what workloads truly access.
pub fn accuracy(args: &cli::Accuracy) -> Result<i32> {
    let plan = plan(args)?;
    let ground = ground(args)?;
    let bar = progress();
    let compared = compare(&*ground, &plan, |step| show(&bar, &step));
    bar.finish_and_clear();
    let outcomes = compared?;
    let mut out = stdout().lock();
    match args.format {
        Plain::Text => report::text(&outcomes, &plan, ground.name(), &mut out)?,
        Plain::Json => report::json(&outcomes, &plan, ground.name(), &mut out)?,
    }
    Ok(0)
}

/// What was asked for, refused before it takes minutes if it can't work.
fn plan(args: &cli::Accuracy) -> Result<Plan> {
    let attrs = args.monitoring.attrs();
    attrs.validate().map_err(|err| Usage(err.to_string()))?;
    if args.seconds <= args.warmup {
        return Err(
            Usage("--seconds must be more than --warmup, else nothing counts".into()).into()
        );
    }
    for workload in &args.workloads {
        Config::read(workload)?;
    }
    Ok(Plan {
        workloads: args.workloads.clone(),
        runs: args.runs,
        length_us: args.seconds,
        warmup_us: args.warmup,
        attrs,
        options: args.monitoring.options(),
        seed: args.monitoring.seed,
    })
}

fn ground(args: &cli::Accuracy) -> Result<Box<dyn Ground>> {
    match (args.sim, args.monitoring.backend) {
        (false, Backend::Sim) => Err(Usage("--backend sim takes --sim here".into()).into()),
        (true, Backend::Ebpf) => {
            Err(Usage("--sim is simulated; leave out --backend ebpf".into()).into())
        }
        (true, _) => Ok(Box::new(Simulator {
            huge_pages: args.thp == Huge::Always,
            model: if args.threads == 1 { CostModel::SAME_CPU } else { CostModel::OTHER_CPU },
        })),
        (false, _) => Ok(Box::new(RealMemory {
            daos: std::env::current_exe().context("finding the program to run")?,
            threads: args.threads,
            huge_pages: args.thp.into(),
            stop: signals::stop_flag()?,
        })),
    }
}

fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("[{bar:30}] {pos} of {len} runs, {msg}");
    let style = style.expect("the template is valid").progress_chars("=> ");
    ProgressBar::no_length().with_style(style)
}

fn show(bar: &ProgressBar, step: &Step<'_>) {
    bar.set_length(step.total);
    bar.set_position(step.done);
    bar.set_message(format!("{} on {}", step.monitor.name(), step.workload.display()));
}
