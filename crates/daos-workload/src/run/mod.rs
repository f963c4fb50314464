//! Runs a configuration on real memory.
//!
//! In two steps, so that whoever started it knows when the memory is there:
//! [`Workload::map`] maps and fills it, [`Workload::run`] runs the phases. What
//! one thread does is done by the calling thread itself: a target of one thread
//! has one, and does not change from phase to phase.

mod memory;
mod options;
mod walk;
mod worker;

pub use options::{Backing, Fill, HugePages, RunOptions};

use crate::config::{Config, Mode, Order, Phase};
use crate::truth::{PatternKind, PhaseTruth, RegionTruth, TruthError, TruthWriter};
use daos_core::rng::mix;
use daos_core::{AddrRange, Rng};
use memory::Memory;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use walk::PatternWalk;
use worker::{PhaseWork, monotonic_us};

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The address space is too small.
    #[error(
        "cannot reserve {bytes} bytes of addresses: {why}; make regions smaller, or raise `ulimit -v`"
    )]
    Reserve {
        /// How much was asked for.
        bytes: u64,
        /// Why not.
        why: std::io::Error,
    },
    /// The kernel does not grant that much memory.
    #[error("cannot map {bytes} bytes for region {region:?}: {why}; make regions smaller")]
    Map {
        /// The region.
        region: String,
        /// Its size.
        bytes: u64,
        /// Why not.
        why: std::io::Error,
    },
    /// The kernel does not take the wish for huge pages.
    #[error("cannot set whether to use huge pages: {why}; leave it at the default")]
    HugePages {
        /// Why not.
        why: std::io::Error,
    },
    /// The kernel does not lock that much memory.
    #[error("cannot lock {bytes} bytes of region {region:?}: {why}; raise `ulimit -l`")]
    Lock {
        /// The region.
        region: String,
        /// Its size.
        bytes: u64,
        /// Why not.
        why: std::io::Error,
    },
    /// There can be no file for the memory.
    #[error(
        "cannot make a file in {dir:?}: {why}; give another directory with room as TMPDIR, or leave out `--memory file`"
    )]
    File {
        /// The directory for temporary files.
        dir: std::path::PathBuf,
        /// Why not.
        why: std::io::Error,
    },
    /// A thread could not be started.
    #[error("cannot start a thread: {why}; ask for fewer")]
    Thread {
        /// Why not.
        why: std::io::Error,
    },
    /// The truth could not be written.
    #[error(transparent)]
    Truth(#[from] TruthError),
}

impl RunError {
    fn file(why: rustix::io::Errno) -> Self {
        Self::File { dir: std::env::temp_dir(), why: why.into() }
    }
}

/// A configuration and its memory.
#[derive(Debug)]
pub struct Workload {
    config: Config,
    options: RunOptions,
    memory: Memory,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSummary {
    /// The phases that ran, in their order, those of all rounds. The last one
    /// is short if the run was stopped.
    pub phases: Vec<PhaseSummary>,
}

/// What a phase did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSummary {
    /// Its name.
    pub name: String,
    /// How long it took, in microseconds.
    pub elapsed_us: u64,
    /// Accesses made.
    pub accesses: u64,
}

impl RunSummary {
    /// Accesses per second, of all phases together.
    pub fn accesses_per_sec(&self) -> f64 {
        let elapsed_us = self.phases.iter().map(|p| p.elapsed_us).sum();
        per_sec(self.phases.iter().map(|p| p.accesses).sum(), elapsed_us)
    }
}

impl PhaseSummary {
    /// Accesses per second.
    pub fn accesses_per_sec(&self) -> f64 {
        per_sec(self.accesses, self.elapsed_us)
    }
}

fn per_sec(accesses: u64, elapsed_us: u64) -> f64 {
    accesses as f64 * 1e6 / elapsed_us.max(1) as f64
}

impl Workload {
    /// Maps the regions and fills them. When `stop` is set meanwhile, it returns with
    /// pages left out.
    pub fn map(config: Config, options: RunOptions, stop: &AtomicBool) -> Result<Self, RunError> {
        let memory = Memory::map(&config, options.huge_pages, options.backing)?;
        memory.fill(options.fill, stop)?;
        Ok(Self { config, options, memory })
    }

    /// The page-aligned addresses of each region, in the configuration's order.
    pub fn ranges(&self) -> Vec<AddrRange> {
        self.memory.ranges().collect()
    }

