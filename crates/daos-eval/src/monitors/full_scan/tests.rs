//! The full scan over pages of which it is known which are in use.

use super::*;
use daos_core::testing::{Page, TestMemory};
use daos_core::{AddrRange, PAGE_SIZE, PageRun};

/// Memory of so many pages, of which some, by number, are accessed all the time; nobody
/// accessed the others before.
fn memory(pages: u64, used: fn(u64) -> bool) -> TestMemory {
    let page = |at| Page { used: used(at), young: false, ..Page::WRITTEN };
    let memory = TestMemory::new(&[AddrRange::new(0, pages * PAGE_SIZE)], &[]);
    TestMemory { pages: (0..pages).map(page).collect(), ..memory }
}

/// Runs it over so many aggregation intervals; the last snapshot.
fn scan(memory: &mut TestMemory, attrs: MonitorAttrs, intervals: usize) -> Snapshot {
    let mut monitor = FullScan::new(attrs).unwrap();
    let (mut now_us, mut last, mut seen) = (0, None, 0);
    while seen < intervals {
        memory.use_pages();
        let Ok(snapshot) = monitor.tick(memory, now_us);
        if let Some(snapshot) = snapshot {
            seen += 1;
            assert_eq!(snapshot.end_us - snapshot.start_us, attrs.aggregation_us);
            last = Some(snapshot);
        }
        now_us += monitor.wait_us();
    }
    last.unwrap()
}

fn regions(snapshot: &Snapshot) -> Vec<(u64, u64, u32)> {
    let regions = &snapshot.targets[0].regions;
    let pages = |r: &daos_core::RegionSnapshot| {
        let percent = (r.access_rate * 100.0).round() as u32;
        (r.range.start / 4096, r.range.end / 4096, percent)
    };
    regions.iter().map(pages).collect()
}

#[test]
fn blocks_are_found_to_the_page() {
    let mut memory = memory(5000, |page| (700..2300).contains(&page) || page == 4000);
    let snapshot = scan(&mut memory, MonitorAttrs::default(), 3);
    let expected =
        [(0, 700, 0), (700, 2300, 100), (2300, 4000, 0), (4000, 4001, 100), (4001, 5000, 0)];
    assert_eq!(regions(&snapshot), expected);
    assert!(snapshot.targets[0].pages.is_empty());
    // Five tables with pages in use, and only those, are armed each time.
    assert_eq!(snapshot.cost.armed, 1601);
    let armed: Vec<u64> = memory.armed.iter().rev().take(5).map(|w| w.start / 4096).collect();
    assert_eq!(armed, [3584, 2048, 1536, 1024, 512]);
    assert_eq!((snapshot.cost.checks.windows(), snapshot.cost.pages), (10, 10_000));
}

#[test]
fn stripes_are_pages_of_their_region() {
    let mut memory = memory(1024, |page| page % 4 == 0);
    let snapshot = scan(&mut memory, MonitorAttrs::default(), 1);
    assert_eq!(regions(&snapshot), [(0, 1024, 25)]);
    let runs: Vec<PageRun> = snapshot.targets[0].pages.iter().collect();
    assert_eq!(runs.len(), 512);
    let run = |start: u64, end: u64, access_rate, age: u64| PageRun {
        range: AddrRange::new(start * 4096, end * 4096),
        access_rate,
        age_us: age * 100_000,
    };
    assert_eq!(runs[..3], [run(0, 1, 1.0, 0), run(1, 4, 0.0, 4), run(4, 5, 1.0, 0)]);
}

#[test]
fn there_are_no_more_regions_than_allowed() {
    let mut memory = memory(512 * 100, |page| page / 512 % 2 == 0 && page % 512 < 300);
    let attrs = MonitorAttrs { max_regions: 20, ..MonitorAttrs::default() };
    let snapshot = scan(&mut memory, attrs, 2);
    assert!(snapshot.targets[0].regions.len() <= 20);
    // What regions can't say, pages do.
    let in_use: u64 = snapshot.targets[0]
        .pages
        .iter()
        .filter(|r| r.access_rate > 0.0)
        .map(|r| r.range.pages())
        .sum();
    assert_eq!(in_use, 50 * 300);
}

#[test]
fn one_interval_may_be_as_short_as_the_other() {
    let attrs = MonitorAttrs { sample_us: 100_000, ..MonitorAttrs::default() };
    let snapshot = scan(&mut memory(10, |page| page < 5), attrs, 3);
    assert_eq!(regions(&snapshot), [(0, 5, 100), (5, 10, 0)]);
}

#[test]
fn holes_are_not_bridged_and_what_stays_is_remembered() {
    let mut memory = memory(600, |page| page < 100);
    memory.targets[0].ranges.push(AddrRange::new(700 * 4096, 800 * 4096));
    let mut monitor = FullScan::new(MonitorAttrs::default()).unwrap();
    for _ in 0..3 {
        memory.use_pages();
        let Ok(_) = monitor.tick(&mut memory, 0);
    }
    memory.targets[0].ranges[1].end -= 50 * 4096;
    let Ok(()) = monitor.update(&mut memory);
    let ranges: Vec<AddrRange> = monitor.targets[0].tables.iter().map(Table::range).collect();
    let page = |start: u64, end: u64| AddrRange::new(start * 4096, end * 4096);
    assert_eq!(ranges, [page(0, 512), page(512, 600), page(700, 750)]);
    let frequencies: Vec<u32> = monitor.targets[0].tables.iter().map(|t| t.frequency(0)).collect();
    assert_eq!(frequencies, [100, 0, 0]);
}
