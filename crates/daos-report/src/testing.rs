//! A small record made by hand, and rendering to a string.

use daos_core::{
    Action, AddrRange, Cost, Done, Interval, Mapping, PageRun, RegionSnapshot, Snapshot, TargetId,
    TargetInfo, TargetSnapshot,
};
use std::convert::Infallible;

pub const MIB: u64 = 1 << 20;
pub const HEAP: u64 = 0x5555_5556_0000;
pub const MMAP: u64 = 0x7fff_e800_0000;
pub const STACK: u64 = 0x7fff_fffd_e000;

/// A region of a snapshot in which 20 accesses are the most.
pub fn region(start: u64, end: u64, nr_accesses: u32) -> RegionSnapshot {
    let access_rate = f64::from(nr_accesses) / 20.0;
    let range = AddrRange::new(start, end);
    RegionSnapshot { range, access_rate, unobserved: 0.0, age_us: 300_000 }
}

/// A run of pages in use if there were accesses, else cold for two intervals.
pub fn run(start: u64, end: u64, nr_accesses: u32) -> PageRun {
    let age_us = if nr_accesses > 0 { 0 } else { 200_000 };
    let access_rate = f64::from(nr_accesses) / 20.0;
    PageRun { range: AddrRange::new(start, end), access_rate, age_us }
}

/// A snapshot of one target.
pub fn snapshot(start_us: u64, end_us: u64, regions: &[RegionSnapshot]) -> Snapshot {
    Snapshot {
        start_us,
        end_us,
        aggregation_us: 100_000,
        sample_us: 0,
        targets: vec![TargetSnapshot { regions: regions.to_vec(), ..Default::default() }],
        cost: Cost::default(),
    }
}

/// Two seconds of a program with a heap of 64 MiB, the lowest eighth of it hot,
/// 256 MiB of mapped memory of which a 64th, ever higher, is in use, and a stack.
pub fn record() -> Vec<Snapshot> {
    let moment = |i: u64| {
        let hot = MMAP + i * 12 * MIB;
        let regions = [
            region(HEAP, HEAP + 8 * MIB, 18),
            region(HEAP + 8 * MIB, HEAP + 64 * MIB, 0),
            region(MMAP, hot, 0),
            region(hot, hot + 4 * MIB, 7),
            region(hot + 4 * MIB, MMAP + 256 * MIB, u32::from(i == 12)),
            region(STACK, STACK + 132 * 1024, 1 + (i % 2) as u32),
        ];
        let regions: Vec<_> = regions.into_iter().filter(|r| !r.range.is_empty()).collect();
        let cost = Cost {
            checks: (0..20).map(|tick| 100 + (i * 40 + tick) as u32).collect(),
            late_ticks: u32::from(i == 3),
            missed_ticks: 0,
            cpu_us: 900 + 50 * i,
            ..Default::default()
        };
        Snapshot { cost, ..snapshot(i * 100_000, (i + 1) * 100_000, &regions) }
    };
    (0..20).map(moment).collect()
}

/// The schemes of [`acting`].
pub const SCHEMES: [&str; 3] =
    ["4K max min min 5s max pageout", "2M max 80% max 10s max hugepage", "never"];

/// [`record`] with schemes that act on it: the first pages out the mapped memory that was
/// left behind and, once, the upper half of the heap, and the second makes the hot part of
/// the heap huge.
pub fn acting() -> Vec<Interval> {
    let done = |scheme, action, start, end| Done {
        scheme,
        action,
        target: TargetId(0),
        range: AddrRange::new(start, end),
    };
    let mut record: Vec<Interval> = record().into_iter().map(Interval::from).collect();
    for (i, moment) in (0..).zip(&mut record) {
        if [5, 6, 9, 12, 15, 18].contains(&i) {
            let end = MMAP + (i - 2) * 12 * MIB;
            moment.done.push(done(0, Action::Pageout, end - 16 * MIB, end));
        }
        if (10..16).contains(&i) {
            let start = HEAP + 32 * MIB + (i - 10) * 4 * MIB;
            moment.done.push(done(0, Action::Pageout, start, start + 4 * MIB));
        }
        if [3, 4].contains(&i) {
            moment.done.push(done(1, Action::Hugepage, HEAP, HEAP + 8 * MIB));
        }
    }
    record
}

/// The program of [`record`].
pub fn targets() -> Vec<TargetInfo> {
    let mapping = |start, size, name: &str| Mapping {
        shared: false,
        range: AddrRange::new(start, start + size),
        name: name.to_owned(),
    };
    vec![TargetInfo {
        id: TargetId(0),
        pid: Some(4711),
        name: "redis-server *:6379".to_owned(),
        mappings: vec![
            mapping(HEAP, 64 * MIB, "[heap]"),
            mapping(MMAP, 256 * MIB, ""),
            mapping(STACK, 132 * 1024, "[stack]"),
        ],
        cgroup: None,
        memory: None,
        ownership: None,
        page_cache: None,
    }]
}

/// No interval.
pub const NOTHING: &[Interval] = &[];

/// The same intervals, as a source that does not fail.
pub fn source<T: Clone + Into<Interval>>(
    intervals: &[T],
) -> impl Iterator<Item = Result<Interval, Infallible>> {
    intervals.iter().cloned().map(|interval| Ok(interval.into()))
}

/// What `render` writes.
pub fn written<E: std::fmt::Debug>(render: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> String {
    let mut out = Vec::new();
    render(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
