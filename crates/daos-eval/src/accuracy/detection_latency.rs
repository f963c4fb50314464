//! Detection latency: how long it takes until a monitor shows that memory turned hot, or
//! cold.

use super::truth::{TruePhase, TrueRange};
use daos_core::{AddrRange, HOT_RATE, Snapshot, TargetSnapshot};

/// Times from a change to the end of the snapshot that shows it, in microseconds: medians
/// over the changes. `None` if there was no change, or most of them were never detected.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DetectionLatency {
    /// Half of what turned hot is reported hot.
    pub hot_half_us: Option<u64>,
    /// 95 % of it is.
    pub hot_most_us: Option<u64>,
    /// Half of what turned cold is no longer reported hot.
    pub cold_half_us: Option<u64>,
    /// 95 % of it is not.
    pub cold_most_us: Option<u64>,
}

/// The first share of what turned whose latency is counted. Chosen: the middle.
const HALF: f64 = 0.5;
/// The second one. Chosen: all, but for regions whose edges are a little off.
const MOST: f64 = 0.95;

/// Times the changes that the truth knows of, until snapshots show them. Memory of which
/// only some pages are accessed counts for nothing.
#[derive(Debug, Clone)]
pub struct DetectionTimer {
    changes: Vec<Change>,
    origin_us: u64,
}

/// From one phase to the next.
#[derive(Debug, Clone)]
struct Change {
    at_us: u64,
    /// When the phase ends that began then.
    end_us: u64,
    hot: Turned,
    cold: Turned,
}

/// Memory that turned hot, or cold.
#[derive(Debug, Clone, Default)]
struct Turned {
    ranges: Vec<AddrRange>,
    bytes: u64,
    /// Microseconds until [`HALF`] of it was detected.
    half_us: Option<u64>,
    /// Microseconds until [`MOST`] of it was.
    most_us: Option<u64>,
}

impl DetectionTimer {
    /// For the changes between these phases, by rising time, of which all have the same
    /// ranges. Monitoring began, and the snapshots count their time, at `origin_us` on the
    /// truth's clock; what changed before could not be detected.
    pub fn new(phases: &[TruePhase], origin_us: u64) -> Self {
        let turned = |before: &TruePhase, after: &TruePhase, to_hot: bool| {
            let is_hot = |truth: &TrueRange| truth.some.is_none() && truth.rate >= HOT_RATE;
            let pairs = before.ranges.iter().zip(&after.ranges);
            let other = pairs.filter(|(b, a)| is_hot(b) != to_hot && is_hot(a) == to_hot);
            let ranges: Vec<AddrRange> = other.map(|(_, after)| after.range).collect();
            let bytes = ranges.iter().map(AddrRange::len).sum();
            Turned { ranges, bytes, ..Turned::default() }
        };
        let changes = phases.windows(2).filter(|pair| pair[1].start_us > origin_us).map(|pair| {
            let (before, after) = (&pair[0], &pair[1]);
            Change {
                at_us: after.start_us,
                end_us: after.end_us,
                hot: turned(before, after, true),
                cold: turned(before, after, false),
            }
        });
        Self { changes: changes.collect(), origin_us }
    }

    /// Takes in what `snapshot` says of `target`, which is the one that the truth is of.
    pub fn add(&mut self, snapshot: &Snapshot, target: &TargetSnapshot) {
        let end_us = self.origin_us + snapshot.end_us;
        let change = self.changes.iter_mut().find(|c| c.at_us < end_us && end_us <= c.end_us);
        let Some(Change { at_us, hot, cold, .. }) = change else { return };
        for (turned, to_hot) in [(hot, true), (cold, false)] {
            turned.add(target, to_hot, end_us - *at_us);
        }
    }

    /// The latencies so far.
    pub fn latency(&self) -> DetectionLatency {
        let hot = |time: fn(&Turned) -> Option<u64>| {
            lower_median(self.changes.iter().map(|c| &c.hot), time)
        };
        let cold = |time: fn(&Turned) -> Option<u64>| {
            lower_median(self.changes.iter().map(|c| &c.cold), time)
        };
        DetectionLatency {
            hot_half_us: hot(|turned| turned.half_us),
            hot_most_us: hot(|turned| turned.most_us),
            cold_half_us: cold(|turned| turned.half_us),
            cold_most_us: cold(|turned| turned.most_us),
        }
    }
}

