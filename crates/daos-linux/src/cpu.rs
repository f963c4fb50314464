//! Which CPU this thread runs on, and what it has used of it.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;

/// Microseconds on a target's CPU that are too many: something there lets nobody else run.
/// Chosen: what is done there takes a few milliseconds.
const STALLED_US: u64 = 100_000;
/// Microseconds for which targets are not followed after that. Chosen: one stall of a second,
/// which is what the kernel lets real-time threads take at most, is a small part of it.
const AFTER_STALL_US: u64 = 60_000_000;

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
    user_and_system_us(&usage)
}

/// The same of one child, and of those that it waited for; `None` unless it has ended and was
/// not waited for yet.
pub fn of_ended_child_us(pid: u32) -> Option<(u64, u64)> {
    // SAFETY: numbers only, for all of which 0 is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above; it is written by when the call is over.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // The system call tells of the usage, which the C library's function keeps to itself.
    // SAFETY: the kernel writes two structures of these types.
    let failed = unsafe {
        libc::syscall(libc::SYS_waitid, libc::P_PID, pid, &raw mut info, how, &raw mut usage)
    };
    // SAFETY: all kinds of the structure that this call writes have a process number.
    let has_ended = failed == 0 && unsafe { info.si_pid() } != 0;
    has_ended.then(|| user_and_system_us(&usage))
}

fn user_and_system_us(usage: &libc::rusage) -> (u64, u64) {
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
/// CPU no interrupt is needed if only one of its threads runs: that does not while we do. But then
/// it waits for us, so nothing else should be done there. And we wait for what else runs there: no
/// target is followed to where that may be long.
#[derive(Debug)]
pub struct Placement {
    allowed: CpuSet,
    at: Option<u32>,
    /// CPUs of the host.
    online: u32,
    /// CPUs that the host keeps for something that is not to be disturbed.
    isolated: CpuSet,
    /// Whether the kernel keeps some time of each CPU from real-time threads.
    has_time_for_all: bool,
    /// When the thread was moved.
    since_us: u64,
    /// Until then no target is followed.
    stay_until_us: u64,
}

impl Placement {
    /// Remembers where the thread may run now.
    pub fn new() -> Self {
        Self::at(Path::new("/"))
    }

    /// The same on a host whose files are below `root`.
    fn at(root: &Path) -> Self {
        let read = |file| fs::read_to_string(root.join(file)).unwrap_or_default();
        let runtime_us = read("proc/sys/kernel/sched_rt_runtime_us");
        Self {
            allowed: sched_getaffinity(None).unwrap_or_default(),
            at: None,
            // SAFETY: it reads a number.
            online: unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u32,
            isolated: cpu_list(&read("sys/devices/system/cpu/isolated")),
            has_time_for_all: !runtime_us.starts_with('-'),
            since_us: 0,
            stay_until_us: 0,
        }
    }

    /// Moves to `cpu`, where a thread of the target runs that is scheduled by `policy`, if nothing
    /// speaks against it: it runs with real-time priority, the CPU is isolated, or what was there
    /// last time let nobody else run. Returns whether the calling thread is there.
    pub fn follow_thread(&mut self, cpu: u32, policy: u32) -> bool {
        let may = self.has_time_for_all
            && !is_in(&self.isolated, cpu)
            && monotonic_us() >= self.stay_until_us
            && shares_its_cpu(policy);
        may && self.follow(Some(cpu))
    }

    /// How many CPUs a flush of the TLB interrupts, at most, of a target of which so many threads
    /// ran, one of them on `cpu`.
    pub fn interrupts(&self, cpu: u32, nr_running: u32) -> u32 {
        match nr_running {
            0 => 0,
            1 => u32::from(sched_getcpu() != cpu as usize),
            all => {
                let others = all - u32::from(self.at == Some(cpu));
                others.min(self.online.saturating_sub(1)).max(1)
            }
        }
    }

    /// Moves to `cpu` if the thread may run there; `None` lets it run anywhere again.
    /// Returns whether the thread is where it was asked to be.
    pub fn follow(&mut self, cpu: Option<u32>) -> bool {
        if self.at == cpu {
            return true;
        }
        let set = match cpu {
            Some(cpu) if is_in(&self.allowed, cpu) => {
                let mut set = CpuSet::new();
                set.set(cpu as usize);
                set
            }
            Some(_) => return false,
            None => self.allowed,
        };
        let now_us = monotonic_us();
        if self.at.is_some() && now_us - self.since_us > STALLED_US {
            self.stay_until_us = now_us + AFTER_STALL_US;
        }
        let moved = sched_setaffinity(None, &set).is_ok();
        if moved {
            (self.at, self.since_us) = (cpu, now_us);
        }
        moved
    }
}

/// Whether there is such a CPU in the set; one may have a number that no set holds.
fn is_in(set: &CpuSet, cpu: u32) -> bool {
    (cpu as usize) < CpuSet::MAX_CPU && set.is_set(cpu as usize)
}

/// Whether who is scheduled by `policy` lets others run, too: that is none for real-time threads.
fn shares_its_cpu(policy: u32) -> bool {
    matches!(policy as libc::c_int, libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE)
}

/// Reads a list as the kernel writes it: `0-3,8`.
pub(crate) fn cpu_list(text: &str) -> CpuSet {
    let mut set = CpuSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            continue;
        };
        (first..CpuSet::MAX_CPU.min(last.saturating_add(1))).for_each(|cpu| set.set(cpu));
    }
    set
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

