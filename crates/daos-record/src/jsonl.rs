//! Snapshots as JSON lines, as they come: one line for each target.
//!
//! It is for programs that want to see accesses while they happen, so a snapshot
//! goes out at once and whole. The fields are those of
//! [`SnapshotJson`], as in `report regions --format json`.

use crate::json::SnapshotJson;
use daos_core::Snapshot;
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

    /// Writes the lines of one snapshot, in one write. The error is that of
    /// `out`: `BrokenPipe` when nobody reads on.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        self.buffer.clear();
        for target in &snapshot.targets {
            serde_json::to_writer(&mut self.buffer, &SnapshotJson::new(snapshot, target))?;
            self.buffer.push(b'\n');
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{Action, Done};
    use daos_core::{AddrRange, PageRun, RegionSnapshot, TargetId, TargetSnapshot};

    #[test]
    fn a_line_for_each_target() {
        let region = |nr_unobserved| RegionSnapshot {
            range: AddrRange::new(4096, 12288),
            nr_accesses: 5,
            nr_unobserved,
            age: 3,
        };
        let target = |id, nr_unobserved| TargetSnapshot {
            id: TargetId(id),
            resident_bytes: None,
            regions: vec![region(nr_unobserved)],
            ..TargetSnapshot::default()
        };
        let run = PageRun { range: AddrRange::new(4096, 8192), nr_accesses: 0, age: 2 };
        let finer = TargetSnapshot { pages: vec![run], ..target(8, 0) };
        let paged_out = |target, start, end| Done {
            scheme: 1,
            action: Action::Pageout,
            target: TargetId(target),
            range: AddrRange::new(start, end),
        };
        let snapshot = Snapshot {
            done: vec![
                paged_out(7, 8192, 12288),
                paged_out(8, 4096, 8192),
                paged_out(7, 4096, 8192),
            ],
            start_us: 100,
            end_us: 200,
            aggregation_us: 100,
            sample_us: 0,
            max_nr_accesses: 20,
            targets: vec![target(0, 0), target(7, 10), finer],
            ..Snapshot::default()
        };
        let mut out = Vec::new();
        JsonLines::new(&mut out).snapshot(&snapshot).unwrap();
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
