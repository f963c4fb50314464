//! The state of page runs that writer and reader share from snapshot to snapshot.
//!
//! Both keep the same: the runs of each target of the last snapshot, with the ages that
//! they have one interval later if nothing is accessed. Only what turned out otherwise is
//! in the record.
//!
//! Runs that are as expected take no bytes, so a few bytes could make a reader go through
//! millions, again and again. So they may be [repeated](Repeats) only so often.

use super::runs::{self, Edit};
use super::stored::{StoredRun, StoredSnapshot};
use super::varint;
use crate::frame;
use daos_core::TargetId;
use std::collections::{BTreeMap, BTreeSet};

/// The page runs that the next snapshot is expected to have.
#[derive(Debug, Default)]
pub struct RunState {
    /// By target of the last snapshot; those without runs are left out.
    expected: BTreeMap<TargetId, Expected>,
    /// Read already, for the snapshot that comes next.
    read: BTreeMap<TargetId, Vec<StoredRun>>,
    /// Up to the last snapshot, and with what was read or written for the next.
    repeats: Repeats,
    next: Repeats,
}

/// Runs, and the intervals since.
#[derive(Debug, Default)]
struct Expected {
    runs: Vec<StoredRun>,
    later: u32,
}

impl Expected {
    /// The runs with the ages that they have by now.
    fn runs(&mut self) -> &mut Vec<StoredRun> {
        let later = std::mem::take(&mut self.later);
        if later > 0 {
            let idle = self.runs.iter_mut().filter(|run| run.nr_accesses == 0);
            idle.for_each(|run| run.age = run.age.saturating_add(later));
        }
        &mut self.runs
    }
}

/// How many runs all snapshots have, and how many of these the record holds.
#[derive(Debug, Clone, Copy, Default)]
struct Repeats {
    held: u64,
    new: u64,
}

impl Repeats {
    /// Runs that snapshots may have without any that are new. Chosen: five minutes of 5000
    /// runs; a reader takes less than a second for them.
    const FREE: u64 = 1 << 24;
    /// Runs that snapshots may have for each that is new. Chosen: a list that is written again
    /// every 128 snapshots takes few bytes, and a record of a megabyte, where each new run takes
    /// three bytes at least, has 60 million runs at most.
    const FOR_EACH_NEW: u64 = 128;

    fn with(self, held: usize, new: u64) -> Self {
        let held = self.held.saturating_add(held as u64);
        Self { held, new: self.new.saturating_add(new) }
    }

    fn are_allowed(self) -> bool {
        self.held <= self.new.saturating_mul(Self::FOR_EACH_NEW).saturating_add(Self::FREE)
    }
}

impl RunState {
    /// Appends a frame to `out` for each target of `snapshot` whose runs are not as
    /// expected or have been repeated as often as they may, or says what in them breaks the
    /// rules.
    pub fn append_changes(
        &mut self,
        snapshot: &StoredSnapshot,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        self.next = self.repeats;
        let mut ids = BTreeSet::new();
        for target in &snapshot.targets {
            if !ids.insert(target.id) {
                return Err("two targets have the same id");
            }
            let before = self.expected.get_mut(&target.id);
            if target.as_expected {
                let held = before.as_ref().map_or(0, |before| before.runs.len());
                if self.next.with(held, 0).are_allowed() {
                    self.next = self.next.with(held, 0);
                    continue;
                }
            }
            let expected = before.map_or(&[][..], |before| before.runs());
            let pages = if target.as_expected { expected } else { &target.pages };
            runs::check(pages)?;
            let held = pages.len();
            let with = |edits: &[Edit]| {
                self.next.with(held, edits.iter().map(|edit| edit.new as u64).sum())
            };
            let mut edits = runs::edits(expected, pages);
            if !with(&edits).are_allowed() {
                edits = vec![Edit { kept: 0, dropped: expected.len(), new: held }];
            }
            if !edits.is_empty() {
                frame::append(out, frame::PAGES, |out| {
                    varint::put(out, target.id.0.into());
                    runs::encode(expected.len(), pages, &edits, out);
                    Ok(())
                })?;
            }
            self.next = with(&edits);
        }
        Ok(())
    }

