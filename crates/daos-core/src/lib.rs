//! The data access monitor, and nothing else.
//!
//! This crate decides *which* pages to look at and what the answers mean. It
//! never looks itself: an [`AccessCheck`] does, and hands the answers in. That
//! split is what lets the same monitor drive a live process through eBPF, a
//! simulated terabyte, or a primitive of your own, and what makes every run
//! repeatable: the random generator is seeded, time is an argument, and there
//! is no clock, file, thread or kernel call in here.
//!
//! | module | holds |
//! |---|---|
//! | [`addr`] | pages and address ranges |
//! | [`attrs`] | the three intervals and the bounds on regions |
//! | [`access`] | the seam to the primitives: [`AccessCheck`] |
//! | [`region`] | a region, and the sorted list of a target's regions |
//! | [`layout`] | from a target's mappings to its first regions |
//! | [`adjust`] | age, merge, split and update: the adaptive adjustment |
//! | [`monitor`] | the ticks that tie these together: [`Monitor`], and each way to do it |
//! | [`snapshot`] | what a monitor hands out, and the seam to its users: [`SnapshotSource`] |
//! | [`schemes`] | what is done to memory by what was seen of it |
//! | [`tuner`] | which thresholds of a scheme are best |
//! | [`json`] | the JSON shape of a snapshot |
//! | [`host`] | the machine that something was measured on |
//! | [`rng`] | the seeded generator |
//! | [`median`](mod@median) | the median |
//! | [`nearest`] | what someone who mistyped a word meant |

#![forbid(unsafe_code)]

pub mod access;
pub mod addr;
pub mod adjust;
pub mod attrs;
pub mod host;
pub mod json;
pub mod layout;
pub mod median;
pub mod monitor;
pub mod nearest;
pub mod region;
pub mod rng;
pub mod schemes;
pub mod snapshot;
pub mod tuner;

pub use access::{
    AccessCheck, Capabilities, Observation, PageBits, Prices, Spent, Target, TargetId, Window,
};
pub use addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
pub use attrs::{AttrsError, MonitorAttrs};
pub use host::Host;
pub use median::median;
pub use monitor::{AnyMonitor, FullScan, Monitor, MonitorKind, MonitorOptions, Reference, Windows};
pub use region::Region;
pub use rng::Rng;
pub use snapshot::{
    Cost, HOT_RATE, Mapping, PageRun, RegionSnapshot, Snapshot, SnapshotSource, TargetInfo,
    TargetSnapshot,
};
