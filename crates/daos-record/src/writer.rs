//! Writes a record, frame by frame.
//!
//! A frame is put together in memory and handed to the kernel in one write, a
//! snapshot in the same write as the page runs that belong to it, and what schemes did.
//! Nothing waits in this process, so nothing is lost when it is killed. At one
//! write an aggregation interval, that is ten writes a second.

use crate::codec::run_state::WrittenRuns;
use crate::codec::stored::StoredSnapshot;
use crate::codec::{self, done, working_sets};
use crate::error::WriteError;
use crate::frame::{self, MAGIC};
use crate::header::{End, Header};
use crate::place;
use crate::schemes::{Added, Numbers};
use daos_core::{Done, Interval, TargetInfo};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::Serialize;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that a new file must have room for. Chosen: what most file systems give out at least, and
/// more than a usual header.
const BLOCK: usize = 4096;

/// Writes a record to `W`, which should not buffer.
///
/// After an error of the system the record may end inside a frame. Readers cope
/// with that; what is written behind it is lost to them.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Where it goes, where that has a name.
    path: Option<PathBuf>,
    /// Whether the header is there, so that what was written can be read.
    begun: bool,
    /// What is to be written next.
    buffer: Vec<u8>,
    /// The page runs that a reader expects.
    runs: WrittenRuns,
    /// The schemes of the record.
    schemes: Numbers,
}

impl<W: Write> Writer<W> {
    /// Begins a record.
    pub fn new(out: W, header: &Header) -> Result<Self, WriteError> {
        let mut writer = Self::to(out, None);
        writer.begin(header)?;
        Ok(writer)
    }

    /// Records a target that is new or whose mappings changed, in front of the
    /// first snapshot that it holds for.
    pub fn target(&mut self, target: &TargetInfo) -> Result<(), WriteError> {
        self.write(frame::TARGET, |out| json(target, out))
    }

    /// From the next snapshot on, these schemes are in force, each by its name or its text,
    /// and [`Done::scheme`] is the place in this list. A scheme that was in force before
    /// under the same label is the same scheme. Those of the header are in force from the
    /// start.
    pub fn schemes(&mut self, schemes: &[String]) -> Result<(), WriteError> {
        match self.schemes.replace(schemes) {
            added if added.is_empty() => Ok(()),
            added => self.write(frame::SCHEMES, |out| json(&Added { schemes: added }, out)),
        }
    }

    /// Records an interval. Rates are read again to a millionth, ages in whole aggregation
    /// intervals, and what schemes did by scheme, action, target and address, neighbours
    /// joined.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), WriteError> {
        let framed = self.append(interval);
        self.send(framed)?;
        self.runs.take_over();
        Ok(())
    }

    /// Ends the record.
    pub fn finish(mut self, end: &End) -> Result<(), WriteError> {
        self.write(frame::END, |out| json(end, out))
    }

    /// Appends to the buffer the frames of a snapshot and of what schemes did.
    fn append(&mut self, Interval { snapshot, done }: &Interval) -> Result<(), &'static str> {
        self.runs.append_changes(snapshot, &mut self.buffer)?;
        let snapshot = &StoredSnapshot::of(snapshot);
        let number = |done: &Done| Done { scheme: self.schemes.number(done.scheme), ..*done };
        let done = Done::joined(done.iter().map(number));
        if !done.is_empty() {
            frame::append(&mut self.buffer, frame::DONE, |out| done::encode(&done, out))?;
        }
        if working_sets::are_in(snapshot) {
            frame::append(&mut self.buffer, frame::WORKING_SETS, |out| {
                working_sets::encode(snapshot, out);
                Ok(())
            })?;
        }
        frame::append(&mut self.buffer, frame::SNAPSHOT, |out| codec::encode(snapshot, out))
    }

    fn to(out: W, path: Option<PathBuf>) -> Self {
        Self {
            out,
            path,
            begun: false,
            buffer: Vec::new(),
            runs: WrittenRuns::default(),
            schemes: Numbers::default(),
        }
    }

    fn begin(&mut self, header: &Header) -> Result<(), WriteError> {
        self.schemes = Numbers::new(&header.schemes);
        self.buffer = frame::prelude();
        self.write(frame::HEADER, |out| json(header, out))?;
        self.begun = true;
        Ok(())
    }

    /// Writes one frame, behind what the buffer already holds.
    fn write(
        &mut self,
        kind: u8,
        payload: impl FnOnce(&mut Vec<u8>) -> Result<(), &'static str>,
    ) -> Result<(), WriteError> {
        let framed = frame::append(&mut self.buffer, kind, payload);
        self.send(framed)
    }

    /// Writes the buffer, unless what was to be put into it was refused.
    fn send(&mut self, framed: Result<(), &'static str>) -> Result<(), WriteError> {
        if let Err(refusal) = framed {
            self.buffer.clear();
            return Err(WriteError::Refused(refusal));
        }
        let written = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        self.buffer.clear();
        written.map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> WriteError {
        let to = self.path.as_ref().map_or("the record".into(), |path| path.display().to_string());
        match self.begun {
            true => WriteError::Write { to, source },
            false => WriteError::Begin { to, source },
        }
    }
}

