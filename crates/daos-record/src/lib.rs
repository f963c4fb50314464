//! The record file: what a monitor saw, kept.
//!
//! A record is a stream of checksummed frames, written once and in order: a
//! header, then targets and snapshots as they come, then an end. Nothing written
//! is ever changed, and every frame reaches the kernel in one write. So a
//! recording that is killed leaves a record that can be read to its last
//! snapshot, and a reader needs no index and no memory that grows with the file.
//! `docs/record-format.md` gives the bytes.
//!
//! | module | holds |
//! |---|---|
//! | [`header`] | how, where and of what a record was made: [`Header`]; why it ended and what it cost: [`End`] |
//! | [`writer`] | [`Writer`], and the [`Destination`] of its file |
//! | [`record`] | [`Record`]: a record that has been opened |
//! | [`replay`] | the aggregation intervals of a record, one by one or in the place of a monitor |
//! | [`damage`] | how much of a broken record could be read |
//! | [`json`] | snapshots as JSON, in a list or as lines as they come |
//! | [`place`] | whether what stands at a path may be written to |
//! | [`error`] | what can go wrong |

#![forbid(unsafe_code)]

pub mod damage;
pub mod error;
pub mod header;
pub mod json;
pub mod place;
pub mod record;
pub mod replay;
pub mod writer;

mod codec;
mod frame;
mod identify;
mod item;
mod schemes;

pub use damage::{Damage, Extent, Flaw};
pub use error::{ReadError, WriteError};
pub use frame::VERSION;
pub use header::{End, Header, SchemeEnd};
pub use json::JsonLines;
pub use record::Record;
pub use replay::{Intervals, Replay};
pub use writer::{Destination, Writer};
