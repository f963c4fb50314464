//! The size of an hour, at the default attributes.

mod common;

use daos_core::{Action, AddrRange, Done, MonitorAttrs, PAGE_SIZE, PageRun, Rng, TargetId};
use daos_record::Writer;

const SNAPSHOTS: u64 = 1000;

/// Bytes of an hour of recording with this many regions, from a part of it.
fn an_hour(regions: u64) -> u64 {
    let attrs = MonitorAttrs::default();
    let mut rng = Rng::new(1);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    // In the middle of the hour, where times are as long as they mostly are.
    for index in 18_000..18_000 + SNAPSHOTS {
        writer.interval(&common::interval(index, regions, &mut rng)).unwrap();
    }
    let snapshots_in_an_hour = 3600 * 1_000_000 / attrs.aggregation_us;
    let size = bytes.len() as u64 * snapshots_in_an_hour / SNAPSHOTS;
    let of_region = bytes.len() as f64 / (SNAPSHOTS * regions) as f64;
    println!("{regions} regions: {} MiB an hour, {of_region:.1} bytes a region", size >> 20);
    size
}

/// Bytes of an hour in which a target has 5000 page runs, every tenth in use at a
/// rate that changes in every interval, and every thousandth with an edge that moves.
fn an_hour_of_runs() -> u64 {
    let mut rng = Rng::new(1);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    for index in 0..SNAPSHOTS {
        let run = |at: u64| {
            let start = 0x7f00_0000_0000 + at * 40 * PAGE_SIZE;
            let moves = if at % 1000 == 1 { rng.below(4) } else { 0 };
            let range = AddrRange::new(start, start + (12 + moves) * PAGE_SIZE);
            let used = at.is_multiple_of(10);
            let access_rate = if used { (300 + rng.below(700)) as f64 / 1000.0 } else { 0.0 };
            let age_us = if used { 0 } else { (9 + index) * common::AGGREGATION_US };
            PageRun { range, access_rate, age_us }
        };
        let pages = (0..5000).map(run).collect();
        let mut interval = common::interval(index, 5, &mut Rng::new(1));
        interval.snapshot.targets[0].pages = pages;
        writer.interval(&interval).unwrap();
    }
    let size = bytes.len() as u64 * (36_000 / SNAPSHOTS);
    let of_change = bytes.len() as f64 / (SNAPSHOTS * 505) as f64;
    println!("page runs: {} MiB an hour, {of_change:.1} bytes a change", size >> 20);
    size
}

/// Bytes of an hour in which in every snapshot a scheme pages out a hundred ranges, handed
/// in by batches, in the order of their worth.
fn an_hour_of_actions() -> u64 {
    let mut rng = Rng::new(1);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    for index in 0..SNAPSHOTS {
        let mut interval = common::interval(index, 5, &mut Rng::new(1));
        for _ in 0..100 {
            let batch = |at: u64| AddrRange::new(at * PAGE_SIZE, (at + 64) * PAGE_SIZE);
            let first = 0x7_f000_0000 + rng.below(1 << 18) * 200;
            let action =
                |range| Done { scheme: 0, action: Action::Pageout, target: TargetId(0), range };
            interval.done.extend([first + 64, first].map(batch).map(action));
        }
        writer.interval(&interval).unwrap();
    }
    let size = bytes.len() as u64 * (36_000 / SNAPSHOTS);
    let of_range = bytes.len() as f64 / (SNAPSHOTS * 100) as f64;
    println!("actions: {} MiB an hour, {of_range:.1} bytes a range", size >> 20);
    size
}

#[test]
fn an_hour_of_actions_stays_small() {
    assert!(an_hour_of_actions() < 32 << 20);
}

#[test]
fn an_hour_of_page_runs_takes_what_changes() {
    assert!(an_hour_of_runs() < 200 << 20);
}

#[test]
fn an_hour_stays_small() {
    assert!(an_hour(100) < 64 << 20);
    assert!(an_hour(1000) < 400 << 20);
}
