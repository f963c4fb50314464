//! The simulator: any size of memory, as fast as it can be computed, the same on
//! every machine. What it costs is what a stated model says.

use crate::cost::Costs;
use crate::error::BenchError;
use crate::figures::Figures;
use crate::ground::{Ground, Plan};
use crate::score::Scorer;
use crate::truth::TruePhase;
use daos_core::SnapshotSource;
use daos_core::{AnyMonitor, MonitorKind};
use daos_sim::{CostModel, SimOptions, SimSource, SimSpace};
use daos_workload::Config;
use std::path::Path;

/// Simulated address spaces.
#[derive(Debug, Clone, Copy)]
pub struct Simulator {
    /// Whether memory is of huge pages.
    pub huge_pages: bool,
    /// What is counted is priced by this.
    pub model: CostModel,
}

impl Ground for Simulator {
    fn name(&self) -> &'static str {
        "simulated memory"
    }

    fn run(
        &self,
        plan: &Plan,
        workload: &Path,
        monitor: MonitorKind,
        round: u32,
    ) -> Result<Figures, BenchError> {
        let config = Config::read(workload)?;
        let seed = plan.seed + u64::from(round);
        let length_us = plan.length_us.min(config.duration_us());
        let options = SimOptions { seed, huge_pages: self.huge_pages, ..SimOptions::default() };
        let space = SimSpace::new(config, options);
        let phases = TruePhase::simulated(&space, &plan.attrs, length_us);
        let monitor = AnyMonitor::new(monitor, plan.attrs, plan.options, seed)?;
        let mut source = SimSource::new(monitor, space, self.model, length_us);
        let mut scorer = Scorer::new(phases, 0, plan.warmup_us);
        let mut costs = Costs::default();
        loop {
            let Ok(snapshot) = source.next_snapshot();
            let Some(snapshot) = snapshot else { break };
            costs.add(&snapshot);
            snapshot.targets.iter().for_each(|target| scorer.add(&snapshot, target));
        }
        let score = scorer.score();
        let target_us = self.model.target_us(&source.space().counters());
        Ok(Figures {
            recall: score.recall,
            precision: score.precision,
            wss_error: score.wss_error,
            checks_per_tick: costs.checks_per_tick(),
            cpu_percent: costs.cpu_percent(),
            slowdown_percent: costs.percent(target_us),
            peak_rss_bytes: None,
        })
    }
}
