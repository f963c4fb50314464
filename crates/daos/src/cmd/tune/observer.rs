//! What a run takes of memory, and when it ends: seen in the same way whether it is watched
//! or runs alone, so that the difference is the scheme's.

use anyhow::{Result, anyhow};
use daos_core::units::display;
use daos_linux::memory::ProcessMemory;
use daos_linux::{Process, TempSwap};
use daos_session::{MemorySeries, MemoryUse, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;
use std::sync::Once;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at the memory.
const SAMPLE: Duration = Duration::from_millis(100);
/// When it is looked for what a run has started, if that is not to count.
const LOOKED_FOR_CHILDREN: Duration = Duration::from_secs(1);

/// Looks at a run until it ends.
#[derive(Debug)]
pub struct Observer {
    thread: JoinHandle<(MemorySeries, Instant)>,
}

impl Observer {
    /// Of a run that has just begun; with `children`, the memory of those that it starts
    /// counts too. What it takes while it settles does not. `device` is the swap that was set
    /// up for it, if any.
    pub fn begin(
        run: &Started,
        children: bool,
        settle: Duration,
        device: Option<TempSwap>,
    ) -> Result<Self> {
        let (pid, pidfd, began) = (run.pid(), run.pidfd()?, run.began());
        let observe = move || {
            let mut series = MemorySeries::default();
            let mut has_looked = false;
            loop {
                let elapsed = began.elapsed();
                let pids = if children { tree(pid) } else { vec![pid] };
                let memory = |pid| ProcessMemory::read(Path::new("/proc"), pid);
                let sum: ProcessMemory = pids.into_iter().filter_map(memory).sum();
                let ProcessMemory { resident_bytes: resident, swap_bytes: swap } = sum;
                // Of a process that has ended nothing is known.
                if resident > 0 && elapsed >= settle {
                    let usage = device.as_ref().and_then(|device| device.usage(Path::new("/")));
                    let zram = usage.map_or(0, |usage| usage.memory_bytes);
                    let sample = MemoryUse { resident, swap, zram };
                    series.add(elapsed.as_micros() as u64, sample);
                }
                if !children && !has_looked && elapsed >= LOOKED_FOR_CHILDREN {
                    has_looked = true;
                    tell_of_children(pid, resident);
                }
                let nanos = SAMPLE.saturating_sub(began.elapsed() - elapsed).subsec_nanos();
                let wait = Timespec { tv_sec: 0, tv_nsec: nanos.into() };
                let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
                if matches!(poll(&mut fds, Some(&wait)), Ok(1..)) {
                    return (series, Instant::now());
                }
            }
        };
        let thread = thread::Builder::new().name("observer".to_owned()).spawn(observe)?;
        Ok(Self { thread })
    }

    /// What was seen, and when it ended. Waits for that.
    pub fn finish(self) -> Result<(MemorySeries, Instant)> {
        self.thread.join().map_err(|_| anyhow!("the thread that looks at a run has failed"))
    }
}

/// A process and all that it has started, as far as they can be seen.
fn tree(pid: u32) -> Vec<u32> {
    let started = Process::open(pid).map_or(Vec::new(), |process| process.descendants());
    std::iter::once(pid).chain(started.iter().map(Process::pid)).collect()
}

/// Says once that memory does not count of which there is much.
fn tell_of_children(pid: u32, own_bytes: u64) {
    static TOLD: Once = Once::new();
    let children = tree(pid).split_off(1);
    let read = |pid: &u32| ProcessMemory::read(Path::new("/proc"), *pid);
    let bytes = children.iter().filter_map(read).sum::<ProcessMemory>().resident_bytes;
    if bytes > own_bytes {
        TOLD.call_once(|| {
            daos_cli::say!(
                "daos: note: what the command has started has {} resident, and does not count: give \
                 --children",
                display::bytes(bytes)
            );
        });
    }
}
