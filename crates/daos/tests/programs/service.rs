//! A service that goes on, and counts what it has done.
//!
//! `service HOT COLD FILE` fills memory, so many MiB of each, and says `ready`. Then it
//! does a piece of work a millisecond on what is hot, leaves the rest alone, and writes
//! how many it has done to the file, until its standard input ends.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;

const PAGE: usize = 4096;
const MILLISECOND: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, hot, cold, file] = args.as_slice() else { panic!("HOT COLD FILE") };
    let memory = |mib: &str| vec![1u8; mib.parse::<usize>().expect("a number of MiB") << 20];
    let (mut hot, cold) = (memory(hot), memory(cold));
    let file = File::create(file).expect("the file can be made");
    let mut done: u64 = 0;
    loop {
        // Always as long, in one go: whoever reads it never sees half of a number.
        file.write_all_at(format!("{done:020}\n").as_bytes(), 0).expect("it can be written");
        if done == 0 {
            println!("ready");
            std::io::stdout().flush().expect("someone reads this");
        }
        let stdin = std::io::stdin();
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut fds, Some(&MILLISECOND)).expect("standard input can be polled") > 0 {
            break;
        }
        hot.iter_mut().step_by(PAGE).for_each(|byte| *byte = black_box(*byte));
        done += 1;
    }
    black_box(cold);
}
