//! Runs one arm: the program, a scheme beside it, and someone who looks.

use super::arm::{Arm, Ran};
use super::counters::Counters;
use super::course::Sample;
use super::pagemap::Watched;
use crate::error::BenchError;
use crate::process::Running;
use daos_linux::memory::ProcessMemory;
use daos_linux::{TempCgroup, cpu};
use daos_workload::{Config, PhaseTruth};
use rustix::process::Signal;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(200);
/// How long a program may take to end once it should.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a workload may take over its own time, which does not count in it: a huge page
/// that is new to the machine takes milliseconds, and of them there are thousands.
const OVERTIME: Duration = Duration::from_secs(120);

/// The programs of a run. What is dropped is killed, in this order: so what the program
/// had in swap is gone when the swap is taken away.
#[derive(Debug)]
struct Both {
    workload: Running,
    apply: Option<Running>,
}

/// Runs it once, to the end of its workload. `seed` is that of the accesses.
pub fn run(arm: &Arm, seed: u64, daos: &Path, stop: &AtomicBool) -> Result<Ran, BenchError> {
    let scratch = tempfile::tempdir().map_err(BenchError::Scratch)?;
    let file = |name: &str| scratch.path().join(name);
    let (config, truth, stats) = (file("workload.cfg"), file("truth"), file("stats"));
    fs::write(&config, &arm.workload).map_err(BenchError::Scratch)?;
    let length = Duration::from_micros(Config::parse(arm.name, &arm.workload)?.duration_us());
    let zram_before = zram_bytes(Path::new("/sys"));
    let make_cgroup = |bytes| TempCgroup::make(Path::new("/"), bytes);
    let cgroup = arm.limit_bytes.map(make_cgroup).transpose()?;

    let mut args = vec![
        config.display().to_string(),
        format!("--truth={}", truth.display()),
        format!("--seed={seed}"),
    ];
    args.extend_from_slice(&arm.options);
    let workload = match &cgroup {
        Some(cgroup) => Running::start_within(&cgroup.processes(), daos, "workload", &args),
        None => Running::start(daos, "workload", &args),
    };
    let mut both = Both { workload: workload?, apply: None };
    both.workload.wait_for_line("ready:")?;
    let pid = both.workload.pid();
    let watched = arm.watched_bytes.and_then(|bytes| Watched::find(pid, bytes));
    let mut looker = Looker { pid, watched, zram_before };

    let mut ran = Ran::default();
    ran.course.samples.extend(looker.look());
    ran.begun_us = cpu::monotonic_us();
    if let Some(scheme) = &arm.scheme {
        let mut args = vec![
            format!("--scheme={scheme}"),
            format!("--pid={pid}"),
            format!("--stats={}", stats.display()),
            "--quiet".to_owned(),
        ];
        args.extend(arm.zram_bytes.map(|bytes| format!("--zram={bytes}")));
        both.apply = Some(Running::start(daos, "apply", &args)?);
    }

    let begun = Instant::now();
    for round in 1u32.. {
        let next = begun + PERIOD * round;
        if both.workload.wait_until(next, stop)?.is_some() {
            break;
        }
        if begun.elapsed() > length + OVERTIME {
            return Err(BenchError::Stuck("workload"));
        }
        if let Some(apply) = &mut both.apply
            && apply.has_ended()?
            // It notices the end of its target before we do.
            && both.workload.wait_until(Instant::now() + PERIOD, stop)?.is_none()
        {
            let failed = both.apply.take().map(|apply| apply.finish(PATIENCE, stop));
            failed.unwrap_or(Ok(()))?;
            return Err(BenchError::TooEarly("apply"));
        }
        ran.course.samples.extend(looker.look());
    }
    let Both { workload, apply } = both;
    match workload.finish(PATIENCE, stop) {
        Err(BenchError::Failed { status, .. })
            if cgroup.is_some() && status.signal() == Some(Signal::KILL.as_raw()) =>
        {
            return Ok(Ran { is_killed: true, ..Ran::default() });
        }
        ended => ended?,
    }
    if let Some(apply) = apply {
        apply.finish(PATIENCE, stop)?;
        ran.counters = Some(Counters::read(&stats)?);
    }
    ran.counted = PhaseTruth::read_all(&truth)?.pop();
    Ok(ran)
}

/// Takes samples.
#[derive(Debug)]
struct Looker {
    pid: u32,
    watched: Option<Watched>,
    /// What other swap took before.
    zram_before: u64,
}

impl Looker {
    /// `None` when the program has ended.
    fn look(&mut self) -> Option<Sample> {
        let at_us = cpu::monotonic_us();
        let memory = ProcessMemory::read(Path::new("/proc"), self.pid)?;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        let (user, system) = cpu_ticks(&stat)?;
        let tick_us = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Some(Sample {
            at_us,
            resident_bytes: memory.resident_bytes,
            swap_bytes: memory.swap_bytes,
            system_us: system * tick_us,
            cpu_us: (user + system) * tick_us,
            zram_bytes: zram_bytes(Path::new("/sys")).saturating_sub(self.zram_before),
            watched_share: self.watched.as_mut().and_then(Watched::resident_share),
        })
    }
}

/// Clock ticks in user space and in the kernel, from `/proc/PID/stat`.
fn cpu_ticks(stat: &str) -> Option<(u64, u64)> {
    // The second field is the name in brackets, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut number = || fields.next()?.parse().ok();
    Some((number()?, number()?))
}

/// Memory that all zram devices take.
fn zram_bytes(sys: &Path) -> u64 {
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
        assert_eq!(cpu_ticks(stat), Some((110, 120)));
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
