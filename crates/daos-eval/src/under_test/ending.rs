//! The end of a process, noticed when it comes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::time::Instant;

/// Waits for the end of a process, until `deadline` at most.
pub(crate) fn ends_before(pidfd: &OwnedFd, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    // An interrupted wait is followed by another.
    matches!(poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)), Ok(1..))
}
