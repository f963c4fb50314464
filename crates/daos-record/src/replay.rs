//! A record in the place of a monitor.
//!
//! What takes snapshots from a live monitor takes them from a record too, at
//! once and not in the record's time: who wants to wait has `end_us`.

use crate::error::ReadError;
use crate::item::{Item, Items};
use daos_core::{Snapshot, SnapshotSource, TargetInfo};

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
}

impl SnapshotSource for Replay {
    type Error = ReadError;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, ReadError> {
        for item in &mut self.items {
            match item? {
                Item::Snapshot(snapshot) => return Ok(Some(snapshot)),
                Item::Target(target) => {
                    self.changed.retain(|known| known.id != target.id);
                    self.changed.push(target);
                }
                Item::Schemes(_) | Item::End(_) | Item::Part | Item::Unknown => {}
            }
        }
        Ok(None)
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        std::mem::take(&mut self.changed)
    }
}
