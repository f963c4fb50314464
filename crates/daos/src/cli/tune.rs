//! What can be said of a tuning on the command line.

use super::{Monitoring, Target, UNHEADED, Zram};
use clap::{Args, ValueEnum};
use daos_cli::values;
use daos_tune::Method;
use std::path::PathBuf;

/// Where a tuning is kept unless told otherwise.
pub const DEFAULT_TUNING: &str = "daos.tune";

#[derive(Debug, Args)]
#[command(
    override_usage = "daos tune [OPTIONS] --scheme SCHEME --limit TIME -- COMMAND [ARG]...\n       \
    daos tune [OPTIONS] --scheme SCHEME --limit TIME --metric CMD --work-time TIME --pid PID\n       \
    daos tune [OPTIONS] --scheme SCHEME --limit TIME --sim FILE\n       \
    daos tune [OPTIONS] --scheme SCHEME --sweep RANGE/STEP -- COMMAND [ARG]..."
)]
#[command(mut_arg("max_overhead", super::max_overhead_where_schemes_act))]
#[command(mut_arg("command", |arg| arg.help("Command to run again and again, behind `--`; the \
    same work each time")))]
#[command(mut_arg("all", |arg| arg.hide(true)), mut_arg("paddr", |arg| arg.hide(true)))]
#[command(mut_arg("cgroup", |arg| arg.hide(true)))]
#[command(mut_arg("min_rss", |arg| arg.hide(true)), mut_arg("include_system", |arg| arg.hide(true)))]
#[command(mut_arg("pid", |arg| arg.help("Service to watch: processes that go on")))]
#[command(mut_arg("seed", |arg| arg.help("Seed of the random choice of pages, of points to \
    measure, and of simulated noise")))]
#[command(mut_arg("sim", |arg| arg.help("Simulate the access pattern of this file again and again")))]
#[command(after_help = "Examples:\n  \
    daos tune -s prcl --limit 10m --zram 4G -- ./benchmark     runs it again and again\n  \
    daos tune -s prcl --limit 10m --zram 4G --children -- ./script     and all that it starts\n  \
    daos tune -s prcl --limit 30m --metric 'CMD that prints requests per second' \\\n      \
        --work-time 20s --pid 1234 --apply                     a service; leaves the best on\n  \
    daos tune -s prcl --limit 10m --param min_age=1s..60s --param max_freq=0..20% -- ./benchmark\n  \
    daos tune -s prcl --limit 10m --score '0.7*p + 0.3*m' -- ./benchmark\n  \
    daos tune -s prcl --limit 10m --sim workloads/reports.cfg  simulated, in seconds\n  \
    daos tune -s prcl --sweep min_age=0s..60s/5s --repeat 3 -- ./benchmark\n\
    A score is made of p, the performance gained, and m, the memory saved, as shares of what they \
    are without a scheme. By default it is the paper's: 0.5*p + 0.5*m while less than --max-loss of \
    the performance is lost, else the worst score so far.")]
pub struct Tune {
    #[command(flatten)]
    pub target: Target,
    /// Scheme to tune: a file, one that comes with daos (such as prcl), or its text
    #[arg(short, long, value_name = "SCHEME", help_heading = UNHEADED)]
    pub scheme: String,
    #[command(flatten)]
    pub limits: Limits,
    #[command(flatten)]
    pub search: Search,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Directory for samples, result, scheme and plots. A tuning that is there goes on
    /// [default: daos.tune, from the start; one that is there is moved to daos.tune.old, in
    /// place of what was there]
    #[arg(short, long, value_name = "DIR", help_heading = UNHEADED)]
    pub out: Option<PathBuf>,
    /// User as whom the command, --metric and --score run, by name or number [default: who
    /// called sudo, else who runs daos]
    #[arg(long, value_name = "USER", help_heading = UNHEADED)]
    pub user: Option<String>,
    /// Begin anew: the samples in the directory are removed
    #[arg(long, requires = "out", help_heading = UNHEADED)]
    pub fresh: bool,
    /// Say nothing but errors
    #[arg(short, long, help_heading = UNHEADED)]
    pub quiet: bool,
    #[command(flatten)]
    pub monitoring: Monitoring,
}

