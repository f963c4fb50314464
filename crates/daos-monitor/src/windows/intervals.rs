//! Intervals that fit the workload, for those who don't want to choose.
//!
//! As the kernel's tuner (`damon_nr_accesses_tune`, since 6.15): intervals are right when
//! about one in twenty-five of the accesses that could be observed is. Where more are,
//! everything looks hot and a shorter interval tells more; where fewer are, everything
//! looks cold. The ratio of the two intervals stays what it was.

use daos_core::MonitorAttrs;

/// The mean access rate to aim at: one in twenty-five, as the kernel's tuner does.
const AIM: f64 = 0.04;
/// Means that are off by less than this factor are left alone. Chosen: so that the intervals
/// settle.
const TOLERANCE: f64 = 1.5;
/// An interval changes by at most this factor at a time. Chosen: what is known of rates
/// carries over.
const STEP: f64 = 2.0;
/// Shortest sampling interval in microseconds: the paper's, and the least of the kernel's
/// `DAMON_STAT`.
const SHORTEST_US: u64 = 5_000;
/// Longest sampling interval in microseconds: the most of `DAMON_STAT`.
const LONGEST_US: u64 = 10_000_000;

/// The intervals that fit better than those of `attrs`, under which the mean access rate
/// of what is in memory is `mean_rate`; `None` when those are good.
pub(super) fn better(attrs: &MonitorAttrs, mean_rate: f64) -> Option<MonitorAttrs> {
    let off = AIM / mean_rate.max(1e-6);
    if (1.0 / TOLERANCE..=TOLERANCE).contains(&off) {
        return None;
    }
    let factor = off.clamp(1.0 / STEP, STEP);
    let shortest = SHORTEST_US.min(attrs.sample_us);
    let sample_us = ((attrs.sample_us as f64 * factor).round() as u64).clamp(shortest, LONGEST_US);
    if sample_us == attrs.sample_us {
        return None;
    }
    let aggregation_us = sample_us * attrs.ticks_per_aggregation();
    Some(MonitorAttrs { sample_us, aggregation_us, ..*attrs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_follow_the_mean_rate() {
        let attrs = MonitorAttrs::default();
        assert_eq!(better(&attrs, 0.04), None);
        assert_eq!(better(&attrs, 0.05), None);
        let longer = better(&attrs, 0.02).unwrap();
        assert_eq!((longer.sample_us, longer.aggregation_us), (10_000, 200_000));
        assert_eq!(better(&attrs, 0.0).unwrap().sample_us, 10_000, "by one step at a time");
        assert_eq!(better(&attrs, 0.5), None, "5 ms is the shortest");
        let shorter = better(&longer, 0.5).unwrap();
        assert_eq!((shorter.sample_us, shorter.aggregation_us), (5_000, 100_000));
        let longest = MonitorAttrs { sample_us: LONGEST_US, aggregation_us: LONGEST_US, ..attrs };
        assert_eq!(better(&longest, 0.0), None);
    }
}
