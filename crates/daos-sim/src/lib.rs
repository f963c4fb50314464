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
//! | [`cost`] | what was asked of it, and what that would cost on a real machine |
//! | [`actions`] | what schemes do to it |
//! | [`memory`], [`metrics`] | what it has of memory, what that costs and gains, and how schemes are told |

#![forbid(unsafe_code)]

pub mod actions;
mod bits;
mod block;
pub mod cost;
mod exposure;
mod huge;
mod load;
pub mod memory;
pub mod metrics;
mod paging;
pub mod space;
mod timeline;
mod world;

pub use cost::{CostModel, Counters};
pub use memory::{MemoryModel, MemoryUse};
pub use metrics::SimMetrics;
pub use space::{Misplaced, RangeRate, SimOptions, SimSpace, TARGET};
