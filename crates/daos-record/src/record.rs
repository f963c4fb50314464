//! A record that has been opened.
//!
//! Opening reads the file once, from end to end, and decodes every frame. It
//! costs a second for the longest records and buys a plain promise: what an open
//! record counts can be read, and what can't be read is known before a report
//! begins, not in the middle of it. Snapshots are not kept; they are read again
//! when they are asked for.

use crate::damage::{Damage, Extent};
use crate::end::End;
use crate::error::ReadError;
use crate::header::Header;
use crate::identify::identify;
use crate::intervals::Intervals;
use crate::item::Items;
use crate::replay::Replay;
use crate::scan::{Scan, scan};
use daos_core::TargetInfo;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record that has been opened and checked, to the end of what can be read.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: Arc<File>,
    scan: Scan,
}

impl Record {
    /// Opens and checks a record. One that is damaged behind its header opens
    /// too: see [`damage`](Self::damage).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref().to_owned();
        let (file, size) = identify(&path)?;
        let file = Arc::new(file);
        let scan = scan(&path, &file, size)?;
        Ok(Self { path, file, scan })
    }

    /// How, where and of what the record was made.
    pub fn header(&self) -> &Header {
        &self.scan.header
    }

    /// Every target that was recorded, by rising id, as it was known last, with all
    /// that it had mapped at some time.
    pub fn targets(&self) -> impl Iterator<Item = &TargetInfo> {
        self.scan.targets.values()
    }

    /// The schemes that acted while it was recorded, each by its name or its text: those
    /// that it began with, then those that came later. [`Done::scheme`] of its snapshots is
    /// a place in this list.
    ///
    /// [`Done::scheme`]: daos_core::Done::scheme
    pub fn schemes(&self) -> &[String] {
        &self.scan.schemes
    }

    /// How many snapshots can be read, and the time that they span.
    pub fn extent(&self) -> Extent {
        self.scan.extent
    }

    /// Why it ended and what it cost; `None` when the recording was cut off.
    pub fn end(&self) -> Option<&End> {
        self.scan.end.as_ref()
    }

    /// What is wrong with the record, if anything is.
    pub fn damage(&self) -> Option<&Damage> {
        self.scan.damage.as_ref()
    }

    /// The aggregation intervals, from the first. Can be called any number of times.
    pub fn intervals(&self) -> Intervals {
        Intervals(self.items())
    }

    /// The record in the place of a monitor, from the first snapshot.
    pub fn replay(&self) -> Replay {
        Replay::new(self.items())
    }

    fn items(&self) -> Items {
        Items::new(&self.path, Arc::clone(&self.file), self.scan.readable.clone())
    }
}
