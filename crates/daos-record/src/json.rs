//! Snapshots as JSON, one value for each target.
//!
//! Two things that don't know each other write it: [`JsonLines`], the live stream of a
//! recording, and the report of a record. A script that reads one reads the other. The
//! stream is for programs that want to see accesses while they happen, so a snapshot goes
//! out at once and whole, behind who its targets are where that is news.

use daos_core::{Action, Done, Interval, RegionSnapshot, TargetId, TargetInfo, TargetSnapshot};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// A line of the live stream, for who reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LineJson {
    /// What was seen of a target in an interval.
    Snapshot(SnapshotJson),
    /// Who a target is, and what it has mapped: before its first snapshot, and when that changes.
    Target(TargetInfo),
    /// The schemes that are in force from here on.
    Schemes {
        /// Each by its name or its text; a [`DoneJson::scheme`] is a place in this list.
        schemes: Vec<String>,
    },
}

/// The regions of one target in one aggregation interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SnapshotJson {
    /// When the interval began, in microseconds since monitoring began.
    pub start_us: u64,
    /// When it ended.
    pub end_us: u64,
    /// Which target.
    pub target: TargetId,
    /// Sorted, disjoint.
    pub regions: Vec<RegionJson>,
    /// What schemes did to it at the end of the interval, by scheme, action and address.
    /// Left out when they did nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<DoneJson>,
}

/// Memory that a scheme acted on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoneJson {
    /// The scheme, by its place in the list.
    pub scheme: u32,
    /// What was done.
    pub action: Action,
    /// Address of its first byte.
    pub start: u64,
    /// Address of the first byte behind it.
    pub end: u64,
}

/// One region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegionJson {
    /// Address of its first byte.
    pub start: u64,
    /// Address of the first byte behind it.
    pub end: u64,
    /// The chance that a page is accessed within one sampling interval, 0 to 1.
    pub access_rate: f64,
    /// How long the access frequency has been what it is, in microseconds.
    pub age_us: u64,
    /// The share of checks that could not be observed, 0 to 1; left out when 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unobserved: f64,
    /// What is known to the page: `[start, end, age_us]` of each run of neighbouring
    /// pages, by rising address. The age is the time in microseconds since the last
    /// access that was seen, 0 for pages in use. Left out when nothing is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<[u64; 3]>,
}

impl SnapshotJson {
    /// What `interval` says of `target`, which is one of its targets.
    pub fn new(interval: &Interval, target: &TargetSnapshot) -> Self {
        let snapshot = &interval.snapshot;
        Self {
            start_us: snapshot.start_us,
            end_us: snapshot.end_us,
            target: target.id,
            regions: target.regions.iter().map(|r| RegionJson::new(target, r)).collect(),
            done: done_to(&interval.done, target.id),
        }
    }
}

fn done_to(done: &[Done], target: TargetId) -> Vec<DoneJson> {
    let of_target = done.iter().filter(|done| done.target == target).copied();
    let json = |Done { scheme, action, range, .. }| DoneJson {
        scheme,
        action,
        start: range.start,
        end: range.end,
    };
    Done::joined(of_target).into_iter().map(json).collect()
}

impl RegionJson {
    /// What `target` says of `region`, which is one of its regions.
    pub fn new(target: &TargetSnapshot, region: &RegionSnapshot) -> Self {
        let RegionSnapshot { range, access_rate, unobserved, age_us } = *region;
        let pages = target.runs_in(range).map(|run| [run.range.start, run.range.end, run.age_us]);
        Self {
            start: range.start,
            end: range.end,
            access_rate: six_decimals(access_rate),
            age_us,
            unobserved: six_decimals(unobserved),
            pages: pages.collect(),
        }
    }
}