/// How long. One is needed, but for a sweep.
#[derive(Debug, Args)]
pub struct Limits {
    /// End within this time, such as 10m, baselines included. What is simulated counts as if
    /// it ran
    #[arg(short, long, value_name = "TIME", value_parser = values::duration_us,
          help_heading = UNHEADED)]
    pub limit: Option<u64>,
    /// End after so many samples, baselines included
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000),
          help_heading = UNHEADED)]
    pub samples: Option<u32>,
}

/// Where the best is looked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct Search {
    /// Threshold to tune and its range: min_size, max_size, min_freq, max_freq, min_age or
    /// max_age. May be given several times [default: min_age=0s..60s]
    #[arg(long = "param", value_name = "NAME=LOW..HIGH")]
    pub params: Vec<String>,
    /// How to search: gp (Gaussian process), poly (the paper's), random
    #[arg(long, value_name = "NAME", value_parser = values::method,
          default_value = Method::default().name())]
    pub method: Method,
    /// Measure every point of a range instead of searching, such as min_age=0s..60s/1s
    #[arg(long, value_name = "NAME=LOW..HIGH/STEP", conflicts_with_all = ["params", "method"])]
    pub sweep: Vec<String>,
    /// Times to measure each point of a sweep
    #[arg(long, value_name = "N", default_value_t = 1, requires = "sweep",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
}

/// What is measured and how it is scored.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Measuring {
    /// Command that prints a number, the performance: at the end of a run, whose output it can
    /// read, as `tail -n 1` does; or again and again while a service is watched. The last word
    /// that it prints counts. Without it, the run time
    #[arg(long, value_name = "CMD")]
    pub metric: Option<String>,
    /// Which way the metric is good: more for a rate, less for a latency; total for a number
    /// that counts up, whose rate is taken
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Good::More, requires = "metric")]
    pub metric_is: Good,
    /// How long a service is watched for each sample, such as 20s
    #[arg(long, value_name = "TIME", value_parser = values::duration_us, requires = "pid")]
    pub work_time: Option<u64>,
    /// How long each sample is given to settle before it is measured, such as 8s: a command to
    /// set up what it works on, a service to get used to another scheme
    /// [default: 0s; for a service a quarter of the work time]
    #[arg(long, value_name = "TIME", value_parser = values::duration_us, conflicts_with = "sim")]
    pub settle: Option<u64>,
    /// Run two copies of the command at once for each sample, each on half of the CPUs: one with
    /// the scheme, the other alone, which it is compared with. For hosts where the same takes
    /// longer at one time than at another. They find 1 or 2 in $COPY, for a port or a directory
    #[arg(long)]
    pub pairs: bool,
    /// Leave the best scheme on when a service is tuned, until Ctrl-C or its end
    #[arg(long, requires = "pid")]
    pub apply: bool,
    /// Most of the performance that may be lost, such as 2%: what loses clearly more gets the
    /// worst score so far, and a run is cut short as soon as it does; what is close to it is
    /// weighed by the noise
    #[arg(long, value_name = "SHARE", value_parser = values::share_above_0, default_value = "10%",
          conflicts_with_all = ["score", "sweep"])]
    pub max_loss: f64,
    /// How samples are scored: arithmetic over p, m, worst, each metric (runtime, rss, …) and
    /// orig_METRIC; or a command that reads them as JSON and prints a number
    #[arg(long, value_name = "EXPR|CMD")]
    pub score: Option<String>,
    #[command(flatten)]
    pub zram: Zram,
}

impl Measuring {
    /// How long each sample settles, in microseconds.
    pub fn settle_us(&self) -> u64 {
        self.settle.unwrap_or(self.work_time.unwrap_or(0) / 4)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Good {
    More,
    Less,
    Total,
}
