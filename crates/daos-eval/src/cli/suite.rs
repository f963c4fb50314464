//! What can be said of `daos-eval suite` and `daos-eval compare`.

use clap::Args;
use daos_cli::Plain;
use daos_cli::values;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(override_usage = "daos-eval suite [--configs NAME,...] [--runs N] --out DIR\n       \
    daos-eval suite [--configs NAME,...] [--runs N] --out DIR -- COMMAND [ARG]...\n       \
    daos-eval suite --list | --dry-run")]
#[command(after_help = "Examples, as root:\n  \
    daos-eval suite --list                                what would be run, and in which ways\n  \
    daos-eval suite --configs orig,rec,prcl --runs 5 --out results\n  \
    daos-eval suite --only redis,xz --configs orig,prcl --out results\n  \
    daos-eval suite --only redis,xz --configs rec,prcl --pairs --out pairs\n  \
    daos-eval suite --configs orig,'slow=4K max min min 30s max pageout' --out results -- ./server\n  \
    daos-eval suite --suite workloads/parsec3.toml --runs 5 --out parsec\n\
    Run again with the same --out, it goes on where it was; more --runs, workloads and \
    configurations can be added. Runs are interleaved, caches are dropped before each, and the \
    host's settings are put back. The results are in DIR/report.md, .json and .html.")]
pub struct Suite {
    /// Ways to run each workload: orig, rec, prec, scan, thp, ethp, prcl, reclaim, prcl-tuned,
    /// pprcl, limit, rec-limit, lock, a file of schemes, NAME=SCHEME, or NAME=DIR with
    /// DIR/WORKLOAD.scheme (or .toml) for each workload [default: orig,rec,thp,ethp,prcl; without
    /// thp for --pairs]
    #[arg(long = "configs", value_name = "NAME", value_delimiter = ',')]
    pub configurations: Vec<String>,
    /// Rounds: runs of each workload in each way; two pairs each for --pairs
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Run two copies at once, each on half of the CPUs, one of them alone as in orig; then the
    /// other way round. For machines on which the same takes longer at one time than at another
    #[arg(long)]
    pub pairs: bool,
    /// Directory of the evaluation: new, or one to go on with
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Workloads to run, instead of those that come with daos (see workloads/suite.toml)
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub suite: Option<PathBuf>,
    /// Only these workloads; a name may be that of a group, up to a `/`
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "command")]
    pub only: Vec<String>,
    /// Leave out workloads whose programs are not installed
    #[arg(long, conflicts_with = "command")]
    pub skip_missing: bool,
    /// Only list the workloads and the configurations
    #[arg(long)]
    pub list: bool,
    /// Only say what would run, and about how long
    #[arg(long, conflicts_with = "list")]
    pub dry_run: bool,
    /// Only make the tables again, of what DIR holds
    #[arg(long, conflicts_with_all = ["list", "dry_run"], requires = "out")]
    pub report: bool,
    /// Compressed swap for configurations that page out
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = values::swap_bytes)]
    pub zram: u64,
    /// User as whom workloads run, by name or number [default: who called sudo, else who runs
    /// daos-eval]
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Keep what workloads work on (DIR/work), so that going on need not set it up again
    #[arg(long)]
    pub keep: bool,
    /// Keep what rec, prec and rec-limit record, as DIR/records/WORKLOAD/NAME-RUN.daos, and show
    /// the first of each in the page
    #[arg(long)]
    pub keep_records: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
    /// Command as the only workload, behind `--`; it has to do the same work in each run
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Run a copy of a pair, and say what was measured
#[derive(Debug, Args)]
pub struct Copy {
    /// File that says what to run
    #[arg(value_name = "FILE")]
    pub job: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Both are directories of `daos-eval suite`. What both have is compared: each \
    workload in each configuration of DIR2 with the same of DIR1, with a permutation test."
)]
pub struct Compare {
    /// The evaluation that is compared with
    #[arg(value_name = "DIR1")]
    pub before: PathBuf,
    /// The evaluation that is compared
    #[arg(value_name = "DIR2")]
    pub after: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A server of four processes, 1 GiB, of which a tenth is in use: alone, and with \
    what was idle for 30 s paged out, to compressed memory and to a file (Figure 9 of the DAOS \
    paper). What counts is the last quarter of a run."
)]
pub struct Service {
    /// Directory of the evaluation: new, or one to go on with
    #[arg(short, long, value_name = "DIR")]
    pub out: PathBuf,
    /// Rounds: runs of each
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Seconds that a run takes
    #[arg(long, value_name = "N", default_value = "120", value_parser = values::seconds_us)]
    pub seconds: u64,
    /// Size of the swap
    #[arg(long, value_name = "SIZE", default_value = "2G", value_parser = values::swap_bytes)]
    pub swap: u64,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
}
