//! How long intervals have to be for their wake-ups and ends to leave enough to see with.

use super::Budget;

/// The budget of an aggregation interval must pay for this many wake-ups: it has two, which may
/// take a quarter.
const WAKES: f64 = 8.0;
/// The same while some page tables are still to be learned, which wake-ups delay: they may take
/// less than a fifth.
const WAKES_WHILE_LEARNING: f64 = 11.0;
/// The budget of an aggregation interval must pay for this many times what a tick with samples
/// costs beside these: it has two such ticks, which may take half.
const BESIDE: f64 = 4.0;
/// Most doublings of the aggregation interval because its end is expensive. Chosen: 3.2 s by
/// default, for hundreds of targets; if snapshots come less often, changes show late.
const MOST_FOR_ENDINGS: u32 = 5;
/// Updates of targets are counted as taking no more than this share of the budget, so that ends of
/// intervals keep the rest. Chosen.
const MOST_FOR_UPDATES: f64 = 0.8;
/// The largest share of the income that putting by takes from ends of intervals. Chosen: if more is
/// put by, reading waits rather than snapshots.
const MOST_WITHOUT: f64 = 0.5;

impl Budget {
    /// How often the aggregation interval must be doubled for two wake-ups in it to take at most a
    /// quarter of the budget (less than a fifth while learning), and for its end to take no more
    /// than half of what updates of targets leave, up to [`MOST_FOR_ENDINGS`]. All costs are taken
    /// to be `costs` times as high as they are.
    pub fn interval_doublings(&self, aggregation_us: u64, is_learning: bool, costs: f64) -> u32 {
        let doublings_for = |share: f64, us: f64| {
            // What updates take is not there for ends; half of what they leave is to see with.
            let updates = self.updating / (share * self.update_us);
            let us = costs * us / (1.0 - updates.min(MOST_FOR_UPDATES));
            doublings(share * aggregation_us as f64, us)
        };
        let ending = doublings_for(self.share, WAKES * self.wake + 2.0 * self.ending);
        // Ends and their wake-ups take at most half of what is not put by.
        let saving = doublings_for(self.coming_in(), 4.0 * self.wake + 2.0 * self.ending);
        let ending = ending.max(saving).min(MOST_FOR_ENDINGS);
        self.round_doublings(aggregation_us, is_learning, costs).max(ending)
    }

    /// The same for the time from one round to the next, which has no expensive end.
    pub fn round_doublings(&self, aggregation_us: u64, is_learning: bool, costs: f64) -> u32 {
        let wakes = if is_learning { WAKES_WHILE_LEARNING } else { WAKES };
        let (beside, _) = self.readings.line();
        let beside = costs * (wakes * self.wake + BESIDE * beside);
        doublings(self.share * aggregation_us as f64, beside)
    }

    /// The share of a CPU that comes in for ends of intervals and all else that is not put by.
    fn coming_in(&self) -> f64 {
        let is_saving = self.saved < self.wanted;
        self.share * (1.0 - if is_saving { self.put_by.min(MOST_WITHOUT) } else { 0.0 })
    }

    /// The time in microseconds whose whole income pays for one update of targets.
    pub fn update_paid_in_us(&self) -> f64 {
        self.updating / self.share
    }
}

/// How often what an interval allows, in microseconds, must be doubled to reach `us`.
fn doublings(mut allowed_us: f64, us: f64) -> u32 {
    let mut doubled = 0;
    while allowed_us < us && doubled < 20 {
        allowed_us *= 2.0;
        doubled += 1;
    }
    doubled
}
