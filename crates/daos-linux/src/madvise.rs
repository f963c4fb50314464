//! `process_madvise(2)` in batches: whole ranges in, what was refused out.

use daos_core::AddrRange;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Ranges in a call. The kernel holds the target's `mmap` lock for a whole call,
/// and a range may cost it a TLB flush of some 20 µs, so this keeps a call near
/// a millisecond.
const BATCH: usize = 48;

/// How often a call is repeated that was interrupted, or found its pages in the middle of
/// something. Chosen: some milliseconds at most.
const MOST_TRIES: u32 = 8;

/// Linux 6.1.
const MADV_COLLAPSE: i32 = 25;

/// What is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Clear the accessed bits, and move the pages to the inactive list, from which
    /// reclaim takes first. Splits a large folio of which only a part is given.
    Cold,
    /// Page them out now. Splits large folios, likewise.
    Pageout,
    /// Read in what is paged out, or was never read from the file.
    Willneed,
}

impl Advice {
    fn number(self) -> i32 {
        match self {
            Self::Cold => libc::MADV_COLD,
            Self::Pageout => libc::MADV_PAGEOUT,
            Self::Willneed => libc::MADV_WILLNEED,
        }
    }

    /// Bytes in a call, unless its first range is longer: what takes the kernel a
    /// millisecond or two.
    pub fn most_bytes(self) -> u64 {
        match self {
            Self::Cold => 16 << 20,
            // 3 to 10 µs a page, to compressed swap and back.
            Self::Pageout | Self::Willneed => 1 << 20,
        }
    }
}

/// What became of the ranges of an advice.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Advised {
    /// Bytes that the kernel took.
    pub bytes: u64,
    /// Ranges that it refused, and why: `INVAL` for locked, hugetlbfs and device
    /// memory, `NOMEM` for a hole, `AGAIN` or `INTR` where it was busy each time.
    pub refused: Vec<(AddrRange, Errno)>,
    /// The process has ended, or may not be advised: nothing more was tried.
    pub stopped: Option<Errno>,
}

impl Advised {
    /// Adds what became of other ranges.
    pub fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.refused.extend(other.refused);
        self.stopped = self.stopped.or(other.stopped);
    }
}

/// Gives `advice` for sorted, page-aligned `ranges` of the process behind `pidfd`.
///
/// A range that the kernel refuses ends its call; the ranges behind it are asked
/// for again, so one locked page costs a call and nothing else.
pub fn advise(pidfd: BorrowedFd<'_>, ranges: &[AddrRange], advice: Advice) -> Advised {
    advise_in_steps(pidfd, ranges, advice, advice.most_bytes(), || ())
}

/// The same in calls of so many bytes, unless the first range is longer; `before` comes before
/// each.
pub fn advise_in_steps(
    pidfd: BorrowedFd<'_>,
    ranges: &[AddrRange],
    advice: Advice,
    most_bytes: u64,
    mut before: impl FnMut(),
) -> Advised {
    in_calls(ranges, most_bytes, |batch| {
        before();
        call(pidfd, batch, advice.number())
    })
}

/// Has `call` take all of `ranges`, each time so many bytes at most.
fn in_calls(
    ranges: &[AddrRange],
    most_bytes: u64,
    mut call: impl FnMut(&[AddrRange]) -> Result<u64, Errno>,
) -> Advised {
    let mut advised = Advised::default();
    let mut rest = ranges;
    let mut tries = 0;
    while !rest.is_empty() {
        let batch = &rest[..in_a_call(rest, most_bytes)];
        match call(batch) {
            Ok(bytes) => {
                let (done, partly) = whole_ranges(batch, bytes);
                advised.bytes += bytes;
                rest = &rest[done..];
                // The refused page lies inside this range. A call that took nothing and
                // did not fail was never seen, but would hold us here.
                if partly > 0 || done == 0 {
                    advised.refused.push((rest[0], Errno::INVAL));
                    rest = &rest[1..];
                }
            }
            Err(Errno::INTR | Errno::AGAIN) if tries < MOST_TRIES => {
                tries += 1;
                continue;
            }
            Err(errno @ (Errno::INVAL | Errno::NOMEM | Errno::FAULT | Errno::BADF)) => {
                advised.refused.push((rest[0], errno));
                rest = &rest[1..];
            }
            // It may work for others of them.
            Err(errno @ (Errno::INTR | Errno::AGAIN)) => {
                advised.refused.extend(batch.iter().map(|range| (*range, errno)));
                rest = &rest[batch.len()..];
            }
            Err(errno) => {
                advised.stopped = Some(errno);
                break;
            }
        }
        tries = 0;
    }
    advised
}

