//! From snapshots to what taking them cost.

use daos_core::Snapshot;

/// Sums over snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    ticks: u64,
    checks: u64,
    cpu_us: u64,
    elapsed_us: u64,
}

impl Costs {
    /// Takes in one more snapshot.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.ticks += snapshot.cost.checks.len() as u64;
        self.checks += snapshot.cost.checks.iter().map(|&c| u64::from(c)).sum::<u64>();
        self.cpu_us += snapshot.cost.cpu_us;
        self.elapsed_us += snapshot.end_us - snapshot.start_us;
    }

    /// Mean pages checked in a tick; `None` without ticks.
    pub fn checks_per_tick(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.checks as f64 / self.ticks as f64)
    }

    /// CPU time of the monitor in percent of one CPU; `None` if no time went by.
    pub fn cpu_percent(&self) -> Option<f64> {
        self.percent(self.cpu_us as f64)
    }

    /// `us` microseconds in percent of the time that the snapshots span.
    pub fn percent(&self, us: f64) -> Option<f64> {
        (self.elapsed_us > 0).then(|| 100.0 * us / self.elapsed_us as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Cost;

    #[test]
    fn means_are_over_all_ticks_and_all_the_time() {
        let mut costs = Costs::default();
        assert_eq!((costs.checks_per_tick(), costs.cpu_percent()), (None, None));
        for (start_us, checks, cpu_us) in [(0, vec![10, 20, 30], 1000), (100_000, vec![40], 3000)] {
            let cost = Cost { checks, cpu_us, ..Cost::default() };
            let end_us = start_us + 100_000;
            costs.add(&Snapshot { start_us, end_us, cost, ..Snapshot::default() });
        }
        assert_eq!((costs.checks_per_tick(), costs.cpu_percent()), (Some(25.0), Some(2.0)));
    }
}
