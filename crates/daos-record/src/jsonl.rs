//! Snapshots as JSON lines, as they come: one line for each target.
//!
//! It is for programs that want to see accesses while they happen, so a snapshot
//! goes out at once and whole. The fields are those of
//! [`SnapshotJson`], as in `report regions --format json`.

use crate::json::SnapshotJson;
use daos_core::Interval;
use std::io::{self, Write};

/// Writes snapshots to `W` as JSON lines.
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

    /// Writes the lines of one interval, in one write. The error is that of
    /// `out`: `BrokenPipe` when nobody reads on.
    pub fn interval(&mut self, interval: &Interval) -> io::Result<()> {
        self.buffer.clear();
        for target in &interval.snapshot.targets {
            serde_json::to_writer(&mut self.buffer, &SnapshotJson::new(interval, target))?;
            self.buffer.push(b'\n');
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{
        Action, AddrRange, Done, PageRun, RegionSnapshot, Snapshot, TargetId, TargetSnapshot,
    };

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
        let finer = TargetSnapshot { pages: vec![run], ..target(8, 0.0) };
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
        let mut out = Vec::new();
        JsonLines::new(&mut out).interval(&interval).unwrap();
        let expected = concat!(
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
            let read: SnapshotJson = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
    }
}
