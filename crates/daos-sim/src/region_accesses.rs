//! What a workload does to one region: which of its bytes it accesses, and when.
//!
//! Random accesses only have a number in any time, strides also have a place, and single pages
//! are random accesses to some pages.
//! Both can be had for any time at once, without going through what lies between.

use crate::timeline::{Moment, Timeline};
use daos_workload::singles::Singles;
use daos_workload::{Config, Order};

/// The accesses to one region.
#[derive(Debug, Clone)]
pub(crate) struct RegionAccesses {
    /// The size of the region in bytes.
    pub len: u64,
    /// Random ones, by the pages that they go to.
    random: Vec<RandomAccesses>,
    sweeps: Vec<Sweep>,
}

/// Random accesses to all pages of the region, or to some.
#[derive(Debug, Clone)]
struct RandomAccesses {
    /// To which, if not to all.
    singles: Option<Singles>,
    /// How many there are in a cycle before each phase, and in all of it.
    before: Vec<f64>,
    /// How many per microsecond in each phase.
    per_us: Vec<f64>,
}

/// A stride over the region in one phase.
#[derive(Debug, Clone)]
struct Sweep {
    phase: usize,
    stride: u64,
    /// Steps from the start of the region to its end.
    steps: u64,
    /// Steps per second, as a fraction.
    rate: (u128, u128),
}

/// A part of a stride: `count` steps, at least one, from step `first`, around the
/// end if need be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrideSteps {
    stride: u64,
    steps: u64,
    first: u64,
    count: u128,
}

impl RegionAccesses {
    /// The accesses to the region with index `region`, of a workload that makes so
    /// many accesses in total in each second that is not idle.
    pub fn new(config: &Config, region: usize, timeline: &Timeline, per_sec: u64) -> Self {
        let len = config.regions[region].len;
        let mut accesses = Self { len, random: Vec::new(), sweeps: Vec::new() };
        for (index, phase) in config.phases.iter().enumerate() {
            let total = phase.total_weight();
            for pattern in phase.patterns.iter().filter(|p| p.region == region) {
                let per_us = per_sec as f64 / 1e6 * f64::from(pattern.weight) / total as f64;
                match pattern.order {
                    Order::Random => accesses.add(None, config, index, per_us),
                    Order::Singles(every) => {
                        accesses.add(Some(Singles::new(every, len)), config, index, per_us);
                    }
                    Order::Stride(stride) => accesses.sweeps.push(Sweep {
                        phase: index,
                        stride,
                        steps: len.div_ceil(stride),
                        rate: (u128::from(per_sec) * u128::from(pattern.weight), u128::from(total)),
                    }),
                }
            }
        }
        for random in &mut accesses.random {
            let mut before = 0.0;
            for (index, per_us) in random.per_us.iter().enumerate() {
                random.before.push(before);
                before += per_us * timeline.duration_us(index) as f64;
            }
            random.before.push(before);
        }
        accesses
    }

    /// Adds accesses of a phase to those of the same kind.
    fn add(&mut self, singles: Option<Singles>, config: &Config, phase: usize, per_us: f64) {
        let at = self.random.iter().position(|random| random.singles == singles);
        let at = at.unwrap_or_else(|| {
            let (before, per_us) = (Vec::new(), vec![0.0; config.phases.len()]);
            self.random.push(RandomAccesses { singles, before, per_us });
            self.random.len() - 1
        });
        self.random[at].per_us[phase] += per_us;
    }

    /// Whether no phase accesses the region.
    pub fn is_idle(&self) -> bool {
        self.sweeps.is_empty() && self.random.is_empty()
    }

    /// The pages that random accesses from `from` to `to` go to, all if `None`, and the chance
    /// that a page of `page` bytes is among those met.
    pub fn chances(
        &self,
        from: Moment,
        to: Moment,
        page: u64,
    ) -> impl Iterator<Item = (Option<Singles>, f64)> + '_ {
        self.random.iter().map(move |random| {
            let of_a_page = match random.singles {
                Some(singles) if page < singles.every => 1.0 / singles.groups as f64,
                _ => page as f64 / self.len as f64,
            };
            (random.singles, -(-random.number(from, to) * of_a_page).exp_m1())
        })
    }

    /// Puts into `found` the steps that strides make from `from` to `to`.
    pub fn stride_steps(
        &self,
        timeline: &Timeline,
        from: Moment,
        to: Moment,
        found: &mut Vec<StrideSteps>,
    ) {
        found.clear();
        for sweep in &self.sweeps {
            found.extend(
                timeline
                    .runs(sweep.phase, from, to)
                    .map(|(start_us, end_us)| sweep.between(start_us, end_us))
                    .filter(|w| w.count > 0),
            );
        }
    }
}

