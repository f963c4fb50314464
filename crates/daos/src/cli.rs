//! The command line: what can be typed, and nothing of what it does.

mod apply;
mod bench_schemes;
pub mod bench_tuning;
mod tune;

pub use apply::{Apply, Managing};
pub use bench_schemes::BenchSchemes;
pub use bench_tuning::BenchTuning;
pub use tune::{DEFAULT_TUNING, Good, Tune};

use crate::units;
use clap::{Args, Parser, Subcommand, ValueEnum};
use daos_bench::{PageSize, Shape};
use daos_core::monitor::windows::DEFAULT_MAX_OVERHEAD;
use daos_core::{AddrRange, MonitorAttrs, MonitorKind, MonitorOptions};
use daos_linux::guard::COMMAND as GUARD;
use daos_workload::quantity;
use std::path::PathBuf;

/// Where `record` writes and `report` reads unless told otherwise.
pub const DEFAULT_RECORD: &str = "daos.data";

/// Watches which memory a program really uses, on a stock Linux kernel.
#[derive(Debug, Parser)]
#[command(name = "daos", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with `daos doctor`, then:\n  \
    daos record -- ./program       watch a program from its start\n  \
    daos record --pid 1234         watch a running process until Ctrl-C\n  \
    daos report heatmap            show when it used what memory\n  \
    daos apply -s prcl --zram 4G -- ./program      page out what it does not use\n  \
    daos tune -s prcl --zram 4G --limit 10m -- ./program      find the best thresholds for it")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what this host offers and, for each thing missing, what to do
    Doctor(Doctor),
    /// Monitor a program and record what memory it accesses
    Record(Record),
    /// Manage a program's memory by what it accesses: page out what is idle, …
    Apply(Apply),
    /// Find the thresholds of a scheme that are best for a program
    Tune(Box<Tune>),
    /// Show what a record holds
    #[command(subcommand)]
    Report(Report),
    /// Run an access pattern on real memory (masim's configuration format)
    Workload(Workload),
    /// Measure the monitor itself, what schemes gain and cost, and how good the tuner is
    #[command(subcommand)]
    Bench(Bench),
    #[command(name = GUARD, hide = true, about = "Keep swap until standard input ends")]
    Guard(Guard),
}

/// What a `daos` that sets up swap starts to have it taken away.
#[derive(Debug, Args)]
pub struct Guard {
    /// Size of the swap
    pub bytes: u64,
    /// The process that uses it
    pub user: u32,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// How to print it
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
    /// Take away what a daos that was killed has left behind
    #[arg(long, conflicts_with = "format")]
    pub clean: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Plain {
    Text,
    Json,
}

#[derive(Debug, Args)]
#[command(override_usage = "daos record [OPTIONS] -- COMMAND [ARG]...\n       \
    daos record [OPTIONS] --pid PID[,PID]...\n       \
    daos record [OPTIONS] --sim FILE")]
#[command(after_help = "Examples:\n  \
    daos record -- ./program --with args       from its start to its end\n  \
    daos record --pid 1234 --duration 20s      a running process, for a while\n  \
    daos record --pid 1234 --children          and the processes that it starts\n  \
    daos record -o - --pid 1234 | jq .         as JSON lines, as they come\n  \
    daos record --sim workloads/demo.cfg       a simulated address space, at once")]
pub struct Record {
    #[command(flatten)]
    pub target: Target,
    /// File to record to; `-` writes JSON lines to standard output (and what a command writes
    /// there to standard error)
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_RECORD)]
    pub output: PathBuf,
    /// Stop after this long, such as 20s or 5m. A command that was started is asked to end then
    #[arg(short, long, value_name = "TIME", value_parser = units::duration_us)]
    pub duration: Option<u64>,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub monitoring: Monitoring,
    #[command(flatten)]
    pub schemes: Managing,
}

/// What to watch. Exactly one form.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Forms {
    /// Processes to watch
    #[arg(short, long, value_name = "PID", value_delimiter = ',', num_args = 1..)]
    pub pid: Vec<u32>,
    /// Simulate the access pattern of this file instead of watching a process
    #[arg(long, value_name = "FILE")]
    pub sim: Option<PathBuf>,
    /// Command to start and watch, behind `--`; its exit status becomes that of daos
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Target {
    #[command(flatten)]
    pub forms: Forms,
    /// Watch the processes that the targets start, too
    #[arg(long, conflicts_with = "sim")]
    pub children: bool,
}

/// How to look.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct Monitoring {
    /// How to monitor
    #[arg(long, value_name = "NAME", value_parser = units::monitor,
          default_value = MonitorKind::default().name())]
    pub monitor: MonitorKind,
    #[command(flatten)]
    pub looking: Looking,
}

