//! The one look at every frame of a record.

use crate::damage::{Damage, Extent, Flaw};
use crate::end::End;
use crate::error::ReadError;
use crate::frame::{self, Fault, PRELUDE};
use crate::header::Header;
use crate::item::{Decoder, FileFrames, Item, file_frames, json};
use daos_core::{Interval, TargetId, TargetInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What it found.
#[derive(Debug)]
pub struct Scan {
    pub header: Header,
    /// The frames behind the header that can be read, in bytes of the file.
    pub readable: Range<u64>,
    /// As they were known last.
    pub targets: BTreeMap<TargetId, TargetInfo>,
    /// The labels of all schemes, by their numbers.
    pub schemes: Vec<String>,
    pub extent: Extent,
    pub end: Option<End>,
    pub damage: Option<Damage>,
}

/// Looks at every frame of `file`, of which `size` bytes are to be read.
pub fn scan(path: &Path, file: &Arc<File>, size: u64) -> Result<Scan, ReadError> {
    let offset = PRELUDE as u64;
    let mut frames = file_frames(Arc::clone(file), offset..size);
    let owned = || path.to_owned();
    let unreadable = |offset, source| ReadError::Read { path: owned(), offset, source };
    let header = read_header(&mut frames).map_err(|fault| match fault {
        Fault::Flaw(flaw) => ReadError::Header { path: owned(), flaw },
        Fault::Io(source) => unreadable(offset, source),
    })?;
    let start = frames.offset();
    let mut scan = Scan {
        schemes: header.schemes.clone(),
        header,
        readable: start..start,
        targets: BTreeMap::new(),
        extent: Extent::default(),
        end: None,
        damage: None,
    };
    let mut decoder = Decoder::default();
    loop {
        let offset = frames.offset();
        scan.readable.end = offset;
        match scan.take(&mut frames, &mut decoder) {
            Ok(true) => {}
            Ok(false) => break,
            Err(Fault::Io(source)) => return Err(unreadable(offset, source)),
            Err(Fault::Flaw(flaw)) => {
                scan.damage = Some(Damage { path: owned(), offset, flaw, readable: scan.extent });
                break;
            }
        }
    }
    Ok(scan)
}

fn read_header(frames: &mut FileFrames) -> Result<Header, Fault> {
    match frames.next()? {
        Some((frame::HEADER, payload)) => json(payload).map_err(Fault::Flaw),
        Some(_) => Err(Fault::Flaw(Flaw::Corrupt("another frame stands in its place"))),
        None => Err(Fault::Flaw(Flaw::Corrupt("it is missing"))),
    }
}

impl Scan {
    /// Takes in the next frame; false when there is none.
    fn take(&mut self, frames: &mut FileFrames, decoder: &mut Decoder) -> Result<bool, Fault> {
        let Some((kind, payload)) = frames.next()? else { return Ok(false) };
        if self.end.is_some() {
            return Err(Fault::Flaw(Flaw::Corrupt("there is more behind its last frame")));
        }
        match decoder.decode(kind, payload).map_err(Fault::Flaw)? {
            Item::Target(mut target) => {
                if let Some(before) = self.targets.get(&target.id) {
                    target.remember(&before.mappings);
                }
                self.targets.insert(target.id, target);
            }
            Item::Interval(Interval { snapshot, .. }) => {
                if self.extent.snapshots == 0 {
                    self.extent.start_us = snapshot.start_us;
                }
                self.extent.snapshots += 1;
                self.extent.end_us = snapshot.end_us;
            }
            Item::Schemes(added) => self.schemes.extend(added),
            Item::End(end) => self.end = Some(end),
            Item::Part | Item::Unknown => {}
        }
        Ok(true)
    }
}
