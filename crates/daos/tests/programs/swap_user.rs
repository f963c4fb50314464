//! Uses swap that it sets up, as `daos apply --zram` does.
//!
//! `swap-user DAOS MIB [LIMIT PRIORITY]` has `DAOS` guard a swap device of twice the size, with a bound
//! of `LIMIT` bytes and this priority, fills memory
//! with a pattern, pages it out, and says `ready DEVICE GUARD STORED`: the device, the
//! process that guards it, and the bytes in it. When its standard input ends, it has
//! the swap taken away. Exit status 0 if then all of the memory is back, as it was;
//! 1, and why on standard error, if the swap could not be taken away.

use daos_linux::{GuardedSwap, SwapOptions};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use std::io::{Read, Write};
use std::process::{Command, ExitCode};

const PAGE: usize = 4096;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let [_, daos, mib, more @ ..] = args.as_slice() else { panic!("DAOS MIB") };
    let len = mib.parse::<usize>().expect("a number of MiB") << 20;
    let mut options = SwapOptions::new(2 * len as u64);
    if let [limit, priority] = more {
        options.limit_bytes = Some(limit.parse().expect("bytes"));
        options.priority = priority.parse().expect("a priority");
    }
    let swap = GuardedSwap::set_up_by(Command::new(daos), options).expect("swap");

    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses a free place, so nothing is replaced.
    let start = unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE) }
        .expect("the memory can be mapped");
    // SAFETY: mapped above, for the whole run, and used by nothing else.
    let memory = unsafe { std::slice::from_raw_parts_mut(start.cast::<u8>(), len) };
    for (at, page) in memory.chunks_exact_mut(PAGE).enumerate() {
        page[..8].copy_from_slice(&expected(at));
    }
    // SAFETY: mapped above. What is in it stays.
    unsafe { madvise(start, len, Advice::LinuxPageOut) }.expect("it can be paged out");

    let stored = swap.usage().expect("the device is there").stored_bytes;
    println!("ready {} {} {stored}", swap.device().display(), swap.guard_pid());
    std::io::stdout().flush().expect("someone reads this");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("standard input can be read");

    let gone = swap.take_away();
    for (at, page) in memory.chunks_exact(PAGE).enumerate() {
        assert_eq!(page[..8], expected(at), "page {at} was changed");
    }
    match gone {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}

/// What a page begins with; the rest of it is zeros.
fn expected(at: usize) -> [u8; 8] {
    ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).to_ne_bytes()
}