/// How closely to look. The defaults are the paper's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct Looking {
    #[arg(long, value_name = "PERCENT", value_parser = units::percent_of_cpu,
          help = max_overhead_help())]
    pub max_overhead: Option<f64>,
    /// Choose sampling and aggregation intervals that fit the workload
    #[arg(long)]
    pub auto_intervals: bool,
    /// Sampling interval: from arming a page to checking it
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = units::duration_us)]
    pub sample: u64,
    /// Aggregation interval: one snapshot for each
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = units::duration_us)]
    pub aggr: u64,
    /// Regions update interval: how often mappings are read anew
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::duration_us)]
    pub update: u64,
    /// Lower bound on the number of regions, at least 3
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub min_regions: u32,
    /// Upper bound on the number of regions, and so on the checks in a sampling interval
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub max_regions: u32,
    /// Seed of the random choice of pages
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// What reads the accesses: eBPF on this kernel, or the simulator (with --sim)
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    pub backend: Backend,
}

fn max_overhead_help() -> String {
    format!(
        "Upper bound on what monitoring costs, in percent of one CPU, the target's side \
         included. The windows monitor keeps it [default: {}]",
        100.0 * DEFAULT_MAX_OVERHEAD
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    Auto,
    Ebpf,
    Sim,
}

impl Looking {
    /// What only some monitors heed.
    pub fn options(&self) -> MonitorOptions {
        MonitorOptions { max_overhead: self.max_overhead, auto_intervals: self.auto_intervals }
    }

    /// The attributes asked for, not validated yet.
    pub fn attrs(&self) -> MonitorAttrs {
        MonitorAttrs {
            sample_us: self.sample,
            aggregation_us: self.aggr,
            update_us: self.update,
            min_regions: self.min_regions,
            max_regions: self.max_regions,
        }
    }
}

#[derive(Debug, Subcommand)]
pub enum Report {
    /// When was which memory accessed how often
    Heatmap(Heatmap),
    /// Working set size: its distribution, and how it changes
    Wss(Wss),
    /// The regions of snapshots, as lists
    Regions(Regions),
    /// What schemes did: how often, to how much memory, when
    Schemes(Schemes),
    /// What the monitoring cost
    Overhead(Overhead),
    /// How, where and of what the record was made
    Info(Info),
}

/// What every report takes.
#[derive(Debug, Args)]
pub struct Common {
    /// The record
    #[arg(value_name = "FILE", default_value = DEFAULT_RECORD)]
    pub record: PathBuf,
    /// How to show it; by default as the ending of OUT says, else as text
    #[arg(short, long, value_enum)]
    pub format: Option<Format>,
    /// File to write to instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Csv,
    Svg,
    Png,
}

/// Which part of the record.
#[derive(Debug, Args)]
pub struct Zoom {
    /// Only these addresses: START-END or START+SIZE, such as 0x7f0000000000+64M
    #[arg(long, value_name = "RANGE", value_parser = units::addresses)]
    pub address: Option<AddrRange>,
    /// Only this span since the start of the record, such as 2s-10s
    #[arg(long, value_name = "SPAN", value_parser = units::time_span_us)]
    pub time: Option<(u64, u64)>,
    /// Only this target, by its place in the record (see `report info`)
    #[arg(long, value_name = "N")]
    pub target: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Heatmap {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub zoom: Zoom,
    /// Cells from left to right; as many as fit otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub width: Option<u32>,
    /// Cells from bottom to top; as many as fit otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub height: Option<u32>,
    /// Leave out where schemes acted, which is marked otherwise
    #[arg(long)]
    pub no_actions: bool,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct Color {
    /// Colour in text: on a terminal, always or never
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Args)]
pub struct Wss {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub zoom: Zoom,
    /// Count regions with at least this access rate; by default any access counts
    #[arg(long, value_name = "SHARE", value_parser = units::share)]
    pub min_rate: Option<f64>,
    /// Percentiles to give, from 0 to 100
    #[arg(long, value_name = "P", value_delimiter = ',', default_value = "0,25,50,75,100",
          value_parser = units::percentile)]
    pub percentiles: Vec<f64>,
    /// In JSON, also every snapshot's working set
    #[arg(long)]
    pub timeline: bool,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct Regions {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub zoom: Zoom,
    /// Every snapshot; text shows only the last one otherwise
    #[arg(long)]
    pub all: bool,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct Schemes {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub zoom: Zoom,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct Overhead {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct Info {
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Workload {
    /// Configuration: regions, then phases
    pub file: PathBuf,
    /// Write what was truly accessed here, a JSON line for each phase
    #[arg(long, value_name = "OUT")]
    pub truth: Option<PathBuf>,
    /// Threads that access the memory
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Huge pages for its memory
    #[arg(long, value_enum, default_value_t = Huge::Default)]
    pub thp: Huge,
    /// What the memory is
    #[arg(long, value_enum, default_value_t = Kind::Private)]
    pub memory: Kind,
    /// What is written to all of it first
    #[arg(long, value_enum, default_value_t = Filled::Touch)]
    pub fill: Filled,
    /// Accesses a second, all threads together; as many as possible otherwise
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Times to run all phases
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Seed of the random accesses
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Huge {
    /// As the host is set
    Default,
    /// Ask for them
    Always,
    /// Refuse them
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Filled {
    /// Nothing: a page is there from its first access on
    None,
    /// A byte of each page
    Touch,
    /// Random bytes to half of each page, so that it compresses to about half
    Half,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Anonymous memory of its own
    Private,
    /// Anonymous memory that could be shared
    Shared,
    /// Locked into memory
    Locked,
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Compare what monitors report with what workloads truly access, and say what it costs
    Accuracy(Accuracy),
    /// Say what schemes gain and what they cost, with and without them in turn
    Schemes(BenchSchemes),
    /// Say how near to the best the tuner comes, simulated or for real programs
    Tuning(BenchTuning),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    daos bench accuracy --sim                                  1 and 10 GB, simulated\n  \
    daos bench accuracy --sim --size 5T --hot 10%,1% --shape blocks --max-overhead 1\n  \
    daos bench accuracy --size 1G --shape block,blocks         on real memory, as root\n  \
    daos bench accuracy --workload workloads/*.cfg             patterns in files\n\
    Shapes: block (one), blocks (scattered), stripes (every so many pages one), moving, phased \
    (two sets of blocks in turn), zipf, sparse (8522 mappings in 36.7 GB, with --sim), turning \
    (a tenth turns hot, another cold).")]
pub struct Accuracy {
    /// Access patterns to run, as for `daos workload`
    #[arg(short, long = "workload", value_name = "FILE", num_args = 1..,
          conflicts_with_all = ["sizes", "hot", "shapes", "pages", "blocks"])]
    pub workloads: Vec<PathBuf>,
    /// Sizes of the memory, such as 1G,5T; by default 1G, and 10G too if it is simulated
    #[arg(long = "size", value_name = "SIZE", value_delimiter = ',', value_parser = bytes)]
    pub sizes: Vec<u64>,
    /// Shares of it that are hot
    #[arg(long, value_name = "SHARE", value_delimiter = ',',
          value_parser = units::share, default_value = "10%")]
    pub hot: Vec<f64>,
    /// Where the hot memory lies
    #[arg(long = "shape", value_name = "SHAPE", value_delimiter = ',',
          value_parser = shape, default_value = "block,blocks")]
    pub shapes: Vec<Shape>,
    /// Sizes of pages: 4k, 2m
    #[arg(long = "page", value_name = "SIZE", value_delimiter = ',',
          value_parser = page_size, default_value = "4k")]
    pub pages: Vec<PageSize>,
    /// Hot blocks, where there are many; by default 64 simulated ones, 37 on real memory
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub blocks: Option<u32>,
    /// Monitors to compare; by default those that find regions by themselves
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = units::monitor)]
    pub monitors: Vec<MonitorKind>,
    /// Runs of each; the table has their medians
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Seconds that a run takes; less if the pattern ends before
    #[arg(long, value_name = "N", default_value = "20", value_parser = units::seconds_us)]
    pub seconds: u64,
    /// Seconds from the start of monitoring, and of a phase in a file, that do not count for
    /// accuracy
    #[arg(long, value_name = "N", default_value = "10", value_parser = units::seconds_us)]
    pub warmup: u64,
    /// Threads that access the memory
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: u32,
    /// Huge pages for the memory, with --workload
    #[arg(long, value_enum, default_value_t = Huge::Default)]
    pub thp: Huge,
    /// Simulate the memory; costs are those of a model then
    #[arg(long)]
    pub sim: bool,
    /// Simulated accesses a second; by default those of a scenario make each page of hot blocks
    /// be accessed in 9 of 10 sampling intervals
    #[arg(long, value_name = "N", requires = "sim")]
    pub accesses: Option<std::num::NonZeroU64>,
    /// Run on real memory and again simulated, and show how far the simulator is off
    #[arg(long, conflicts_with = "sim")]
    pub validate: bool,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Plain::Text)]
    pub format: Plain,
    #[command(flatten)]
    pub looking: Looking,
}

/// A size of memory.
fn bytes(text: &str) -> Result<u64, String> {
    quantity::bytes(text).map_err(|_| "expected a size, such as 512M, 10G or 5T".to_owned())
}

/// The name of a shape.
fn shape(text: &str) -> Result<Shape, String> {
    units::named(text, "shape", Shape::ALL, Shape::name)
}

/// A size of pages.
fn page_size(text: &str) -> Result<PageSize, String> {
    let sizes = [PageSize::Small, PageSize::Huge];
    let bytes = quantity::bytes(text).ok();
    let named = sizes.into_iter().find(|size| Some(size.bytes()) == bytes);
    named.ok_or_else(|| "pages are of 4k or of 2m".to_owned())
}
