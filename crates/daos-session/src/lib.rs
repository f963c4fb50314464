//! One loop for all commands: the next snapshot, what schemes do about it, the account of
//! both; handed out, and again.
//!
//! A [`Session`] runs it over a [`Source`]: live processes ([`Live`]) or a simulated space
//! ([`SimSource`]). What records, applies, tunes or, some day, serves a daemon or a live view
//! asks it for the next interval, and does with that what it is there for. Nothing is printed
//! here: what a user should know is in [`Session::take_notes`].
//!
//! | module | holds |
//! |---|---|
//! | [`session`] | the loop, and the seam to what it goes over |
//! | [`account`], [`memory_series`] | what it cost, and what the targets took of memory |
//! | [`schemes`], [`scheme_source`] | schemes at work, and where they come from, read again when that changes |
//! | [`live`] | processes under watch, from those that were named, or a command, to their end |
//! | [`live_memory`] | what they have: the memory of processes, or of the machine |
//! | `projected` | the machine's memory, from what is known of those who have it |
//! | `unwatched_children` | a note on children of theirs that are not watched |
//! | [`command`] | a command that was started |
//! | [`driver`] | a monitor in real time: the one place that sleeps |
//! | [`simulated`] | a monitor over a simulated space, in simulated time |

#![forbid(unsafe_code)]

pub mod account;
pub mod command;
pub mod driver;
pub mod live;
pub mod live_memory;
pub mod memory_series;
mod projected;
pub mod scheme_source;
pub mod schemes;
pub mod session;
pub mod simulated;
mod unwatched_children;

pub use account::Account;
pub use command::{CommandError, Ended, Started, Surroundings};
pub use driver::{Driver, DriverError, Stop};
pub use live::{Ending, Live, LiveError, Targets};
pub use live_memory::LiveMemory;
pub use memory_series::{ByteSeries, MemorySeries, MemoryUse};
pub use scheme_source::{SchemeSource, SchemeSourceError};
pub use schemes::{ActiveSchemes, SchemesError};
pub use session::{Session, SessionError, Source};
pub use simulated::SimSource;
pub use unwatched_children::A_SHELL;
