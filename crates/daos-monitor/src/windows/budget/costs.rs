//! How many times as much as expected samples cost.

use super::KEEP_COSTS;

/// Samples of so many microseconds count as having cost what was predicted, before any did. Chosen:
/// a few costs say little.
const PRIOR_US: f64 = 500.0;
/// Least factor by which real costs correct the prediction. Chosen: less is an error.
const MIN_FACTOR: f64 = 0.2;
/// Largest such factor. Chosen: hosts differ by a factor of four, as measured.
pub(super) const MAX_FACTOR: f64 = 10.0;

/// What reading or arming cost the monitor, tick by tick, against what it was expected to cost:
/// fading sums for a straight line through both. Its offset is for cache misses: whatever is read
/// in a tick, the first of it misses the caches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    ticks: f64,
    expected: f64,
    measured: f64,
    expected_squared: f64,
    product: f64,
}

impl Default for Costs {
    /// As if nothing had cost nothing, and some samples what was expected.
    fn default() -> Self {
        Self {
            ticks: 2.0,
            expected: PRIOR_US,
            measured: PRIOR_US,
            expected_squared: PRIOR_US * PRIOR_US,
            product: PRIOR_US * PRIOR_US,
        }
    }
}

impl Costs {
    pub fn add(&mut self, expected: f64, measured: f64) {
        let prior = Self::default();
        let add = |sum: &mut f64, prior: f64, news: f64| {
            *sum = prior + (*sum - prior) * KEEP_COSTS + news;
        };
        add(&mut self.ticks, prior.ticks, 1.0);
        add(&mut self.expected, prior.expected, expected);
        add(&mut self.measured, prior.measured, measured);
        add(&mut self.expected_squared, prior.expected_squared, expected * expected);
        add(&mut self.product, prior.product, expected * measured);
    }

    /// How many times as much as expected they cost in all.
    pub fn ratio(&self) -> f64 {
        (self.measured / self.expected).clamp(MIN_FACTOR, MAX_FACTOR)
    }

    /// A tick's cost as a straight line through expected costs, by least squares: its offset, in
    /// microseconds, and the factor on what is expected.
    pub fn line(&self) -> (f64, f64) {
        let Self { ticks, expected, measured, expected_squared, product } = *self;
        let variance = expected_squared - expected * expected / ticks;
        let slope = (product - expected * measured / ticks) / variance;
        // The offset is at least 0.
        let slope = slope.min(measured / expected).clamp(MIN_FACTOR, MAX_FACTOR);
        ((measured - slope * expected).max(0.0) / ticks, slope)
    }
}
