//! The attributes of a monitor: three intervals and two bounds.

use thiserror::Error;

/// Bound on the overhead of monitoring unless the user says otherwise, as a share of one CPU.
/// Chosen: half of what the paper's monitor takes on average.
pub const DEFAULT_MAX_OVERHEAD: f64 = 0.005;

/// How closely and how often to look. The defaults are the paper's.
///
/// Time is counted in ticks of one sampling interval, as the kernel does since
/// 6.7: the other two intervals are rounded to whole ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MonitorAttrs {
    /// Sampling interval in microseconds: from arming a page to checking it.
    pub sample_us: u64,
    /// Aggregation interval in microseconds: one snapshot for each.
    pub aggregation_us: u64,
    /// Regions update interval in microseconds: how often mappings are read anew.
    pub update_us: u64,
    /// Lower bound on the number of regions, of all targets together.
    pub min_regions: u32,
    /// Upper bound on the number of regions, of all targets together, and so on
    /// the number of checks in a tick.
    pub max_regions: u32,
}

impl Default for MonitorAttrs {
    fn default() -> Self {
        Self {
            sample_us: 5_000,
            aggregation_us: 100_000,
            update_us: 1_000_000,
            min_regions: 10,
            max_regions: 1000,
        }
    }
}

/// Why attributes were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AttrsError {
    /// An interval of zero.
    #[error("the {0} interval is zero; it must be at least 1us")]
    ZeroInterval(&'static str),
    /// The sampling interval is longer than the aggregation interval.
    #[error(
        "the sampling interval ({sample_us} us) is longer than the aggregation interval ({aggregation_us} us); an aggregation needs at least one sample"
    )]
    SampleAboveAggregation {
        /// The sampling interval asked for.
        sample_us: u64,
        /// The aggregation interval asked for.
        aggregation_us: u64,
    },
    /// More samples in an aggregation than a counter can hold.
    #[error(
        "the aggregation interval ({aggregation_us} us) is more than a million sampling intervals ({sample_us} us); make one longer or the other shorter"
    )]
    TooManySamples {
        /// The sampling interval asked for.
        sample_us: u64,
        /// The aggregation interval asked for.
        aggregation_us: u64,
    },
    /// An interval of more than a day.
    #[error("the {0} interval is longer than a day")]
    LongInterval(&'static str),
    /// Fewer than three regions: a process has at least heap, mmap area and stack.
    #[error(
        "the minimum number of regions is {0}; it must be at least 3 (heap, mmap area and stack)"
    )]
    MinTooSmall(u32),
    /// The bounds on the number of regions are reversed.
    #[error("the minimum number of regions ({min}) is above the maximum ({max})")]
    BoundsReversed {
        /// The lower bound asked for.
        min: u32,
        /// The upper bound asked for.
        max: u32,
    },
    /// More regions than a monitor can hold in reasonable memory.
    #[error("the maximum number of regions is {0}; it can be at most 1000000")]
    MaxTooLarge(u32),
}

/// Microseconds in a day. Longer intervals are refused. Chosen: they are mistyped.
const DAY_US: u64 = 24 * 3600 * 1_000_000;
/// Most samples in an aggregation interval. Chosen: far above what any use needs, far below
/// what a counter of 32 bits holds.
const MOST_SAMPLES: u64 = 1_000_000;
/// Fewest regions: heap, mmap area and stack, as the kernel's `damon_set_attrs` has it.
const FEWEST_REGIONS: u32 = 3;
/// Most regions. Chosen: each is sampled in each tick, and takes some hundred bytes.
const MOST_REGIONS: u32 = 1_000_000;

impl MonitorAttrs {
    /// Refuses what no monitor can work with.
    pub fn validate(&self) -> Result<(), AttrsError> {
        for (name, us) in [
            ("sampling", self.sample_us),
            ("aggregation", self.aggregation_us),
            ("regions update", self.update_us),
        ] {
            if us == 0 {
                return Err(AttrsError::ZeroInterval(name));
            }
            if us > DAY_US {
                return Err(AttrsError::LongInterval(name));
            }
        }
        let (sample_us, aggregation_us) = (self.sample_us, self.aggregation_us);
        if sample_us > aggregation_us {
            return Err(AttrsError::SampleAboveAggregation { sample_us, aggregation_us });
        }
        if aggregation_us / sample_us > MOST_SAMPLES {
            return Err(AttrsError::TooManySamples { sample_us, aggregation_us });
        }
        if self.min_regions < FEWEST_REGIONS {
            return Err(AttrsError::MinTooSmall(self.min_regions));
        }
        if self.min_regions > self.max_regions {
            return Err(AttrsError::BoundsReversed {
                min: self.min_regions,
                max: self.max_regions,
            });
        }
        if self.max_regions > MOST_REGIONS {
            return Err(AttrsError::MaxTooLarge(self.max_regions));
        }
        Ok(())
    }

    /// Ticks in an aggregation interval, which is also the highest access count
    /// that a region can reach in one.
    pub fn ticks_per_aggregation(&self) -> u64 {
        (self.aggregation_us / self.sample_us).max(1)
    }

    /// Ticks between two regions updates: the update interval rounded up to
    /// whole aggregation intervals.
    pub fn ticks_per_update(&self) -> u64 {
        let aggregation_us = self.ticks_per_aggregation() * self.sample_us;
        self.update_us.div_ceil(aggregation_us).max(1) * self.ticks_per_aggregation()
    }

    /// These, with the longer intervals made the whole ticks that they are kept as:
    /// the aggregation interval rounded down, the update interval up.
    pub fn in_whole_ticks(self) -> Self {
        Self {
            aggregation_us: self.ticks_per_aggregation() * self.sample_us,
            update_us: self.ticks_per_update() * self.sample_us,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut MonitorAttrs)) -> Result<(), AttrsError> {
        let mut attrs = MonitorAttrs::default();
        change(&mut attrs);
        attrs.validate()
    }

    #[test]
    fn refuses_what_cannot_work() {
        assert_eq!(with(|_| {}), Ok(()));
        assert_eq!(with(|a| a.sample_us = 0), Err(AttrsError::ZeroInterval("sampling")));
        assert_eq!(with(|a| a.update_us = 0), Err(AttrsError::ZeroInterval("regions update")));
        assert!(matches!(
            with(|a| a.sample_us = 100_001),
            Err(AttrsError::SampleAboveAggregation { .. })
        ));
        assert_eq!(with(|a| a.min_regions = 2), Err(AttrsError::MinTooSmall(2)));
        assert!(matches!(with(|a| a.max_regions = 9), Err(AttrsError::BoundsReversed { .. })));
        assert_eq!(with(|a| a.sample_us = a.aggregation_us), Ok(()));
    }

    #[test]
    fn the_update_interval_is_rounded_up_to_aggregations() {
        let mut attrs = MonitorAttrs::default();
        assert_eq!((attrs.ticks_per_aggregation(), attrs.ticks_per_update()), (20, 200));
        attrs.update_us = 150_000;
        assert_eq!(attrs.ticks_per_update(), 40);
        attrs.update_us = 1;
        assert_eq!(attrs.ticks_per_update(), 20);
    }

    #[test]
    fn intervals_are_whole_ticks() {
        let odd = MonitorAttrs { sample_us: 60_000, ..MonitorAttrs::default() }.in_whole_ticks();
        assert_eq!((odd.aggregation_us, odd.update_us), (60_000, 1_020_000));
        assert_eq!(odd.in_whole_ticks(), odd);
        assert_eq!(MonitorAttrs::default().in_whole_ticks(), MonitorAttrs::default());
    }
}
