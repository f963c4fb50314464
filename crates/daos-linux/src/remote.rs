//! `process_vm_readv(2)`: memory of another process, read or only touched.
//!
//! To read a page of another process makes the kernel bring it into memory, and note
//! that it is in use, as for an access of the process itself. Who serves the faults of that memory
//! (`userfaultfd`, a file system in user space) can make that take for ever, and nothing
//! but the end of the reading thread ends it. So each read has a thread, and its time.

use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;
use std::{io, thread};

/// Pages in a call: as many as a vector may have entries.
const BATCH: usize = 1024;

/// How long a read is waited for. Chosen: a batch of pages comes from a busy disk in that
/// time; what comes later has still been touched.
const PATIENCE: Duration = Duration::from_millis(200);
/// The stack of a thread that reads, in bytes. Chosen: a vector takes 16 KiB of it.
const STACK: usize = 128 << 10;

/// Reads of the memory of one process, of which one at a time is waited for, and not long.
#[derive(Debug, Default)]
pub struct RemoteMemory {
    /// Whether a read has not come back.
    busy: Arc<AtomicBool>,
}

impl RemoteMemory {
    /// Reads a byte at each of `addrs` in process `pid`. Those that can't be read are
    /// passed over; an error means that none can: the process has ended (`SRCH`), or may
    /// not be read (`PERM`); or that it takes too long (`TIMEDOUT`).
    pub fn touch(&self, pid: u32, addrs: &[u64]) -> Result<(), Errno> {
        let addrs = addrs.to_vec();
        self.in_time(move || touch(pid, &addrs))?
    }

    /// Reads from `addr` on in process `pid`, as much as `into` holds; returns how many
    /// bytes there were before the first that can't be read. `TIMEDOUT`: it takes too long.
    pub fn read_at(&self, pid: u32, addr: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let mut bytes = vec![0; into.len()];
        let (read, bytes) = self.in_time(move || (read_at(pid, addr, &mut bytes), bytes))?;
        into.copy_from_slice(&bytes);
        read
    }

    /// What `work` returns, unless it takes too long, or an earlier one still does.
    fn in_time<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Errno> {
        if self.busy.swap(true, Ordering::Acquire) {
            return Err(Errno::TIMEDOUT);
        }
        let busy = Arc::clone(&self.busy);
        let (done, result) = sync_channel(1);
        let reader = thread::Builder::new().name("remote-read".into()).stack_size(STACK);
        let started = reader.spawn(move || {
            let value = work();
            busy.store(false, Ordering::Release);
            // Nobody waits for it any more if it took too long.
            let _ = done.send(value);
        });
        if started.is_err() {
            self.busy.store(false, Ordering::Release);
            return Err(Errno::AGAIN);
        }
        result.recv_timeout(PATIENCE).map_err(|_| Errno::TIMEDOUT)
    }
}

fn touch(pid: u32, addrs: &[u64]) -> Result<(), Errno> {
    let mut bytes = [0u8; BATCH];
    let mut rest = addrs;
    while !rest.is_empty() {
        let batch = &rest[..rest.len().min(BATCH)];
        let remote = batch.iter().map(|&addr| (addr, 1));
        let touched = match read(pid, remote, &mut bytes[..batch.len()]) {
            // The one behind those that could be read is the one that could not.
            Ok(touched) => (touched + 1).min(batch.len()),
            Err(Errno::FAULT) => 1,
            Err(Errno::INTR) => 0,
            Err(errno) => return Err(errno),
        };
        rest = &rest[touched..];
    }
    Ok(())
}

fn read_at(pid: u32, addr: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let bytes = into.len();
    read(pid, std::iter::once((addr, bytes)), into)
}

/// One call. `remote`: at most [`BATCH`] addresses and lengths, together as long as `into`.
fn read(
    pid: u32,
    remote: impl Iterator<Item = (u64, usize)>,
    into: &mut [u8],
) -> Result<usize, Errno> {
    let mut vector = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    let mut entries = 0;
    for (slot, (addr, len)) in vector.iter_mut().zip(remote) {
        *slot = libc::iovec { iov_base: addr as *mut libc::c_void, iov_len: len };
        entries += 1;
    }
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: the kernel writes no more than `into` holds. The addresses in `vector` are of
    // another process: the kernel checks them there and never follows them here.
    let result = unsafe {
        libc::process_vm_readv(pid as libc::pid_t, &local, 1, vector.as_ptr(), entries, 0)
    };
    match result {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
        read => Ok(read as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> u32 {
        std::process::id()
    }

    #[test]
    fn reads_until_it_can_t() {
        let word = 0x1122_3344_5566_7788_u64;
        let mut bytes = [0; 8];
        assert_eq!(read_at(me(), &raw const word as u64, &mut bytes), Ok(8));
        assert_eq!(u64::from_ne_bytes(bytes), word);
        assert_eq!(read_at(me(), 0, &mut bytes), Err(Errno::FAULT));
    }

    #[test]
    fn a_read_that_does_not_come_back_is_waited_for_once_and_not_long() {
        let memory = RemoteMemory::default();
        let (release, held) = sync_channel::<()>(0);
        let stuck = memory.in_time(move || held.recv().is_ok());
        assert_eq!(stuck, Err(Errno::TIMEDOUT));
        assert_eq!(memory.touch(me(), &[0]), Err(Errno::TIMEDOUT), "one at a time");
        release.send(()).unwrap();
        while memory.busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let word = 7_u64;
        let mut bytes = [0; 8];
        assert_eq!(memory.read_at(me(), &raw const word as u64, &mut bytes), Ok(8));
        assert_eq!(u64::from_ne_bytes(bytes), word);
    }

    #[test]
    fn what_can_t_be_touched_is_passed_over() {
        let byte = 1u8;
        let here = &raw const byte as u64;
        let addrs: Vec<u64> = (0..3000).map(|i| if i % 7 == 0 { 0 } else { here }).collect();
        assert_eq!(touch(me(), &addrs), Ok(()));
        assert_eq!(touch(u32::MAX >> 1, &addrs), Err(Errno::SRCH));
    }
}
