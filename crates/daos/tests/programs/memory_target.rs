//! A target whose memory is of a kind, and that notices if anything disturbs it.
//!
//! `memory-target KIND MIB [FILE]` maps memory, fills it with a pattern, and says
//! `ready START END` (in decimal). Then it uses all of it, over and over, until its
//! standard input ends. Exit status 0 if every word was always what it should be
//! and no system call failed.
//!
//! | kind | memory |
//! |---|---|
//! | `private` | anonymous, its own |
//! | `locked` | the same, locked |
//! | `shared` | anonymous, shared with a child that uses it too |
//! | `hugetlb` | of reserved huge pages |
//! | `file` | a mapped file, which is made |
//! | `forks` | private, and a child after the other that uses the copy |
//! | `churn` | private, and ten thousand other ranges that come and go |
//! | `guest` | private, never used by this program, which owns a virtual machine whose guest could use it |

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::ffi::c_void;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

const PAGE: usize = 4096;
/// Words of a page that are used: one in each half.
const STEP: usize = PAGE / 2 / 8;
/// Ranges that a round of churn maps.
const RANGES: usize = 10_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, kind, mib, file @ ..] = args.as_slice() else { panic!("KIND MIB [FILE]") };
    let len = mib.parse::<usize>().expect("a number of MiB") << 20;
    let memory = Memory::map(kind, len, file.first().map(String::as_str));
    memory.fill();
    let _machine = (kind == "guest").then(virtual_machine);
    let sharer = (kind == "shared").then(|| fork(|| memory.use_until(|| false)));
    let start = memory.start as usize;
    println!("ready {start} {}", start + len);
    std::io::stdout().flush().expect("someone reads this");

    if kind == "guest" {
        while !input_ended() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        return memory.use_once();
    }
    memory.use_until(|| {
        match kind.as_str() {
            "forks" => {
                let child = fork(|| memory.use_once());
                memory.use_once();
                wait(child);
            }
            "churn" => churn(),
            _ => {}
        }
        input_ended()
    });
    if let Some(child) = sharer {
        kill_process(child, Signal::KILL).expect("it runs until it is killed");
        waitpid(Some(child), WaitOptions::empty()).expect("it is ours");
    }
}

struct Memory {
    start: *mut u64,
    words: usize,
}

impl Memory {
    fn map(kind: &str, len: usize, file: Option<&str>) -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = match kind {
            "shared" => MapFlags::SHARED,
            "hugetlb" => MapFlags::PRIVATE | MapFlags::HUGETLB,
            _ => MapFlags::PRIVATE,
        };
        let start = if kind == "file" {
            let path = file.expect("the file to make");
            let file = File::create_new(path).expect("the file can be made");
            file.set_len(len as u64).expect("it can have this size");
            // SAFETY: the kernel chooses a free place, so nothing is replaced.
            unsafe { mmap(null_mut(), len, access, MapFlags::SHARED, &file, 0) }
        } else {
            // SAFETY: as above.
            unsafe { mmap_anonymous(null_mut(), len, access, flags) }
        };
        let start = start.expect("the memory can be mapped");
        if kind == "locked" {
            // SAFETY: it was mapped just above.
            unsafe { mlock(start, len) }.expect("it can be locked");
        }
        Self { start: start.cast(), words: len / 8 }
    }

    fn word(&self, at: usize) -> *mut u64 {
        assert!(at < self.words);
        self.start.wrapping_add(at)
    }

    fn expected(at: usize) -> u64 {
        (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    fn fill(&self) {
        for at in (0..self.words).step_by(STEP) {
            // SAFETY: inside the mapping, aligned; one thread uses it.
            unsafe { self.word(at).write_volatile(Self::expected(at)) };
        }
    }

    /// Reads and writes every page, and looks whether it is still what it was.
    fn use_once(&self) {
        for at in (0..self.words).step_by(STEP) {
            let word = self.word(at);
            // SAFETY: inside the mapping, aligned; whoever shares it writes the same.
            let found = unsafe { word.read_volatile() };
            assert_eq!(found, Self::expected(at), "word {at} was changed");
            // SAFETY: as above.
            unsafe { word.write_volatile(found) };
        }
    }

    fn use_until(&self, mut over: impl FnMut() -> bool) {
        while !over() {
            self.use_once();
        }
    }
}

/// A virtual machine without any memory or CPU: enough for its owner's memory to have what
/// tells the kernel's second-level tables of changes.
fn virtual_machine() -> OwnedFd {
    let kvm = File::options().read(true).write(true).open("/dev/kvm");
    let kvm = kvm.expect("there are virtual machines here");
    const KVM_CREATE_VM: libc::c_ulong = 0xae01;
    // SAFETY: makes a descriptor, and touches no memory of ours.
    let machine = unsafe { libc::ioctl(kvm.as_raw_fd(), KVM_CREATE_VM, 0) };
    assert!(machine >= 0, "a virtual machine can be made");
    // SAFETY: it is open, and nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(machine) }
}

/// Maps ranges that don't merge, uses them, and unmaps them again.
fn churn() {
    let mapped: Vec<*mut c_void> = (0..RANGES)
        .map(|at| {
            let write = if at % 2 == 0 { ProtFlags::WRITE } else { ProtFlags::empty() };
            let access = ProtFlags::READ | write;
            // SAFETY: the kernel chooses a free place, so nothing is replaced.
            unsafe { mmap_anonymous(null_mut(), PAGE, access, MapFlags::PRIVATE) }
                .expect("a page can be mapped")
        })
        .collect();
    for start in mapped {
        // SAFETY: mapped readable above, and not used after this.
        unsafe {
            assert_eq!(start.cast::<u64>().read_volatile(), 0);
            munmap(start, PAGE).expect("it can be unmapped");
        }
    }
}

/// A child that does `work` and ends, in failure if that panics.
fn fork(work: impl FnOnce()) -> Pid {
    // SAFETY: this program has one thread, so the child may do what it likes.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: ends the child without running what the parent will run.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        pid => Pid::from_raw(pid).filter(|_| pid > 0).expect("a child can be made"),
    }
}

fn wait(child: Pid) {
    let (_, status) = waitpid(Some(child), WaitOptions::empty())
        .expect("it is ours")
        .expect("without a wish not to wait there is a status");
    assert_eq!(status.exit_status(), Some(0), "the child failed");
}

/// Whoever started this has closed the other end, or ended.
fn input_ended() -> bool {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).expect("standard input can be polled") > 0
}
