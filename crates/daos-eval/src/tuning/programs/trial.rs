//! Runs a program once, alone or with a scheme, and samples it from outside: in the same way
//! whether there is a scheme or not.

use super::program::Program;
use crate::error::EvalError;
use crate::under_test::{Running, Sampler, TimeSeries, ends_before, zram_bytes};
use daos_linux::process::start_ticks;
use daos_linux::{Process, guard};
use daos_tune::last_number;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::Seek;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two samples.
const PERIOD: Duration = Duration::from_millis(100);
/// Time between two searches for the program that `daos apply` is about to start.
const SOON: Duration = Duration::from_millis(2);
/// How long that may take.
const STARTING: Duration = Duration::from_secs(60);
/// How long `daos` may take to end when the program has ended: it takes swap away.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgramTrial {
    /// Seconds that its work took: what the metric says, or from when it had settled to its
    /// end.
    pub work_s: f64,
    /// CPU time that it took itself, in seconds, from when it had settled on.
    pub cpu_s: f64,
    /// Its resident set: the mean over the time, from when it had settled on.
    pub resident_bytes: f64,
    /// What compressed swap took of memory: the mean over the same time.
    pub zram_bytes: f64,
}

/// A scheme to run it with.
#[derive(Debug, Clone, Copy)]
pub struct SchemeBeside<'a> {
    /// Whatever `daos apply --scheme` takes.
    pub scheme: &'a str,
    /// Compressed swap for it, in bytes.
    pub zram_bytes: Option<u64>,
    /// For the random choice of pages.
    pub seed: u64,
}

/// What all trials of a program have in common.
#[derive(Debug, Clone, Copy)]
pub struct TrialSettings<'a> {
    /// The `daos` to run.
    pub daos: &'a Path,
    /// A command of the shell that reads what the program printed and prints, as its last
    /// word, the seconds that its work took.
    pub metric: Option<&'a str>,
    /// How much of its beginning does not count, in seconds.
    pub settle_s: f64,
    /// Whether what it starts counts, too, and schemes act on that.
    pub children: bool,
    /// Set from outside to end early.
    pub stop: &'a AtomicBool,
}

/// Runs the program to its end.
pub fn run_trial(
    program: &Program,
    with: Option<SchemeBeside<'_>>,
    TrialSettings { daos, metric, settle_s, children, stop }: TrialSettings<'_>,
) -> Result<ProgramTrial, EvalError> {
    let mut printed = tempfile::tempfile().map_err(EvalError::Scratch)?;
    let stdout = || printed.try_clone().map_err(EvalError::Scratch);
    let zram_before = zram_bytes(Path::new("/sys"));
    let (running, pid) = match with {
        None => {
            let mut command = Command::new(&program.command[0]);
            command.args(&program.command[1..]);
            let running = Running::start_talkative(command, &program.name, stdout()?)?;
            let pid = running.pid();
            (running, pid)
        }
        Some(with) => {
            let mut command = Command::new(daos);
            command.args(["apply", "--quiet", "--scheme", with.scheme]);
            command.arg(format!("--seed={}", with.seed));
            command.args(with.zram_bytes.map(|bytes| format!("--zram={bytes}")));
            command.args(children.then_some("--children"));
            command.arg("--").args(&program.command);
            let name = format!("daos apply -- {}", program.name);
            let mut running = Running::start_talkative(command, &name, stdout()?)?;
            match started_by(&mut running, stop)? {
                Some(pid) => (running, pid),
                // What failed says itself why.
                None => {
                    running.finish(PATIENCE, stop)?;
                    return Err(EvalError::TooEarly(name));
                }
            }
        }
    };
    let sampled = sample_to_the_end(
        Sampler::new(pid, zram_before).with_children(children),
        pid,
        settle_s,
        stop,
    )?;
    running.finish(PATIENCE, stop)?;
    let name = || program.name.clone();
    let ran = sampled.ok_or_else(|| match settle_s > 0.0 {
        true => EvalError::WhileSettling { name: name(), settle_s },
        false => EvalError::TooEarly(name()),
    })?;
    let Some(metric) = metric else { return Ok(ran) };
    printed.rewind().map_err(EvalError::Scratch)?;
    Ok(ProgramTrial { work_s: seconds(metric, printed)?, ..ran })
}

/// The seconds that a metric prints of what a program printed.
fn seconds(metric: &str, printed: File) -> Result<f64, EvalError> {
    let mut command = Command::new("sh");
    command.args(["-c", metric]).stdin(printed);
    let failed = |why| EvalError::Run { name: metric.to_owned(), why };
    let ended = command.output().map_err(failed)?;
    let said = String::from_utf8_lossy(&ended.stdout);
    last_number(&said).filter(|seconds| ended.status.success() && *seconds > 0.0).ok_or_else(|| {
        EvalError::Metric {
            metric: metric.to_owned(),
            said: (said + String::from_utf8_lossy(&ended.stderr)).into_owned(),
        }
    })
}

