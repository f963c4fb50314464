//! What a full scan would cost, by arithmetic: the brute force to beat, also where it
//! could not be run.

use super::truth::{TruePhase, TrueRange};
use daos_sim::{CostModel, Counters};

/// Pages of a page table, in bytes.
const TABLE_BYTES: u64 = 2 << 20;

/// A scan of all pages, again and again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scan {
    /// From one to the next, in microseconds.
    pub every_us: u64,
    /// Times that it reads all pages each time.
    pub reads: u64,
    /// Bytes in a page.
    pub page: u64,
}

/// CPU time in microseconds for each second.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ScanCost {
    /// Of the monitor.
    pub monitor_us: f64,
    /// Of the target.
    pub target_us: f64,
}

impl ScanCost {
    /// Of both.
    pub fn total_us(&self) -> f64 {
        self.monitor_us + self.target_us
    }
}

impl Scan {
    /// What the scan costs in a second while the truth is that of `phase`. `chance` gives
    /// the chance that a page of a range was accessed since it was last armed. Each page
    /// table with such a page is armed with one flush, which favours the scan: others pay
    /// one for each run of pages.
    pub fn cost(
        &self,
        phase: &TruePhase,
        model: &CostModel,
        chance: impl Fn(&TrueRange) -> f64,
    ) -> ScanCost {
        let (mut tables, mut entries, mut young, mut young_tables) = (0.0, 0.0, 0.0, 0.0);
        for truth in &phase.ranges {
            let here = truth.range.len() as f64 / TABLE_BYTES as f64;
            let busy = truth.bytes_in(truth.range) as f64 / self.page as f64;
            let chance = chance(truth);
            tables += here;
            entries += truth.range.len() as f64 / self.page as f64;
            young += busy * chance;
            // At most as many tables as pages.
            let spread = here.max(1.0).min(busy);
            if spread > 0.0 {
                young_tables += spread * (1.0 - (1.0 - chance).powf(busy / spread));
            }
        }
        let whole = |number: f64| number.round() as u64;
        let counters = Counters {
            wakes: self.reads,
            windows_read: whole(tables) * self.reads,
            entries_read: whole(entries) * self.reads,
            ranges_armed: whole(young_tables),
            entries_cleared: whole(young),
            entries_passed: 0,
            flushes: whole(young_tables),
            entries_set_again: whole(young),
            entries_at_once: 0,
        };
        let a_second = 1e6 / self.every_us as f64;
        ScanCost {
            monitor_us: a_second * model.monitor_us(&counters),
            target_us: a_second * model.target_us(&counters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::AddrRange;

    #[test]
    fn a_scan_reads_all_and_arms_what_is_young() {
        let range = |start: u64, end: u64, rate| TrueRange {
            range: AddrRange::new(start << 20, end << 20),
            rate,
            touched: rate,
            some: None,
        };
        let ranges = vec![range(0, 1000, 0.0), range(1000, 1024, 1.0)];
        let phase = TruePhase { start_us: 0, end_us: 1, within_us: 100_000, ranges };
        let scan = Scan { every_us: 5000, reads: 1, page: 4096 };
        let model = CostModel::OTHER_CPU;
        let cost = scan.cost(&phase, &model, |truth| truth.rate);
        // 512 tables of 512 entries; 12 of them with 6144 young pages.
        let read = 512.0 * 1.2;
        let armed = 12.0 * 11.4 + 6144.0 * 0.13;
        assert!((cost.monitor_us / 200.0 - (40.0 + read + armed)).abs() < 1.0, "{cost:?}");
        assert!((cost.target_us / 200.0 - (12.0 * 6.0 + 6144.0 * 0.38)).abs() < 1e-6);
        assert_eq!(cost.total_us(), cost.monitor_us + cost.target_us);
    }
}