/// A number to six decimals: enough for any rate, short, and without the rounding errors of
/// a mean.
pub fn six_decimals(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// Writes what is seen to `W` as JSON lines, a [`LineJson`] each: a snapshot for each target, and
/// who the targets are.
#[derive(Debug)]
pub struct JsonLines<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, buffer: Vec::new() }
    }

    /// From here on, these schemes are in force. It is written with the next interval.
    pub fn schemes(&mut self, schemes: &[String]) -> io::Result<()> {
        self.line(&LineJson::Schemes { schemes: schemes.to_vec() })
    }

    /// Writes targets that are new or changed and the snapshots of one interval, in one write. The
    /// error is that of `out`: `BrokenPipe` when nobody reads on.
    pub fn interval(&mut self, targets: &[TargetInfo], interval: &Interval) -> io::Result<()> {
        targets.iter().try_for_each(|target| self.line(target))?;
        for target in &interval.snapshot.targets {
            self.line(&SnapshotJson::new(interval, target))?;
        }
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{AddrRange, Mapping, PageRun, Snapshot};

    #[test]
    fn each_region_has_its_part_of_the_page_runs() {
        let region = |start, end| RegionSnapshot {
            range: AddrRange::new(start, end),
            access_rate: 0.25,
            unobserved: 0.0,
            age_us: 0,
        };
        let run = |start, end, age_us| PageRun {
            range: AddrRange::new(start, end),
            access_rate: 0.0,
            age_us,
        };
        let target = TargetSnapshot {
            regions: vec![region(0, 8192), region(8192, 20480), region(40960, 45056)],
            pages: vec![run(0, 4096, 0), run(4096, 12288, 300), run(16384, 20480, 100)].into(),
            ..TargetSnapshot::default()
        };
        let json = SnapshotJson::new(&Interval::default(), &target);
        let pages: Vec<_> = json.regions.iter().map(|region| &region.pages[..]).collect();
        let expected: [&[[u64; 3]]; 3] =
            [&[[0, 4096, 0], [4096, 8192, 300]], &[[8192, 12288, 300], [16384, 20480, 100]], &[]];
        assert_eq!(pages, expected);
    }

    #[test]
    fn a_line_for_each_target() {
        let region = |unobserved| RegionSnapshot {
            range: AddrRange::new(4096, 12288),
            access_rate: 0.25,
            unobserved,
            age_us: 300,
        };
        let target = |id, unobserved| TargetSnapshot {
            id: TargetId(id),
            resident_bytes: None,
            regions: vec![region(unobserved)],
            ..TargetSnapshot::default()
        };
        let run = PageRun { range: AddrRange::new(4096, 8192), access_rate: 0.0, age_us: 200 };
        let finer = TargetSnapshot { pages: vec![run].into(), ..target(8, 0.0) };
        let paged_out = |target, start, end| Done {
            scheme: 1,
            action: Action::Pageout,
            target: TargetId(target),
            range: AddrRange::new(start, end),
        };
        let interval = Interval {
            snapshot: Snapshot {
                start_us: 100,
                end_us: 200,
                aggregation_us: 100,
                targets: vec![target(0, 0.0), target(7, 0.5), finer],
                ..Snapshot::default()
            },
            done: vec![
                paged_out(7, 8192, 12288),
                paged_out(8, 4096, 8192),
                paged_out(7, 4096, 8192),
            ],
        };
        let info = TargetInfo {
            id: TargetId(7),
            pid: Some(4711),
            name: "sort big".into(),
            mappings: vec![Mapping {
                range: AddrRange::new(4096, 12288),
                name: "[heap]".into(),
                shared: false,
            }],
            cgroup: None,
            memory: None,
            ownership: None,
            page_cache: None,
        };
        let mut out = Vec::new();
        let mut lines = JsonLines::new(&mut out);
        lines.schemes(&["prcl".into(), "ethp".into()]).unwrap();
        lines.interval(&[info], &interval).unwrap();
        let expected = concat!(
            r#"{"schemes":["prcl","ethp"]}"#,
            "\n",
            r#"{"id":7,"pid":4711,"name":"sort big","mappings":["#,
            r#"{"start":4096,"end":12288,"name":"[heap]"}]}"#,
            "\n",
            r#"{"start_us":100,"end_us":200,"target":0,"regions":["#,
            r#"{"start":4096,"end":12288,"access_rate":0.25,"age_us":300}]}"#,
            "\n",
            r#"{"start_us":100,"end_us":200,"target":7,"regions":["#,
            r#"{"start":4096,"end":12288,"access_rate":0.25,"age_us":300,"unobserved":0.5}],"#,
            r#""done":[{"scheme":1,"action":"pageout","start":4096,"end":12288}]}"#,
            "\n",
            r#"{"start_us":100,"end_us":200,"target":8,"regions":["#,
            r#"{"start":4096,"end":12288,"access_rate":0.25,"age_us":300,"pages":[[4096,8192,200]]}],"#,
            r#""done":[{"scheme":1,"action":"pageout","start":4096,"end":8192}]}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        for line in expected.lines() {
            let read: LineJson = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
    }
}
