//! What a workload truly accesses, in the terms of a monitor.
//!
//! A run on real memory counted its accesses, a simulated one follows from its
//! configuration. Both become the same: ranges of memory, and for each the chance
//! that a page of it is accessed within the intervals of a monitor.

use daos_core::{AddrRange, HOT_RATE, MonitorAttrs, PAGE_SIZE};
use daos_sim::SimSpace;
use daos_workload::singles::Singles;
use daos_workload::{Order, Phase, PhaseTruth, RegionTruth};

/// A time in which memory is accessed in one way.
#[derive(Debug, Clone, PartialEq)]
pub struct TruePhase {
    /// When it begins, in microseconds on the clock of the truth.
    pub start_us: u64,
    /// When it ends.
    pub end_us: u64,
    /// The time within which memory is accessed that is its working set: the aggregation
    /// interval that was asked for, whatever the monitor made of it.
    pub within_us: u64,
    /// All memory of the workload, also what is left alone: sorted, disjoint.
    pub ranges: Vec<TrueRange>,
}

/// Memory whose pages are all accessed as often, or every so many of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrueRange {
    /// Its addresses.
    pub range: AddrRange,
    /// The chance that a page is accessed within a sampling interval, 0 to 1.
    pub rate: f64,
    /// The chance that a page is accessed within [`TruePhase::within_us`], 0 to 1.
    pub touched: f64,
    /// Which pages that holds for, if not for all. The others are left alone.
    pub some: Option<SomePages>,
}

impl TruePhase {
    /// The access rate from which on memory counts as hot, as a chance in a sampling interval:
    /// half of the highest rate in accesses, or [`HOT_RATE`] if that is less.
    pub fn hot_rate(&self) -> f64 {
        let highest = self.ranges.iter().map(|truth| truth.rate).fold(0.0, f64::max);
        // Half as many accesses leave the square root of those intervals without one.
        (1.0 - (1.0 - highest).max(0.0).sqrt()).clamp(1e-9, HOT_RATE)
    }

    /// What a run on real memory counted. The clock is `CLOCK_MONOTONIC`.
    pub fn counted(truth: &PhaseTruth, attrs: &MonitorAttrs) -> Self {
        let rates = truth.access_rates(attrs.sample_us);
        let touched = truth.access_rates(attrs.aggregation_us);
        let ranges = rates
            .into_iter()
            .zip(touched)
            .map(|((range, rate), (_, touched))| {
                let mut entries = truth.regions.iter().filter(|entry| entry.start == range.start);
                let order = entries.next().and_then(RegionTruth::order);
                let order = order.filter(|_| entries.next().is_none());
                TrueRange { range, rate, touched, some: None }.with_all_to(SomePages::of(
                    order,
                    range.len(),
                    PAGE_SIZE,
                ))
            })
            .collect();
        Self {
            start_us: truth.start_us,
            end_us: truth.end_us,
            within_us: attrs.aggregation_us,
            ranges,
        }
    }

    /// The phases that `space` goes through until `end_us`, again and again. The
    /// clock is that of the simulation.
    pub fn simulated(space: &SimSpace, attrs: &MonitorAttrs, end_us: u64) -> Vec<Self> {
        let page = space.page_bytes();
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
                .zip(orders(phase, rates.len()))
                .map(|((r, t), order)| {
                    let (range, rate, touched) = (r.range, r.rate, t.rate);
                    let all = TrueRange { range, rate, touched, some: None };
                    all.with_all_to(SomePages::of(order, range.len(), page))
                })
                .collect();
            let ranges = if space.ram().is_some() { by_frame(space, ranges) } else { ranges };
            phases.push(Self {
                start_us,
                end_us: next_us,
                within_us: attrs.aggregation_us,
                ranges,
            });
            start_us = next_us;
        }
        phases
    }
}

/// The same by page frame: pieces of a range are accessed as all of it is.
fn by_frame(space: &SimSpace, ranges: Vec<TrueRange>) -> Vec<TrueRange> {
    let pieces = ranges.iter().flat_map(|truth| {
        space.frames_of(truth.range).map(|piece| TrueRange { range: piece.frames(), ..*truth })
    });
    let mut pieces: Vec<_> = pieces.collect();
    pieces.sort_unstable_by_key(|truth| truth.range.start);
    pieces.dedup_by(|next, last| {
        let alike = TrueRange { range: last.range, ..*next } == *last && next.some.is_none();
        let joins = alike && last.range.end == next.range.start;
        if joins {
            last.range.end = next.range.end;
        }
        joins
    });
    pieces
}

