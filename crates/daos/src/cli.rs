//! The command line: what can be typed, and nothing of what it does.

mod apply;
mod tune;
mod zram;

pub use apply::{Apply, Managing};
pub use tune::{DEFAULT_TUNING, Good, Search, Tune};
pub use zram::Zram;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use daos_cli::values::{self, bytes};
pub use daos_cli::{Backend, Looking, Plain};
use daos_core::AddrRange;
use daos_linux::SwapOptions;
use daos_linux::census::CgroupPattern;
use daos_linux::guard::COMMAND as GUARD;
use daos_monitor::MonitorKind;
use daos_report::{info, owners, regions};
use std::path::PathBuf;

/// The heading of options that stand behind a group with one of its own, and don't belong to it.
pub const UNHEADED: Option<&str> = None;

/// Where `record` writes and `report` reads unless told otherwise.
pub const DEFAULT_RECORD: &str = "daos.data";

/// Watches which memory a program really uses, on a stock Linux kernel.
#[derive(Debug, Parser)]
#[command(name = "daos", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with `daos doctor`, then:\n  \
    daos record -- ./program       watch a program from its start\n  \
    daos record --pid 1234         watch a running process until Ctrl-C\n  \
    daos report heatmap            show when it used what memory\n  \
    daos owners                    show which processes hold memory that nobody uses\n  \
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
    /// Show who holds how much memory now, and how much of it is idle
    Owners(Owners),
    /// Show what a record holds
    #[command(subcommand)]
    Report(Report),
    #[command(hide = true, disable_help_flag = true)]
    Bench(Moved),
    #[command(hide = true, disable_help_flag = true)]
    Workload(Moved),
    #[command(name = GUARD, hide = true, about = "Keep swap until standard input ends")]
    Guard(Guard),
}

/// What stands behind a command that is one of `daos-eval` now.
#[derive(Debug, Args)]
pub struct Moved {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// What a `daos` that sets up swap starts to have it taken away.
#[derive(Debug, Args)]
pub struct Guard {
    /// Size of the swap
    pub bytes: u64,
    /// The process that uses it
    pub user: u32,
    /// Most memory that it may take, in bytes
    #[arg(long)]
    pub limit: Option<u64>,
    /// Its priority
    #[arg(long)]
    pub priority: u16,
}

impl Guard {
    /// What is to be set up.
    pub fn options(&self) -> SwapOptions {
        SwapOptions { bytes: self.bytes, limit_bytes: self.limit, priority: self.priority }
    }
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

#[derive(Debug, Args)]
#[command(override_usage = "daos record [OPTIONS] -- COMMAND [ARG]...\n       \
    daos record [OPTIONS] --pid PID[,PID]...\n       \
    daos record [OPTIONS] --all\n       \
    daos record [OPTIONS] --paddr\n       \
    daos record [OPTIONS] --sim FILE")]
#[command(after_help = "Examples:\n  \
    daos record -- ./program --with args       from its start to its end\n  \
    daos record --children -- ./script         a script, and all that it starts\n  \
    daos record --pid 1234 --duration 20s      a running process, for a while\n  \
    daos record --pid 1234 --children          and the processes that it starts\n  \
    daos record --all --min-rss 64M -d 5m      all of the machine that are larger than that\n  \
    daos record --all --cgroup 'system.slice/*'      all in such a cgroup\n  \
    daos record --paddr -d 1m                  the machine's RAM, by physical address\n  \
    daos record -o - --pid 1234 | jq .         as JSON lines, as they come\n  \
    daos record --sim workloads/demo.cfg       a simulated address space, at once")]
pub struct Record {
    #[command(flatten)]
    pub target: Target,
    /// File to record to; `-` writes JSON lines to standard output (and what a command writes
    /// there to standard error)
    #[arg(short, long, value_name = "FILE", default_value = DEFAULT_RECORD, help_heading = UNHEADED)]
    pub output: PathBuf,
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
    #[command(flatten)]
    pub schemes: Managing,
}

/// What to watch. Exactly one form.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Forms {
    /// Processes to watch
    #[arg(short, long, value_name = "PID", value_delimiter = ',', num_args = 1.., value_parser = pid)]
    pub pid: Vec<u32>,
    /// All processes of the machine, as they come and go: the largest first
    #[arg(long)]
    pub all: bool,
    /// The RAM of the machine by physical address, whoever uses it
    #[arg(long)]
    pub paddr: bool,
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
    #[arg(long, conflicts_with_all = ["sim", "all", "paddr"])]
    pub children: bool,
    #[command(flatten)]
    pub selecting: Selecting,
}

/// Which of all processes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "With --all or --paddr")]
pub struct Selecting {
    /// Only processes in this cgroup, or below it; `*` stands for any text
    #[arg(long, value_name = "PATTERN", value_parser = CgroupPattern::new)]
    pub cgroup: Option<CgroupPattern>,
    /// Only processes with so much memory resident, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub min_rss: Option<u64>,
    /// Act on system daemons, too: what is in /system.slice or /init.scope or, without systemd,
    /// children of process 1 without a terminal and what they start, but for that of users from
    /// 1000 on. With `apply --paddr`, also page cache that no process maps, unless --cgroup,
    /// --user or --min-rss choose among processes
    #[arg(long)]
    pub include_system: bool,
}

/// How to look.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct Monitoring {
    /// How to monitor
    #[arg(long, value_name = "NAME", value_parser = monitor,
          default_value = MonitorKind::default().name())]
    pub monitor: MonitorKind,
    #[command(flatten)]
    pub looking: Looking,
}