    /// The line that tells a waiting process that the memory is there:
    /// `ready: pid N, R regions, B bytes`.
    pub fn ready_line(&self) -> String {
        let (pid, regions) = (std::process::id(), self.config.regions.len());
        format!("ready: pid {pid}, {regions} regions, {} bytes", self.config.bytes())
    }

    /// Runs all phases, as often as the options say, and writes what each truly
    /// accessed to `truth`. Ends early, but with the truth written, soon after
    /// `stop` is set.
    pub fn run(
        &self,
        stop: &AtomicBool,
        mut truth: Option<&mut TruthWriter>,
    ) -> Result<RunSummary, RunError> {
        let mut summary = RunSummary::default();
        for _ in 0..self.options.repeat.get() {
            for phase in &self.config.phases {
                if stop.load(Ordering::Relaxed) {
                    return Ok(summary);
                }
                // The seed of a phase: the same one in every run, another in every round.
                let seed = mix(self.options.seed.wrapping_add(summary.phases.len() as u64));
                let ran = self.run_phase(phase, seed, stop)?;
                summary.phases.push(PhaseSummary {
                    name: phase.name.clone(),
                    elapsed_us: ran.end_us - ran.start_us,
                    accesses: ran.regions.iter().map(|r| r.accesses).sum(),
                });
                if let Some(truth) = truth.as_deref_mut() {
                    truth.write(&ran)?;
                }
            }
        }
        Ok(summary)
    }

    fn run_phase(
        &self,
        phase: &Phase,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<PhaseTruth, RunError> {
        let threads = self.options.threads.get();
        let start_us = monotonic_us();
        let phase_work = PhaseWork {
            start_us,
            end_us: start_us + phase.duration_us(),
            rate: self.options.rate.map(|r| r.get() as f64 / f64::from(threads)),
            total_weight: phase.total_weight(),
            stop,
        };
        let work = |thread: u32| {
            let walks = phase.patterns.iter().map(|p| {
                PatternWalk::new(self.memory.bytes(p.region), *p, thread.into(), threads.into())
            });
            let mut walks: Vec<PatternWalk<'_>> = walks.collect();
            phase_work.run(&mut walks, Rng::new(mix(seed ^ u64::from(thread))));
            walks.iter().map(PatternWalk::accesses).collect::<Vec<u64>>()
        };
        let accesses = on_threads(threads, work)?;
        Ok(self.truth_of(phase, start_us, monotonic_us(), &accesses))
    }

    /// Every region, with an entry for each pattern on it, or one that says idle.
    /// `accesses` are those of the phase's patterns.
    fn truth_of(&self, phase: &Phase, start_us: u64, end_us: u64, accesses: &[u64]) -> PhaseTruth {
        let mut regions = Vec::new();
        for (index, (region, range)) in
            self.config.regions.iter().zip(self.memory.ranges()).enumerate()
        {
            let idle = RegionTruth {
                name: region.name.clone(),
                start: range.start,
                end: range.end,
                pattern: PatternKind::Idle,
                stride: None,
                weight: 0,
                accesses: 0,
                mode: Mode::default(),
            };
            let before = regions.len();
            for (pattern, accesses) in phase.patterns.iter().zip(accesses) {
                if pattern.region == index {
                    let (kind, stride) = match pattern.order {
                        Order::Random => (PatternKind::Random, None),
                        Order::Stride(stride) => (PatternKind::Stride, Some(stride)),
                        Order::Singles(every) => (PatternKind::Singles, Some(every)),
                    };
                    regions.push(RegionTruth {
                        pattern: kind,
                        stride,
                        weight: pattern.weight,
                        accesses: *accesses,
                        mode: pattern.mode,
                        ..idle.clone()
                    });
                }
            }
            if regions.len() == before {
                regions.push(idle);
            }
        }
        PhaseTruth { start_us, end_us, regions }
    }
}

/// Runs `work` on this thread and `threads - 1` others, and adds up what they
/// return, item by item.
fn on_threads(threads: u32, work: impl Fn(u32) -> Vec<u64> + Sync) -> Result<Vec<u64>, RunError> {
    std::thread::scope(|scope| {
        let work = &work;
        let others = (1..threads)
            .map(|t| std::thread::Builder::new().spawn_scoped(scope, move || work(t)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| RunError::Thread { why })?;
        let mut total = work(0);
        for other in others {
            let counts = other.join().expect("a worker does not panic");
            total.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
        Ok(total)
    })
}

#[cfg(test)]
mod tests;
