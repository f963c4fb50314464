//! Memory whose page faults its owner serves.

use super::{PAGE, input_ended, map, ready};
use rustix::io::read;
use rustix::mm::{UserfaultfdFlags, userfaultfd};
use std::os::fd::{AsRawFd, OwnedFd};

/// Bytes of it, of which the first half is filled.
const BYTES: usize = 64 << 20;
const FILLED: usize = BYTES / 2;
/// `UFFD_API`, `UFFDIO_API`, `UFFDIO_REGISTER`, `UFFDIO_COPY` and
/// `UFFDIO_REGISTER_MODE_MISSING` of `linux/userfaultfd.h`.
const API: u64 = 0xaa;
const SET_API: u64 = 0xc018_aa3f;
const REGISTER: u64 = 0xc020_aa00;
const COPY: u64 = 0xc028_aa03;
const MISSING: u64 = 1;

pub fn run() {
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::NONBLOCK;
    // SAFETY: the descriptor registers memory of this program only.
    let faults = unsafe { userfaultfd(flags) }.expect("root may have one");
    let start = map(BYTES) as u64;
    call(&faults, SET_API, &mut [API, 0, 0]);
    call(&faults, REGISTER, &mut [start, BYTES as u64, MISSING, 0]);
    for at in (0..FILLED as u64).step_by(PAGE) {
        let page = [(at / PAGE as u64) as u8 | 1; PAGE];
        call(&faults, COPY, &mut [start + at, page.as_ptr() as u64, PAGE as u64, 0, 0]);
    }
    ready();
    while !input_ended(100) {
        // It would wait for ever.
        assert!(read(&faults, &mut [0; 64]).is_err(), "somebody has caused a fault");
    }
    for at in (0..FILLED).step_by(PAGE) {
        // SAFETY: in the memory mapped above, which is there as it was filled.
        let byte = unsafe { (start as *const u8).add(at).read_volatile() };
        assert_eq!(byte, (at / PAGE) as u8 | 1, "it was changed");
    }
}

fn call<const N: usize>(faults: &OwnedFd, request: u64, args: &mut [u64; N]) {
    // SAFETY: a request of userfaultfd, whose structure is these words.
    let done = unsafe { libc::ioctl(faults.as_raw_fd(), request, args.as_mut_ptr()) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}
