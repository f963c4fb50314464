//! What only Linux can answer, and the loop that lives in real time.
//!
//! Facts and calls, no policy: what to watch and what to do about it is decided
//! in `daos-core` and above.
//!
//! | module | holds |
//! |---|---|
//! | [`process`] | a target process, held by a pidfd |
//! | [`maps`] | `/proc/PID/maps` |
//! | [`madvise`] | `process_madvise(2)` in batches |
//! | [`cpu`] | CPU time, and the CPU to run on |
//! | [`driver`] | the loop that drives a monitor |
//! | [`host`] | what this machine is and offers |

pub mod cpu;
pub mod driver;
pub mod host;
pub mod madvise;
pub mod maps;
pub mod process;

pub use driver::{Driver, DriverError, Stop};
pub use process::{Process, ProcessError};
