//! How much of a broken record could be read, and what is wrong behind that.
//!
//! A reader stops at the first flaw. Frames behind it may be whole, but a gap
//! that nobody sees in a report is worse than a record that ends early and says
//! so.

use std::fmt;
use std::path::PathBuf;

/// What the snapshots of a record span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Number of snapshots.
    pub snapshots: u64,
    /// When the first began, in microseconds since monitoring began.
    pub start_us: u64,
    /// When the last ended; 0 without snapshots.
    pub end_us: u64,
}

impl Extent {
    /// From the start of the first snapshot to the end of the last, in microseconds.
    pub fn length_us(&self) -> u64 {
        self.end_us.saturating_sub(self.start_us)
    }
}

/// Where a record stops being one. [`Display`](fmt::Display) makes a sentence of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// First byte that could not be used.
    pub offset: u64,
    /// What is wrong there.
    pub flaw: Flaw,
    /// What could be read before it.
    pub readable: Extent,
}

/// What is wrong with some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The file ends inside a frame: the recorder was stopped while it wrote.
    Torn {
        /// Bytes that the frame has, at least.
        needs: u64,
        /// Bytes of it that are there.
        has: u64,
    },
    /// The bytes are there and make no sense, for this reason.
    Corrupt(&'static str),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, offset) = (self.path.display(), self.offset);
        match self.flaw {
            Flaw::Torn { .. } => write!(f, "{path} is cut short at byte {offset}")?,
            Flaw::Corrupt(_) => write!(f, "{path} is damaged at byte {offset}")?,
        }
        write!(f, " ({}): ", self.flaw)?;
        let seconds = self.readable.length_us() as f64 / 1e6;
        match self.readable.snapshots {
            0 => write!(f, "no snapshot could be read"),
            1 => write!(f, "the first snapshot ({seconds:.1} s) could be read"),
            n => write!(f, "the first {n} snapshots ({seconds:.1} s) could be read"),
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Torn { needs, has } => write!(f, "a frame of {needs} bytes has {has}"),
            Flaw::Corrupt(what) => f.write_str(what),
        }
    }
}