impl Turned {
    fn add(&mut self, target: &TargetSnapshot, to_hot: bool, passed_us: u64) {
        if self.bytes == 0 || self.most_us.is_some() {
            return;
        }
        let reported_hot = |range: &AddrRange| {
            target
                .parts_from(range.start)
                .take_while(|part| part.range.start < range.end)
                .filter(|part| part.access_rate >= HOT_RATE)
                .filter_map(|part| part.range.intersect(range))
                .map(|part| part.len())
                .sum::<u64>()
        };
        let hot = self.ranges.iter().map(reported_hot).sum::<u64>() as f64 / self.bytes as f64;
        let detected = if to_hot { hot } else { 1.0 - hot };
        if detected >= HALF {
            self.half_us = self.half_us.or(Some(passed_us));
        }
        if detected >= MOST {
            self.most_us = Some(passed_us);
        }
    }
}

/// The median time; the lower of the two middle ones, if there are two, and not their mean
/// as in [`daos_core::median`], since the upper one may be for ever: what was never detected
/// took longest. `None` if most were not, or nothing turned.
fn lower_median<'a>(
    turned: impl Iterator<Item = &'a Turned>,
    time: fn(&Turned) -> Option<u64>,
) -> Option<u64> {
    let mut times: Vec<u64> =
        turned.filter(|t| t.bytes > 0).map(|t| time(t).unwrap_or(u64::MAX)).collect();
    times.sort_unstable();
    let middle = *times.get(times.len().checked_sub(1)? / 2)?;
    (middle < u64::MAX).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::RegionSnapshot;

    /// Two halves of memory, of which one is hot.
    fn phase(start_us: u64, end_us: u64, upper: bool) -> TruePhase {
        let half = |start, hot| TrueRange {
            range: AddrRange::new(start, start + 100),
            rate: if hot { 0.9 } else { 0.0 },
            touched: if hot { 1.0 } else { 0.0 },
            some: None,
        };
        TruePhase {
            start_us,
            end_us,
            within_us: 100_000,
            ranges: vec![half(0, !upper), half(100, upper)],
        }
    }

    /// A snapshot that ends then and reports `start..end` hot.
    fn add(timer: &mut DetectionTimer, end_us: u64, start: u64, end: u64) {
        let range = AddrRange::new(start, end);
        let region = RegionSnapshot { range, access_rate: 0.25, unobserved: 0.0, age_us: 0 };
        let target = TargetSnapshot { regions: vec![region], ..TargetSnapshot::default() };
        let snapshot = Snapshot { end_us, ..Snapshot::default() };
        timer.add(&snapshot, &target);
    }

    #[test]
    fn times_are_from_the_change_to_the_end_of_the_snapshot() {
        let phases = [phase(0, 1000, false), phase(1000, 2000, true)];
        let mut timer = DetectionTimer::new(&phases, 100);
        // Monitoring began at 100, so what ends at 900 is of 1000.
        add(&mut timer, 900, 0, 100);
        assert_eq!(timer.latency(), DetectionLatency::default());
        add(&mut timer, 1000, 40, 140);
        add(&mut timer, 1100, 60, 160);
        add(&mut timer, 1200, 0, 200);
        add(&mut timer, 1300, 5, 200);
        let latency = timer.latency();
        assert_eq!((latency.hot_half_us, latency.hot_most_us), (Some(200), Some(300)));
        assert_eq!((latency.cold_half_us, latency.cold_most_us), (Some(200), None));
    }

    #[test]
    fn a_change_that_is_not_detected_counts_as_longest() {
        let turns: Vec<_> = (0..4).map(|n| phase(n * 1000, (n + 1) * 1000, n % 2 == 1)).collect();
        let mut timer = DetectionTimer::new(&turns, 0);
        add(&mut timer, 1100, 100, 200);
        add(&mut timer, 2100, 200, 300);
        add(&mut timer, 3300, 100, 200);
        let latency = timer.latency();
        assert_eq!(latency.hot_most_us, Some(300));
        // What was reported nowhere counts as cold.
        assert_eq!(latency.cold_most_us, Some(100));
        let mut blind = DetectionTimer::new(&turns, 0);
        add(&mut blind, 1100, 100, 200);
        assert_eq!(blind.latency().hot_most_us, None);
    }

    #[test]
    fn without_changes_there_is_nothing_to_detect() {
        let mut timer = DetectionTimer::new(&[phase(0, 1000, true)], 0);
        add(&mut timer, 900, 0, 200);
        assert_eq!(timer.latency(), DetectionLatency::default());
        // What changed before the monitor came.
        let mut late = DetectionTimer::new(&[phase(0, 1000, true), phase(1000, 2000, false)], 1000);
        add(&mut late, 500, 0, 100);
        assert_eq!(late.latency(), DetectionLatency::default());
    }
}
