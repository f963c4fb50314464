//! Records to test with.

#![allow(dead_code, reason = "no test uses all of it")]

use daos_core::{
    AddrRange, Cost, Host, Interval, Mapping, MonitorAttrs, PAGE_SIZE, RegionSnapshot, Rng,
    Snapshot, TargetId, TargetInfo, TargetSnapshot,
};
use daos_record::{End, Flaw, Header, ReadError, Record, Writer};
use std::path::PathBuf;
use tempfile::TempDir;

pub fn header() -> Header {
    Header {
        daos_version: "0.1.0".into(),
        created_unix_s: 1_790_000_000,
        start_monotonic_us: 123_456_789,
        attrs: MonitorAttrs::default(),
        seed: u64::MAX,
        monitor: "windows".into(),
        max_overhead_percent: Some(0.5),
        auto_intervals: true,
        backend: "sim".into(),
        command: vec!["sort".into(), "big file".into()],
        schemes: Vec::new(),
        host: Host {
            kernel: "6.1.0".into(),
            arch: "x86_64".into(),
            hostname: "box".into(),
            cpus: 2,
            mem_total_bytes: 4 << 30,
            page_size: PAGE_SIZE,
        },
    }
}

/// A frame with a right checksum.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(payload);
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame
}

pub fn target(id: u32, name: &str) -> TargetInfo {
    let range = AddrRange::new(0x40_0000, 0x80_0000);
    let mappings = vec![Mapping { range, name: "[heap]".into(), shared: false }];
    TargetInfo {
        id: TargetId(id),
        pid: Some(100 + id),
        name: name.into(),
        mappings,
        cgroup: None,
        memory: None,
        ownership: None,
        page_cache: None,
    }
}

/// The aggregation interval of all snapshots.
pub const AGGREGATION_US: u64 = 100_000;

/// Interval number `index` of a process with `regions` regions in its heap, its
/// mmap area and its stack.
pub fn interval(index: u64, regions: u64, rng: &mut Rng) -> Interval {
    let mut end = 0;
    let region = |place| {
        let (size_bits, age_bits) = (rng.below(16), rng.below(16));
        let areas = [0x5555_5555_4000, 0x7f00_0000_0000, 0x7ffc_0000_0000];
        let area = areas[(place * areas.len() as u64 / regions) as usize];
        let start = if area > end { area } else { end };
        end = start + (1 + rng.below(2 << size_bits)) * PAGE_SIZE;
        RegionSnapshot {
            range: AddrRange::new(start, end),
            access_rate: rng.below(21) as f64 / 20.0,
            unobserved: if rng.below(50) == 0 { (1 + rng.below(20)) as f64 / 20.0 } else { 0.0 },
            age_us: rng.below(1 << age_bits) * AGGREGATION_US,
        }
    };
    let regions_of_target = (0..regions).map(region).collect();
    let snapshot = Snapshot {
        start_us: index * AGGREGATION_US,
        end_us: (index + 1) * AGGREGATION_US,
        aggregation_us: AGGREGATION_US,
        sample_us: 0,
        targets: vec![TargetSnapshot { regions: regions_of_target, ..Default::default() }],
        cost: Cost {
            checks: (0..20).map(|_| (regions - rng.below(3)) as u32).collect(),
            late_ticks: rng.below(2) as u32,
            missed_ticks: 0,
            cpu_us: 1000 + rng.below(1000),
            pages: regions * 9000,
            armed: rng.below(500),
            target_us: rng.below(300),
        },
    };
    snapshot.into()
}

pub fn end() -> End {
    End { reason: "the target ended".into(), exit_status: Some(3), ..End::default() }
}

/// The bytes of a whole record: two targets, `count` snapshots, an end. Also
/// where each frame behind the header ends.
pub fn record(count: u64) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Recorded::default();
    let mut rng = Rng::new(1);
    let mut writer = Writer::new(&mut bytes, &header()).unwrap();
    writer.target(&target(0, "sort")).unwrap();
    for index in 0..count {
        if index == count / 2 {
            writer.target(&target(1, "child")).unwrap();
        }
        writer.interval(&interval(index, 5, &mut rng)).unwrap();
    }
    writer.finish(&end()).unwrap();
    (bytes.bytes, bytes.ends)
}

/// A file in memory that notes where each write ends.
#[derive(Default)]
pub struct Recorded {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
}

impl std::io::Write for Recorded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend(bytes);
        self.ends.push(self.bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A file in a directory that goes away with the test.
pub struct TestFile {
    pub path: PathBuf,
    directory: TempDir,
}

impl TestFile {
    pub fn new(bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record.daos");
        std::fs::write(&path, bytes).unwrap();
        Self { path, directory }
    }

    pub fn record(&self) -> Record {
        Record::open(&self.path).unwrap()
    }

    /// How many of its snapshots can be decoded, and what is wrong then.
    pub fn first_undecodable(&self) -> (usize, Flaw) {
        let intervals: Vec<_> = self.record().intervals().collect();
        match intervals.last() {
            Some(Err(ReadError::Undecodable { flaw, .. })) => (intervals.len() - 1, *flaw),
            other => panic!("{other:?}"),
        }
    }

    /// What `message` says of the file, with its name alone.
    pub fn without_directory(&self, message: impl ToString) -> String {
        let directory = format!("{}/", self.directory.path().display());
        message.to_string().replace(&directory, "")
    }
}