/// Of each region the order of accesses, if there is one pattern of it in `phase`.
fn orders(phase: &Phase, regions: usize) -> Vec<Option<Order>> {
    let mut orders = vec![None; regions];
    let mut seen = vec![false; regions];
    for pattern in &phase.patterns {
        let alone = !std::mem::replace(&mut seen[pattern.region], true);
        orders[pattern.region] = alone.then_some(pattern.order);
    }
    orders
}

impl TrueRange {
    /// The same accesses, all of them to some pages.
    fn with_all_to(self, some: Option<SomePages>) -> Self {
        let Some(SomePages { every, .. }) = some else { return self };
        let all_to_some = |rate: f64| (rate * every as f64).min(1.0);
        let (rate, touched) = (all_to_some(self.rate), all_to_some(self.touched));
        Self { rate, touched, some, ..self }
    }

    /// Of the bytes of `part` that are in the range, those that its rate holds for.
    pub fn bytes_in(&self, part: AddrRange) -> u64 {
        let Some(part) = self.range.intersect(&part) else { return 0 };
        match self.some {
            None => part.len(),
            Some(some) => {
                let until = |address: u64| some.bytes_before(address - self.range.start);
                until(part.end) - until(part.start)
            }
        }
    }

    /// The bytes whose rate is at least `rate`, which is above 0.
    #[cfg(test)]
    pub(crate) fn bytes_from(&self, rate: f64) -> u64 {
        if self.rate >= rate { self.bytes_in(self.range) } else { 0 }
    }
}

/// Every so many pages of a range one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SomePages {
    /// Bytes in a page.
    pub page: u64,
    /// Of how many pages it is one, at least 2.
    pub every: u64,
    /// Which one it is; `None`: the first.
    pub singles: Option<Singles>,
}

impl SomePages {
    /// The pages of `page` bytes that an order hits in a range of `len` bytes, if it leaves out
    /// some and its steps are of whole pages.
    fn of(order: Option<Order>, len: u64, page: u64) -> Option<Self> {
        let (bytes, singles) = match order? {
            Order::Random => return None,
            Order::Stride(bytes) => (bytes, None),
            Order::Singles(bytes) => (bytes, Some(Singles::new(bytes, len))),
        };
        let leaves_out = bytes > page && bytes.is_multiple_of(page);
        leaves_out.then_some(Self { page, every: bytes / page, singles })
    }

    /// Bytes in such pages among the first `bytes`.
    fn bytes_before(&self, bytes: u64) -> u64 {
        if let Some(singles) = self.singles {
            return singles.bytes_before(bytes, self.page);
        }
        let step = self.page * self.every;
        bytes / step * self.page + (bytes % step).min(self.page)
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

    #[test]
    fn a_stride_over_pages_is_known() {
        let text = "a, 40K\nb, 40K\n\none\n1s\na, stride, 16K, 1\nb, stride, 16K, 1\n\
                    b, random, 1, 1\n";
        let config = Config::parse("stride.cfg", text).unwrap();
        let space = SimSpace::new(config, SimOptions::default());
        let phases = TruePhase::simulated(&space, &MonitorAttrs::default(), 1);
        let [a, b] = &phases[0].ranges[..] else { panic!("two ranges") };
        assert_eq!(a.some, Some(SomePages { page: 4096, every: 4, singles: None }));
        assert_eq!((a.rate, a.touched, b.some), (1.0, 1.0, None));
        // Pages 0, 4 and 8 of 10.
        assert_eq!(a.bytes_from(0.5), 3 * 4096);
        let pages = |from: u64, to: u64| {
            AddrRange::new(a.range.start + from * 4096, a.range.start + to * 4096)
        };
        let in_pages = |from, to| a.bytes_in(pages(from, to)) / 4096;
        assert_eq!([in_pages(0, 1), in_pages(1, 4), in_pages(1, 5), in_pages(4, 9)], [1, 0, 1, 2]);
        assert_eq!(b.bytes_in(pages(0, 10)), 0);
        assert_eq!(b.bytes_in(b.range), 40 << 10);
    }
}
