//! The flags that say how closely to look, and how to print.

use crate::{Usage, values};
use anyhow::Result;
use clap::{Args, ValueEnum};
use daos_core::MonitorAttrs;
use daos_core::units::display;
use daos_monitor::MonitorOptions;
use daos_monitor::windows::DEFAULT_MAX_OVERHEAD;

/// How results are printed that are no pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Plain {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How closely to look. The defaults are the paper's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub struct Looking {
    #[arg(long, value_name = "PERCENT", value_parser = values::percent_of_cpu,
          help = max_overhead_help(DEFAULT_MAX_OVERHEAD))]
    #[allow(missing_docs, reason = "the help is made of a constant")]
    pub max_overhead: Option<f64>,
    /// Choose sampling and aggregation intervals that fit the workload
    #[arg(long)]
    pub auto_intervals: bool,
    /// Sampling interval: from arming a page to checking it
    #[arg(long, value_name = "TIME", default_value = "5ms", value_parser = values::duration_us)]
    pub sample: u64,
    /// Aggregation interval: one snapshot for each; rounded down to whole sampling intervals
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::duration_us)]
    pub aggr: u64,
    /// Regions update interval: how often mappings are read anew
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::duration_us)]
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

/// The help of `--max-overhead`, whose default is this share of one CPU.
pub fn max_overhead_help(default: f64) -> String {
    format!(
        "Upper bound on what monitoring costs, in percent of one CPU, the target's side \
         included. The windows monitor keeps it [default: {}]",
        100.0 * default
    )
}

/// What reads the accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// As the target asks for.
    Auto,
    /// eBPF, on live processes.
    Ebpf,
    /// The simulator.
    Sim,
}

/// The shortest sampling and aggregation intervals of live targets, in microseconds. Chosen: to
/// wake up and look takes some ten microseconds, and to end an aggregation interval some hundred,
/// so that no bound on the cost could be kept with much shorter ones: they are stretched to 64
/// times their length at most.
const LEAST_LIVE_SAMPLE_US: u64 = 100;
const LEAST_LIVE_AGGREGATION_US: u64 = 1000;

impl Looking {
    /// Refuses intervals that are too short for live targets. The simulator can do with any.
    ///
    /// # Errors
    ///
    /// [`Usage`] for the first that is too short.
    pub fn check_live(&self) -> Result<()> {
        for (option, us, least_us) in [
            ("--sample", self.sample, LEAST_LIVE_SAMPLE_US),
            ("--aggr", self.aggr, LEAST_LIVE_AGGREGATION_US),
        ] {
            if us < least_us {
                let (asked, least) = (display::duration(us), display::duration(least_us));
                let why = "each takes CPU time, and the bound on that could not be kept";
                return Err(Usage(format!(
                    "{option} {asked} is too short for what runs, as {why}: give {least} or more"
                ))
                .into());
            }
        }
        Ok(())
    }

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
