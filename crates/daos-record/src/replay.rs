//! The intervals of a record: one by one, and in the place of a monitor.
//!
//! What takes snapshots from a live monitor takes them from a record too, at
//! once and not in the record's time: who wants to wait has `end_us`.

use crate::error::ReadError;
use crate::item::{Item, Items};
use daos_core::{Interval, Snapshot, SnapshotSource, TargetInfo};

/// The intervals of the readable part of a [`Record`](crate::Record), in order.
///
/// Holds one at a time. An error ends it: the file could not be read or decoded, or was
/// changed since the record was opened.
#[derive(Debug)]
pub struct Intervals(pub(crate) Items);

impl Iterator for Intervals {
    type Item = Result<Interval, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|item| match item {
            Ok(Item::Interval(interval)) => Some(Ok(interval)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

/// Plays the readable part of a [`Record`](crate::Record) once.
///
/// A target is handed out with the snapshot that it was recorded before.
#[derive(Debug)]
pub struct Replay {
    items: Items,
    changed: Vec<TargetInfo>,
}

impl Replay {
    pub(crate) fn new(items: Items) -> Self {
        Self { items, changed: Vec::new() }
    }

    /// The next snapshot, with what schemes did then.
    ///
    /// # Errors
    ///
    /// [`ReadError`] when the file can't be read or decoded, or was changed since it was opened.
    pub fn next_interval(&mut self) -> Result<Option<Interval>, ReadError> {
        for item in &mut self.items {
            match item? {
                Item::Interval(interval) => return Ok(Some(interval)),
                Item::Target(target) => {
                    self.changed.retain(|known| known.id != target.id);
                    self.changed.push(target);
                }
                Item::Part | Item::Other => {}
            }
        }
        Ok(None)
    }
}

impl SnapshotSource for Replay {
    type Error = ReadError;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, ReadError> {
        Ok(self.next_interval()?.map(|interval| interval.snapshot))
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        std::mem::take(&mut self.changed)
    }
}
