//! A target that makes it hard for whoever watches it.
//!
//! `hostile WAY [NUMBER…]` says `ready` when it has begun, and goes on until its standard
//! input ends. What it starts ends with it.
//!
//! | way | what it does |
//! |---|---|
//! | `forks` | starts children as fast as it can, some tens at a time, that end at once |
//! | `children N` | has N children that do nothing |
//! | `crowd N KIB` | has N children with so much memory each, an eighth of which they use once a second |
//! | `remap` | maps, protects and unmaps its memory in two threads as fast as it can |
//! | `mappings N` | has N mappings that don't join, and a child that has as many |
//! | `changing` | maps and unmaps, starts threads and children, all the time and at a measured pace |
//! | `realtime` | runs with real-time priority, nearly all the time |
//! | `moves` | goes through its memory over and over, and moves it all the time to where memory lay that was not used for seconds |
//! | `userfaults` | serves the page faults of half of its memory itself, and of the other half does not; fails if somebody causes such faults, or its memory has changed |
//! | `claims PID…` | as a user without rights tries to claim processes, and does the same |

mod userfaults;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::mm::{
    Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mprotect,
    mremap_fixed, munmap,
};
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, wait};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::fs::OpenOptions;
use std::io::Write;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
/// Bytes that are mapped and unmapped.
const REMAPPED: usize = 32 << 20;
/// Bytes that are moved at once; of so many pieces, each is moved once in four seconds.
const MOVED: usize = 4 << 20;
const PIECES: usize = 16;
/// Children that a storm lets live at a time.
const STORM: usize = 48;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, way, numbers @ ..] = args.as_slice() else { panic!("WAY [NUMBER…]") };
    let numbers: Vec<u32> =
        numbers.iter().map(|number| number.parse().expect("a number")).collect();
    match way.as_str() {
        "forks" => forks(),
        "children" => children(numbers[0]),
        "crowd" => crowd(numbers[0], numbers[1] as usize * 1024),
        "remap" => remap(),
        "mappings" => mappings(numbers[0] as usize),
        "changing" => changing(),
        "realtime" => realtime(),
        "moves" => moves(),
        "userfaults" => userfaults::run(),
        "claims" => claims(&numbers),
        _ => panic!("no such way: {way}"),
    }
}

fn forks() {
    ready();
    let mut alive = 0;
    while !input_ended(0) {
        if alive == STORM {
            wait(WaitOptions::empty()).expect("there are children");
            alive -= 1;
        }
        fork(|| {
            map(PAGE);
        });
        alive += 1;
    }
}

fn children(number: u32) {
    for _ in 0..number {
        fork(pause);
    }
    ready();
    pause();
}

fn crowd(number: u32, len: usize) {
    for nth in 0..number {
        fork(|| {
            let own = map(len);
            touch(own, len);
            sleep_ms(u64::from(nth) * 1000 / u64::from(number));
            loop {
                touch(own, len / 8);
                sleep_ms(1000);
            }
        });
    }
    ready();
    pause();
}

fn remap() {
    for _ in 0..2 {
        std::thread::spawn(|| {
            loop {
                let start = map(REMAPPED);
                // SAFETY: all of it is in the memory mapped just above, which nobody else uses.
                unsafe {
                    for at in (0..REMAPPED).step_by(64 * PAGE) {
                        start.byte_add(at).cast::<u8>().write_volatile(1);
                    }
                    for at in (0..REMAPPED).step_by(512 * PAGE) {
                        let part = start.byte_add(at);
                        mprotect(part, 7 * PAGE, MprotectFlags::READ).expect("it is ours");
                        madvise(part, 256 * PAGE, Advice::LinuxDontNeed).expect("it is ours");
                    }
                    munmap(start, REMAPPED).expect("it is ours");
                }
            }
        });
    }
    ready();
    pause();
}

fn mappings(number: usize) {
    let start = map(number * PAGE);
    for at in (0..number).step_by(2) {
        // SAFETY: part of the memory mapped above.
        unsafe { mprotect(start.byte_add(at * PAGE), PAGE, MprotectFlags::READ) }
            .expect("there may be so many mappings");
    }
    fork(pause);
    ready();
    pause();
}

/// Every twentieth of a second a mapping, a thread and, each fourth time, a child come, and as
/// many go; some memory is always in use, and some now and then.
fn changing() {
    let steady = map(REMAPPED);
    let mut blocks = VecDeque::new();
    ready();
    for tick in 0_u64.. {
        if input_ended(50) {
            return;
        }
        touch(steady, if tick.is_multiple_of(200) { REMAPPED } else { REMAPPED / 4 });
        let len = (1 + tick as usize % 7) * 64 * PAGE;
        let block = map(len);
        touch(block, len);
        // SAFETY: the first page of the block that was mapped just above.
        unsafe { mprotect(block, PAGE, MprotectFlags::READ) }.expect("it is ours");
        blocks.push_back((block, len));
        if blocks.len() > 200 {
            let (block, len) = blocks.pop_front().expect("there are some");
            // SAFETY: it was mapped here, and nobody else knows of it.
            unsafe { munmap(block, len) }.expect("it is ours");
        }
        std::thread::spawn(|| {
            let own = map(64 * PAGE);
            touch(own, 64 * PAGE);
            sleep_ms(1000);
            // SAFETY: as above.
            unsafe { munmap(own, 64 * PAGE) }.expect("it is ours");
        });
        if tick.is_multiple_of(4) {
            fork(|| {
                let own = map(64 * PAGE);
                for _ in 0..30 {
                    touch(own, 64 * PAGE);
                    sleep_ms(100);
                }
            });
        }
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    }
}

