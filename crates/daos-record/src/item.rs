//! From frames to what they hold.

use crate::codec::run_state::ReadRuns;
use crate::codec::working_sets::{self, ByTarget};
use crate::codec::{self, done};
use crate::damage::Flaw;
use crate::error::ReadError;
use crate::frame::{self, Fault, Frames};
use daos_core::{Done, Interval, Ownership, TargetInfo};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a frame behind the header holds.
#[derive(Debug)]
pub enum Item {
    Target(TargetInfo),
    Interval(Interval),
    /// A part of the snapshot that comes next, which will have it.
    Part,
    /// What was read when the record was opened, or a kind that only later releases know.
    Other,
}

/// Decodes frame after frame, from the first behind the header.
#[derive(Debug, Default)]
pub struct Decoder {
    runs: ReadRuns,
    /// Read already, for the snapshot that comes next.
    done: Option<Vec<Done>>,
    working_sets: Option<ByTarget>,
}

impl Decoder {
    /// What the next frame, of this kind and payload, holds.
    pub fn decode(&mut self, kind: u8, payload: &[u8]) -> Result<Item, Flaw> {
        match kind {
            frame::TARGET => target(payload).map(Item::Target),
            frame::PAGES => match self.runs.read(payload) {
                Some(()) => Ok(Item::Part),
                None => Err(Flaw::Corrupt("page runs can't be decoded")),
            },
            frame::RATES => match self.runs.read_rates(payload) {
                Some(()) => Ok(Item::Part),
                None => Err(Flaw::Corrupt("access rates of page runs can't be decoded")),
            },
            frame::DONE => match (done::decode(payload), &self.done) {
                (Some(done), None) => {
                    self.done = Some(done);
                    Ok(Item::Part)
                }
                _ => Err(Flaw::Corrupt("what schemes did can't be decoded")),
            },
            frame::WORKING_SETS => match (working_sets::decode(payload), &self.working_sets) {
                (Some(sets), None) => {
                    self.working_sets = Some(sets);
                    Ok(Item::Part)
                }
                _ => Err(Flaw::Corrupt("working sets can't be decoded")),
            },
            frame::SNAPSHOT => match codec::decode(payload) {
                Some(mut snapshot) => {
                    let filled = self.runs.fill(&mut snapshot);
                    filled.ok_or(Flaw::Corrupt("page runs are repeated too often"))?;
                    let mut sets = self.working_sets.take().unwrap_or_default();
                    for target in &mut snapshot.targets {
                        target.working_sets = sets.remove(&target.id);
                    }
                    let done = self.done.take().unwrap_or_default();
                    Ok(Item::Interval(Interval { snapshot: snapshot.restored(), done }))
                }
                None => Err(Flaw::Corrupt("a snapshot can't be decoded")),
            },
            _ => Ok(Item::Other),
        }
    }
}

/// The target that `payload`, which is JSON, holds: its mappings are not empty, sorted and
/// disjoint, and who has which part of it is sound.
pub fn target(payload: &[u8]) -> Result<TargetInfo, Flaw> {
    let target: TargetInfo = json(payload)?;
    let mappings = &target.mappings;
    let are_ranges = mappings.iter().all(|mapping| mapping.range.start < mapping.range.end);
    let in_order = mappings.is_sorted_by(|before, next| before.range.end <= next.range.start);
    if !(are_ranges && in_order) {
        return Err(Flaw::Corrupt("the mappings of a target are not sorted and disjoint"));
    }
    match target.ownership.as_ref().is_none_or(Ownership::is_sound) {
        true => Ok(target),
        false => Err(Flaw::Corrupt("who has which part of a target does not add up")),
    }
}

/// The value of a frame whose payload is JSON.
pub fn json<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Flaw> {
    serde_json::from_slice(payload)
        .map_err(|_| Flaw::Corrupt("the JSON of a frame does not have the fields it should have"))
}

/// The frames of a file.
pub type FileFrames = Frames<BufReader<FileAt>>;

/// The frames in these bytes of `file`.
pub fn file_frames(file: Arc<File>, bytes: Range<u64>) -> FileFrames {
    let input = BufReader::new(FileAt { file, offset: bytes.start });
    Frames::new(input, bytes)
}

/// A file read from a place of one's own, so that several readers can share it.
#[derive(Debug)]
pub struct FileAt {
    file: Arc<File>,
    offset: u64,
}

impl Read for FileAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// The items of the readable part of a record, which was whole when it was opened.
#[derive(Debug)]
pub struct Items {
    path: PathBuf,
    /// `None` behind an error.
    frames: Option<FileFrames>,
    decoder: Decoder,
}

impl Items {
    /// The items in these bytes of `file`, from frame to frame.
    pub fn new(path: &Path, file: Arc<File>, bytes: Range<u64>) -> Self {
        let frames = file_frames(file, bytes);
        Self { path: path.to_owned(), frames: Some(frames), decoder: Decoder::default() }
    }

    fn read(&mut self, frames: &mut FileFrames) -> Result<Option<Item>, ReadError> {
        let offset = frames.offset();
        let path = || self.path.clone();
        match frames.next() {
            Ok(None) => Ok(None),
            Ok(Some((kind, payload))) => match self.decoder.decode(kind, payload) {
                Ok(item) => Ok(Some(item)),
                Err(flaw) => Err(ReadError::Undecodable { path: path(), offset, flaw }),
            },
            Err(Fault::Flaw(flaw)) => Err(ReadError::Changed { path: path(), offset, flaw }),
            Err(Fault::Io(source)) => Err(ReadError::Read { path: path(), offset, source }),
        }
    }
}

impl Iterator for Items {
    type Item = Result<Item, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut frames = self.frames.take()?;
        let item = self.read(&mut frames).transpose();
        if matches!(item, Some(Ok(_))) {
            self.frames = Some(frames);
        }
        item
    }
}
