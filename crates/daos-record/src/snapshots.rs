//! The snapshots of a record, one by one.

use crate::error::ReadError;
use crate::item::{Item, Items};
use daos_core::Snapshot;

/// The snapshots of the readable part of a [`Record`](crate::Record), in order.
///
/// Holds one at a time. An error ends it: the file could not be read, or was
/// changed since the record was opened.
#[derive(Debug)]
pub struct Snapshots(pub(crate) Items);

impl Iterator for Snapshots {
    type Item = Result<Snapshot, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|item| match item {
            Ok(Item::Snapshot(snapshot)) => Some(Ok(snapshot)),
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        })
    }
}
