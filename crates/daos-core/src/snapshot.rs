//! What a monitor hands out at the end of each aggregation interval.

use crate::access::CpuCost;
use crate::action::Done;
use crate::addr::AddrRange;
use crate::checks::Checks;
use crate::page_runs::PageRuns;
use crate::target::{TargetId, TargetInfo};
use crate::working_sets::WorkingSets;

/// The access rate, 0 to 1, from which on memory is called hot. Chosen: at the paper's
/// sampling interval of 5 ms, a page that is accessed sixty times a second.
pub const HOT_RATE: f64 = 0.25;

/// The accesses of one aggregation interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// When the interval began, in microseconds since monitoring began.
    pub start_us: u64,
    /// When it ended.
    pub end_us: u64,
    /// Its nominal length in microseconds.
    pub aggregation_us: u64,
    /// The sampling interval in force in microseconds, which access rates are of; 0 where
    /// it is not known.
    pub sample_us: u64,
    /// One for each live target, by rising id.
    pub targets: Vec<TargetSnapshot>,
    /// What it cost to find out.
    pub cost: Cost,
}

/// An aggregation interval: what was seen in it, and what schemes did at its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interval {
    /// What was seen.
    pub snapshot: Snapshot,
    /// What schemes did.
    pub done: Vec<Done>,
}

impl Snapshot {
    /// The share, 0 to 1, of pages with this access rate that are accessed within so many
    /// microseconds. Where the sampling interval is not known, as in old records, all of them.
    pub fn share_accessed(&self, access_rate: f64, within_us: u64) -> f64 {
        match (access_rate.clamp(0.0, 1.0), self.sample_us) {
            (0.0, _) => 0.0,
            (_, 0) => 1.0,
            (rate, sample_us) => 1.0 - (1.0 - rate).powf(within_us as f64 / sample_us as f64),
        }
    }
}

impl Snapshot {
    /// Bytes of `target`, which is one of its targets, that are accessed within so many
    /// microseconds: as the monitor says, or else as the access rates of its parts do. No more
    /// than are resident, where that is known.
    pub fn bytes_accessed(&self, target: &TargetSnapshot, within_us: u64) -> f64 {
        let of_part =
            |part: Part| part.range.len() as f64 * self.share_accessed(part.access_rate, within_us);
        let bytes = match &target.working_sets {
            Some(sets) => sets.within(within_us),
            None => target.parts().map(of_part).sum(),
        };
        bytes.min(target.resident_bytes.map_or(f64::MAX, |resident| resident as f64))
    }
}

impl Interval {
    /// Keeps only what lies in `range`, of all targets; regions, and what schemes acted on,
    /// are cut at its edges.
    pub fn crop(&mut self, range: AddrRange) {
        self.snapshot.targets.iter_mut().for_each(|target| target.crop(range));
        keep_within(&mut self.done, range, |done| &mut done.range);
    }
}

impl From<Snapshot> for Interval {
    /// An interval in which no scheme did anything.
    fn from(snapshot: Snapshot) -> Self {
        Self { snapshot, done: Vec::new() }
    }
}

/// The regions of one target.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TargetSnapshot {
    /// Which target.
    pub id: TargetId,
    /// Its resident set at the last regions update, in bytes, where that is known.
    pub resident_bytes: Option<u64>,
    /// Sorted, disjoint.
    pub regions: Vec<RegionSnapshot>,
    /// What is known to the page inside regions whose pages differ. Sorted, disjoint.
    pub pages: PageRuns,
    /// How much of it is accessed within which time, where the monitor knows it better than its
    /// regions tell.
    pub working_sets: Option<WorkingSets>,
}

/// A region as it was in one aggregation interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegionSnapshot {
    /// Its addresses.
    pub range: AddrRange,
    /// The chance that a page of it is accessed within one sampling interval, 0 to 1.
    pub access_rate: f64,
    /// The share of it that could not be observed, 0 to 1.
    pub unobserved: f64,
    /// How long the access rate has been what it is, in microseconds.
    pub age_us: u64,
}

/// Neighbouring pages of which each is known by itself, finer than regions can say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageRun {
    /// Their addresses.
    pub range: AddrRange,
    /// The chance that one of them is accessed within one sampling interval, 0 to 1.
    pub access_rate: f64,
    /// Microseconds since the last access that was seen: 0 for pages in use.
    pub age_us: u64,
}

