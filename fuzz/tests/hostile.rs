//! Records of up to a megabyte that nobody's monitor wrote, each made to unfold to as much as
//! it can: every report of each ends, in little memory.

use daos_core::{Host, MonitorAttrs};
use daos_fuzz::frames::Frames;
use daos_fuzz::{Target, record};
use daos_record::{Header, Writer};
use std::sync::Mutex;

const TARGET: u8 = 2;
const SNAPSHOT: u8 = 3;
const PAGES: u8 = 5;
const DONE: u8 = 6;

/// Bytes of the largest record here.
const MEGABYTE: usize = 1 << 20;
/// Pages of all addresses that there are.
const ALL: u64 = u64::MAX / 4096;

/// Memory, as `SECURITY.md` has it.
const LARGE: Target = Target { memory: 100 << 20, ..record::TARGET };

/// A header, and so far no more.
fn begun() -> Frames {
    let header = Header {
        daos_version: "0.1.0".into(),
        created_unix_s: u64::MAX,
        start_monotonic_us: u64::MAX,
        attrs: MonitorAttrs::default(),
        seed: u64::MAX,
        monitor: "windows".into(),
        max_overhead_percent: Some(f64::MAX),
        auto_intervals: false,
        backend: "sim".into(),
        command: Vec::new(),
        schemes: vec!["\u{1b}[2J".into()],
        host: Host {
            kernel: "6.1.0".into(),
            arch: "x86_64".into(),
            hostname: "box".into(),
            cpus: 2,
            mem_total_bytes: 4 << 30,
            page_size: 4096,
        },
    };
    let mut bytes = Vec::new();
    Writer::new(&mut bytes, &header).unwrap();
    Frames::split(&bytes)
}

fn numbers(frames: &mut Frames, kind: u8, numbers: impl IntoIterator<Item = u64>) {
    let mut payload = Vec::new();
    for mut number in numbers {
        while number >= 0x80 {
            payload.push(number as u8 | 0x80);
            number >>= 7;
        }
        payload.push(number as u8);
    }
    frames.frames.push((kind, payload));
}

/// A snapshot of 100 us with these numbers of its ticks, and these of each target.
fn snapshot(frames: &mut Frames, moment: u64, ticks: &[u64], targets: &[Vec<u64>]) {
    let head = [moment * 100, 100, 100, 1000, 0, 0, 0];
    let all = head.iter().chain(ticks).copied().chain([targets.len() as u64]);
    numbers(frames, SNAPSHOT, all.chain(targets.iter().flatten().copied()));
}

/// One target with one region: all there is.
fn all_of_it() -> Vec<u64> {
    vec![0, 0, 1, 0, ALL, 2, 0]
}

/// Numbers as large as they get.
fn extremes() -> Frames {
    let mut frames = begun();
    let (max, max32) = (u64::MAX, u64::from(u32::MAX));
    for id in 0..3 {
        let mapping = format!(r#"{{"start":0,"end":{max},"name":"/\u001b[31m"}}"#);
        let name = r"\u001b]0;x\u0007";
        let json = format!(r#"{{"id":{id},"pid":{max32},"name":"{name}","mappings":[{mapping}]}}"#);
        frames.frames.push((TARGET, json.into_bytes()));
    }
    for (start, length) in [(0, 0), (0, 1), (1, max - 2), (max - 1, 1), (max, 0)] {
        // Schemes 0 and 4294967295 page the whole of target 0 out, one of them twice.
        let done = [0, max32, 0].map(|scheme| [scheme, 4, 0, 1, 0, ALL]);
        numbers(&mut frames, DONE, [3].into_iter().chain(done.into_iter().flatten()));
        // Two runs of all ticks that there may be; three targets with one region each.
        let head = [start, length, max, max32, max32, max32, max];
        let ticks = [2, 1 << 19, max32, 1 << 19, 0];
        let target = |id| [id, ALL, 1, 0, ALL, max32 << 1 | 1, max32, max32];
        let targets = [0, 1, max32].map(target).into_iter().flatten();
        let all = head.into_iter().chain(ticks).chain([3]).chain(targets).chain([max; 4]);
        numbers(&mut frames, SNAPSHOT, all);
    }
    frames
}

/// More targets than anybody has, of which each is seen once.
fn targets() -> Frames {
    let mut frames = begun();
    for moment in 0..2 {
        let target = |id| vec![moment << 16 | id, 0, 1, id * 3, 1, 2, 0];
        snapshot(&mut frames, moment, &[0], &(0..48_000).map(target).collect::<Vec<_>>());
    }
    frames
}

/// Runs of pages that are written once, and which each snapshot has. How often they may be
/// repeated is tested where they are read.
fn runs() -> Frames {
    let mut frames = begun();
    let runs = (0..170_000).flat_map(|_| [1, 1, 1 << 1]);
    numbers(&mut frames, PAGES, [0, 0, 1, 0, 0, 170_000].into_iter().chain(runs));
    (0..9).for_each(|moment| snapshot(&mut frames, moment, &[0], &[all_of_it()]));
    frames
}

/// Ticks as many as there may be, in each of many snapshots.
fn ticks() -> Frames {
    let mut frames = begun();
    (0..26_000).for_each(|moment| snapshot(&mut frames, moment, &[1, 1 << 20, 5], &[]));
    frames
}

/// A scheme for each page that something was done to.
fn many_schemes() -> Frames {
    let mut frames = begun();
    let done = (0..100_000).flat_map(|scheme| [scheme, 4, 0, 1, 0, 1]);
    numbers(&mut frames, DONE, [100_000].into_iter().chain(done));
    snapshot(&mut frames, 0, &[0], &[all_of_it()]);
    frames
}

/// Regions, each as small as it can be.
fn regions() -> Frames {
    let mut frames = begun();
    let regions = (0..120_000).flat_map(|_| [1, 1, 2, 0]);
    let target = [0, 0, 120_000].into_iter().chain(regions).collect();
    (0..2).for_each(|moment| snapshot(&mut frames, moment, &[0], std::slice::from_ref(&target)));
    frames
}

/// Mappings, of which each is named, of targets that change them again and again.
fn mappings() -> Frames {
    let mut frames = begun();
    for id in 0..10 {
        let mapping = |n: u64| format!(r#"{{"start":{n},"end":{},"name":""}}"#, n + 1);
        let mappings = (0..2500).map(mapping).collect::<Vec<_>>().join(",");
        let json = format!(r#"{{"id":{id},"name":"","mappings":[{mappings}]}}"#);
        frames.frames.push((TARGET, json.into_bytes()));
    }
    snapshot(&mut frames, 0, &[0], &[all_of_it()]);
    frames
}

/// The memory of the whole process is counted, so that no other record is made meanwhile.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn check(name: &str, frames: fn() -> Frames) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let record = frames().join();
    assert!(record.len() <= MEGABYTE, "{name}: {} bytes", record.len());
    LARGE.check(&record);
}

#[test]
fn numbers_as_large_as_they_get() {
    check("extremes", extremes);
}

#[test]
fn many_targets() {
    check("targets", targets);
}

#[test]
fn runs_that_are_repeated() {
    check("runs", runs);
}

#[test]
fn ticks_in_a_few_bytes() {
    check("ticks", ticks);
}

#[test]
fn many_schemes_that_did_something() {
    check("schemes", many_schemes);
}

#[test]
fn many_regions() {
    check("regions", regions);
}

#[test]
fn many_mappings() {
    check("mappings", mappings);
}
