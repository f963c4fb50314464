//! The vocabulary that all parts of `daos` share, and the seams between them.
//!
//! Nothing is decided here. There is no clock, file, thread or kernel call, so that what
//! stands on it can be driven by a live process, a simulated terabyte or a primitive of
//! your own, and gives the same for the same seed.
//!
//! | module | holds |
//! |---|---|
//! | [`addr`] | pages and address ranges |
//! | [`target`] | who is monitored, and what it has mapped |
//! | [`ownership`] | who has which part of a target that several share |
//! | [`page_cache`] | memory of files that nobody maps |
//! | [`units`] | sizes, times and shares as people write them, and as they read them |
//! | [`attrs`] | the three intervals and the bounds on regions |
//! | [`access`] | the seam to the primitives: [`AccessCheck`] |
//! | [`frames`] | the seam to where memory lies: [`PageFrames`] |
//! | [`checks`] | how many windows each tick checked |
//! | [`page_runs`] | runs of pages, shared by snapshots |
//! | [`snapshot`] | what a monitor hands out, and the seam to its users: [`SnapshotSource`] |
//! | [`action`] | what schemes do to memory, and what came of it |
//! | [`sink`] | the seam to who does it: [`ActionSink`] |
//! | [`working_sets`] | how much is accessed within which time |
//! | [`metrics`] | the seam to what is measured beside accesses: [`Metrics`] |
//! | [`side`] | which of two copies that run at once |
//! | [`host`] | the machine that something was measured on |
//! | [`rng`] | the seeded random generator |
//! | [`evenly`] | places that cover a range evenly |
//! | [`stats`] | the median |
//! | [`text`] | text from outside, made safe to show |
//!
//! With the feature `serde`, what is kept in files can be read and written. The feature
//! `testing` has memory for tests of what stands on the seams (`daos_core::testing`).

#![forbid(unsafe_code)]

pub mod access;
pub mod action;
pub mod addr;
pub mod attrs;
pub mod checks;
pub mod evenly;
pub mod frames;
pub mod host;
pub mod metrics;
pub mod ownership;
pub mod page_cache;
pub mod page_runs;
pub mod pages;
pub mod rng;
pub mod side;
pub mod sink;
pub mod snapshot;
pub mod stats;
pub mod target;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod units;
pub mod usage;
pub mod working_sets;

pub use access::{AccessCheck, Capabilities, CpuCost, Observation, PageBits, Prices, Window};
pub use action::{Action, Done, Refusal, SchemeStats};
pub use addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, huge_page_start};
pub use attrs::{AttrsError, DEFAULT_MAX_OVERHEAD, MonitorAttrs};
pub use checks::Checks;
pub use frames::{MappedFrames, PageFrames};
pub use host::Host;
pub use metrics::{Metric, Metrics};
pub use ownership::{OwnedPart, Owner, Ownership};
pub use page_cache::PageCache;
pub use page_runs::{PageRuns, RunBlock};
pub use rng::Rng;
pub use side::Side;
pub use sink::{ActionReport, ActionSink, BATCH_BYTES, OwnedMemory, Residence};
pub use snapshot::{
    Cost, HOT_RATE, Interval, PageRun, Part, RegionSnapshot, Snapshot, SnapshotSource,
    TargetSnapshot,
};
pub use stats::median;
pub use target::{KindsOfMemory, Mapping, Target, TargetId, TargetInfo};
pub use usage::Usage;
pub use working_sets::{WITHIN_US, WorkingSets, part_come};
