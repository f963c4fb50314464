//! The one clock of a run.

use rustix::time::{ClockId, clock_gettime};

/// Microseconds on `CLOCK_MONOTONIC`, which other processes can compare with.
pub(crate) fn monotonic_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}
