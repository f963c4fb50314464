//! What a monitor hands out at the end of each aggregation interval.

use crate::Done;
use crate::access::{Spent, TargetId};
use crate::addr::AddrRange;

/// The access rate, 0 to 1, from which on memory is called hot.
pub const HOT_RATE: f64 = 0.25;

/// The accesses of one aggregation interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// When the interval began, in microseconds since monitoring began.
    pub start_us: u64,
    /// When it ended.
    pub end_us: u64,
    /// Its nominal length in microseconds: the unit of [`RegionSnapshot::age`].
    pub aggregation_us: u64,
    /// The sampling interval in force in microseconds, which access rates are of; 0 where
    /// it is not known.
    pub sample_us: u64,
    /// The highest [`RegionSnapshot::nr_accesses`] possible; at least 1.
    pub max_nr_accesses: u32,
    /// One for each live target, by rising id.
    pub targets: Vec<TargetSnapshot>,
    /// What schemes did at its end.
    pub done: Vec<Done>,
    /// What it cost to find out.
    pub cost: Cost,
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
    pub pages: Vec<PageRun>,
}

impl TargetSnapshot {
    /// Keeps only what lies in `range`; regions at its edges are cut. How much of
    /// that is resident is not known.
    pub fn crop(&mut self, range: AddrRange) {
        self.resident_bytes = None;
        self.regions.retain_mut(|region| match region.range.intersect(&range) {
            Some(inside) => {
                region.range = inside;
                true
            }
            None => false,
        });
        self.pages.retain_mut(|run| match run.range.intersect(&range) {
            Some(inside) => {
                run.range = inside;
                true
            }
            None => false,
        });
    }
}

/// A region as it was in one aggregation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionSnapshot {
    /// Its addresses.
    pub range: AddrRange,
    /// Access frequency, `0..=`[`Snapshot::max_nr_accesses`].
    pub nr_accesses: u32,
    /// How much could not be observed, on the same scale.
    pub nr_unobserved: u32,
    /// Aggregation intervals since the access frequency last changed.
    pub age: u32,
}

/// Neighbouring pages of which each is known by itself, finer than regions can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRun {
    /// Their addresses.
    pub range: AddrRange,
    /// Their access frequency, on the scale of [`RegionSnapshot::nr_accesses`].
    pub nr_accesses: u32,
    /// Aggregation intervals since the last access that was seen: 0 for pages in use.
    pub age: u32,
}

/// What a snapshot cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cost {
    /// Windows checked in each tick of the interval that looked; a window of the
    /// reference monitor is a page.
    pub checks: Vec<u32>,
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
    pub fn charge(&mut self, spent: Spent) {
        self.cpu_us += spent.monitor_us.round() as u64;
        self.target_us += spent.target_us.round() as u64;
    }
}

impl Snapshot {
    /// Keeps only what lies in `range`, of all targets; regions, and what schemes acted on,
    /// are cut at its edges.
    pub fn crop(&mut self, range: AddrRange) {
        self.targets.iter_mut().for_each(|target| target.crop(range));
        self.done.retain_mut(|done| match done.range.intersect(&range) {
            Some(inside) => {
                done.range = inside;
                true
            }
            None => false,
        });
    }

    /// The chance that a page of `region` is accessed within one sampling
    /// interval, 0 to 1.
    pub fn access_rate(&self, region: &RegionSnapshot) -> f64 {
        f64::from(region.nr_accesses) / f64::from(self.max_nr_accesses.max(1))
    }

    /// The share of `region`'s checks that could not be observed, 0 to 1.
    pub fn unobserved_share(&self, region: &RegionSnapshot) -> f64 {
        f64::from(region.nr_unobserved) / f64::from(self.max_nr_accesses.max(1))
    }

    /// How long the access frequency of `region` has been what it is, in microseconds.
    pub fn age_us(&self, region: &RegionSnapshot) -> u64 {
        u64::from(region.age) * self.aggregation_us
    }

    /// Number of regions, of all targets together.
    pub fn nr_regions(&self) -> usize {
        self.targets.iter().map(|t| t.regions.len()).sum()
    }
}