#[cfg(test)]
mod tests {
    use super::*;

    fn host(isolated: &str, runtime_us: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("sys/devices/system/cpu/isolated", isolated),
            ("proc/sys/kernel/sched_rt_runtime_us", runtime_us),
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn lists_of_cpus_are_read() {
        let set = cpu_list("0-2,5,1000-9999,x\n");
        let in_it = |cpus: &[u32]| cpus.iter().all(|&cpu| is_in(&set, cpu));
        assert!(in_it(&[0, 1, 2, 5, 1000, 1023]));
        assert!(![3, 4, 6, 999, 1024, 5000].iter().any(|&cpu| is_in(&set, cpu)));
        assert_eq!(cpu_list("\n"), CpuSet::new());
    }

    #[test]
    fn a_child_that_has_ended_says_what_it_used() {
        use std::process::Command;
        let mut busy = Command::new("sh");
        busy.args(["-c", "sh -c 'n=0; while [ $n -lt 100000 ]; do n=$((n + 1)); done'; exit 3"]);
        let mut child = busy.spawn().unwrap();
        let pause = std::time::Duration::from_millis(5);
        let used = (0..20_000).find_map(|_| {
            std::thread::sleep(pause);
            of_ended_child_us(child.id())
        });
        let used = used.expect("it ends within a minute");
        assert!(used.0 > 1000, "{used:?}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "it can be waited for after that");
        assert_eq!(of_ended_child_us(child.id()), None);
    }

    #[test]
    fn nobody_is_followed_to_where_we_may_have_to_wait() {
        let (usual, cpu) = (libc::SCHED_OTHER as u32, sched_getcpu() as u32);
        let follows = |isolated: &str, runtime_us: &str| {
            let host = host(isolated, runtime_us);
            Placement::at(host.path()).follow_thread(cpu, usual)
        };
        assert!(follows("\n", "950000\n"));
        assert!(!follows(&format!("{cpu}\n"), "950000\n"), "an isolated CPU");
        assert!(!follows("\n", "-1\n"), "real-time threads may take all");
        assert!(!Placement::new().follow_thread(5000, usual), "no such CPU");
        let real_time = libc::SCHED_FIFO as u32;
        assert!(!Placement::new().follow_thread(cpu, real_time), "a real-time thread");
        let mut stalled = Placement::new();
        assert!(stalled.follow(Some(cpu)));
        stalled.since_us -= 2 * STALLED_US;
        stalled.follow(None);
        assert!(!stalled.follow_thread(cpu, usual), "it took too long last time");
    }
}
