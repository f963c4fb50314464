//! What a full scan found at one time, page by page.

use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{AddrRange, PAGE_SIZE, PageBits, RegionSnapshot, Snapshot, TargetId};
use daos_core::{TargetInfo, TargetSnapshot};

/// All pages of a program and of what it started, at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scan {
    /// When, in microseconds since the program began.
    pub at_us: u64,
    /// Its processes, by rising id.
    pub processes: Vec<ScannedProcess>,
}

/// The pages of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedProcess {
    /// Which one.
    pub id: TargetId,
    /// Its page tables that map something which is in memory, by rising address.
    pub tables: Vec<ScannedTable>,
}

/// The pages that a page table maps.
#[derive(Debug, Clone, PartialEq)]
pub struct ScannedTable {
    /// Address of the first.
    pub start: u64,
    /// Those that are in memory.
    pub present: PageBits,
    /// Those that were accessed since the scan before.
    pub accessed: PageBits,
    /// Those in memory that were not, for the time from which on memory is called idle.
    pub idle: PageBits,
}

/// A run of a program: what was scanned, and whose memory it is.
#[derive(Debug, Clone, Default)]
pub struct ScanLog {
    /// By rising time.
    pub scans: Vec<Scan>,
    /// The processes.
    pub processes: Vec<TargetInfo>,
    /// From one scan to the next, in microseconds.
    pub every_us: u64,
    /// From which time on memory is called idle, in microseconds.
    pub idle_us: u64,
}

/// How many pages `bits` are set for.
pub fn count(bits: &PageBits) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Those of both.
pub fn both(a: &PageBits, b: &PageBits) -> PageBits {
    std::array::from_fn(|word| a[word] & b[word])
}

/// Pages `first..end` of a table.
pub fn pages(first: u32, end: u32) -> PageBits {
    let below = |page: u32, word: u32| match page.saturating_sub(word * 64) {
        64.. => u64::MAX,
        bits => (1 << bits) - 1,
    };
    std::array::from_fn(|word| below(end, word as u32) & !below(first, word as u32))
}

impl ScannedTable {
    /// All that it could map.
    pub fn range(&self) -> AddrRange {
        AddrRange::new(self.start, self.start + u64::from(MAX_WINDOW_PAGES) * PAGE_SIZE)
    }

    /// Those of its pages that `range` covers.
    pub fn pages_in(&self, range: AddrRange) -> PageBits {
        let page = |addr: u64| addr.saturating_sub(self.start) / PAGE_SIZE;
        let page = |addr: u64| page(addr).min(u64::from(MAX_WINDOW_PAGES)) as u32;
        pages(page(range.start), page(range.end))
    }

    /// Which of three a page is, if it is in memory: accessed, idle, neither.
    fn kind(&self, page: u32) -> Option<Kind> {
        let is_in = |bits: &PageBits| daos_core::access::has_page(bits, page);
        match () {
            () if !is_in(&self.present) => None,
            () if is_in(&self.accessed) => Some(Kind::Accessed),
            () if is_in(&self.idle) => Some(Kind::Idle),
            () => Some(Kind::Rests),
        }
    }
}

/// What a page in memory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Accessed,
    Idle,
    Rests,
}

impl ScannedProcess {
    /// Bytes of those pages of its tables that `of` gives.
    pub fn bytes(&self, of: impl Fn(&ScannedTable) -> &PageBits) -> u64 {
        self.tables.iter().map(|table| count(of(table)) * PAGE_SIZE).sum()
    }
}

impl Scan {
    /// The same of all processes.
    pub fn bytes(&self, of: impl Fn(&ScannedTable) -> &PageBits) -> u64 {
        self.processes.iter().map(|process| process.bytes(&of)).sum()
    }
}

impl ScanLog {
    /// A scan as a monitor would tell it that knows every page.
    pub fn told(&self, scan: &Scan) -> Snapshot {
        let targets = scan.processes.iter().map(|process| {
            let mut regions: Vec<RegionSnapshot> = Vec::new();
            for table in &process.tables {
                for page in 0..MAX_WINDOW_PAGES {
                    let Some(kind) = table.kind(page) else { continue };
                    let start = table.start + u64::from(page) * PAGE_SIZE;
                    let range = AddrRange::new(start, start + PAGE_SIZE);
                    let access_rate = if kind == Kind::Accessed { 1.0 } else { 0.0 };
                    let age_us = if kind == Kind::Idle { self.idle_us } else { 0 };
                    match regions.last_mut() {
                        Some(last)
                            if last.range.end == start
                                && last.access_rate == access_rate
                                && last.age_us == age_us =>
                        {
                            last.range.end = range.end;
                        }
                        _ => regions.push(RegionSnapshot {
                            range,
                            access_rate,
                            unobserved: 0.0,
                            age_us,
                        }),
                    }
                }
            }
            let resident_bytes = Some(process.bytes(|table| &table.present));
            let (id, pages) = (process.id, Vec::new().into());
            TargetSnapshot { id, resident_bytes, regions, pages, working_sets: None }
        });
        Snapshot {
            start_us: scan.at_us.saturating_sub(self.every_us),
            end_us: scan.at_us,
            aggregation_us: self.every_us,
            sample_us: self.every_us,
            targets: targets.collect(),
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bits() {
        assert_eq!(count(&pages(0, 512)), 512);
        assert_eq!(count(&pages(63, 66)), 3);
        assert_eq!(pages(63, 66)[..2], [1 << 63, 3]);
        assert_eq!(count(&pages(5, 5)), 0);
        assert_eq!(count(&both(&pages(0, 100), &pages(90, 200))), 10);
        let none = [0; 8];
        let table = ScannedTable { start: 2 << 20, present: none, accessed: none, idle: none };
        let in_table = |start, end| table.pages_in(AddrRange::new(start, end));
        assert_eq!(in_table(0, u64::MAX), pages(0, 512));
        assert_eq!(in_table(0, (2 << 20) + 4096), pages(0, 1));
        assert_eq!(in_table((4 << 20) - 4096, 5 << 20), pages(511, 512));
        assert_eq!(in_table(4 << 20, 5 << 20), none);
    }

    #[test]
    fn a_scan_is_told_by_what_pages_do() {
        let table = ScannedTable {
            start: 0,
            present: pages(0, 10),
            accessed: pages(2, 4),
            idle: pages(6, 10),
        };
        let process = ScannedProcess { id: TargetId(3), tables: vec![table] };
        let scan = Scan { at_us: 7_000_000, processes: vec![process] };
        let log = ScanLog { every_us: 1_000_000, idle_us: 5_000_000, ..ScanLog::default() };
        let told = log.told(&scan);
        let regions: Vec<_> = told.targets[0]
            .regions
            .iter()
            .map(|r| (r.range.start / 4096, r.range.end / 4096, r.access_rate, r.age_us))
            .collect();
        let idle = 5_000_000;
        assert_eq!(regions, [(0, 2, 0.0, 0), (2, 4, 1.0, 0), (4, 6, 0.0, 0), (6, 10, 0.0, idle)]);
        assert_eq!(told.targets[0].resident_bytes, Some(10 * 4096));
        assert_eq!(told.share_accessed(1.0, 1_000_000), 1.0);
    }
}
