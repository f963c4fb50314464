//! A simulated address space: the second implementation of every seam.
//!
//! It follows the same configurations as the run on real memory, but nothing is
//! accessed. Whether a page *was* accessed is decided when somebody asks, from
//! what the workload does in the time in question: by arithmetic for strides, by
//! a draw for random accesses. So an hour takes seconds, five terabytes take
//! next to no memory, and every run with the same seed is the same.
//!
//! | module | holds |
//! |---|---|
//! | [`space`] | [`SimSpace`]: the simulated target, its accessed bits, its clock |
//! | `options` | how to simulate a configuration |
//! | `workload`, `timeline` | what accesses which region, in which phase |
//! | `region_accesses`, `interval_accesses` | how much of a region is accessed, and which pages, between two times |
//! | `block`, `page_set` | accessed bits, kept for 2 MiB each |
//! | `residency`, `huge_pages` | what is in memory, in swap, in huge pages |
//! | [`cost`] | what was asked of it, and what that would cost on a real machine |
//! | [`physical`], `frames` | the memory of several processes in one physical space |
//! | [`actions`] | what schemes do to it |
//! | [`memory`], [`metrics`] | what memory costs and gains, how much there is of it, and the metrics for schemes |

#![forbid(unsafe_code)]

pub mod actions;
mod block;
pub mod cost;
mod frames;
mod huge_pages;
mod interval_accesses;
pub mod memory;
pub mod metrics;
mod options;
mod page_set;
pub mod physical;
mod region_accesses;
mod residency;
pub mod space;
mod timeline;
mod workload;

pub use cost::{CostModel, Counters};
pub use memory::{MemoryModel, MemoryUse};
pub use metrics::SimMetrics;
pub use options::SimOptions;
pub use space::{Misplaced, RangeRate, SimSpace};
pub use workload::TARGET;