/// Who a target is, and what it has mapped: for records and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TargetInfo {
    /// The target.
    pub id: TargetId,
    /// Its process number, where it is a process.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none", default))]
    pub pid: Option<u32>,
    /// Its command line, or the name of what is simulated.
    pub name: String,
    /// What is mapped where, by rising address.
    pub mappings: Vec<Mapping>,
}

impl TargetInfo {
    /// Adds what was mapped `earlier` and no longer is, so that addresses of then
    /// still have their names. Both are sorted and disjoint.
    pub fn remember(&mut self, earlier: &[Mapping]) {
        let mut gone = Vec::new();
        for old in earlier {
            let mut keep = |start, end| {
                if start < end {
                    gone.push(Mapping {
                        range: AddrRange::new(start, end),
                        name: old.name.clone(),
                    });
                }
            };
            let mut start = old.range.start;
            let first = self.mappings.partition_point(|new| new.range.end <= start);
            for new in &self.mappings[first..] {
                keep(start, new.range.start.min(old.range.end));
                start = start.max(new.range.end);
                if start >= old.range.end {
                    break;
                }
            }
            keep(start, old.range.end);
        }
        self.mappings.extend(gone);
        self.mappings.sort_by_key(|mapping| mapping.range.start);
    }
}

/// A mapped range and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mapping {
    /// Its addresses.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub range: AddrRange,
    /// A path, `[heap]`, `[stack]`, or empty for anonymous memory.
    pub name: String,
}

impl Mapping {
    /// The one of `mappings`, sorted, that holds `addr`.
    pub fn at(mappings: &[Mapping], addr: u64) -> Option<&Mapping> {
        let at = mappings.partition_point(|mapping| mapping.range.end <= addr);
        mappings.get(at).filter(|mapping| mapping.range.contains(addr))
    }

    /// Whether it maps a file, or memory that is shared like one: the kernel names these
    /// by a path.
    pub fn is_of_file(&self) -> bool {
        self.name.starts_with('/')
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
    use crate::Action;

    #[test]
    fn cropping_cuts_all_that_has_addresses() {
        let range = AddrRange::new;
        let region = |start, end| RegionSnapshot {
            range: range(start, end),
            nr_accesses: 0,
            nr_unobserved: 0,
            age: 0,
        };
        let done = |start, end| Done {
            scheme: 0,
            action: Action::Pageout,
            target: TargetId(0),
            range: range(start, end),
        };
        let run = |start, end| PageRun { range: range(start, end), nr_accesses: 0, age: 0 };
        let moment = |regions, pages, done| Snapshot {
            targets: vec![TargetSnapshot { regions, pages, ..TargetSnapshot::default() }],
            done,
            ..Snapshot::default()
        };
        let mut cropped = moment(
            vec![region(0, 20), region(20, 40)],
            vec![run(0, 10), run(30, 35)],
            vec![done(0, 10), done(5, 15), done(24, 50)],
        );
        cropped.crop(range(10, 30));
        let expected =
            moment(vec![region(10, 20), region(20, 30)], vec![], vec![done(10, 15), done(24, 30)]);
        assert_eq!(cropped, expected);
    }

    #[test]
    fn what_was_mapped_earlier_is_remembered_around_what_is_now() {
        let mapping = |start, end, name: &str| Mapping {
            range: AddrRange::new(start, end),
            name: name.to_owned(),
        };
        let mappings = vec![mapping(20, 30, "new"), mapping(40, 50, "new")];
        let mut info = TargetInfo { id: TargetId(0), pid: None, name: String::new(), mappings };
        info.remember(&[mapping(0, 10, "low"), mapping(15, 45, "old"), mapping(48, 60, "high")]);
        let found: Vec<_> =
            info.mappings.iter().map(|m| (m.range.start, m.range.end, &m.name[..])).collect();
        let expected = [
            (0, 10, "low"),
            (15, 20, "old"),
            (20, 30, "new"),
            (30, 40, "old"),
            (40, 50, "new"),
            (50, 60, "high"),
        ];
        assert_eq!(found, expected);
    }
}
