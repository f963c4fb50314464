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
//! | [`header`] | how, where and of what a record was made: [`Header`] |
//! | [`end`] | why it ended and what it cost: [`End`] |
//! | [`writer`] | [`Writer`], and the [`Destination`] of its file |
//! | [`record`] | [`Record`]: a record that has been opened |
//! | [`intervals`] | the aggregation intervals of a record, one by one |
//! | [`replay`] | a record in the place of a monitor |
//! | [`damage`] | how much of a broken record could be read |
//! | [`jsonl`] | snapshots as JSON lines, as they come |
//! | [`error`] | what can go wrong |

#![forbid(unsafe_code)]

pub mod damage;
pub mod end;
pub mod error;
pub mod header;
pub mod intervals;
pub mod jsonl;
pub mod record;
pub mod replay;
pub mod writer;

mod carry;
mod codec;
mod done;
mod frame;
mod identify;
mod item;
pub mod json;
mod runs;
mod scan;
mod schemes;
mod stored;
mod varint;

pub use damage::{Damage, Extent, Flaw};
pub use end::{End, SchemeEnd};
pub use error::{ReadError, WriteError};
pub use frame::VERSION;
pub use header::Header;
pub use intervals::Intervals;
pub use jsonl::JsonLines;
pub use record::Record;
pub use replay::Replay;
pub use writer::{Destination, Writer};