/// A part of a region: a run of pages that are known one by one, or what lies between such
/// runs, of which no more is known than of the region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Its addresses.
    pub range: AddrRange,
    /// The chance that a page of it is accessed within one sampling interval, 0 to 1.
    pub access_rate: f64,
    /// The share of its region that could not be observed, 0 to 1; 0 of a run.
    pub unobserved: f64,
    /// The age of the run or of the region, in microseconds.
    pub age_us: u64,
    /// Size in bytes of what is alike here: of the part, if it is a run of pages, else of
    /// its region.
    pub alike_bytes: u64,
    /// Whether it is known to the page.
    pub is_run: bool,
}

impl TargetSnapshot {
    /// Bytes of its regions.
    pub fn mapped_bytes(&self) -> u64 {
        self.regions.iter().map(|region| region.range.len()).sum()
    }

    /// All of its memory by rising address, as finely as it is known.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        self.parts_from(0)
    }

    /// The parts that do not end at or before `addr`; the first is cut there.
    pub fn parts_from(&self, addr: u64) -> impl Iterator<Item = Part> + '_ {
        let first = self.regions.partition_point(|region| region.range.end <= addr);
        let parts = self.regions[first..].iter().flat_map(|region| self.parts_of(region));
        let cut = move |part: Part| {
            let range = AddrRange::new(part.range.start.max(addr), part.range.end);
            let alike_bytes = if part.is_run { range.len() } else { part.alike_bytes };
            Part { range, alike_bytes, ..part }
        };
        parts.skip_while(move |part| part.range.end <= addr).map(cut)
    }

    /// The parts of `region`, which is one of its regions, by rising address.
    pub fn parts_of(&self, region: &RegionSnapshot) -> impl Iterator<Item = Part> + '_ {
        let whole = Part {
            range: region.range,
            access_rate: region.access_rate,
            unobserved: region.unobserved,
            age_us: region.age_us,
            alike_bytes: region.range.len(),
            is_run: false,
        };
        let mut at = whole.range.start;
        let stops = self.runs_in(whole.range).map(Some).chain([None]);
        stops.flat_map(move |run| {
            let next = run.map_or(whole.range.end, |run| run.range.start);
            let before = Part { range: AddrRange::new(at, next), ..whole };
            let run = run.map(|PageRun { range, access_rate, age_us }| {
                at = range.end;
                let alike_bytes = range.len();
                Part { range, access_rate, unobserved: 0.0, age_us, alike_bytes, is_run: true }
            });
            [Some(before), run].into_iter().flatten().filter(|part| !part.range.is_empty())
        })
    }

    /// The runs of pages in `range`; those at its edges are cut.
    pub fn runs_in(&self, range: AddrRange) -> impl Iterator<Item = PageRun> + '_ {
        let inside =
            move |run: PageRun| Some(PageRun { range: run.range.intersect(&range)?, ..run });
        self.pages.behind(range.start).map_while(inside)
    }

    /// Bytes of the runs of pages in `range` that are in use.
    pub fn used_bytes(&self, range: AddrRange) -> u64 {
        let used = self.runs_in(range).filter(|run| run.access_rate > 0.0);
        used.map(|run| run.range.len()).sum()
    }

    /// Keeps only what lies in `range`; regions at its edges are cut. How much of that is
    /// resident, and how much is accessed within which time, is not known.
    pub fn crop(&mut self, range: AddrRange) {
        (self.resident_bytes, self.working_sets) = (None, None);
        keep_within(&mut self.regions, range, |region| &mut region.range);
        self.pages.crop(range);
    }
}

/// Cuts `items` to what lies in `range`, and drops the others.
fn keep_within<T>(items: &mut Vec<T>, range: AddrRange, of: impl Fn(&mut T) -> &mut AddrRange) {
    items.retain_mut(|item| {
        let item = of(item);
        item.intersect(&range).map(|inside| *item = inside).is_some()
    });
}

/// What a snapshot cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cost {
    /// Windows checked in each tick of the interval that looked; a window of the
    /// reference monitor is a page.
    pub checks: Checks,
    /// Pages that those windows had, and those that were only read.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pages: u64,
    /// Pages that were armed.
    #[cfg_attr(feature = "serde", serde(default))]
    pub armed: u64,
    /// Ticks that came late by more than a tenth of a sampling interval.
    pub late_ticks: u32,
    /// Ticks that were left out because the one before took too long.
    pub missed_ticks: u32,
    /// CPU time of the monitor in microseconds, user and system, in the interval.
    pub cpu_us: u64,
    /// CPU time in microseconds that monitoring took from the targets, estimated.
    #[cfg_attr(feature = "serde", serde(default))]
    pub target_us: u64,
}

