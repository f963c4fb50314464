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
//! | [`claim`] | one monitor for a process |
//! | [`damon`] | the kernel's own DAMON, noticed |
//! | [`cpu`] | CPU time, and the CPU to run on |
//! | [`driver`] | the loop that drives a monitor |
//! | [`host`] | what this machine is |
//! | [`support`] | what it offers: rights, BTF, swap, huge pages |

pub mod claim;
pub mod cpu;
pub mod damon;
pub mod driver;
pub mod host;
pub mod madvise;
pub mod maps;
pub mod process;
pub mod support;

pub use driver::{Driver, DriverError, Stop};
pub use process::{Process, ProcessError};
