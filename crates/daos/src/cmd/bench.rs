//! `daos bench`: measures the monitor itself, what schemes gain and cost, and how good the
//! tuner is.

pub mod tuning;

use crate::cli::{self, Backend, Huge, Plain};
use crate::{Usage, signals};
use anyhow::{Context, Result};
use daos_bench::{
    Ground, Plan, RealMemory, Scenario, Simulator, Step, Work, compare, report, schemes, validate,
};
use daos_core::MonitorKind;
use daos_sim::CostModel;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stdout};
use std::num::NonZeroU64;

/// Compares what monitors report with what workloads truly access.
pub fn accuracy(args: &cli::Accuracy) -> Result<i32> {
    let plan = plan(args)?;
    let bar = progress("runs");
    let tell = |step: Step<'_>| show(&bar, &step);
    let mut out = stdout().lock();
    if args.validate {
        let pairs = validate::validate(&real(args)?, model(args), &plan, tell);
        bar.finish_and_clear();
        match args.format {
            Plain::Text => validate::text(&pairs?, &mut out)?,
            Plain::Json => validate::json(&pairs?, &mut out)?,
        }
        return Ok(0);
    }
    let ground = ground(args)?;
    let outcomes = compare(&*ground, &plan, tell);
    bar.finish_and_clear();
    match args.format {
        Plain::Text => report::text(&outcomes?, &plan, ground.name(), &mut out)?,
        Plain::Json => report::json(&outcomes?, &plan, ground.name(), &mut out)?,
    }
    Ok(0)
}

/// Compares programs with schemes and without.
pub fn schemes(args: &cli::BenchSchemes) -> Result<i32> {
    let cases = if args.cases.is_empty() { schemes::Case::ALL } else { &args.cases };
    let plan = schemes::Plan {
        cases: cases.to_vec(),
        runs: args.runs,
        sizes: schemes::Sizes {
            scale: Some(args.scale),
            seconds: args.seconds,
            scheme: args.scheme.clone(),
        },
        daos: std::env::current_exe().context("finding the program to run")?,
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

/// What was asked for, refused before it takes minutes if it can't work.
fn plan(args: &cli::Accuracy) -> Result<Plan> {
    let attrs = args.looking.attrs();
    attrs.validate().map_err(|err| Usage(err.to_string()))?;
    if args.seconds <= args.warmup {
        return Err(
            Usage("--seconds must be more than --warmup, else nothing counts".into()).into()
        );
    }
    let mut monitors = args.monitors.clone();
    if monitors.is_empty() {
        monitors.extend(MonitorKind::ALL.iter().filter(|kind| !kind.is_yardstick()));
    }
    Ok(Plan {
        works: works(args),
        monitors,
        runs: args.runs,
        length_us: args.seconds,
        warmup_us: args.warmup,
        attrs,
        options: args.looking.options(),
        seed: args.looking.seed,
    })
}

/// The files, or every combination of what scenarios consist of.
fn works(args: &cli::Accuracy) -> Vec<Work> {
    if !args.workloads.is_empty() {
        return args.workloads.iter().cloned().map(Work::File).collect();
    }
    let blocks = args.blocks.unwrap_or(if args.sim { 64 } else { 37 });
    let sizes = match &args.sizes[..] {
        [] if args.sim => &[1 << 30, 10 << 30][..],
        [] => &[1 << 30],
        sizes => sizes,
    };
    let mut works = Vec::new();
    for &shape in &args.shapes {
        for &page in &args.pages {
            for &bytes in sizes {
                for &hot in &args.hot {
                    let bytes = shape.own_bytes().unwrap_or(bytes);
                    let hot = shape.own_hot().unwrap_or(hot);
                    let work = Work::Drawn(Scenario { shape, bytes, hot, page, blocks });
                    // A shape of its own size is the same for every size.
                    if !works.contains(&work) {
                        works.push(work);
                    }
                }
            }
        }
    }
    works
}

fn ground(args: &cli::Accuracy) -> Result<Box<dyn Ground>> {
    match (args.sim, args.looking.backend) {
        (false, Backend::Sim) => Err(Usage("--backend sim takes --sim here".into()).into()),
        (true, Backend::Ebpf) => {
            Err(Usage("--sim is simulated; leave out --backend ebpf".into()).into())
        }
        (true, _) => Ok(Box::new(Simulator {
            huge_pages: args.thp == Huge::Always,
            model: model(args),
            accesses_per_sec: args.accesses.map(NonZeroU64::get),
            as_on_real_memory: false,
        })),
        (false, _) => Ok(Box::new(real(args)?)),
    }
}

fn real(args: &cli::Accuracy) -> Result<RealMemory> {
    Ok(RealMemory {
        daos: std::env::current_exe().context("finding the program to run")?,
        threads: args.threads,
        huge_pages: args.thp.into(),
        stop: signals::stop_flag(None)?,
    })
}

/// A monitor shares the CPU of a target of one thread, and interrupts others.
fn model(args: &cli::Accuracy) -> CostModel {
    if args.threads == 1 { CostModel::SAME_CPU } else { CostModel::OTHER_CPU }
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

fn show(bar: &ProgressBar, step: &Step<'_>) {
    bar.set_length(step.total);
    bar.set_position(step.done);
    bar.set_message(format!("{} on {}", step.monitor.name(), step.work));
}
