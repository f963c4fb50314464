//! The size of an hour, at the default attributes.

mod common;

use daos_core::{MonitorAttrs, Rng};
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
        writer.snapshot(&common::snapshot(index, regions, &mut rng)).unwrap();
    }
    let snapshots_in_an_hour = 3600 * 1_000_000 / attrs.aggregation_us;
    let size = bytes.len() as u64 * snapshots_in_an_hour / SNAPSHOTS;
    let of_region = bytes.len() as f64 / (SNAPSHOTS * regions) as f64;
    println!("{regions} regions: {} MiB an hour, {of_region:.1} bytes a region", size >> 20);
    size
}

#[test]
fn an_hour_stays_small() {
    assert!(an_hour(100) < 64 << 20);
    assert!(an_hour(1000) < 400 << 20);
}
