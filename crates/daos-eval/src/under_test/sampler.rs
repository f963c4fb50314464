//! Samples a process from outside, again and again.

use super::resident::ResidentPages;
use super::time_series::Sample;
use crate::suite::tree;
use daos_linux::cpu;
use daos_linux::memory::ProcessMemory;
use std::fs;
use std::path::Path;

const PROC: &str = "/proc";

/// Takes samples of one process.
#[derive(Debug)]
pub(crate) struct Sampler {
    pid: u32,
    /// Whether those that it starts count, too.
    children: bool,
    watched: Option<ResidentPages>,
    /// What other swap took before.
    zram_before: u64,
}

impl Sampler {
    /// Of this process. `zram_before` is what [zram took](zram_bytes) before it had any of
    /// its memory there.
    pub fn new(pid: u32, zram_before: u64) -> Self {
        Self { pid, children: false, watched: None, zram_before }
    }

    /// The same, and of all that it starts, if `children` count.
    pub fn with_children(self, children: bool) -> Self {
        Self { children, ..self }
    }

    /// The same, and which pages of some of its memory are resident.
    pub fn with_watched(mut self, watched: Option<ResidentPages>) -> Self {
        self.watched = watched;
        self
    }

    /// The next sample; `None` when the program has ended.
    pub fn sample(&mut self) -> Option<Sample> {
        let at_us = cpu::monotonic_us();
        let own = ProcessMemory::read(Path::new(PROC), self.pid)?;
        let (memory, [user, system]) = match self.children {
            false => (own, cpu_ticks_of(self.pid)?.own),
            true => self.of_tree(),
        };
        let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Some(Sample {
            at_us,
            resident_bytes: memory.resident_bytes,
            swap_bytes: memory.swap_bytes,
            system_us: system * tick_us,
            cpu_us: (user + system) * tick_us,
            zram_bytes: zram_bytes(Path::new("/sys")).saturating_sub(self.zram_before),
            watched_share: self.watched.as_mut().and_then(ResidentPages::resident_share),
        })
    }

    /// What it and all that it started have, and what these took and those of them that ended.
    fn of_tree(&self) -> (ProcessMemory, [u64; 2]) {
        let pids = tree::processes(self.pid);
        let memory = tree::memory(Path::new(PROC), &pids);
        let mut ticks = [0, 0];
        for CpuTicks { own, ended } in pids.into_iter().filter_map(cpu_ticks_of) {
            ticks = [0, 1].map(|kind| ticks[kind] + own[kind] + ended[kind]);
        }
        (memory, ticks)
    }
}

/// Clock ticks in user space and in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CpuTicks {
    /// Of a process itself.
    own: [u64; 2],
    /// Of those that it had started and that have ended.
    ended: [u64; 2],
}

fn cpu_ticks_of(pid: u32) -> Option<CpuTicks> {
    cpu_ticks(&fs::read_to_string(format!("{PROC}/{pid}/stat")).ok()?)
}

/// From `/proc/PID/stat`.
fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    // The second field is the name in brackets, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut number = || fields.next()?.parse().ok();
    Some(CpuTicks { own: [number()?, number()?], ended: [number()?, number()?] })
}

/// Bytes of memory that all zram devices take; `sys` is `/sys`.
pub(crate) fn zram_bytes(sys: &Path) -> u64 {
    let devices = fs::read_dir(sys.join("block")).into_iter().flatten().flatten();
    let used = devices.filter_map(|device| {
        let is_zram = device.file_name().to_string_lossy().starts_with("zram");
        let stat = is_zram.then(|| fs::read_to_string(device.path().join("mm_stat")))?.ok()?;
        stat.split_ascii_whitespace().nth(2)?.parse::<u64>().ok()
    });
    used.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stand_behind_the_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 110 120 13 14 20 0 1 0";
        let (own, ended) = ([110, 120], [13, 14]);
        assert_eq!(cpu_ticks(stat), Some(CpuTicks { own, ended }));
        assert_eq!(cpu_ticks("7 (a) S 1"), None);
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(cpu_ticks(&own).is_some());
    }

    #[test]
    fn all_zram_is_added_up() {
        let sys = tempfile::tempdir().unwrap();
        for (device, stat) in
            [("zram0", "9 5 4096 0 0"), ("zram1", "9 5 100 0 0"), ("sda", "1 1 1")]
        {
            let dir = sys.path().join("block").join(device);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("mm_stat"), stat).unwrap();
        }
        assert_eq!(zram_bytes(sys.path()), 4196);
        assert_eq!(zram_bytes(&sys.path().join("none")), 0);
    }
}
