//! Runs a program once, alone or with a scheme, and looks at it from outside: in the same
//! way whether there is a scheme or not.

use super::program::Program;
use crate::course::Course;
use crate::error::BenchError;
use crate::looker::{Looker, zram_bytes};
use crate::process::Running;
use daos_linux::process::start_ticks;
use daos_linux::{Process, guard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(100);
/// Time between two looks for the program that `daos apply` is about to start.
const SOON: Duration = Duration::from_millis(2);
/// How long that may take.
const STARTING: Duration = Duration::from_secs(60);
/// How long `daos` may take to end when the program has ended: it takes swap away.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ran {
    /// Seconds from when it was started to its end.
    pub runtime_s: f64,
    /// CPU time that it took itself, in seconds.
    pub cpu_s: f64,
    /// Its resident set: the mean over the time.
    pub resident_bytes: f64,
    /// What compressed swap took of memory: the mean over the time.
    pub zram_bytes: f64,
}

/// A scheme to run it with.
#[derive(Debug, Clone, Copy)]
pub struct With<'a> {
    /// Whatever `daos apply --scheme` takes.
    pub scheme: &'a str,
    /// Compressed swap for it, in bytes.
    pub zram_bytes: Option<u64>,
    /// For the random choice of pages.
    pub seed: u64,
}

/// Runs the program to its end.
pub fn watch(
    program: &Program,
    with: Option<With<'_>>,
    daos: &Path,
    stop: &AtomicBool,
) -> Result<Ran, BenchError> {
    let zram_before = zram_bytes(Path::new("/sys"));
    let (running, pid) = match with {
        None => {
            let mut command = Command::new(&program.command[0]);
            command.args(&program.command[1..]);
            let running = Running::start_talkative(command, &program.name)?;
            let pid = running.pid();
            (running, pid)
        }
        Some(with) => {
            let mut command = Command::new(daos);
            command.args(["apply", "--quiet", "--scheme", with.scheme]);
            command.arg(format!("--seed={}", with.seed));
            command.args(with.zram_bytes.map(|bytes| format!("--zram={bytes}")));
            command.arg("--").args(&program.command);
            let name = format!("daos apply -- {}", program.name);
            let mut running = Running::start_talkative(command, &name)?;
            match started_by(&mut running, stop)? {
                Some(pid) => (running, pid),
                // What failed says itself why.
                None => {
                    running.finish(PATIENCE, stop)?;
                    return Err(BenchError::TooEarly(name));
                }
            }
        }
    };
    let looked = look(pid, zram_before, stop)?;
    running.finish(PATIENCE, stop)?;
    looked.ok_or_else(|| BenchError::TooEarly(program.name.clone()))
}

/// Looks at a process to its end; `None` if that was too soon.
fn look(pid: u32, zram_before: u64, stop: &AtomicBool) -> Result<Option<Ran>, BenchError> {
    let pidfd = Pid::from_raw(pid as i32).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    let (Some(begun_s), Some(Ok(pidfd))) = (begun_s(pid), pidfd) else { return Ok(None) };
    let mut looker = Looker::new(pid, zram_before);
    let mut course = Course::default();
    let mut next = Instant::now();
    while !ends_before(&pidfd, next) {
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Interrupted);
        }
        course.samples.extend(looker.look());
        next = (next + PERIOD).max(Instant::now());
    }
    let runtime_s = since_boot_s() - begun_s;
    Ok(course.samples.last().map(|last| Ran {
        runtime_s,
        cpu_s: last.cpu_us as f64 / 1e6,
        resident_bytes: course.mean(|sample| sample.resident_bytes).unwrap_or(0.0),
        zram_bytes: course.mean(|sample| sample.zram_bytes).unwrap_or(0.0),
    }))
}

/// The command that `daos apply` starts, as soon as it is there; `None` if that ends before.
fn started_by(apply: &mut Running, stop: &AtomicBool) -> Result<Option<u32>, BenchError> {
    let Ok(parent) = Process::open(apply.pid()) else { return Ok(None) };
    let deadline = Instant::now() + STARTING;
    while Instant::now() < deadline {
        if let Some(pid) = parent.children().into_iter().find(|pid| is_command(*pid)) {
            return Ok(Some(pid));
        }
        if apply.wait_until(Instant::now() + SOON, stop)?.is_some() {
            return Ok(None);
        }
    }
    Err(BenchError::Stuck("daos apply".to_owned()))
}

/// Not the guard of swap, and not a `daos` that is about to become something else.
fn is_command(pid: u32) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let second = line.split(|byte| *byte == 0).nth(1).unwrap_or_default();
    !line.is_empty() && second != guard::COMMAND.as_bytes() && second != b"apply"
}

/// When a process was started, in seconds since boot; `None` if it has ended.
fn begun_s(pid: u32) -> Option<f64> {
    let ticks = start_ticks(Path::new("/proc"), pid)?;
    Some(ticks as f64 / rustix::param::clock_ticks_per_second().max(1) as f64)
}

fn since_boot_s() -> f64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Waits for the end of a process, until `deadline` at most.
fn ends_before(pidfd: &OwnedFd, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
    // An interrupted wait is followed by another.
    matches!(poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&left)), Ok(1..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(command: &[&str]) -> Result<Ran, BenchError> {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        watch(&Program::of_command(&command), None, Path::new("/none"), &AtomicBool::new(false))
    }

    #[test]
    fn a_program_alone() {
        let ran = alone(&["sleep", "0.5"]).unwrap();
        assert!(ran.runtime_s >= 0.48 && ran.resident_bytes > 0.0, "{ran:?}");
        assert!(ran.cpu_s <= ran.runtime_s, "{ran:?}");
    }

    #[test]
    fn what_fails_says_why() {
        let error = alone(&["sh", "-c", "sleep 0.3; echo no such luck >&2; exit 3"]).unwrap_err();
        assert!(error.to_string().contains("no such luck"), "{error}");
        let error = alone(&["/none/at/all"]).unwrap_err();
        assert!(error.to_string().contains("cannot run `all`"), "{error}");
    }
}
