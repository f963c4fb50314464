//! A record that has been opened.
//!
//! Opening reads the file once, from end to end: every frame's checksum, and what a report
//! needs before its first snapshot, which are targets, schemes, the end and the time that
//! all spans. So what a kill, a disk or a copy did to a record is known before a report
//! begins, not in the middle of it. Snapshots are decoded when a report asks for them, once,
//! and not kept: decoded, an hour of a thousand regions is more than a gigabyte. So a frame
//! that is whole and makes no sense, as no disk leaves one, is found when a reader comes to
//! it: [`ReadError::Undecodable`].

use crate::codec;
use crate::damage::{Damage, Extent, Flaw};
use crate::error::ReadError;
use crate::frame::{self, Fault, PRELUDE};
use crate::header::{End, Header};
use crate::identify::identify;
use crate::item::{FileFrames, Items, file_frames, json, target};
use crate::replay::{Intervals, Replay};
use crate::schemes::Added;
use daos_core::{PageCache, TargetId, TargetInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are kept of a name, as each part of a mapping that is remembered has
/// its own. Chosen: more than reports show.
const LONGEST_NAME: usize = 512;

/// A record that has been opened and checked, to the end of what can be read.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    file: Arc<File>,
    header: Header,
    /// The frames behind the header that can be read, in bytes of the file.
    readable: Range<u64>,
    /// As they were known last.
    targets: BTreeMap<TargetId, TargetInfo>,
    /// As it was known last.
    page_cache: Option<PageCache>,
    /// The labels of all schemes, by their numbers.
    schemes: Vec<String>,
    extent: Extent,
    end: Option<End>,
    damage: Option<Damage>,
}

impl Record {
    /// Opens and checks a record. One that is damaged behind its header opens
    /// too: see [`damage`](Self::damage).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref().to_owned();
        let (file, size) = identify(&path)?;
        let file = Arc::new(file);
        let mut frames = file_frames(Arc::clone(&file), PRELUDE as u64..size);
        let header = read_header(&mut frames).map_err(|fault| match fault {
            Fault::Flaw(flaw) => ReadError::Header { path: path.clone(), flaw },
            Fault::Io(source) => {
                ReadError::Read { path: path.clone(), offset: PRELUDE as u64, source }
            }
        })?;
        let start = frames.offset();
        let mut record = Self {
            path,
            file,
            schemes: header.schemes.clone(),
            header,
            readable: start..start,
            targets: BTreeMap::new(),
            page_cache: None,
            extent: Extent::default(),
            end: None,
            damage: None,
        };
        record.check(&mut frames)?;
        Ok(record)
    }

    /// Checks frame after frame, up to the end or the first flaw.
    fn check(&mut self, frames: &mut FileFrames) -> Result<(), ReadError> {
        loop {
            let offset = frames.offset();
            self.readable.end = offset;
            let checked = match frames.next() {
                Ok(None) => return Ok(()),
                Ok(Some((kind, payload))) => self.take(kind, payload),
                Err(Fault::Flaw(flaw)) => Err(flaw),
                Err(Fault::Io(source)) => {
                    return Err(ReadError::Read { path: self.path.clone(), offset, source });
                }
            };
            if let Err(flaw) = checked {
                let (path, readable) = (self.path.clone(), self.extent);
                self.damage = Some(Damage { path, offset, flaw, readable });
                return Ok(());
            }
        }
    }

    /// Takes in what the frame behind those before says of the whole record.
    fn take(&mut self, kind: u8, payload: &[u8]) -> Result<(), Flaw> {
        if self.end.is_some() {
            return Err(Flaw::Corrupt("there is more behind its last frame"));
        }
        match kind {
            frame::TARGET => {
                let mut target = target(payload)?;
                if target.id == TargetId::PAGE_CACHE {
                    self.page_cache = target.page_cache;
                    return Ok(());
                }
                shorten(&mut target.name);
                target.mappings.iter_mut().for_each(|mapping| shorten(&mut mapping.name));
                let owners = target.ownership.iter_mut().flat_map(|all| &mut all.owners);
                owners.for_each(|owner| shorten(&mut owner.name));
                if let Some(before) = self.targets.remove(&target.id) {
                    target.remember(before);
                }
                self.targets.insert(target.id, target);
            }
            frame::SNAPSHOT => {
                let span = codec::span_us(payload);
                let (start_us, end_us) = span.ok_or(Flaw::Corrupt("a snapshot has no time"))?;
                if self.extent.snapshots == 0 {
                    self.extent.start_us = start_us;
                } else if start_us < self.extent.end_us {
                    return Err(Flaw::Corrupt("a snapshot begins before the last one ended"));
                }
                self.extent.snapshots += 1;
                self.extent.end_us = end_us;
            }
            frame::SCHEMES => self.schemes.extend(json::<Added>(payload)?.schemes),
            frame::END => self.end = Some(json(payload)?),
            _ => {}
        }
        Ok(())
    }

    /// How, where and of what the record was made.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Every target that was recorded, by rising id, as it was known last, with all
    /// that it had mapped at some time, and who had it.
    pub fn targets(&self) -> impl Iterator<Item = &TargetInfo> {
        self.targets.values()
    }

    /// The page cache that nobody mapped, as it was known last, if anybody looked.
    pub fn page_cache(&self) -> Option<PageCache> {
        self.page_cache
    }

    /// The schemes that acted while it was recorded, each by its name or its text: those
    /// that it began with, then those that came later. [`Done::scheme`] of its snapshots is
    /// a place in this list.
    ///
    /// [`Done::scheme`]: daos_core::Done::scheme
    pub fn schemes(&self) -> &[String] {
        &self.schemes
    }

    /// How many snapshots there are up to the end or the damage, and the time that they span.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Why it ended and what it cost; `None` when the recording was cut off.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// What is wrong with the record, if anything is.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// The aggregation intervals, from the first, decoded as they are asked for. Can be called any
    /// number of times.
    pub fn intervals(&self) -> Intervals {
        Intervals(self.items())
    }

    /// The record in the place of a monitor, from the first snapshot.
    pub fn replay(&self) -> Replay {
        Replay::new(self.items())
    }

    fn items(&self) -> Items {
        Items::new(&self.path, Arc::clone(&self.file), self.readable.clone())
    }
}

/// Cuts the name of a target or mapping to [`LONGEST_NAME`].
fn shorten(name: &mut String) {
    let end = (0..=LONGEST_NAME).rev().find(|&end| name.is_char_boundary(end));
    name.truncate(end.unwrap_or(0));
}

fn read_header(frames: &mut FileFrames) -> Result<Header, Fault> {
    match frames.next()? {
        Some((frame::HEADER, payload)) => json(payload).map_err(Fault::Flaw),
        Some(_) => Err(Fault::Flaw(Flaw::Corrupt("another frame stands in its place"))),
        None => Err(Fault::Flaw(Flaw::Corrupt("it is missing"))),
    }
}