    /// Takes in what a frame of page runs holds; `None` when it holds anything else.
    pub fn read(&mut self, mut payload: &[u8]) -> Option<()> {
        let id = TargetId(varint::take_u32(&mut payload)?);
        let expected = self.expected.get_mut(&id).map_or(&[][..], |expected| expected.runs());
        let (runs, new) = runs::decode(expected, &mut payload)?;
        self.next = self.next.with(0, new);
        self.read.insert(id, runs).is_none().then_some(())
    }

    /// Gives the targets of `snapshot`, which was just read, their runs; `None` when they are
    /// repeated more often than they may.
    pub fn fill(&mut self, snapshot: &mut StoredSnapshot) -> Option<()> {
        for target in &mut snapshot.targets {
            let read = self.read.remove(&target.id);
            let expected =
                || self.expected.remove(&target.id).map(|mut e| std::mem::take(e.runs()));
            target.pages = read.or_else(expected).unwrap_or_default();
            self.next = self.next.with(target.pages.len(), 0);
        }
        self.read.clear();
        self.take_over(snapshot);
        self.repeats.are_allowed().then_some(())
    }

    /// Expects of the next snapshot what follows from this one.
    pub fn take_over(&mut self, snapshot: &StoredSnapshot) {
        let mut before = std::mem::take(&mut self.expected);
        for target in &snapshot.targets {
            let next = if target.as_expected {
                before.remove(&target.id)
            } else {
                Some(Expected { runs: target.pages.clone(), later: 0 })
            };
            if let Some(mut next) = next.filter(|next| !next.runs.is_empty()) {
                next.later = next.later.saturating_add(1);
                self.expected.insert(target.id, next);
            }
        }
        self.repeats = self.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::stored::StoredTarget;
    use daos_core::{AddrRange, PAGE_SIZE};

    const RUNS: u64 = 100_000;
    /// More than may have these runs if they are new once.
    const SNAPSHOTS: u64 = Repeats::FREE / RUNS + Repeats::FOR_EACH_NEW + 1;

    /// One target with many runs, all in use, so that they stay as they are.
    fn snapshot() -> StoredSnapshot {
        let run = |at| StoredRun {
            range: AddrRange::new(2 * at * PAGE_SIZE, (2 * at + 1) * PAGE_SIZE),
            nr_accesses: 1,
            age: 0,
        };
        let target = StoredTarget { pages: (0..RUNS).map(run).collect(), ..Default::default() };
        StoredSnapshot { targets: vec![target], ..StoredSnapshot::default() }
    }

    /// The payload of the frame in `bytes`, if there is one.
    fn payload(bytes: &[u8]) -> Option<Vec<u8>> {
        let mut frames = frame::Frames::new(bytes, 0..bytes.len() as u64);
        frames.next().unwrap().map(|(_, payload)| payload.to_vec())
    }

    #[test]
    fn runs_are_written_anew_before_they_are_repeated_too_often() {
        let (mut writer, mut reader, mut careless) = <(RunState, RunState, RunState)>::default();
        let whole = snapshot();
        let mut written = 0;
        for moment in 0..SNAPSHOTS {
            let mut bytes = Vec::new();
            writer.append_changes(&whole, &mut bytes).unwrap();
            writer.take_over(&whole);
            let payload = payload(&bytes);
            written += usize::from(payload.is_some());
            payload.iter().for_each(|payload| reader.read(payload).unwrap());
            let mut read = whole.clone();
            read.targets[0].pages.clear();
            let mut same = read.clone();
            assert_eq!(reader.fill(&mut read), Some(()), "{moment}");
            assert!(read == whole);
            // Who is told but once refuses the last.
            payload.iter().take(usize::from(moment == 0)).for_each(|payload| {
                careless.read(payload).unwrap();
            });
            assert_eq!(careless.fill(&mut same).is_some(), moment < SNAPSHOTS - 1, "{moment}");
        }
        assert_eq!(written, 2);
    }
}
