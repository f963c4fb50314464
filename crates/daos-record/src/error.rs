//! What can go wrong. The cause that the system gives is the `source`.

use crate::damage::Flaw;
use crate::frame::VERSION;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why nothing, or nothing more, could be recorded.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The file could not be opened for writing.
    #[error("cannot create the record {}; choose a file that you may write", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something else than a record is there, and was left as it is.
    #[error(
        "{} exists and is not a daos record, so it was left as it is; choose another name, or remove it first",
        .0.display()
    )]
    Occupied(PathBuf),
    /// A link, a device, a pipe, or a file that another user put there.
    #[error("{} is {what}, so it was left as it is; choose another name", path.display())]
    Unsafe {
        /// What was to be written.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Another recording goes there.
    #[error("another daos is recording to {}; choose another name", .0.display())]
    Busy(PathBuf),
    /// The system refused to write the header: of what is to be recorded there is nothing.
    #[error("cannot write to {to}, so nothing was recorded")]
    Begin {
        /// The file, or `the record` where it has no name.
        to: String,
        /// Why.
        source: io::Error,
    },
    /// The system refused to write on, as on a full disk.
    #[error("cannot write to {to}; what was written before can be read")]
    Write {
        /// The file, or `the record` where it has no name.
        to: String,
        /// Why.
        source: io::Error,
    },
    /// What was to be written breaks a rule. Nothing of it was written.
    #[error("cannot record this: {0}; please report it as a bug of daos")]
    Refused(&'static str),
}

/// Why a file could not be read as a record.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file could not be opened.
    #[error("cannot open the record {}; check its name and rights", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("{} is {what}, not a file; give the file that `daos record` wrote", path.display())]
    NotAFile {
        /// What was opened.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A file of zero bytes.
    #[error("{} is empty; record again", .0.display())]
    Empty(PathBuf),
    /// A file of something else.
    #[error(
        "{} is not a daos record, it looks like {looks_like}; give the file that `daos record` wrote",
        path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it begins like.
        looks_like: &'static str,
    },
    /// A record of a later release.
    #[error(
        "{} has record format version {version}, and this daos reads up to {VERSION}; upgrade daos",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u32,
    },
    /// A record whose first frame is damaged: the rest can't be understood.
    #[error("the header of {} is damaged ({flaw}): nothing could be read; record again", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        flaw: Flaw,
    },
    /// The system could not read on.
    #[error("cannot read {} at byte {offset}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Where the frame begins that was to be read.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// What could be read when the record was opened no longer can.
    #[error("{} was changed at byte {offset} while it was read ({flaw}); read it again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// Where the frame begins that was whole before.
        offset: u64,
        /// What is wrong with it now.
        flaw: Flaw,
    },
    /// A frame is whole, and what it holds can't be decoded: a frame before it is missing, or
    /// whoever wrote the record wrote it wrong.
    #[error("{} is damaged at byte {offset} ({flaw}): snapshots behind it can't be read", path.display())]
    Undecodable {
        /// The file.
        path: PathBuf,
        /// Where the frame begins.
        offset: u64,
        /// What is wrong with it.
        flaw: Flaw,
    },
}
