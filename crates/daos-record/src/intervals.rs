//! The aggregation intervals of a record, one by one.

use crate::error::ReadError;
use crate::item::{Item, Items};
use daos_core::Interval;

/// The intervals of the readable part of a [`Record`](crate::Record), in order.
///
/// Holds one at a time. An error ends it: the file could not be read, or was
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
