//! What a run takes of memory, and when it ends: seen in the same way whether it is watched
//! or runs alone, so that the difference is the scheme's.

use anyhow::{Result, anyhow};
use daos_linux::memory::ProcessMemory;
use daos_linux::{Process, TempSwap};
use daos_session::{MemorySeries, MemoryUse, Started};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at the memory.
const SAMPLE: Duration = Duration::from_millis(100);

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
            loop {
                let elapsed = began.elapsed();
                let pids = if children { tree(pid) } else { vec![pid] };
                let memory = |pid| ProcessMemory::read(Path::new("/proc"), pid);
                let all: Vec<ProcessMemory> = pids.into_iter().filter_map(memory).collect();
                let resident: u64 = all.iter().map(|one| one.resident_bytes).sum();
                let swap = all.iter().map(|one| one.swap_bytes).sum();
                // Of a process that has ended nothing is known.
                if resident > 0 && elapsed >= settle {
                    let usage = device.as_ref().and_then(|device| device.usage(Path::new("/")));
                    let zram = usage.map_or(0, |usage| usage.memory_bytes);
                    let sample = MemoryUse { resident, swap, zram };
                    series.add(elapsed.as_micros() as u64, sample);
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
    let mut all = vec![pid];
    let mut at = 0;
    while at < all.len() {
        if let Ok(process) = Process::open(all[at]) {
            let children = process.children();
            all.extend(children.into_iter().filter(|pid| !all.contains(pid)).collect::<Vec<_>>());
        }
        at += 1;
    }
    all
}
