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
//! | [`source`] | [`SimSource`]: a monitor run over it in simulated time |

#![forbid(unsafe_code)]

mod bits;
mod block;
pub mod cost;
mod exposure;
mod load;
pub mod source;
pub mod space;
mod timeline;
mod world;

pub use cost::{CostModel, Counters};
pub use source::SimSource;
pub use space::{Misplaced, RangeRate, SimOptions, SimSpace};
