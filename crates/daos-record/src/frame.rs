//! Frames: the envelope of everything in a record.
//!
//! A frame says what it is and how long, and ends with a checksum over all that.
//! A reader skips kinds that it doesn't know. So a later release can add one,
//! and releases from before still read the rest.

use crate::damage::Flaw;
use std::io::{self, Read};
use std::ops::Range;

/// First bytes of every record.
pub const MAGIC: [u8; 8] = *b"DAOSREC\n";

/// The format version that this release writes, and the newest that it reads.
pub const VERSION: u32 = 1;

/// Bytes in front of the first frame: magic and version.
pub const PRELUDE: usize = MAGIC.len() + size_of::<u32>();

/// JSON of [`Header`](crate::Header): the first frame, once.
pub const HEADER: u8 = 1;
/// JSON of [`TargetInfo`](daos_core::TargetInfo): again when mappings change.
pub const TARGET: u8 = 2;
/// A snapshot, as [`codec`](crate::codec) writes it.
pub const SNAPSHOT: u8 = 3;
/// JSON of [`End`](crate::End): the last frame, once.
pub const END: u8 = 4;
/// Page runs of a target that are not as expected, in front of the snapshot that they
/// belong to, as [`run_state`](crate::codec::run_state) writes them.
pub const PAGES: u8 = 5;
/// What schemes did at the end of the interval of the snapshot behind it, as
/// [`done`](crate::codec::done) writes it.
pub const DONE: u8 = 6;
/// JSON of schemes that are new, in front of the first snapshot that they acted in.
pub const SCHEMES: u8 = 7;
/// How much of each target is accessed within which time, and how much can't be observed, in front
/// of the snapshot that it belongs to, as [`working_sets`](crate::codec::working_sets) writes it.
pub const WORKING_SETS: u8 = 10;
/// Access rates of page runs of a target that are otherwise as expected, in front of those that are
/// not, as [`run_state`](crate::codec::run_state) writes them.
pub const RATES: u8 = 11;

/// Most bytes in a payload: what a reader may have to hold.
const MAX_PAYLOAD: usize = 32 << 20;
const HEAD: usize = 1 + size_of::<u32>();
const CHECKSUM: usize = size_of::<u32>();

/// What stands in front of the first frame.
pub fn prelude() -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes()].concat()
}

/// Appends a frame to `out` with the payload that `fill` appends, or nothing
/// when that fails.
pub fn append(
    out: &mut Vec<u8>,
    kind: u8,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let start = out.len();
    out.extend([kind, 0, 0, 0, 0]);
    let filled = fill(out).and_then(|()| match out.len() - start - HEAD {
        length if length <= MAX_PAYLOAD => Ok(length as u32),
        _ => Err("it takes more than 32 MiB"),
    });
    match filled {
        Ok(length) => {
            out[start + 1..start + HEAD].copy_from_slice(&length.to_le_bytes());
            let checksum = crc32fast::hash(&out[start..]);
            out.extend(checksum.to_le_bytes());
            Ok(())
        }
        Err(refusal) => {
            out.truncate(start);
            Err(refusal)
        }
    }
}

/// Why there is no next frame.
#[derive(Debug)]
pub enum Fault {
    /// The file can't be read.
    Io(io::Error),
    /// The bytes that were read are no frame.
    Flaw(Flaw),
}

/// Reads frame after frame, in memory for one.
#[derive(Debug)]
pub struct Frames<R> {
    input: R,
    offset: u64,
    end: u64,
    frame: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// The frames in these bytes of a file. `input` stands at the first.
    pub fn new(input: R, bytes: Range<u64>) -> Self {
        Self { input, offset: bytes.start, end: bytes.end, frame: Vec::new() }
    }

    /// Where the next frame begins, in bytes from the start of the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Kind and payload of the next frame; `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u8, &[u8])>, Fault> {
        if self.offset >= self.end {
            return Ok(None);
        }
        self.frame.clear();
        self.read_to(HEAD + CHECKSUM)?;
        let head = &self.frame;
        let kind = head[0];
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > MAX_PAYLOAD {
            return Err(Fault::Flaw(Flaw::Corrupt("the length of a frame is impossible")));
        }
        self.read_to(HEAD + length + CHECKSUM)?;
        let (body, checksum) = self.frame.split_at(HEAD + length);
        if crc32fast::hash(body).to_le_bytes() != checksum {
            return Err(Fault::Flaw(Flaw::Corrupt("the checksum of a frame is wrong")));
        }
        self.offset += self.frame.len() as u64;
        Ok(Some((kind, &body[HEAD..])))
    }

    /// Reads on until `size` bytes of the frame are there.
    fn read_to(&mut self, size: usize) -> Result<(), Fault> {
        let (needs, has) = (size as u64, self.end.saturating_sub(self.offset));
        if has < needs {
            return Err(Fault::Flaw(Flaw::Torn { needs, has }));
        }
        let read = self.frame.len();
        self.frame.resize(size, 0);
        self.input.read_exact(&mut self.frame[read..]).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Flaw(Flaw::Corrupt("the file became shorter")),
            _ => Fault::Io(error),
        })
    }
}