/// Samples a process to its end, once it has settled; `None` if it ended too soon.
fn sample_to_the_end(
    mut sampler: Sampler,
    pid: u32,
    settle_s: f64,
    stop: &AtomicBool,
) -> Result<Option<ProgramTrial>, EvalError> {
    let pidfd = Pid::from_raw(pid as i32).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
    let (Some(begun_s), Some(Ok(pidfd))) = (begun_s(pid), pidfd) else { return Ok(None) };
    let mut time_series = TimeSeries::default();
    let mut next = Instant::now();
    while !ends_before(&pidfd, next) {
        if stop.load(Ordering::Relaxed) {
            return Err(EvalError::Interrupted);
        }
        if since_boot_s() - begun_s >= settle_s {
            time_series.samples.extend(sampler.sample());
        }
        next = (next + PERIOD).max(Instant::now());
    }
    let work_s = since_boot_s() - begun_s - settle_s;
    let (first, last) = (time_series.samples.first(), time_series.samples.last());
    Ok(first.zip(last).map(|(first, last)| ProgramTrial {
        work_s,
        cpu_s: (last.cpu_us - first.cpu_us) as f64 / 1e6,
        resident_bytes: time_series.mean(|sample| sample.resident_bytes).unwrap_or(0.0),
        zram_bytes: time_series.mean(|sample| sample.zram_bytes).unwrap_or(0.0),
    }))
}

/// The command that `daos apply` starts, as soon as it is there; `None` if that ends before.
fn started_by(apply: &mut Running, stop: &AtomicBool) -> Result<Option<u32>, EvalError> {
    let Ok(parent) = Process::open(apply.pid()) else { return Ok(None) };
    let deadline = Instant::now() + STARTING;
    while Instant::now() < deadline {
        let is_command = |pid: &u32| is_command(*pid, apply.pid());
        if let Some(pid) = parent.children().into_iter().find(is_command) {
            return Ok(Some(pid));
        }
        if apply.wait_until(Instant::now() + SOON, stop)?.is_some() {
            return Ok(None);
        }
    }
    Err(EvalError::Stuck("daos apply".to_owned()))
}

/// Not the guard of swap, and not a copy of `daos` that is about to become something else.
fn is_command(pid: u32, daos: u32) -> bool {
    let line = |pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let (its, of_daos) = (line(pid), line(daos));
    let second = its.split(|byte| *byte == 0).nth(1).unwrap_or_default();
    !its.is_empty() && its != of_daos && second != guard::COMMAND.as_bytes()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(
        command: &[&str],
        metric: Option<&str>,
        settle_s: f64,
    ) -> Result<ProgramTrial, EvalError> {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        let stop = &AtomicBool::new(false);
        let daos = Path::new("/none");
        let how = TrialSettings { daos, metric, settle_s, children: false, stop };
        run_trial(&Program::of_command(&command), None, how)
    }

    #[test]
    fn what_it_starts_counts_if_it_is_to() {
        let fill = "$text = 'x' x (64 << 20); $end = time + 1; 1 while time < $end";
        let command = ["sh", "-c", "perl -e \"$0\"; true", fill].map(str::to_owned);
        let stop = &AtomicBool::new(false);
        let [own, all] = [false, true].map(|children| {
            let daos = Path::new("/none");
            let how = TrialSettings { daos, metric: None, settle_s: 0.0, children, stop };
            run_trial(&Program::of_command(&command), None, how).unwrap()
        });
        let mib = |ran: ProgramTrial| ran.resident_bytes / f64::from(1 << 20);
        assert!(mib(own) < 16.0 && mib(all) > 40.0, "{own:?} {all:?}");
        assert!(own.cpu_s < 0.1 && all.cpu_s > 0.2, "{own:?} {all:?}");
    }

    #[test]
    fn a_program_alone() {
        let ran = alone(&["sleep", "0.5"], None, 0.0).unwrap();
        assert!(ran.work_s >= 0.48 && ran.resident_bytes > 0.0, "{ran:?}");
        assert!(ran.cpu_s <= ran.work_s, "{ran:?}");
    }

    #[test]
    fn what_is_set_up_does_not_count() {
        let workloads = ["sh", "-c", "sleep 1; exec sleep 1"];
        let [whole, settled] =
            [0.0, 1.0].map(|settle_s| alone(&workloads, None, settle_s).unwrap());
        let left = whole.work_s - settled.work_s;
        assert!((0.8..1.2).contains(&left), "{whole:?} {settled:?}");
        let error = alone(&workloads, None, 9.0).unwrap_err();
        assert!(error.to_string().contains("`sh` ended within the 9 s of --settle"), "{error}");
    }

    #[test]
    fn a_program_says_itself_what_it_took() {
        let command = ["sh", "-c", "sleep 0.3; echo worked 12.5; echo not this 7 >&2"];
        assert_eq!(alone(&command, Some("tail -n 1"), 0.0).unwrap().work_s, 12.5);
        let error = alone(&command, Some("echo 5; echo oh no >&2; exit 1"), 0.0).unwrap_err();
        assert!(error.to_string().contains("oh no"), "{error}");
        let error = alone(&["sleep", "0.3"], Some("tail -n 1"), 0.0).unwrap_err();
        assert!(error.to_string().contains("`tail -n 1` has to print"), "{error}");
    }

    #[test]
    fn what_fails_says_why() {
        let error = alone(&["sh", "-c", "sleep 0.3; echo no such luck >&2; exit 3"], None, 0.0)
            .unwrap_err();
        assert!(error.to_string().contains("no such luck"), "{error}");
        let error = alone(&["/none/at/all"], None, 0.0).unwrap_err();
        assert!(error.to_string().contains("cannot run `all`"), "{error}");
    }
}
