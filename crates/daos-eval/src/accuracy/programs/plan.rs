//! What is planned: which programs are run, under what, for how long.

use crate::monitors::ComparedKind;
use crate::suite::Suite;
use daos_core::MonitorAttrs;
use daos_monitor::MonitorOptions;

/// What to run, and how to look.
#[derive(Debug, Clone)]
pub struct ProgramPlan {
    /// The programs.
    pub suite: Suite,
    /// What is compared with the scan. [`ComparedKind::FullScan`] is another such scan: it says
    /// how much of a difference is the program's own.
    pub monitors: Vec<ComparedKind>,
    /// Rounds.
    pub runs: u32,
    /// How long a run takes at most, in microseconds.
    pub length_us: u64,
    /// What is compared begins so many microseconds after the program does.
    pub warmup_us: u64,
    /// Monitors begin so many microseconds after the program does.
    pub attach_us: u64,
    /// From one scan of all pages to the next, in microseconds: within that time memory is
    /// accessed that counts.
    pub scan_us: u64,
    /// From when on memory is idle, in microseconds.
    pub idle_us: u64,
    /// The intervals and the bounds on regions of the monitors.
    pub attrs: MonitorAttrs,
    /// What only some monitors heed.
    pub options: MonitorOptions,
    /// Seed of the first round; each round has the next.
    pub seed: u64,
}
