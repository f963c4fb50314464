//! `daos-eval accuracy`: what monitors report against what workloads truly access.

use super::progress;
use crate::cli::{self, Huge, Shapes};
use anyhow::Result;
use daos_cli::signals;
use daos_cli::{Backend, Plain, Usage};
use daos_core::MonitorAttrs;
use daos_eval::accuracy::{
    AccuracyPlan, AccuracyProgress, PhysicalSpace, RealMemory, Scenario, Shape, Simulator, Testbed,
    WorkloadSpec, compare, report, validate,
};
use daos_eval::monitors::ComparedKind;
use daos_eval::under_test::Commands;
use daos_sim::CostModel;
use indicatif::ProgressBar;
use std::io::stdout;
use std::num::NonZeroU64;

/// Compares what monitors report with what workloads truly access.
pub fn run(args: &cli::Accuracy, commands: Commands) -> Result<i32> {
    let plan = plan(args)?;
    let bar = progress("runs");
    let tell = |step: AccuracyProgress<'_>| show(&bar, &step);
    let mut out = stdout().lock();
    if args.validate {
        let pairs = validate::validate(&real(args, commands)?, model(args), &plan, tell);
        bar.finish_and_clear();
        match args.format {
            Plain::Text => validate::text(&pairs?, &mut out)?,
            Plain::Json => validate::json(&pairs?, &mut out)?,
        }
        return Ok(0);
    }
    let testbed = testbed(args, commands)?;
    let results = compare(&*testbed, &plan, tell);
    bar.finish_and_clear();
    match args.format {
        Plain::Text => report::text(&results?, &plan, testbed.name(), &mut out)?,
        Plain::Json => report::json(&results?, &plan, testbed.name(), &mut out)?,
    }
    Ok(0)
}

/// What was asked for, refused before it takes minutes if it can't work.
fn plan(args: &cli::Accuracy) -> Result<AccuracyPlan> {
    let attrs = attrs(args)?;
    let mut monitors = args.monitors.clone();
    if monitors.is_empty() {
        monitors.extend(ComparedKind::ALL.iter().filter(|kind| !kind.is_yardstick()));
    }
    Ok(AccuracyPlan {
        workloads: workloads(args),
        monitors,
        runs: args.runs,
        length_us: args.seconds,
        warmup_us: args.warmup,
        attrs,
        options: args.looking.options(),
        seed: args.looking.seed,
    })
}

/// The intervals, refused if none could count.
pub(super) fn attrs(args: &cli::Accuracy) -> Result<MonitorAttrs> {
    let attrs = args.looking.attrs();
    attrs.validate().map_err(|err| Usage(err.to_string()))?;
    if args.seconds <= args.warmup {
        return Err(
            Usage("--seconds must be more than --warmup, else nothing counts".into()).into()
        );
    }
    Ok(attrs)
}

/// The files, or every combination of what scenarios consist of.
fn workloads(args: &cli::Accuracy) -> Vec<WorkloadSpec> {
    if !args.workloads.is_empty() {
        return args.workloads.iter().cloned().map(WorkloadSpec::File).collect();
    }
    let blocks = args.blocks.unwrap_or(if args.sim { 64 } else { 37 });
    let sizes = match &args.sizes[..] {
        [] if args.sim => &[1 << 30, 10 << 30][..],
        [] => &[1 << 30],
        sizes => sizes,
    };
    let rates = args.rates.iter().copied().map(Some);
    let rates: Vec<Option<f64>> = if args.rates.is_empty() { vec![None] } else { rates.collect() };
    let mut workloads = Vec::new();
    for shape in args.shapes.iter().flat_map(|shapes| shapes_of(*shapes, args.sim)) {
        for &page in &args.pages {
            for &bytes in sizes {
                for &hot in &args.hot {
                    let bytes = shape.own_bytes().unwrap_or(bytes);
                    let hot = shape.own_hot().unwrap_or(hot);
                    for rate in rates.clone() {
                        let scenario = Scenario { shape, bytes, hot, page, blocks, rate };
                        let workload = WorkloadSpec::Scenario(scenario);
                        // A shape of its own size is the same for every size.
                        if !workloads.contains(&workload) {
                            workloads.push(workload);
                        }
                    }
                }
            }
        }
    }
    workloads
}

/// The shapes that are meant, of simulated or of real memory.
fn shapes_of(shapes: Shapes, sim: bool) -> Vec<Shape> {
    match shapes {
        Shapes::One(shape) => vec![shape],
        Shapes::All => {
            let can_be = |shape: &Shape| sim || *shape != Shape::Sparse;
            Shape::ALL.iter().copied().filter(can_be).collect()
        }
    }
}

fn testbed(args: &cli::Accuracy, commands: Commands) -> Result<Box<dyn Testbed>> {
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
            physical: args
                .paddr
                .then_some(PhysicalSpace { processes: args.processes, piece_bytes: args.piece }),
        })),
        (false, _) => Ok(Box::new(real(args, commands)?)),
    }
}

fn real(args: &cli::Accuracy, commands: Commands) -> Result<RealMemory> {
    Ok(RealMemory {
        commands,
        threads: args.threads,
        huge_pages: args.thp.into(),
        backing: args.memory.into(),
        stop: signals::stop_flag(None)?,
    })
}

/// A monitor shares the CPU of a target of one thread, and interrupts others.
fn model(args: &cli::Accuracy) -> CostModel {
    if args.threads == 1 { CostModel::SAME_CPU } else { CostModel::OTHER_CPU }
}

fn show(bar: &ProgressBar, step: &AccuracyProgress<'_>) {
    bar.set_length(step.total);
    bar.set_position(step.done);
    bar.set_message(format!("{} on {}", step.monitor.name(), step.workload));
}
