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
    thread: JoinHandle<Observed>,
}

/// What was seen of a run.
#[derive(Debug)]
pub struct Observed {
    pub memory: MemorySeries,
    /// Most bytes that those had resident that it has started, if they do not count.
    pub uncounted_bytes: u64,
    /// When it ended.
    pub end: Instant,
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
            let (mut memory, mut uncounted_bytes) = (MemorySeries::default(), 0);
            loop {
                let elapsed = began.elapsed();
                let memory_of = |pids| ProcessMemory::of_all(Path::new("/proc"), pids);
                let (own, started) = (memory_of(vec![pid]), memory_of(started_by(pid)));
                let sum: ProcessMemory = [own].into_iter().chain(children.then_some(started)).sum();
                let ProcessMemory { resident_bytes: resident, swap_bytes: swap } = sum;
                // Of a process that has ended nothing is known.
                if resident > 0 && elapsed >= settle {
                    let usage = device.as_ref().and_then(|device| device.usage(Path::new("/")));
                    let zram = usage.map_or(0, |usage| usage.memory_bytes);
                    let sample = MemoryUse { resident, swap, zram };
                    memory.add(elapsed.as_micros() as u64, sample);
                    if !children {
                        uncounted_bytes = uncounted_bytes.max(started.resident_bytes);
                    }
                }
                let nanos = SAMPLE.saturating_sub(began.elapsed() - elapsed).subsec_nanos();
                let wait = Timespec { tv_sec: 0, tv_nsec: nanos.into() };
                let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
                if matches!(poll(&mut fds, Some(&wait)), Ok(1..)) {
                    return Observed { memory, uncounted_bytes, end: Instant::now() };
                }
            }
        };
        let thread = thread::Builder::new().name("observer".to_owned()).spawn(observe)?;
        Ok(Self { thread })
    }

    /// What was seen. Waits for its end.
    pub fn finish(self) -> Result<Observed> {
        self.thread.join().map_err(|_| anyhow!("the thread that looks at a run has failed"))
    }
}

/// All that a process has started, as far as they can be seen.
fn started_by(pid: u32) -> Vec<u32> {
    let started = Process::open(pid).map_or(Vec::new(), |process| process.descendants());
    started.iter().map(Process::pid).collect()
}
