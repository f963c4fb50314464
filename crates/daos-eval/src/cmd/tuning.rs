//! `daos-eval tuning`: how good the tuner is, simulated and for real programs.

use super::progress;
use crate::cli::tuning::{RUNS, SCHEME, Tuning};
use anyhow::Result;
use daos_cli::Plain;
use daos_cli::Usage;
use daos_cli::signals;
use daos_eval::tuning::programs::{self, Limit, Program};
use daos_eval::tuning::simulated;
use std::io::stdout;
use std::path::PathBuf;

/// Samples of a tuning for a program.
const SAMPLES: u32 = 10;

/// Compares methods on curves whose best is known, or a tuned scheme with the scheme as it is.
pub fn run(args: &Tuning, daos: PathBuf) -> Result<i32> {
    let programs = match &args.programs {
        Some(dir) => Program::all_in(dir)?,
        None if args.command.is_empty() => return simulated(args),
        None => vec![Program::of_command(&args.command)],
    };
    real(args, programs, daos)
}

fn simulated(args: &Tuning) -> Result<i32> {
    let default = simulated::Plan::default();
    let real = &args.real;
    let for_programs = [
        ("--runs", real.runs.is_some()),
        ("--children", real.children),
        ("--scheme", real.scheme.is_some()),
        ("--limit", real.limit.is_some()),
        ("--param", !real.params.is_empty()),
        ("--max-loss", real.max_loss.is_some()),
        ("--metric", real.metric.is_some()),
        ("--settle", real.settle.is_some()),
        ("--zram", real.zram.is_some()),
        ("--out", real.out.is_some()),
    ];
    Usage::refuse(&for_programs, "is for programs: give -- COMMAND or --programs")?;
    let samples = args.samples.iter().map(|&samples| samples as usize).collect();
    let plan = simulated::Plan {
        methods: if args.methods.is_empty() { default.methods } else { args.methods.clone() },
        samples: if args.samples.is_empty() { default.samples } else { samples },
        seeds: args.simulated.seeds.unwrap_or(default.seeds),
        first_seed: args.simulated.first_seed.unwrap_or(default.first_seed),
        noise: args.simulated.noise.unwrap_or(default.noise),
    };
    let bar = progress("shapes");
    let tuned = simulated::compare(&plan, |step| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(format!("{}, {} samples", step.method, step.samples));
    });
    bar.finish_and_clear();
    let mut out = stdout().lock();
    match args.format {
        Plain::Text => simulated::text(&tuned, &plan, &mut out)?,
        Plain::Json => simulated::json(&tuned, &plan, &mut out)?,
    }
    Ok(0)
}

fn real(args: &Tuning, programs: Vec<Program>, daos: PathBuf) -> Result<i32> {
    let simulated = &args.simulated;
    let for_shapes = [
        ("--seeds", simulated.seeds.is_some()),
        ("--first-seed", simulated.first_seed.is_some()),
        ("--noise", simulated.noise.is_some()),
    ];
    Usage::refuse(&for_shapes, "is for simulated shapes: leave out --programs and the command")?;
    let scheme = args.real.scheme.as_deref().unwrap_or(SCHEME);
    let limit = match (args.real.limit, &args.samples[..]) {
        (Some(us), _) => Limit::TimeUs(us),
        (None, []) => Limit::Samples(SAMPLES),
        (None, [samples]) => Limit::Samples(*samples),
        _ => return Err(Usage("a program is tuned for with one number of --samples".into()).into()),
    };
    let method = match args.methods[..] {
        [] => None,
        [method] => Some(method),
        _ => return Err(Usage("a program is tuned for with one --method".into()).into()),
    };
    // A mistake in it is found now, and not after the first run.
    daos_session::SchemeSource::new(scheme)
        .and_then(|mut source| source.read())
        .map_err(daos_cli::scheme_error)?;
    let plan = programs::ProgramsPlan {
        programs,
        scheme: scheme.to_owned(),
        limit,
        params: args.real.params.clone(),
        max_loss: args.real.max_loss,
        metric: args.real.metric.clone(),
        settle_us: args.real.settle.unwrap_or(0),
        method,
        zram_bytes: args.real.zram,
        children: args.real.children,
        pairs: false,
        user: None,
        runs: args.real.runs.unwrap_or(RUNS),
        out: args.real.out.clone(),
        daos,
        stop: signals::stop_flag(None)?,
    };
    let bar = progress("runs");
    let mut results = Vec::new();
    let ended = programs::run(&plan, &mut results, |step| {
        bar.set_length(step.total);
        bar.set_position(step.done);
        bar.set_message(format!("{}: {}", step.program, step.doing));
    });
    bar.finish_and_clear();
    if ended.is_ok() || !results.is_empty() {
        let mut out = stdout().lock();
        match args.format {
            Plain::Text => programs::table::text(&results, &mut out)?,
            Plain::Json => programs::table::json(&results, &plan, &mut out)?,
        }
    }
    ended?;
    Ok(0)
}
