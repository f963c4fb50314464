//! From what a monitor says of a program, and a scan of all its pages, to how far they are apart.
//!
//! The two are of two runs of the program, for each of both would disturb the other. So sizes are
//! compared at the same time after the program's start, and pages only where the program lies at
//! the same addresses again: that it also did the same, a second scan shows, compared in the same
//! way.

use super::scan::{Scan, ScanLog, both, count};
use daos_core::{PAGE_SIZE, Snapshot, TargetId, TargetInfo, TargetSnapshot, Usage};
use serde::Serialize;
use std::collections::BTreeMap;

/// From which share of the memory on, that is at the same addresses in both runs, its pages are
/// compared. Chosen: stacks and a few small mappings may differ.
const SAME: f64 = 0.9;

/// Whose memory in one run is whose in the other.
#[derive(Debug, Clone, Default)]
pub struct Pairs(BTreeMap<TargetId, TargetId>);

impl Pairs {
    /// By the program that a command line names, which may name files that are others in each
    /// run; of several processes of a program, the first is the first.
    pub fn of(truth: &[TargetInfo], said: &[TargetInfo]) -> Self {
        let mut left: Vec<&TargetInfo> = said.iter().collect();
        let pairs = truth.iter().filter_map(|one| {
            let at = left.iter().position(|other| program(other) == program(one))?;
            Some((one.id, left.remove(at).id))
        });
        Self(pairs.collect())
    }
}

fn program(process: &TargetInfo) -> &str {
    process.name.split(' ').next().unwrap_or_default()
}

/// A scan, and what was told of the same time: of all processes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Moment {
    /// When, in microseconds since the program began.
    pub at_us: u64,
    /// In memory, by the scan.
    pub resident: u64,
    /// Accessed since the scan before, by the scan.
    pub accessed: u64,
    /// Accessed within that time, as told.
    pub accessed_told: u64,
    /// Idle, by the scan.
    pub idle: u64,
    /// Idle, as told.
    pub idle_told: u64,
}

/// Sums over the scans that were compared, in bytes unless it says otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The scans compared, by rising time.
    pub timeline: Vec<Moment>,
    /// In memory, by the scan.
    pub resident: f64,
    /// Accessed since the scan before, by the scan.
    pub accessed: f64,
    /// Accessed within that time, as told: at most what is resident.
    pub accessed_told: f64,
    /// How far the one is from the other at a time.
    pub accessed_apart: f64,
    /// Idle, by the scan.
    pub idle: f64,
    /// Idle, as `report owners` counts it.
    pub idle_told: f64,
    /// How far the one is from the other at a time.
    pub idle_apart: f64,
    /// The same, page by page.
    pub pages: Pages,
}

/// Bytes of pages that are in memory, by the scan, in processes that both runs have.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pages {
    /// All of them.
    pub present: f64,
    /// Of these, those of which something is told.
    pub known: f64,
    /// Told to be accessed, each by the chance for it.
    pub accessed_told: f64,
    /// Of these, those that were accessed.
    pub accessed_right: f64,
    /// Told to be idle without a doubt, as schemes take it: not accessed at all, at that age.
    pub idle_told: f64,
    /// Of these, those that were.
    pub idle_right: f64,
    /// Idle, and told to be not accessed at all, but at less than that age.
    pub idle_younger: f64,
}

impl Comparison {
    /// Takes in a scan of `log` and what was `said` of the same time.
    pub fn add(&mut self, log: &ScanLog, scan: &Scan, said: &Snapshot, pairs: &Pairs) {
        let resident = scan.bytes(|table| &table.present);
        let accessed = scan.bytes(|table| &table.accessed);
        let idle = scan.bytes(|table| &table.idle);
        let told: Told = said.targets.iter().map(|target| Told::of(log, said, target)).sum();
        let (accessed_told, idle_told) = (told.accessed.round() as u64, told.idle.round() as u64);
        let at_us = scan.at_us;
        let moment = Moment { at_us, resident, accessed, accessed_told, idle, idle_told };
        self.timeline.push(moment);
        let [resident, accessed, idle] = [resident, accessed, idle].map(|bytes| bytes as f64);
        self.resident += resident;
        self.accessed += accessed;
        self.accessed_told += told.accessed;
        self.accessed_apart += (told.accessed - accessed).abs();
        self.idle += idle;
        self.idle_told += told.idle;
        self.idle_apart += (told.idle - idle).abs();
        for process in &scan.processes {
            let of_pair = pairs.0.get(&process.id);
            let target = said.targets.iter().find(|target| Some(&target.id) == of_pair);
            if let Some(target) = target {
                self.pages.add(log, &process.tables, said, target);
            }
        }
    }