/// Writes to each page. `len` bytes from `start` on are mapped, and nobody else's.
fn touch(start: *mut c_void, len: usize) {
    for at in (0..len).step_by(PAGE) {
        // SAFETY: inside of what the caller has mapped.
        unsafe { start.byte_add(at).cast::<u8>().write_volatile(1) };
    }
}

fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

fn realtime() {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: the kernel reads the structure.
    assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const param) }, 0);
    let start = map(REMAPPED).cast::<u8>();
    ready();
    while !input_ended(50) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            for at in (0..REMAPPED).step_by(PAGE) {
                // SAFETY: in the memory mapped above, which nobody else uses.
                unsafe { start.add(at).write_volatile(1) };
            }
        }
    }
}

/// Each piece that is in use has a place beside it that is not. They change places in turn:
/// the one in use is moved over the idle one, and where it was, new memory is used once.
fn moves() {
    let start = map(2 * PIECES * MOVED);
    // SAFETY: all of it is in the memory mapped just above, which nobody else uses.
    unsafe { madvise(start, 2 * PIECES * MOVED, Advice::LinuxNoHugepage).expect("it is ours") };
    let place = |piece: usize, side: usize| start.wrapping_byte_add((2 * piece + side) * MOVED);
    let mut sides = [0; PIECES];
    let touch = |start: *mut c_void| {
        for at in (0..MOVED).step_by(PAGE) {
            // SAFETY: a place in the memory mapped above, all of which stays mapped.
            unsafe { start.byte_add(at).cast::<u8>().write_volatile(1) };
        }
    };
    (0..PIECES).for_each(|piece| touch(place(piece, 1)));
    ready();
    let pause = Duration::from_secs(4) / PIECES as u32;
    for piece in (0..PIECES).cycle() {
        let begun = Instant::now();
        while begun.elapsed() < pause {
            (0..PIECES).for_each(|piece| touch(place(piece, sides[piece])));
        }
        let (from, to) = (place(piece, sides[piece]), place(piece, 1 - sides[piece]));
        // SAFETY: both are places in the memory mapped above, in use by this thread alone.
        unsafe {
            mremap_fixed(from, MOVED, MOVED, MremapFlags::MAYMOVE, to).expect("it can be moved");
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            mmap_anonymous(from, MOVED, access, flags).expect("memory can be mapped");
            madvise(from, MOVED, Advice::LinuxNoHugepage).expect("it is ours");
        }
        touch(from);
        sides[piece] = 1 - sides[piece];
        if input_ended(0) {
            return;
        }
    }
}

fn claims(pids: &[u32]) {
    // SAFETY: numbers only; this program has one thread.
    assert_eq!(unsafe { libc::setresgid(65534, 65534, 65534) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setresuid(65534, 65534, 65534) }, 0);
    for pid in pids {
        let path = format!("/run/daos/claims/{pid}");
        let taken = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        assert!(taken.is_err(), "anybody can claim process {pid}");
    }
    ready();
    pause();
}

fn map(len: usize) -> *mut c_void {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses a free place, so nothing is replaced.
    unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) }
        .expect("memory can be mapped")
}

/// A child that does `work` and ends.
fn fork(work: impl FnOnce()) {
    // SAFETY: this program has one thread then, or the child does system calls and writes to
    // memory only, which takes no lock that another thread may hold.
    match unsafe { libc::fork() } {
        0 => {
            let ends = set_parent_process_death_signal(Some(Signal::KILL));
            if ends.is_ok() {
                work();
            }
            // SAFETY: ends the child without running what the parent will run.
            unsafe { libc::_exit(0) }
        }
        pid => assert!(Pid::from_raw(pid).is_some() && pid > 0, "a child can be made"),
    }
}

fn ready() {
    println!("ready");
    std::io::stdout().flush().expect("someone reads this");
}

/// Until standard input ends.
fn pause() {
    while !input_ended(1000) {}
}

/// Whether whoever started this has closed the other end, or ended, within so many milliseconds.
fn input_ended(wait_ms: i64) -> bool {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec { tv_sec: wait_ms / 1000, tv_nsec: wait_ms % 1000 * 1_000_000 };
    retry_on_intr(|| poll(&mut fds, Some(&wait))).expect("standard input can be polled") > 0
}