/// Where a record will be written, held open before anything is recorded.
///
/// So a file that can't be written is found out before a command is started, and
/// an older record is there until there is something to replace it.
#[derive(Debug)]
pub struct Destination {
    file: File,
    path: PathBuf,
    /// Bytes that are there now; 0 for a new file and for a device.
    old_size: u64,
    /// This opened it first, so it goes when nothing was recorded.
    created: bool,
}

impl Destination {
    /// Opens `path`, creating the file if there is none. A record that is there
    /// already will be replaced; any other file that is not empty is left as it
    /// is, which is an error, as are links, devices and what another user put there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WriteError> {
        let path = path.as_ref().to_owned();
        let (file, old_size, created) = open(&path)?;
        // The kernel gives the lock back when the last handle is closed.
        if let Err(Errno::WOULDBLOCK) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            return Err(WriteError::Busy(path));
        }
        if old_size > 0 && !is_record(&file) {
            return Err(WriteError::Occupied(path));
        }
        let destination = Self { file, path, old_size, created };
        destination.check_room()?;
        Ok(destination)
    }

    /// Whether there is room for a block, which is found out by writing one. Where a record is,
    /// there is room for the header of another.
    fn check_room(&self) -> Result<(), WriteError> {
        let check = || {
            if self.holds_record() {
                return Ok(());
            }
            self.file.write_all_at(&[0; BLOCK], 0)?;
            // What is no file takes it, and keeps nothing.
            if self.file.metadata()?.is_file() { self.file.set_len(0) } else { Ok(()) }
        };
        check().map_err(|source| WriteError::Begin { to: self.path.display().to_string(), source })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a record, which is lost when another begins.
    pub fn holds_record(&self) -> bool {
        self.old_size > 0
    }

    /// The file, if it was not there before.
    pub fn new_file(&self) -> Option<&File> {
        self.created.then_some(&self.file)
    }

    /// Begins the record. When this fails, no new file is left behind.
    pub fn begin(mut self, header: &Header) -> Result<Writer<File>, WriteError> {
        // A second handle on the same file: this one stays, to clean up.
        let out = self
            .file
            .try_clone()
            .map_err(|source| WriteError::Create { path: self.path.clone(), source })?;
        let mut writer = Writer::to(out, Some(self.path.clone()));
        writer.begin(header)?;
        writer.cut_behind(self.old_size)?;
        self.created = false;
        Ok(writer)
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if self.created {
            // Nothing was recorded in it, so nothing is lost if this fails.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Writer<File> {
    /// Cuts off what an older record of this size has behind the new header.
    fn cut_behind(&mut self, old_size: u64) -> Result<(), WriteError> {
        let cut = match old_size {
            0 => Ok(()),
            _ => self.out.stream_position().and_then(|end| self.out.set_len(end)),
        };
        cut.map_err(|source| self.failed(source))
    }
}

/// Opens `path`, and gives its size in bytes (0 for a device) and whether it is new: what
/// is new is its owner's alone to read. No link is followed.
fn open(path: &Path) -> Result<(File, u64, bool), WriteError> {
    let failed = |source| WriteError::Create { path: path.to_owned(), source };
    let options = || {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o600);
        options
    };
    match options().create_new(true).open(path) {
        Ok(file) => return Ok((file, 0, true)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let check = |found: &Metadata| match place::User::current().refusal(path, found) {
        Some(what) => Err(WriteError::Unsafe { path: path.to_owned(), what }),
        None => Ok(()),
    };
    // Before it is opened, which some devices notice, and after, should it be another then.
    check(&path.symlink_metadata().map_err(failed)?)?;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = options().custom_flags(flags.cast_signed()).open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    check(&found)?;
    Ok((file, found.len(), false))
}

fn is_record(file: &File) -> bool {
    let mut begin = [0; MAGIC.len()];
    file.read_exact_at(&mut begin, 0).is_ok() && begin == MAGIC
}

fn json(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    serde_json::to_writer(out, value).map_err(|_| "it has no JSON form")
}