impl RandomAccesses {
    /// How many are made from `from` to `to`, on average.
    fn number(&self, from: Moment, to: Moment) -> f64 {
        let cycle = self.before[self.before.len() - 1];
        let until = |m: Moment| self.before[m.phase] + self.per_us[m.phase] * m.offset_us as f64;
        // Whole cycles apart, so that hours don't cost digits.
        ((to.cycle - from.cycle) as f64 * cycle + until(to) - until(from)).max(0.0)
    }
}

impl Sweep {
    /// The steps made between two times since the start of the phase.
    fn between(&self, start_us: u64, end_us: u64) -> StrideSteps {
        let by = |us: u64| self.rate.0 * u128::from(us) / (self.rate.1 * 1_000_000);
        let (first, end) = (by(start_us), by(end_us));
        StrideSteps {
            stride: self.stride,
            steps: self.steps,
            first: (first % u128::from(self.steps)) as u64,
            count: end - first,
        }
    }
}

impl StrideSteps {
    /// Whether one of the steps is on a byte of `start..end`, offsets in the region.
    pub fn touches(&self, start: u64, end: u64) -> bool {
        let (low, high) = (start.div_ceil(self.stride), end.div_ceil(self.stride));
        let (low, high) = (u128::from(low), u128::from(high.min(self.steps)));
        let (first, steps) = (u128::from(self.first), u128::from(self.steps));
        let behind = first + self.count;
        low < high
            && (self.count >= steps
                || (first < high && low < behind)
                || (first < high + steps && low + steps < behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
a, 64K
b, 64K

mixed
1s
a, random, 0, 3
a, stride, 4096, 1
b, stride, 16K, 4

rest
1s
";

    fn accesses(region: usize) -> (Timeline, RegionAccesses) {
        let config = Config::parse("t", TEXT).unwrap();
        let timeline = Timeline::new(&config);
        let accesses = RegionAccesses::new(&config, region, &timeline, 800);
        (timeline, accesses)
    }

    #[test]
    fn random_accesses_add_up_over_phases_and_cycles() {
        let (t, accesses) = accesses(0);
        let random = |from, to| accesses.random[0].number(t.at(from), t.at(to));
        assert_eq!(random(0, 500_000), 150.0);
        assert_eq!(random(500_000, 2_500_000), 300.0);
        assert_eq!(random(1_000_000, 2_000_000), 0.0);
        assert_eq!(random(0, 20_000_000), 3000.0);
    }

    #[test]
    fn strides_are_exact() {
        // 400 steps a second over 4 steps of 16 KiB: page 4 at 2.5 ms.
        let (t, accesses) = accesses(1);
        let touched = |page: u64, from, to| {
            let mut steps = Vec::new();
            accesses.stride_steps(&t, t.at(from), t.at(to), &mut steps);
            steps.iter().any(|w| w.touches(page * 4096, (page + 1) * 4096))
        };
        assert!(touched(0, 0, 2_500));
        assert!(!touched(4, 0, 2_500));
        assert!(touched(4, 2_500, 5_000));
        assert!(touched(0, 9_000, 12_500), "it comes round");
        assert!(!touched(1, 0, 1_000_000), "no step is on this page");
        assert!(!touched(0, 1_000_000, 2_000_000), "the phase is over");
        assert!(touched(0, 1_999_999, 2_002_500), "and begins anew");
    }

    proptest! {
        #[test]
        fn touches_is_what_stepping_finds(
            stride in 1u64..40, steps in 1u64..30, first in 0u64..30, count in 1u64..70,
            start in 0u64..600, size in 1u64..100,
        ) {
            let first = first % steps;
            let walked = StrideSteps { stride, steps, first, count: count.into() };
            let stepped = (first..first + count)
                .map(|step| step % steps * stride)
                .any(|byte| start <= byte && byte < start + size);
            prop_assert_eq!(walked.touches(start, start + size), stepped);
        }
    }
}
