//! Uses swap that it sets up, as `daos apply --zram` does.
//!
//! `swap-user DAOS MIB [LIMIT PRIORITY]` has `DAOS` guard a swap device of twice the size,
//! with a bound of `LIMIT` bytes and this priority, fills memory with noise, pages it out,
//! and says `ready DEVICE GUARD STORED`: the device, the process that guards it, and the
//! bytes in it. When its standard input ends, it has the swap taken away. Exit status 0 if
//! then all of the memory is back, as it was; 1, and why on standard error, if the swap
//! could not be taken away.

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
        fill(page, at);
    }
    // SAFETY: mapped above. What is in it stays.
    unsafe { madvise(start, len, Advice::LinuxPageOut) }.expect("it can be paged out");

    let stored = swap.usage().expect("the device is there").stored_bytes;
    println!("ready {} {} {stored}", swap.device().display(), swap.guard_pid());
    std::io::stdout().flush().expect("someone reads this");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("standard input can be read");

    let gone = swap.take_away();
    let mut expected = [0; PAGE];
    for (at, page) in memory.chunks_exact(PAGE).enumerate() {
        fill(&mut expected, at);
        assert!(page == expected, "page {at} was changed");
    }
    match gone {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}

/// Writes what is in page `at`: noise, which does not compress.
fn fill(page: &mut [u8], at: usize) {
    for (word, bytes) in page.chunks_exact_mut(8).enumerate() {
        let mixed = ((at * PAGE + word) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bytes.copy_from_slice(&(mixed ^ (mixed >> 29)).to_ne_bytes());
    }
}
