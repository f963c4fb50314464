//! How long intervals have to be for their wake-ups and ends to leave enough to see with.

use super::Budget;

/// Wake-ups that an aggregation interval must pay for: it has two, which may take a quarter.
const WAKES: f64 = 8.0;
/// The same while there are page tables that nothing is known of, which they delay: less than a fifth.
const WAKES_WHILE_LEARNING: f64 = 11.0;
/// The same of what two ticks with samples take beside these, half of that.
const BESIDE: f64 = 4.0;
/// Most doublings of the aggregation interval for its end. Chosen: 3.2 s by default, for hundreds of
/// targets; with less often a snapshot, changes show late.
const MOST_FOR_ENDINGS: u32 = 5;
/// What updates of targets may take of what there is before ends of intervals make do with the least
/// that they may have. Chosen.
const MOST_FOR_UPDATES: f64 = 0.8;
/// The part of what comes in without which ends of intervals have to do while something is put by, at most. Chosen: where
/// it is more, reading waits rather than snapshots.
const MOST_WITHOUT: f64 = 0.5;

impl Budget {
    /// How often the aggregation interval must be doubled for two wakes in it to take
    /// at most a quarter of what may be spent, or less than a fifth; and for its end to take no more than half of what
    /// updates of targets leave, up to a point; all of that with costs so many times as high as they are.
    pub fn interval_doublings(&self, aggregation_us: u64, is_learning: bool, costs: f64) -> u32 {
        let doublings_for = |share: f64, us: f64| {
            // What updates take can't go into ends, too: half of what they leave is to see with.
            let updates = self.updating / (share * self.update_us);
            let us = costs * us / (1.0 - updates.min(MOST_FOR_UPDATES));
            doublings(share * aggregation_us as f64, us)
        };
        let ending = doublings_for(self.share, WAKES * self.wake + 2.0 * self.ending);
        // Of what is not put by, half of all that they take.
        let saving = doublings_for(self.coming_in(), 4.0 * self.wake + 2.0 * self.ending);
        let ending = ending.max(saving).min(MOST_FOR_ENDINGS);
        self.round_doublings(aggregation_us, is_learning, costs).max(ending)
    }

    /// The same of the time from one round to the next, which has no end that is dear.
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

    /// The time in which so much comes in as an update of targets takes, in microseconds.
    pub fn update_paid_in_us(&self) -> f64 {
        self.updating / self.share
    }
}

/// How often what an interval allows, in microseconds, must be doubled for so many.
fn doublings(mut allowed_us: f64, us: f64) -> u32 {
    let mut doubled = 0;
    while allowed_us < us && doubled < 20 {
        allowed_us *= 2.0;
        doubled += 1;
    }
    doubled
}
