//! The seam to what is measured: a command that ends, a service, a simulation.

use crate::score::Values;
use daos_core::Side;
use daos_schemes::Scheme;

/// Something whose performance and memory can be measured with a scheme and without one.
pub trait Workload {
    /// Why it could not be measured at all, so that going on makes no sense.
    type Error;

    /// Does a unit of work with `scheme`, or without any, within `bounds`.
    ///
    /// # Errors
    ///
    /// What can't be expected to go better next time. What may is a void sample.
    fn measure(
        &mut self,
        scheme: Option<&Scheme>,
        bounds: &RunBounds,
    ) -> Result<Measurement, Self::Error>;
}

/// What came of a unit of work.
#[derive(Debug, Clone, PartialEq)]
pub enum Measurement {
    /// What was measured, to the end.
    Whole(Values),
    /// It was ended early, as it violated the service level already: what was measured
    /// until then.
    CutShort(Values),
    /// What was measured in a pair.
    Pair {
        /// Of the copy with the scheme.
        metrics: Values,
        /// Of the copy beside it, to its end.
        beside: Values,
        /// Whether the first was ended early.
        cut_short: bool,
    },
    /// It failed, for this reason, or took too long. Nothing is known from it.
    Void(String),
    /// What was measured is no more: a service that has ended.
    Gone,
    /// The user wants no more of it.
    Interrupted,
}

/// Where a unit of work is done, and when it is ended early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunBounds {
    /// Where two copies run at once, the side of the one with the scheme.
    pub pair: Option<Side>,
    /// The service level; `None` if there is none, or it is not known yet.
    pub level: Option<ServiceLevel>,
    /// After so many seconds it hangs.
    pub patience_s: f64,
    /// So many seconds are left of the limit, and those of a baseline over it.
    pub left_s: f64,
}

/// How much performance may be lost; in a pair, by shares of what is measured beside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceLevel {
    /// The metric of performance without a scheme.
    pub orig: f64,
    /// From this value of it on the level is violated.
    pub lost_at: f64,
}

impl RunBounds {
    /// Whether the service level is violated by this value of the metric of performance.
    pub fn is_lost(&self, performance: f64) -> bool {
        self.level.is_some_and(|ServiceLevel { orig, lost_at }| {
            if lost_at > orig { performance >= lost_at } else { performance <= lost_at }
        })
    }

    /// Whether it will be, though all that is left of the work, after `share` of it with
    /// this mean value, should go as without a scheme.
    pub fn will_be_lost(&self, mean: f64, share: f64) -> bool {
        let orig = self.level.map_or(0.0, |level| level.orig);
        self.is_lost(share * mean + (1.0 - share) * orig)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_lost_on_the_bad_side() {
        let bounds = |level| RunBounds { pair: None, level, patience_s: 1.0, left_s: 1.0 };
        let time = bounds(Some(ServiceLevel { orig: 10.0, lost_at: 11.0 }));
        assert!(time.is_lost(11.0) && !time.is_lost(10.9) && !time.is_lost(1.0));
        let rate = bounds(Some(ServiceLevel { orig: 100.0, lost_at: 90.0 }));
        assert!(rate.is_lost(90.0) && !rate.is_lost(91.0) && !rate.is_lost(500.0));
        // Half of the work at 79 leaves 89.5 at best.
        assert!(rate.will_be_lost(79.0, 0.5) && !rate.will_be_lost(81.0, 0.5));
        assert!(!bounds(None).is_lost(0.0) && !bounds(None).will_be_lost(0.0, 1.0));
    }
}