/// Bound on what monitoring costs where schemes act, unless the user says otherwise, as a share
/// of one CPU. Chosen: twice that of monitoring alone, since which pages are idle has to be
/// known one by one before any is paged out.
pub const WHERE_SCHEMES_ACT: f64 = 0.01;
/// The same of a short look at all processes. Chosen: a fifth of a second in ten, in which
/// gigabytes can be known.
pub const IN_A_SHORT_LOOK: f64 = 0.02;

impl Monitoring {
    /// The same with this bound on what monitoring costs, unless the user gave one.
    pub fn bounded_by(mut self, share: f64) -> Self {
        if self.monitor.heeds_options() {
            self.looking.max_overhead.get_or_insert(share);
        }
        self
    }
}

/// The help of `--max-overhead` where schemes act.
fn max_overhead_where_schemes_act(arg: clap::Arg) -> clap::Arg {
    arg.help(daos_cli::max_overhead_help(WHERE_SCHEMES_ACT))
}

/// The same in a short look at all processes.
fn max_overhead_in_a_short_look(arg: clap::Arg) -> clap::Arg {
    arg.help(daos_cli::max_overhead_help(IN_A_SHORT_LOOK))
}

#[derive(Debug, Subcommand)]
pub enum Report {
    /// When was which memory accessed how often
    Heatmap(Heatmap),
    /// Working set size: its distribution, and how it changes
    Wss(Wss),
    /// Who holds how much memory at the end, and how much of it is idle
    Owners(ReportOwners),
    /// The regions of snapshots, as lists
    Regions(Regions),
    /// What schemes did: how often, to how much memory, when
    Schemes(Schemes),
    /// What the monitoring cost
    Overhead(Overhead),
    /// How, where and of what the record was made
    Info(Info),
}

/// The name of a monitor.
fn monitor(text: &str) -> Result<MonitorKind, String> {
    match text {
        "static" | "fullscan" => Err(format!(
            "it is there to compare others with: `daos-eval accuracy --monitors {text}`"
        )),
        _ => values::monitor(text),
    }
}