    /// Scans compared.
    pub fn scans(&self) -> usize {
        self.timeline.len()
    }

    /// A mean over the scans, in bytes; `None` without any.
    pub fn mean(&self, sum: f64) -> Option<f64> {
        share(sum, self.scans() as f64)
    }

    /// The share of what is in memory, 0 to 1, that was told of at the same addresses.
    pub fn same(&self) -> Option<f64> {
        share(self.pages.known, self.resident)
    }

    /// The pages, where so many of them are the same that it says something.
    pub fn same_pages(&self) -> Option<&Pages> {
        self.same().is_some_and(|same| same >= SAME).then_some(&self.pages)
    }
}

/// A part of a whole, if there is any.
pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// What is told of the memory of a process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    accessed: f64,
    idle: f64,
}

impl Told {
    fn of(log: &ScanLog, said: &Snapshot, target: &TargetSnapshot) -> Self {
        let resident = target.resident_bytes.unwrap_or_else(|| target.mapped_bytes());
        let [usage] = Usage::of(said, target, [log.idle_us]);
        let accessed = said.bytes_accessed(target, log.every_us);
        Self { accessed, idle: usage.idle_of(resident) }
    }
}

impl std::iter::Sum for Told {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            accessed: sum.accessed + one.accessed,
            idle: sum.idle + one.idle,
        })
    }
}

impl Pages {
    fn add(
        &mut self,
        log: &ScanLog,
        tables: &[super::scan::ScannedTable],
        said: &Snapshot,
        target: &TargetSnapshot,
    ) {
        let bytes = |bits: &_| (count(bits) * PAGE_SIZE) as f64;
        for table in tables {
            self.present += bytes(&table.present);
            let range = table.range();
            let parts = target.parts_from(range.start);
            for part in parts.take_while(|part| part.range.start < range.end) {
                let covered = table.pages_in(part.range);
                let of = |bits| bytes(&both(bits, &covered));
                let chance = said.share_accessed(part.access_rate, log.every_us);
                self.known += of(&table.present);
                self.accessed_told += chance * of(&table.present);
                self.accessed_right += chance * of(&table.accessed);
                if part.access_rate > 0.0 {
                    continue;
                }
                if part.age_us >= log.idle_us {
                    self.idle_told += of(&table.present);
                    self.idle_right += of(&table.idle);
                } else {
                    self.idle_younger += of(&table.idle);
                }
            }
        }
    }
}

