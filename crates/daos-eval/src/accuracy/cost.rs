//! From snapshots to what taking them cost.

use daos_core::Snapshot;
use std::collections::VecDeque;

/// The time over which a bound on the overhead must hold, in microseconds.
const WHILE_US: u64 = 10_000_000;

/// Sums over snapshots.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Costs {
    ticks: u64,
    checks: u64,
    pages: u64,
    cpu_us: u64,
    both_us: u64,
    elapsed_us: u64,
    /// Of the last [`WHILE_US`]: when each snapshot ended, how long it was, what it cost.
    recent: VecDeque<(u64, u64, u64)>,
    worst: Option<f64>,
}

impl Costs {
    /// Takes in one more snapshot.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let cost = &snapshot.cost;
        let elapsed_us = snapshot.end_us - snapshot.start_us;
        self.ticks += cost.checks.ticks();
        self.checks += cost.checks.windows();
        self.pages += cost.pages;
        self.cpu_us += cost.cpu_us;
        self.both_us += cost.cpu_us + cost.target_us;
        self.elapsed_us += elapsed_us;

        self.recent.push_back((snapshot.end_us, elapsed_us, cost.cpu_us + cost.target_us));
        while self.recent.front().is_some_and(|r| r.0 + WHILE_US <= snapshot.end_us) {
            self.recent.pop_front();
        }
        let (took_us, cost_us) =
            self.recent.iter().fold((0, 0), |sum, r| (sum.0 + r.1, sum.1 + r.2));
        if took_us >= WHILE_US {
            let percent = 100.0 * cost_us as f64 / took_us as f64;
            self.worst = Some(self.worst.map_or(percent, |worst| worst.max(percent)));
        }
    }

    /// Mean windows checked in a tick that checked; `None` without ticks.
    pub fn checks_per_tick(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.checks as f64 / self.ticks as f64)
    }

    /// Mean pages read in such a tick; `None` without ticks.
    pub fn pages_per_tick(&self) -> Option<f64> {
        (self.ticks > 0).then(|| self.pages as f64 / self.ticks as f64)
    }

    /// CPU time of the monitor in percent of one CPU; `None` if no time went by.
    pub fn cpu_percent(&self) -> Option<f64> {
        self.percent(self.cpu_us as f64)
    }

    /// The same with what it cost the target, as far as the monitor knew.
    pub fn both_percent(&self) -> Option<f64> {
        self.percent(self.both_us as f64)
    }

    /// The same in the ten seconds in which it was highest; `None` if there were no ten
    /// seconds.
    pub fn worst_percent(&self) -> Option<f64> {
        self.worst
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
            let cost = Cost {
                checks: checks.into(),
                cpu_us,
                pages: 200,
                target_us: 500,
                ..Cost::default()
            };
            let end_us = start_us + 100_000;
            costs.add(&Snapshot { start_us, end_us, cost, ..Snapshot::default() });
        }
        assert_eq!((costs.checks_per_tick(), costs.cpu_percent()), (Some(25.0), Some(2.0)));
        assert_eq!((costs.pages_per_tick(), costs.both_percent()), (Some(100.0), Some(2.5)));
        assert_eq!(costs.worst_percent(), None, "it was no ten seconds");
    }

    #[test]
    fn the_worst_ten_seconds_are_found() {
        let mut costs = Costs::default();
        for second in 0..40 {
            let cpu_us = if (7..22).contains(&second) { 20_000 } else { 0 };
            let cost = Cost { cpu_us, ..Cost::default() };
            let (start_us, end_us) = (second * 1_000_000, (second + 1) * 1_000_000);
            costs.add(&Snapshot { start_us, end_us, cost, ..Snapshot::default() });
        }
        assert_eq!(costs.worst_percent(), Some(2.0));
        assert_eq!(costs.cpu_percent(), Some(0.75));
    }
}