/// The number of a process; blanks around it are none of it, as in `1, 2`.
fn pid(text: &str) -> Result<u32, String> {
    let number = text.trim().parse();
    number.map_err(|_| "expected the number of a process, such as 1234 or 1234,5678".to_owned())
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

/// Lets it be one of these formats only: those that the report comes in.
fn one_of(formats: &[daos_report::Format]) -> impl FnOnce(clap::Arg) -> clap::Arg {
    let named = |name: String| Format::from_str(&name, false).expect("they are formats");
    let names = formats.iter().map(|format| format.name());
    let parser = PossibleValuesParser::new(names).map(named);
    |arg| arg.value_parser(parser)
}

/// Which part of the record.
#[derive(Debug, Args)]
pub struct Zoom {
    /// Only these addresses: START-END or START+SIZE, such as 0x7f0000000000+64M
    #[arg(long, value_name = "RANGE", value_parser = values::addresses)]
    pub address: Option<AddrRange>,
    /// Only this span since the start of the record, such as 2s-10s
    #[arg(long, value_name = "SPAN", value_parser = values::time_span_us,
          allow_hyphen_values = true)]
    pub time: Option<(u64, u64)>,
    /// Only this target, by its number in the record (see `report info`)
    #[arg(long, value_name = "N")]
    pub target: Option<u32>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Targets that are small beside the largest, as the shells that a program was \
    started through, are left out of text and pictures; --target shows one."
)]
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
    /// What colours stand for
    #[arg(long, value_enum, default_value_t = HeatScale::PerSecond)]
    pub scale: HeatScale,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeatScale {
    /// Accesses a second and page, by their logarithm
    PerSecond,
    /// The share of sampling intervals in which a page was accessed
    Share,
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
    /// Count what is accessed within this time, such as 1s; by default within the
    /// aggregation interval
    #[arg(long, value_name = "TIME", value_parser = values::duration_us, conflicts_with = "min_rate")]
    pub within: Option<u64>,
    /// Count whole regions with at least this access rate instead; with 0, those with any access
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    pub min_rate: Option<f64>,
    /// Percentiles to give, from 0 to 100
    #[arg(long, value_name = "P", value_delimiter = ',', default_value = "0,25,50,75,100",
          value_parser = values::percentile)]
    pub percentiles: Vec<f64>,
    /// In JSON, also every snapshot's working set
    #[arg(long)]
    pub timeline: bool,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Args)]
#[command(mut_arg("format", one_of(owners::FORMATS)))]
pub struct ReportOwners {
    #[command(flatten)]
    pub common: Common,
    /// Only this span since the start of the record, such as 2s-10s: its end is shown
    #[arg(long, value_name = "SPAN", value_parser = values::time_span_us,
          allow_hyphen_values = true)]
    pub time: Option<(u64, u64)>,
    /// Whose memory is one line
    #[arg(long, value_enum, default_value_t = By::Process)]
    pub by: By,
    #[command(flatten)]
    pub color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A process
    Process,
    /// All processes in a cgroup
    Cgroup,
    /// All processes of a program
    Name,
}

#[derive(Debug, Args)]
#[command(mut_arg("max_overhead", max_overhead_in_a_short_look))]
#[command(mut_arg("format", one_of(owners::FORMATS)), mut_arg("backend", |arg| arg.hide(true)))]
#[command(after_help = "Examples:\n  \
    daos owners                            all processes, after a look of ten seconds\n  \
    daos owners --for 70s --by cgroup      what is idle for a minute, by cgroup\n  \
    daos owners --user alice --min-rss 64M\n  \
    daos owners --format json | jq '.owners[0]'")]
pub struct Owners {
    /// How long to look, such as 10s: nothing is known to be idle for longer
    #[arg(short = 'd', long = "for", alias = "duration", value_name = "TIME", default_value = "10s",
          value_parser = values::duration_us)]
    pub duration: u64,
    /// Whose memory is one line
    #[arg(long, value_enum, default_value_t = By::Process)]
    pub by: By,
    /// Only processes in this cgroup, or below it; `*` stands for any text
    #[arg(long, value_name = "PATTERN", value_parser = CgroupPattern::new)]
    pub cgroup: Option<CgroupPattern>,
    /// Only the processes of this user, by name or number
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Only processes with so much memory resident, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub min_rss: Option<u64>,
    /// How to show it; by default as the ending of OUT says, else as text
    #[arg(short, long, value_enum)]
    pub format: Option<Format>,
    /// File to write to instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Say nothing but errors while looking
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    pub color: Color,
    #[command(flatten)]
    pub monitoring: Monitoring,
}

#[derive(Debug, Args)]
#[command(mut_arg("format", one_of(regions::FORMATS)))]
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
#[command(mut_arg("format", one_of(info::FORMATS)))]
pub struct Info {
    #[command(flatten)]
    pub common: Common,
}