impl Cost {
    /// Adds CPU time that was spent.
    pub fn charge(&mut self, spent: CpuCost) {
        self.cpu_us += spent.monitor_us.round() as u64;
        self.target_us += spent.target_us.round() as u64;
    }
}

impl Snapshot {
    /// Number of regions, of all targets together.
    pub fn nr_regions(&self) -> usize {
        self.targets.iter().map(|t| t.regions.len()).sum()
    }
}

/// Gives one snapshot an aggregation interval: our monitor over some
/// [`AccessCheck`](crate::AccessCheck), the kernel's, or a record played again.
pub trait SnapshotSource {
    /// Why there can be no more snapshots.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Waits for the next snapshot; `None` when there will be no more.
    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Self::Error>;

    /// Targets that are new, or whose mappings changed, since this was last
    /// asked. A source that knows none gives none.
    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;

    fn region(start: u64, end: u64, access_rate: f64, age_us: u64) -> RegionSnapshot {
        RegionSnapshot { range: AddrRange::new(start, end), access_rate, unobserved: 0.0, age_us }
    }

    fn run(start: u64, end: u64, access_rate: f64, age_us: u64) -> PageRun {
        PageRun { range: AddrRange::new(start, end), access_rate, age_us }
    }

    #[test]
    fn runs_and_what_lies_between_make_up_the_regions() {
        let target = TargetSnapshot {
            regions: vec![
                region(0, 100, 0.1, 9),
                region(100, 200, 0.2, 8),
                region(300, 400, 0.3, 7),
            ],
            pages: vec![
                run(10, 20, 0.8, 0),
                run(20, 30, 0.9, 0),
                run(90, 110, 0.0, 5),
                run(250, 400, 0.6, 0),
            ]
            .into(),
            ..TargetSnapshot::default()
        };
        let list = |parts: &mut dyn Iterator<Item = Part>| -> Vec<_> {
            parts.map(|p| (p.range.start, p.range.end, p.access_rate, p.alike_bytes)).collect()
        };
        let all = [
            (0, 10, 0.1, 100),
            (10, 20, 0.8, 10),
            (20, 30, 0.9, 10),
            (30, 90, 0.1, 100),
            (90, 100, 0.0, 10),
            (100, 110, 0.0, 10),
            (110, 200, 0.2, 100),
            (300, 400, 0.6, 100),
        ];
        assert_eq!(list(&mut target.parts()), all);
        let mut behind = all[2..].to_vec();
        behind[0] = (25, 30, 0.9, 5);
        assert_eq!(list(&mut target.parts_from(25)), behind);
        assert_eq!(list(&mut target.parts_from(250)), all[7..]);
        assert_eq!(list(&mut target.parts_from(400)), []);
        assert!(target.parts().all(|part| part.is_run == (part.alike_bytes == part.range.len())));
        let ages: Vec<u64> = target.parts().map(|part| part.age_us).collect();
        assert_eq!(ages, [9, 0, 0, 9, 5, 5, 8, 0]);
    }

    #[test]
    fn cropping_cuts_all_that_has_addresses() {
        let range = AddrRange::new;
        let done = |start, end| Done {
            scheme: 0,
            action: Action::Pageout,
            target: TargetId(0),
            range: range(start, end),
        };
        let interval =
            |regions: Vec<RegionSnapshot>, pages: Vec<PageRun>, done: Vec<Done>| Interval {
                snapshot: Snapshot {
                    targets: vec![TargetSnapshot {
                        regions,
                        pages: pages.into(),
                        ..TargetSnapshot::default()
                    }],
                    ..Snapshot::default()
                },
                done,
            };
        let mut cropped = interval(
            vec![region(0, 20, 0.0, 0), region(20, 40, 0.0, 0)],
            vec![run(0, 10, 0.0, 0), run(30, 35, 0.0, 0)],
            vec![done(0, 10), done(5, 15), done(24, 50)],
        );
        cropped.crop(range(10, 30));
        let expected = interval(
            vec![region(10, 20, 0.0, 0), region(20, 30, 0.0, 0)],
            vec![],
            vec![done(10, 15), done(24, 30)],
        );
        assert_eq!(cropped, expected);
    }
}
