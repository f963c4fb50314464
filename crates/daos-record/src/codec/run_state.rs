//! The state of page runs that writer and reader share from snapshot to snapshot.
//!
//! Both keep the same: the runs of each target of the last snapshot, with the ages that
//! they have one interval later if nothing is accessed. Only what turned out otherwise is
//! in the record.

use super::stored::{StoredRun, StoredSnapshot};
use super::{runs, varint};
use crate::frame;
use daos_core::TargetId;
use std::collections::{BTreeMap, BTreeSet};

/// The page runs that the next snapshot is expected to have.
#[derive(Debug, Default)]
pub struct RunState {
    /// By target of the last snapshot; those without runs are left out.
    expected: BTreeMap<TargetId, Vec<StoredRun>>,
    /// Read already, for the snapshot that comes next.
    read: BTreeMap<TargetId, Vec<StoredRun>>,
}

impl RunState {
    /// Appends a frame to `out` for each target of `snapshot` whose runs are not as
    /// expected, or says what in them breaks the rules.
    pub fn append_changes(
        &self,
        snapshot: &StoredSnapshot,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let mut ids = BTreeSet::new();
        for target in &snapshot.targets {
            if !ids.insert(target.id) {
                return Err("two targets have the same id");
            }
            runs::check(&target.pages)?;
            let expected = self.expected(target.id);
            if target.pages != expected {
                frame::append(out, frame::PAGES, |out| {
                    varint::put(out, target.id.0.into());
                    runs::encode(expected, &target.pages, out);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Takes in what a frame of page runs holds; `None` when it holds anything else.
    pub fn read(&mut self, mut payload: &[u8]) -> Option<()> {
        let id = TargetId(varint::take_u32(&mut payload)?);
        let runs = runs::decode(self.expected(id), &mut payload)?;
        self.read.insert(id, runs).is_none().then_some(())
    }

    /// Gives the targets of `snapshot`, which was just read, their runs.
    pub fn fill(&mut self, snapshot: &mut StoredSnapshot) {
        for target in &mut snapshot.targets {
            let read = self.read.remove(&target.id);
            let runs = read.or_else(|| self.expected.remove(&target.id));
            target.pages = runs.unwrap_or_default();
        }
        self.read.clear();
        self.take_over(snapshot);
    }

    /// Expects of the next snapshot what follows from this one.
    pub fn take_over(&mut self, snapshot: &StoredSnapshot) {
        let with_runs = snapshot.targets.iter().filter(|target| !target.pages.is_empty());
        let later = |run: &StoredRun| StoredRun {
            age: if run.nr_accesses == 0 { run.age.saturating_add(1) } else { run.age },
            ..*run
        };
        let expected =
            with_runs.map(|target| (target.id, target.pages.iter().map(later).collect()));
        self.expected = expected.collect();
    }

    fn expected(&self, id: TargetId) -> &[StoredRun] {
        self.expected.get(&id).map_or(&[], Vec::as_slice)
    }
}
