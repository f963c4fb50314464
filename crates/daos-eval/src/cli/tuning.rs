//! What can be said of `daos-eval tuning`.

use clap::Args;
use daos_cli::Plain;
use daos_cli::values;
use daos_eval::tuning::simulated;
use daos_tune::Method;
use std::path::PathBuf;

/// Where the programs are that come with daos.
const PROGRAMS: &str = "workloads/programs";
/// The scheme that is tuned for a program by default.
pub const SCHEME: &str = "prcl";
/// Rounds in which a program is run in each way by default.
pub const RUNS: u32 = 3;

#[derive(Debug, Args)]
#[command(
    override_usage = "daos-eval tuning [--seeds N] [--samples N,...] [--method NAME,...]\n       \
    daos-eval tuning [--runs N] [--samples N] [--zram SIZE] -- COMMAND [ARG]...\n       \
    daos-eval tuning [--runs N] [--samples N] [--zram SIZE] --programs[=DIR]"
)]
#[command(after_help = "Examples:\n  \
    daos-eval tuning                                    simulated: six shapes, all methods\n  \
    daos-eval tuning --method gp --samples 10 --seeds 1000\n  \
    daos-eval tuning --zram 4G -- ./benchmark           as root\n  \
    daos-eval tuning --zram 4G --metric 'tail -n 1' --settle 8s --programs    all, an hour\n\
    Simulated, a loss is how far from the best of a known curve the tuner ends. A program is tuned \
    for, then run alone, with the scheme as it is, and with the tuned one, in turn. It has to do \
    the same work in each run, in the process that is started or, with --children, in those that \
    this starts.")]
pub struct Tuning {
    /// Tune for all programs of a directory: its scripts whose names end in .sh
    /// [default: workloads/programs]
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true,
          default_missing_value = PROGRAMS, conflicts_with = "command")]
    pub programs: Option<PathBuf>,
    /// Command to tune for, behind `--`
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Numbers of samples, those without a scheme included; for a program, one
    /// [default: 5,10,20,30; for a program 10]
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub samples: Vec<u32>,
    /// How to search: gp (Gaussian process), poly (the paper's), random; for a program, one
    /// [default: all; for a program gp]
    #[arg(long = "method", value_name = "NAME", value_delimiter = ',', value_parser = values::method)]
    pub methods: Vec<Method>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
    #[command(flatten)]
    pub simulated: Simulated,
    #[command(flatten)]
    pub real: Real,
}

/// Of curves whose best is known.
#[derive(Debug, Args)]
#[command(next_help_heading = "Simulated")]
pub struct Simulated {
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          help = format!("Seeds for each shape [default: {}]", simulated::Plan::default().seeds))]
    pub seeds: Option<u64>,
    #[arg(long, value_name = "N",
          help = format!("The first of them; the settings of the methods were chosen on 0 to 99 \
              [default: {}]", simulated::Plan::default().first_seed))]
    pub first_seed: Option<u64>,
    #[arg(long, value_name = "SHARE", value_parser = values::share,
          help = format!("Standard deviation of the noise, as a share of the score's range \
              [default: {}%]", 100.0 * simulated::Plan::default().noise))]
    pub noise: Option<f64>,
}

/// Of programs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Programs")]
pub struct Real {
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000),
          help = format!("Rounds in which a program is run in each way [default: {RUNS}]"))]
    pub runs: Option<u32>,
    /// Watch what a program starts, too, such as from a script; its memory counts
    #[arg(long)]
    pub children: bool,
    /// End each tuning within this time instead of after so many samples
    #[arg(long, value_name = "TIME", value_parser = values::duration_us, conflicts_with = "samples")]
    pub limit: Option<u64>,
    #[arg(short, long, value_name = "SCHEME",
          help = format!("Scheme to tune: whatever `daos tune` takes [default: {SCHEME}]"))]
    pub scheme: Option<String>,
    /// Threshold to tune and its range, as for `daos tune`; may be given several times
    #[arg(long = "param", value_name = "NAME=LOW..HIGH")]
    pub params: Vec<String>,
    /// Most of the performance that tuning may lose, as for `daos tune`
    #[arg(long, value_name = "SHARE", value_parser = values::share_above_0)]
    pub max_loss: Option<f64>,
    /// Command that prints, as its last word, the seconds that the work of a program took; it
    /// can read what that printed, as `tail -n 1` does. Without it, the time from start to end
    #[arg(long, value_name = "CMD")]
    pub metric: Option<String>,
    /// How much of the beginning of a run is not measured, such as 8s: what a program sets up
    #[arg(long, value_name = "TIME", value_parser = values::duration_us)]
    pub settle: Option<u64>,
    /// Swap to compressed memory of this size, such as 4G, for each run with a scheme
    #[arg(long, value_name = "SIZE", value_parser = values::swap_bytes)]
    pub zram: Option<u64>,
    /// Directory in which to keep each program's tuning; one that is there goes on
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
