//! What can be said of `daos-eval accuracy`.

use super::{Huge, Kind, monitor};
use clap::Args;
use daos_cli::values::{self, bytes};
use daos_cli::{Looking, Plain};
use daos_eval::accuracy::{PageSize, Shape};
use daos_eval::monitors::ComparedKind;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    override_usage = "daos-eval accuracy [--sim] [--size SIZE,...] [--shape SHAPE,...] [OPTIONS]\n       \
    daos-eval accuracy --workload FILE... [OPTIONS]\n       \
    daos-eval accuracy --suite [FILE] [--only NAME,...] [OPTIONS]\n       \
    daos-eval accuracy [OPTIONS] -- COMMAND [ARG]..."
)]
#[command(after_help = "Examples:\n  \
    daos-eval accuracy --sim                                  1 and 10 GB, simulated\n  \
    daos-eval accuracy --sim --size 5T --hot 10%,1% --shape blocks --max-overhead 1\n  \
    daos-eval accuracy --sim --paddr --piece 64K              three processes in one RAM\n  \
    daos-eval accuracy --size 1G --shape block,blocks         on real memory, as root\n  \
    daos-eval accuracy --workload workloads/*.cfg             patterns in files\n  \
    daos-eval accuracy --seconds 40 -- redis-server           a real program, as root\n  \
    daos-eval accuracy --suite --only redis,gcc --runs 1      programs that Debian installs\n\
    Real programs: each is run under a scan of all its pages, again and again, which is the \
    truth, and under each monitor (windows, and fullscan, another such scan: what that differs \
    by is the program's own), at the same addresses each time. Children are watched, too. What \
    the program works on may be changed by each run: it has to do the same again.\n\
    Shapes: block (one), blocks (scattered), stripes (every so many pages one), moving, phased \
    (two sets of blocks in turn), zipf, sparse (8522 mappings in 36.7 GB, with --sim), turning \
    (a tenth turns hot, another cold), singles (pages among cold ones), kv (a store: an index, and a \
    quarter of the pages of its objects), sweep (from end to end), two-rates (as much again at a \
    tenth of the rate); all for each of them that the memory can have.")]
pub struct Accuracy {
    /// Access patterns to run, as for `daos-eval workload`
    #[arg(short, long = "workload", value_name = "FILE", num_args = 1..,
          conflicts_with_all = ["sizes", "hot", "shapes", "pages", "blocks", "suite", "command"])]
    pub workloads: Vec<PathBuf>,
    /// Sizes of the memory, such as 1G,5T; by default 1G, and 10G too if it is simulated
    #[arg(long = "size", value_name = "SIZE", value_delimiter = ',', value_parser = bytes)]
    pub sizes: Vec<u64>,
    /// Shares of it that are hot
    #[arg(long, value_name = "SHARE", value_delimiter = ',',
          value_parser = values::share, default_value = "10%")]
    pub hot: Vec<f64>,
    /// Where the hot memory lies: block, blocks, stripes, moving, phased, zipf, sparse, turning,
    /// singles, kv, sweep, two-rates
    #[arg(long = "shape", value_name = "SHAPE", value_delimiter = ',',
          value_parser = shape, default_value = "block,blocks")]
    pub shapes: Vec<Shapes>,
    /// Sizes of pages: 4k, 2m
    #[arg(long = "page", value_name = "SIZE", value_delimiter = ',',
          value_parser = page_size, default_value = "4k")]
    pub pages: Vec<PageSize>,
    /// Hot blocks, where there are many; by default 64 simulated ones, 37 on real memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub blocks: Option<u32>,
    /// Accesses of a hot page in a second, such as 200,10,0.5, where that can be reached;
    /// by default 460 simulated ones, as many as the machine makes on real memory
    #[arg(long = "rate", value_name = "N", value_delimiter = ',', value_parser = rate,
          conflicts_with_all = ["accesses", "workloads"])]
    pub rates: Vec<f64>,
    /// Monitors to compare; by default those that find regions by themselves
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = monitor)]
    pub monitors: Vec<ComparedKind>,
    /// Runs of each; the table has their medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Seconds that a run takes; less if the pattern or program ends before
    #[arg(long, visible_alias = "duration", value_name = "N", default_value = "20", value_parser = values::seconds_us)]
    pub seconds: u64,
    /// Seconds from the start of monitoring, of a phase in a file, and of a program, that do not
    /// count for accuracy
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::seconds_us)]
    pub warmup: u64,
    /// Threads that access the memory
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Huge pages for the memory, with --workload
    #[arg(long, value_enum, default_value_t = Huge::Default)]
    pub thp: Huge,
    /// What the memory is: a file lies in the directory for temporary files, and is only read
    /// unless a --workload writes
    #[arg(long, value_enum, default_value_t = Kind::Private, conflicts_with = "sim")]
    pub memory: Kind,
    /// Simulate the memory; costs are those of a model then
    #[arg(long)]
    pub sim: bool,
    /// Simulated accesses a second; by default those of a scenario make each page of hot blocks
    /// be accessed in 9 of 10 sampling intervals
    #[arg(long, value_name = "N", requires = "sim")]
    pub accesses: Option<std::num::NonZeroU64>,
    /// Simulate the RAM of a machine by physical address, which processes share that each do the
    /// same
    #[arg(long, requires = "sim", conflicts_with = "workloads")]
    pub paddr: bool,
    /// How many processes share it
    #[arg(long, value_name = "N", default_value_t = 3, requires = "paddr",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub processes: u32,
    /// In which pieces it was given out to them, such as 4K or 2M; what is larger lies scattered
    #[arg(long, value_name = "SIZE", default_value = "2M", requires = "paddr", value_parser = bytes)]
    pub piece: u64,
    /// Run on real memory and again simulated, and show how far the simulator is off
    #[arg(long, conflicts_with = "sim")]
    pub validate: bool,
    /// Real programs: those that come with daos, or those of a file (see workloads/suite.toml)
    #[arg(long, value_name = "FILE", num_args = 0..=1, help_heading = PROGRAMS,
          conflicts_with_all = ONLY_OF_PATTERNS)]
    pub suite: Option<Option<PathBuf>>,
    /// Only these programs; a name may be that of a group, up to a `/`
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "suite",
          help_heading = PROGRAMS)]
    pub only: Vec<String>,
    /// Leave out programs that are not installed
    #[arg(long, requires = "suite", help_heading = PROGRAMS)]
    pub skip_missing: bool,
    /// From one scan of all pages to the next: what is accessed within that time is compared
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = scan_us,
          help_heading = PROGRAMS)]
    pub scan: u64,
    /// From when on memory is idle
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = values::duration_us,
          help_heading = PROGRAMS)]
    pub idle: u64,
    /// How long a program runs before a monitor is attached to it: it has filled its memory then
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = values::duration_us,
          help_heading = PROGRAMS)]
    pub attach: u64,
    /// Command to compare monitors on, behind `--`; it has to do the same whenever it is run
    #[arg(last = true, value_name = "COMMAND",
          conflicts_with_all = ["suite"], conflicts_with_all = ONLY_OF_PATTERNS)]
    pub command: Vec<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
    #[command(flatten)]
    pub looking: Looking,
}

impl Accuracy {
    /// Whether it is of real programs, and not of patterns whose truth is known.
    pub fn is_of_programs(&self) -> bool {
        self.suite.is_some() || !self.command.is_empty()
    }
}

/// Where flags stand that are of real programs only.
const PROGRAMS: &str = "Real programs";
/// Flags that are not.
const ONLY_OF_PATTERNS: [&str; 12] = [
    "workloads",
    "sizes",
    "hot",
    "shapes",
    "pages",
    "blocks",
    "rates",
    "threads",
    "thp",
    "memory",
    "sim",
    "validate",
];

/// From one scan to the next.
fn scan_us(text: &str) -> Result<u64, String> {
    match values::duration_us(text)? {
        us @ 10_000..=60_000_000 => Ok(us),
        _ => Err("from 10ms, which takes a machine of its own, to 60s".to_owned()),
    }
}

/// What a word of `--shape` means.
#[derive(Debug, Clone, Copy)]
pub enum Shapes {
    /// Each that the memory can have.
    All,
    /// This one.
    One(Shape),
}

/// The name of a shape, or of all.
fn shape(text: &str) -> Result<Shapes, String> {
    match text {
        "all" => Ok(Shapes::All),
        name => values::named(name, "shape", Shape::ALL, Shape::name).map(Shapes::One),
    }
}

/// Accesses of a page in a second.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.trim().trim_end_matches("/s").parse().ok();
    let sound = rate.filter(|rate: &f64| (1e-3..=1e6).contains(rate));
    sound.ok_or_else(|| "accesses of a page in a second: 0.001 to 1000000, such as 10".to_owned())
}

/// A size of pages.
fn page_size(text: &str) -> Result<PageSize, String> {
    let sizes = [PageSize::Small, PageSize::Huge];
    let bytes = bytes(text).ok();
    let named = sizes.into_iter().find(|size| Some(size.bytes()) == bytes);
    named.ok_or_else(|| "pages are of 4k or of 2m".to_owned())
}
