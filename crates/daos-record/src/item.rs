//! From frames to what they hold.

use crate::codec;
use crate::damage::Flaw;
use crate::end::End;
use crate::error::ReadError;
use crate::frame::{self, Fault, Frames};
use daos_core::{Snapshot, TargetInfo};
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
    Snapshot(Snapshot),
    End(End),
    /// A kind that only later releases know.
    Unknown,
}

impl Item {
    /// What a frame of this kind and payload holds.
    pub fn decode(kind: u8, payload: &[u8]) -> Result<Self, Flaw> {
        match kind {
            frame::TARGET => json(payload).map(Self::Target),
            frame::SNAPSHOT => codec::decode(payload)
                .map(Self::Snapshot)
                .ok_or(Flaw::Corrupt("a snapshot can't be decoded")),
            frame::END => json(payload).map(Self::End),
            _ => Ok(Self::Unknown),
        }
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
}

impl Items {
    /// The items in these bytes of `file`, from frame to frame.
    pub fn new(path: &Path, file: Arc<File>, bytes: Range<u64>) -> Self {
        let frames = file_frames(file, bytes);
        Self { path: path.to_owned(), frames: Some(frames) }
    }

    fn read(&self, frames: &mut FileFrames) -> Result<Option<Item>, ReadError> {
        let offset = frames.offset();
        let path = || self.path.clone();
        let item = match frames.next() {
            Ok(None) => return Ok(None),
            Ok(Some((kind, payload))) => Item::decode(kind, payload),
            Err(Fault::Flaw(flaw)) => Err(flaw),
            Err(Fault::Io(source)) => return Err(ReadError::Read { path: path(), offset, source }),
        };
        item.map(Some).map_err(|flaw| ReadError::Changed { path: path(), offset, flaw })
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
