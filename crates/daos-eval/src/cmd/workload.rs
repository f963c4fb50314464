//! `daos-eval workload`: runs an access pattern on real memory.

use crate::cli::{self, Filled, Huge, Kind};
use anyhow::Result;
use daos_cli::Usage;
use daos_cli::signals;
use daos_workload::{Backing, Config, Fill, HugePages, RunOptions, TruthWriter, Workload};
use std::num::{NonZeroU32, NonZeroU64};

/// Runs it to its end, or until Ctrl-C.
pub fn run(args: &cli::Workload) -> Result<i32> {
    let config = Config::read(&args.file)?;
    let options = options(args)?;
    let mut truth = args.truth.as_deref().map(TruthWriter::create).transpose()?;
    let stop = signals::stop_flag(None)?;
    let workload = Workload::map(config, options, &stop)?;
    if !args.quiet {
        daos_cli::say!("{}", workload.ready_line());
    }
    let summary = workload.run(&stop, truth.as_mut())?;
    if !args.quiet {
        for phase in &summary.phases {
            daos_cli::say!(
                "{}: {:.1} s, {:.2} million accesses a second",
                phase.name,
                phase.elapsed_us as f64 / 1e6,
                phase.accesses_per_sec() / 1e6
            );
        }
        daos_cli::say!("done: {:.3} million accesses a second", summary.accesses_per_sec() / 1e6);
    }
    Ok(0)
}

fn options(args: &cli::Workload) -> Result<RunOptions> {
    let repeat = NonZeroU32::new(args.repeat)
        .ok_or_else(|| Usage("--repeat 0 runs nothing; give 1 or more".into()))?;
    let rate = args
        .rate
        .map(|rate| {
            NonZeroU64::new(rate as u64)
                .filter(|_| rate.is_finite())
                .ok_or_else(|| Usage(format!("--rate {rate}: give at least one access a second")))
        })
        .transpose()?;
    Ok(RunOptions {
        threads: NonZeroU32::new(args.threads).unwrap_or(NonZeroU32::MIN),
        huge_pages: args.thp.into(),
        backing: args.memory.into(),
        fill: match args.fill {
            Filled::None => Fill::None,
            Filled::Touch => Fill::Touch,
            Filled::Half => Fill::Half,
        },
        repeat,
        rate,
        seed: args.seed,
    })
}

impl From<Kind> for Backing {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Private => Backing::Private,
            Kind::Shared => Backing::Shared,
            Kind::Locked => Backing::Locked,
            Kind::File => Backing::File,
        }
    }
}

impl From<Huge> for HugePages {
    fn from(huge: Huge) -> Self {
        match huge {
            Huge::Default => HugePages::Default,
            Huge::Always => HugePages::Always,
            Huge::Never => HugePages::Never,
        }
    }
}
