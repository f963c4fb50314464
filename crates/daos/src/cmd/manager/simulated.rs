//! Schemes at work on a simulated address space.

use super::account::{self, Account};
use super::footprint::Footprint;
use super::rules::Rules;
use crate::cli;
use anyhow::Result;
use daos_core::units::display;
use daos_core::{CpuCost, Interval, SnapshotSource, TargetInfo};
use daos_monitor::AnyMonitor;
use daos_record::SchemeEnd;
use daos_session::SimSource;
use daos_sim::{CostModel, MemoryModel, SimOptions, SimSpace};
use daos_workload::Config;
use std::path::{Path, PathBuf};

/// A simulated space under watch, and the schemes, if there are any.
#[derive(Debug)]
pub struct Simulated {
    source: SimSource,
    rules: Rules,
    footprint: Footprint,
    monitor: CpuCost,
    elapsed_us: u64,
    stats: Option<PathBuf>,
}

impl Simulated {
    /// The access pattern in `file` for its own length, or `duration_us`. Swap is as large
    /// as `--zram` says, or without bounds.
    pub fn new(
        args: &cli::Managing,
        monitor: AnyMonitor,
        file: &Path,
        seed: u64,
        duration_us: Option<u64>,
    ) -> Result<Self> {
        let rules = Rules::new(args)?;
        if let Some(path) = &args.stats {
            account::check_writable(path)?;
        }
        let config = Config::read(file)?;
        let duration_us = duration_us.unwrap_or_else(|| config.duration_us());
        let simulated = Self::of(rules, monitor, config, seed, duration_us, args.zram);
        Ok(Self { stats: args.stats.clone(), ..simulated })
    }

    /// An access pattern under these rules.
    pub fn of(
        rules: Rules,
        monitor: AnyMonitor,
        config: Config,
        seed: u64,
        duration_us: u64,
        zram: Option<u64>,
    ) -> Self {
        let mut space = SimSpace::new(config, SimOptions { seed, ..SimOptions::default() });
        let model = MemoryModel::ZRAM;
        let swap_bytes = zram.unwrap_or(model.swap_bytes);
        space.set_memory_model(MemoryModel { swap_bytes, ..model });
        Self {
            source: SimSource::new(monitor, space, CostModel::SAME_CPU, duration_us),
            rules,
            footprint: Footprint::default(),
            monitor: CpuCost::default(),
            elapsed_us: 0,
            stats: None,
        }
    }

    /// The schemes, as reports name them.
    pub fn labels(&self) -> Vec<String> {
        self.rules.labels()
    }

    /// Targets that are new.
    pub fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.source.changed_targets()
    }

    /// The next interval: what was seen in it, and what schemes did then.
    pub fn next_interval(&mut self) -> Result<Option<Interval>> {
        let Some(snapshot) = self.source.next_snapshot()? else { return Ok(None) };
        self.monitor.monitor_us += snapshot.cost.cpu_us as f64;
        self.monitor.target_us += snapshot.cost.target_us as f64;
        self.elapsed_us = snapshot.end_us;
        let mut done = Vec::new();
        if !self.rules.is_empty() {
            let mut metrics = self.source.space_mut().metrics();
            let rules = &mut self.rules;
            done = self.source.apart(|space| rules.pass(&snapshot, space, &mut metrics))?;
            let memory = self.source.space_mut().memory();
            let (resident, swap) = (memory.resident_bytes, memory.swapped_bytes);
            self.footprint.add(snapshot.end_us, resident, swap, 0);
        }
        Ok(Some(Interval { snapshot, done }))
    }

    /// What the target took of memory.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// How long the work took that is done in the simulated time, in microseconds: with
    /// what it waited for pages of swap, and what the monitor took from it.
    pub fn runtime_us(&mut self) -> f64 {
        let memory = self.source.space_mut().memory();
        self.elapsed_us as f64 * (1.0 + memory.slowdown()) + self.monitor.target_us
    }

    /// Each scheme's name and counters.
    pub fn outcome(&self) -> Vec<SchemeEnd> {
        self.rules.outcome()
    }

    /// Writes the counters, if that was asked for.
    pub fn write_stats(&self) -> Result<()> {
        self.stats.as_ref().map_or(Ok(()), |path| self.account().write(path))
    }

    /// Says on standard error what was done, and what it cost.
    pub fn tell(&mut self) {
        if self.rules.is_empty() {
            return;
        }
        self.account().tell();
        let memory = self.source.space_mut().memory();
        let slowdown = memory.slowdown();
        daos_cli::say!(
            "daos: the target was {} by {}: {} waited for pages of swap, {} saved by huge pages",
            if slowdown < 0.0 { "sped up" } else { "slowed" },
            display::percent(slowdown.abs()),
            display::duration(memory.stall_us as u64),
            display::duration(memory.gain_us as u64),
        );
    }

    fn account(&self) -> Account<'_> {
        let spent_us = self.rules.stats().map(|(_, stats)| stats.spent_us).sum();
        Account {
            rules: &self.rules,
            footprint: &self.footprint,
            elapsed_us: self.elapsed_us,
            monitor: self.monitor,
            schemes: CpuCost { monitor_us: spent_us, target_us: 0.0 },
        }
    }
}
