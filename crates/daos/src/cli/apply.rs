//! What can be said of schemes on the command line.

use super::{Monitoring, Target, UNHEADED, Zram};
use clap::Args;
use daos_cli::values;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(override_usage = "daos apply [OPTIONS] --scheme SCHEME -- COMMAND [ARG]...\n       \
    daos apply [OPTIONS] --scheme SCHEME --pid PID[,PID]...\n       \
    daos apply [OPTIONS] --scheme SCHEME --all\n       \
    daos apply [OPTIONS] --scheme SCHEME --paddr\n       \
    daos apply [OPTIONS] --scheme SCHEME --sim FILE")]
#[command(mut_arg("schemes", |arg| arg.required(true)))]
#[command(mut_arg("max_overhead", super::max_overhead_where_schemes_act))]
#[command(after_help = "Examples:\n  \
    daos apply --scheme prcl --zram 4G -- ./server     pages out what is idle for 5 s\n  \
    daos apply --scheme reclaim --zram 4G --pid 1234     the same, but learns what is used again\n  \
    daos apply --scheme '4K max min min 30s max pageout' --pid 1234\n  \
    daos apply --scheme ethp --scheme my.toml --pid 1234 --children\n  \
    daos apply --scheme prcl --all --user alice --min-rss 64M    all large ones of a user\n  \
    daos apply --scheme pprcl --paddr --zram 4G      all that nobody uses, by physical address\n  \
    daos apply --scheme prcl --dry-run -d 1m --pid 1234   says what it would do\n  \
    daos record --scheme prcl -- ./server              records what was seen and done\n\
    A scheme's text: MIN-SIZE MAX-SIZE MIN-FREQUENCY MAX-FREQUENCY MIN-AGE MAX-AGE ACTION, with \
    min and max for no bound. Quotas, watermarks, filters and goals: in TOML (schemes/README.md).")]
pub struct Apply {
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub schemes: Managing,
    /// User as whom the command runs, by name or number [default: who called sudo, else who
    /// runs daos]; with --all, only the processes of this user
    #[arg(long, value_name = "USER", help_heading = UNHEADED)]
    pub user: Option<String>,
    /// Stop after this long, such as 20s or 5m. A command that was started is asked to end then
    #[arg(short, long, value_name = "TIME", value_parser = values::duration_us,
          help_heading = UNHEADED)]
    pub duration: Option<u64>,
    /// Say nothing but errors
    #[arg(short, long, help_heading = UNHEADED)]
    pub quiet: bool,
    #[command(flatten)]
    pub monitoring: Monitoring,
}

/// What is done to memory by what is seen of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Schemes", mut_arg("zram", |arg| arg.requires("schemes")))]
pub struct Managing {
    /// Scheme to apply: a file (text or TOML), one that comes with daos (prcl, reclaim, pprcl,
    /// ethp, lock, prcl-gentle), or its text. May be given several times; files are read again when
    /// they change, and on SIGHUP
    #[arg(short, long = "scheme", value_name = "SCHEME")]
    pub schemes: Vec<String>,
    /// Only say what would be done
    #[arg(long, requires = "schemes")]
    pub dry_run: bool,
    /// Write counters of each scheme to this file at the end, as JSON; `-` is standard output,
    /// which a command behind `--` writes to as well
    #[arg(long, value_name = "FILE", requires = "schemes")]
    pub stats: Option<PathBuf>,
    #[command(flatten)]
    pub zram: Zram,
}

impl Managing {
    /// Whether anything is to be done to the target's memory.
    pub fn act(&self) -> bool {
        !self.schemes.is_empty() && !self.dry_run
    }
}