/// Compares the scans from `warmup_us` after the program's start on, as far as something was said
/// of the same time: what is `said` is by rising time, and `offset_us` later than that start.
pub fn compare<E>(
    log: &ScanLog,
    warmup_us: u64,
    pairs: &Pairs,
    said: impl IntoIterator<Item = Result<Snapshot, E>>,
    offset_us: u64,
) -> Result<Comparison, E> {
    let mut comparison = Comparison::default();
    let mut scans = log.scans.iter().filter(|scan| scan.at_us >= warmup_us).peekable();
    for snapshot in said {
        let snapshot = snapshot?;
        let end_us = snapshot.end_us + offset_us;
        let start_us = snapshot.start_us + offset_us;
        while let Some(scan) = scans.next_if(|scan| scan.at_us <= end_us) {
            // Nothing is said of a time before the first snapshot.
            if scan.at_us >= start_us {
                comparison.add(log, scan, &snapshot, pairs);
            }
        }
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::super::scan::{ScannedProcess, ScannedTable, pages};
    use super::*;
    use daos_core::{AddrRange, RegionSnapshot};
    use std::convert::Infallible;

    const SECOND: u64 = 1_000_000;

    /// A process of 100 pages, of which 20 are accessed and 60 idle.
    fn log() -> ScanLog {
        let table = ScannedTable {
            start: 0,
            present: pages(0, 100),
            accessed: pages(0, 20),
            idle: pages(40, 100),
        };
        let process = ScannedProcess { id: TargetId(1), tables: vec![table] };
        let scan = |second| Scan { at_us: second * SECOND, processes: vec![process.clone()] };
        ScanLog {
            scans: (1..=10).map(scan).collect(),
            processes: vec![info(1, "a /tmp/1")],
            every_us: SECOND,
            idle_us: 5 * SECOND,
        }
    }

    fn info(id: u32, name: &str) -> TargetInfo {
        TargetInfo {
            id: TargetId(id),
            pid: None,
            name: name.to_owned(),
            mappings: Vec::new(),
            cgroup: None,
            memory: None,
            ownership: None,
            page_cache: None,
        }
    }

    /// Regions by first page, end, rate and age in seconds.
    fn said(second: u64, regions: &[(u64, u64, f64, u64)]) -> Snapshot {
        let region = |&(first, end, access_rate, age): &(u64, u64, f64, u64)| RegionSnapshot {
            range: AddrRange::new(first * 4096, end * 4096),
            access_rate,
            unobserved: 0.0,
            age_us: age * SECOND,
        };
        Snapshot {
            start_us: (second - 1) * SECOND,
            end_us: second * SECOND,
            aggregation_us: SECOND,
            sample_us: SECOND,
            targets: vec![TargetSnapshot {
                id: TargetId(9),
                resident_bytes: Some(100 * 4096),
                regions: regions.iter().map(region).collect(),
                pages: Vec::new().into(),
                working_sets: None,
            }],
            ..Snapshot::default()
        }
    }

    fn compared(snapshots: Vec<Snapshot>) -> Comparison {
        let log = log();
        let pairs = Pairs::of(&log.processes, &[info(8, "b"), info(9, "a /tmp/2")]);
        let said = snapshots.into_iter().map(Ok::<_, Infallible>);
        let Ok(comparison) = compare(&log, 5 * SECOND, &pairs, said, SECOND / 10);
        comparison
    }

    #[test]
    fn another_scan_that_found_the_same_is_right() {
        let log = log();
        let told = log.scans.iter().map(|scan| Ok::<_, Infallible>(log.told(scan)));
        let pairs = Pairs::of(&log.processes, &log.processes);
        let Ok(all) = compare(&log, 5 * SECOND, &pairs, told, 0);
        assert_eq!(all.scans(), 6);
        let pages = |sum: f64| sum / all.scans() as f64 / 4096.0;
        assert_eq!([all.resident, all.accessed, all.idle].map(pages), [100.0, 20.0, 60.0]);
        assert_eq!([all.accessed_told, all.idle_told].map(pages), [20.0, 60.0]);
        assert_eq!((all.accessed_apart, all.idle_apart, all.same()), (0.0, 0.0, Some(1.0)));
        let Pages { accessed_told, accessed_right, idle_told, idle_right, .. } = all.pages;
        assert_eq!((accessed_right, idle_right), (accessed_told, idle_told));
        assert_eq!([accessed_told, idle_told].map(pages), [20.0, 60.0]);
    }

    #[test]
    fn what_is_told_wrong_is_counted() {
        // Half of what is accessed at half the rate; too much is idle; 100 pages are not there.
        let regions = [(0, 20, 0.5, 0), (20, 30, 0.0, 1), (30, 200, 0.0, 7)];
        let all = compared(vec![said(7, &regions)]);
        let pages = |sum: f64| (sum / 4096.0).round();
        assert_eq!(all.scans(), 1, "only the scan at 7 s is in the snapshot from 6.1 to 7.1 s");
        assert_eq!([all.accessed_told, all.accessed_apart].map(pages), [10.0, 10.0]);
        // Accessed within 5 s at a rate of a half: all but 1 in 32 of 20, so 80.6 of what is
        // there were not; of 180.6 that were not, 170.6 for so long.
        assert_eq!(pages(all.idle_told), 76.0);
        let Moment { at_us, accessed, accessed_told, .. } = all.timeline[0];
        assert_eq!((at_us, accessed / 4096, accessed_told / 4096), (7 * SECOND, 20, 10));
        let found = all.same_pages().unwrap();
        assert_eq!([found.accessed_told, found.accessed_right].map(pages), [10.0, 10.0]);
        assert_eq!([found.idle_told, found.idle_right].map(pages), [70.0, 60.0]);
        assert_eq!(pages(found.idle_younger), 0.0);
        let young = compared(vec![said(7, &[(0, 100, 0.0, 4)])]).pages;
        assert_eq!([young.idle_right, young.idle_younger].map(pages), [0.0, 60.0]);
    }

    #[test]
    fn other_addresses_are_not_compared_by_page() {
        let all = compared(vec![said(7, &[(1000, 1100, 0.0, 9)])]);
        assert_eq!((all.same(), all.same_pages()), (Some(0.0), None));
        assert!(all.idle_told > 0.0);
    }

    #[test]
    fn only_what_was_said_of_the_time_counts() {
        assert_eq!(compared(vec![]).scans(), 0);
        assert_eq!(compared(vec![]).mean(0.0), None);
        let snapshots = (1..=20).map(|second| said(second, &[])).collect();
        assert_eq!(compared(snapshots).scans(), 6);
    }
}
