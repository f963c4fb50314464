//! What a workload truly accesses, in the terms of a monitor.
//!
//! A run on real memory counted its accesses, a simulated one follows from its
//! configuration. Both become the same: ranges of memory, and for each the chance
//! that a page of it is accessed within the intervals that a monitor looks at.

use daos_core::{AddrRange, MonitorAttrs};
use daos_sim::SimSpace;
use daos_workload::PhaseTruth;

/// A time in which memory is accessed in one way.
#[derive(Debug, Clone, PartialEq)]
pub struct TruePhase {
    /// When it begins, in microseconds on the clock of the truth.
    pub start_us: u64,
    /// When it ends.
    pub end_us: u64,
    /// All memory of the workload, also what is left alone: sorted, disjoint.
    pub ranges: Vec<TrueRange>,
}

/// Memory whose pages are all accessed as often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueRange {
    /// Its addresses.
    pub range: AddrRange,
    /// The chance that a page is accessed within a sampling interval, 0 to 1.
    pub rate: f64,
    /// The chance that a page is accessed within an aggregation interval, 0 to 1.
    pub touched: f64,
}

impl TruePhase {
    /// What a run on real memory counted. The clock is `CLOCK_MONOTONIC`.
    pub fn counted(truth: &PhaseTruth, attrs: &MonitorAttrs) -> Self {
        let rates = truth.access_rates(attrs.sample_us);
        let touched = truth.access_rates(attrs.aggregation_us);
        let ranges = rates
            .into_iter()
            .zip(touched)
            .map(|((range, rate), (_, touched))| TrueRange { range, rate, touched })
            .collect();
        Self { start_us: truth.start_us, end_us: truth.end_us, ranges }
    }

    /// The phases that `space` goes through until `end_us`, again and again. The
    /// clock is that of the simulation.
    pub fn simulated(space: &SimSpace, attrs: &MonitorAttrs, end_us: u64) -> Vec<Self> {
        let mut phases = Vec::new();
        let mut start_us = 0;
        for phase in space.config().phases.iter().cycle() {
            if start_us >= end_us {
                break;
            }
            let next_us = start_us + phase.duration_us();
            let rates = space.truth(start_us, next_us, attrs.sample_us);
            let touched = space.truth(start_us, next_us, attrs.aggregation_us);
            let ranges = rates
                .iter()
                .zip(touched)
                .map(|(r, t)| TrueRange { range: r.range, rate: r.rate, touched: t.rate })
                .collect();
            phases.push(Self { start_us, end_us: next_us, ranges });
            start_us = next_us;
        }
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_sim::SimOptions;
    use daos_workload::Config;

    #[test]
    fn simulated_phases_repeat_until_the_end() {
        let text = "a, 1M\nb, 1M\n\nfirst\n2s\na, random, 1, 1\n\nsecond\n1s\nb, random, 1, 1\n";
        let config = Config::parse("two.cfg", text).unwrap();
        let space = SimSpace::new(config, SimOptions::default());
        let phases = TruePhase::simulated(&space, &MonitorAttrs::default(), 4_000_000);
        let times: Vec<_> = phases.iter().map(|p| (p.start_us, p.end_us)).collect();
        assert_eq!(times, [(0, 2_000_000), (2_000_000, 3_000_000), (3_000_000, 5_000_000)]);
        let hot = |phase: usize| phases[phase].ranges.iter().map(|r| r.rate > 0.25);
        assert!(hot(0).eq([true, false]) && hot(1).eq([false, true]) && hot(2).eq([true, false]));
    }
}