/// How many of `ranges` to give to the next call.
fn in_a_call(ranges: &[AddrRange], most_bytes: u64) -> usize {
    let mut bytes = 0;
    let fits = |range: &&AddrRange| {
        bytes += range.len();
        bytes <= most_bytes
    };
    ranges.iter().take(BATCH).take_while(fits).count().max(1)
}

/// How many ranges `bytes` fill, and how many bytes are left over.
fn whole_ranges(ranges: &[AddrRange], mut bytes: u64) -> (usize, u64) {
    let mut done = 0;
    for range in ranges {
        if bytes < range.len() {
            break;
        }
        bytes -= range.len();
        done += 1;
    }
    (done, bytes)
}

/// Makes `block`, which is 2 MiB and aligned, a huge page. Waits for one to be free if
/// need be.
///
/// Errors: `INVAL` where none can be, `NOMEM` when there is none to be had, `BUSY` when
/// the cgroup has no room for it, `AGAIN` when pages are in the middle of something.
pub fn collapse(pidfd: BorrowedFd<'_>, block: AddrRange) -> Result<(), Errno> {
    call(pidfd, &[block], MADV_COLLAPSE).map(drop)
}

/// Whether this kernel can [`collapse`]: it refuses advice that it does not know also for no
/// memory at all.
pub fn can_collapse() -> bool {
    let me = pidfd_open(getpid(), PidfdFlags::empty());
    me.is_ok_and(|me| call(me.as_fd(), &[], MADV_COLLAPSE).is_ok())
}

fn call(pidfd: BorrowedFd<'_>, ranges: &[AddrRange], advice: i32) -> Result<u64, Errno> {
    let mut vector = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    for (slot, range) in vector.iter_mut().zip(ranges) {
        slot.iov_base = range.start as *mut libc::c_void;
        slot.iov_len = range.len() as usize;
    }
    // SAFETY: the kernel only reads the vector, of which `ranges.len() <= BATCH`
    // entries are filled. The addresses in it are of another process: the kernel
    // checks them against that process's mappings and never follows them here.
    let result = unsafe {
        libc::syscall(
            libc::SYS_process_madvise,
            pidfd.as_raw_fd(),
            vector.as_ptr(),
            ranges.len(),
            advice,
            0u32,
        )
    };
    match result {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
        bytes => Ok(bytes as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_bounded_in_ranges_and_in_bytes() {
        let ranges = |nr, bytes| vec![AddrRange::new(0, bytes); nr];
        assert_eq!(in_a_call(&ranges(3, 4096), 16 << 20), 3);
        assert_eq!(in_a_call(&ranges(100, 4096), 16 << 20), BATCH);
        assert_eq!(in_a_call(&ranges(100, 2 << 20), 16 << 20), 8);
        assert_eq!(in_a_call(&ranges(3, 1 << 30), 16 << 20), 1, "one at least");
    }

    #[test]
    fn what_is_busy_is_not_waited_for_without_end() {
        let ranges: Vec<_> = (0..100).map(|n| AddrRange::new(2 * n, 2 * n + 1)).collect();
        for errno in [Errno::AGAIN, Errno::INTR] {
            let mut calls = 0;
            let advised = in_calls(&ranges, 1 << 20, |_| {
                calls += 1;
                Err(errno)
            });
            assert_eq!(calls, 3 * (MOST_TRIES + 1), "three calls' worth of ranges");
            assert_eq!(advised.refused.len(), 100);
            assert_eq!((advised.bytes, advised.stopped), (0, None));
        }
        let mut calls = 0;
        let advised = in_calls(&ranges, 1 << 20, |batch| {
            calls += 1;
            if calls % 3 == 0 { Ok(batch.len() as u64) } else { Err(Errno::INTR) }
        });
        assert_eq!((advised.bytes, advised.refused.len()), (100, 0), "it comes through in time");
    }

    #[test]
    fn bytes_are_counted_in_whole_ranges() {
        let ranges = [AddrRange::new(0, 10), AddrRange::new(20, 25), AddrRange::new(30, 40)];
        assert_eq!(whole_ranges(&ranges, 0), (0, 0));
        assert_eq!(whole_ranges(&ranges, 12), (1, 2));
        assert_eq!(whole_ranges(&ranges, 15), (2, 0));
        assert_eq!(whole_ranges(&ranges, 25), (3, 0));
    }
}
