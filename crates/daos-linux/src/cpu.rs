//! Which CPU this thread runs on, and what it has used of it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far, user and system, in microseconds.
pub fn used_us() -> u64 {
    clock_us(ClockId::ProcessCPUTime)
}

/// CPU time of all processes that this one, or those, started and waited for: user and
/// system, in microseconds.
pub fn of_children_us() -> (u64, u64) {
    // SAFETY: numbers only, for all of which 0 is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes a structure of this type. It fails for nobody who asks
    // for one of the two kinds that there are.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (us(usage.ru_utime), us(usage.ru_stime))
}

/// `CLOCK_MONOTONIC` in microseconds.
pub fn monotonic_us() -> u64 {
    clock_us(ClockId::Monotonic)
}

fn clock_us(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

/// Asks for short turns of the CPU, a tenth of a millisecond each, for the calling
/// thread. Whoever asks for less gets it sooner: a tick then need not wait for the
/// target's turn of some milliseconds to end. Its share of the CPU stays the same.
///
/// Kernels since 6.12 heed it; for others it changes nothing.
pub fn ask_for_short_turns() {
    // SAFETY: numbers only, for all of which 0 is a value.
    let mut attr: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: the kernel writes no more than the size that it is told.
    let failed = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0u32) };
    // Who gave this thread another policy knew why.
    if failed != 0 || attr.sched_policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attr.sched_runtime = 100_000;
    // SAFETY: the structure is of the size that it says; the kernel only reads it.
    // If it fails, ticks come as they did before.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attr, 0u32) };
}

/// The CPU that the calling thread is on, and another that it may run on.
pub fn two_cpus() -> Option<(u32, u32)> {
    let allowed = sched_getaffinity(None).ok()?;
    let here = sched_getcpu();
    let there = (0..CpuSet::MAX_CPU).find(|&cpu| cpu != here && allowed.is_set(cpu))?;
    Some((here as u32, there as u32))
}

/// The calling thread, kept on one CPU until this is dropped.
#[derive(Debug)]
pub struct Pinned {
    _until_dropped: Placement,
}

impl Pinned {
    /// Moves to `cpu`; `None` if the thread may not run there.
    pub fn to(cpu: u32) -> Option<Self> {
        let mut placement = Placement::new();
        placement.follow(Some(cpu)).then_some(Self { _until_dropped: placement })
    }
}

/// Moves the calling thread to the CPU where its target runs, and back.
///
/// Clearing an accessed bit of a target that runs on another CPU interrupts that
/// CPU to flush its TLB (about 20 µs on a virtual machine). From the target's own
/// CPU no interrupt is needed: the target is not running while we are. But then it
/// waits for us, so nothing else should be done there.
#[derive(Debug)]
pub struct Placement {
    allowed: CpuSet,
    at: Option<u32>,
}

impl Placement {
    /// Remembers where the thread may run now.
    pub fn new() -> Self {
        Self { allowed: sched_getaffinity(None).unwrap_or_default(), at: None }
    }

    /// Whether a flush of the TLB for a target of `nr_threads`, which ran on `cpu`
    /// last, interrupts it.
    pub fn interrupts(&self, cpu: u32, nr_threads: u32) -> bool {
        nr_threads > 1 || sched_getcpu() != cpu as usize
    }

    /// Moves to `cpu` if the thread may run there; `None` lets it run anywhere again.
    /// Returns whether the thread is where it was asked to be.
    pub fn follow(&mut self, cpu: Option<u32>) -> bool {
        if self.at == cpu {
            return true;
        }
        let set = match cpu {
            Some(cpu) if self.allowed.is_set(cpu as usize) => {
                let mut set = CpuSet::new();
                set.set(cpu as usize);
                set
            }
            Some(_) => return false,
            None => self.allowed,
        };
        let moved = sched_setaffinity(None, &set).is_ok();
        if moved {
            self.at = cpu;
        }
        moved
    }
}

impl Default for Placement {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        self.follow(None);
    }
}
