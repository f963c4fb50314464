//! Live processes under watch: from those that were named, or a command, to their end.

use crate::command::{CommandError, Ended, Started};
use crate::driver::{Driver, DriverError, Stop};
use crate::live_memory::{LiveMemory, Watched};
use crate::memory_series::MemoryUse;
use crate::projected::{Projected, RECORD_US};
use crate::schemes;
use crate::session::Source;
use crate::unwatched_children::UnwatchedChildren;
use daos_bpf::{BpfError, PhysicalMemory, VirtualMemory};
use daos_core::{CpuCost, Metrics, Snapshot, SnapshotSource, TargetInfo};
use daos_linux::census::Selection;
use daos_linux::claim::Claimed;
use daos_linux::memory::{ProcessMemory, keep_at_hand};
use daos_linux::open_files::RaisedOpenFiles;
use daos_linux::{HostMetrics, Process, ProcessError, TempSwap, cpu};
use daos_monitor::projection::Stepped;
use daos_monitor::windows::DEFAULT_MAX_OVERHEAD;
use daos_monitor::{AnyMonitor, Monitor};
use daos_schemes::Scheme;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// Bytes that a monitor of many targets, its snapshots and a record of them take. Chosen.
const AT_HAND: usize = 16 << 20;

/// How long a command may take to end by itself after a Ctrl-C that reached it too.
const AFTER_CTRL_C: Duration = Duration::from_secs(1);

/// Microseconds between two samples of the targets' resident set. Chosen: more often than
/// anybody looks, and seldom enough to cost little.
const SAMPLE_US: u64 = 500_000;

/// Why processes can't be watched.
#[derive(Debug, Error)]
pub enum LiveError {
    /// A process that was named is not there, or may not be watched.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The command can't be started.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The primitives can't be had, or refuse a process.
    #[error(transparent)]
    Memory(#[from] BpfError),
    /// Another `daos` watches it.
    #[error(transparent)]
    Claimed(#[from] Claimed),
    /// The first tick failed.
    #[error(transparent)]
    Driver(#[from] DriverError<BpfError>),
    /// What it takes to wait can't be had.
    #[error("{what}")]
    Wait {
        /// What was being done.
        what: &'static str,
        /// What went wrong.
        source: io::Error,
    },
}

/// Processes that are there and may be watched; nothing was started or changed yet.
#[derive(Debug)]
pub struct Targets {
    memory: LiveMemory,
    pidfds: Vec<OwnedFd>,
    max_overhead: f64,
    /// Whether others may come when all have ended.
    goes_on: bool,
    /// Whether they stand for all memory of the machine.
    of_machine: bool,
    open_files: Option<RaisedOpenFiles>,
}

impl Targets {
    /// Refuses what can be refused before anything is started. `children`: whether what they
    /// start is watched, too. `act`: whether their memory is not only to be watched.
    /// `max_overhead`: the bound on what that may cost, as a share of one CPU, if it is not
    /// the usual one.
    ///
    /// # Errors
    ///
    /// [`LiveError`] for the first process that is not there or may not be watched, and where
    /// this host lacks what watching takes.
    pub fn open(
        pids: &[u32],
        children: bool,
        act: bool,
        max_overhead: Option<f64>,
    ) -> Result<Self, LiveError> {
        let mut processes = Vec::new();
        for &pid in pids {
            if !processes.iter().any(|process: &Process| process.pid() == pid) {
                let process = Process::open(pid)?;
                if act {
                    process.may_be_acted_on()?;
                }
                processes.push(process);
            }
        }
        let max_overhead = max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD);
        let memory = VirtualMemory::new()?.with_children(children).with_max_overhead(max_overhead);
        let mut targets = Self::of(LiveMemory::Processes(Box::new(memory)), max_overhead);
        processes.into_iter().try_for_each(|process| targets.add(process))?;
        Ok(targets)
    }

    /// All processes that `selection` means, `most` of them at a time: those that are there, and
    /// those that come. `max_overhead` as with [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// [`LiveError`] where this host lacks what watching takes.
    pub fn open_everyone(
        selection: Selection,
        most: usize,
        max_overhead: Option<f64>,
    ) -> Result<Self, LiveError> {
        let max_overhead = max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD);
        let mut memory = VirtualMemory::new()?.with_max_overhead(max_overhead);
        // Each of them takes some.
        let open_files = Some(RaisedOpenFiles::raise());
        memory.watch_everyone(selection, most)?;
        let targets = Self::of(LiveMemory::Processes(Box::new(memory)), max_overhead);
        Ok(Self { goes_on: true, open_files, ..targets })
    }

    /// The RAM of the machine, by physical address, as far as the processes that `selection`
    /// means have it, `most` of them at a time. `max_overhead` as with [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// [`LiveError`] where this host lacks what watching takes.
    pub fn open_machine(
        selection: Selection,
        most: usize,
        max_overhead: Option<f64>,
    ) -> Result<Self, LiveError> {
        let max_overhead = max_overhead.unwrap_or(DEFAULT_MAX_OVERHEAD);
        // Each of its owners takes some.
        let open_files = Some(RaisedOpenFiles::raise());
        let memory = PhysicalMemory::new(selection, most, max_overhead)?;
        let targets = Self::of(LiveMemory::Machine(Box::new(memory)), max_overhead);
        Ok(Self { goes_on: true, of_machine: true, open_files, ..targets })
    }

    /// The memory of the machine by those who have it, for schemes that need no physical
    /// addresses: as [`open_everyone`](Self::open_everyone), but measured as
    /// [`open_machine`](Self::open_machine) is. Where all processes are meant, page cache that
    /// nobody maps is meant, too.
    ///
    /// # Errors
    ///
    /// [`LiveError`] where this host lacks what watching takes.
    pub fn open_owners(
        selection: Selection,
        most: usize,
        max_overhead: Option<f64>,
    ) -> Result<Self, LiveError> {
        let of_all = selection.is_of_all();
        let mut targets = Self::open_everyone(selection, most, max_overhead)?;
        if let LiveMemory::Processes(memory) = &mut targets.memory
            && of_all
        {
            memory.offer_page_cache();
        }
        Ok(Self { of_machine: true, ..targets })
    }

    fn of(memory: LiveMemory, max_overhead: f64) -> Self {
        keep_at_hand(AT_HAND);
        Self {
            memory,
            pidfds: Vec::new(),
            max_overhead,
            goes_on: false,
            of_machine: false,
            open_files: None,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.memory {
            LiveMemory::Processes(memory) => memory.pids().count(),
            LiveMemory::Machine(_) => 1,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether what `scheme` does can be done to their memory; if not, why, and what to do about
    /// it.
    pub fn supports(&self, scheme: &Scheme) -> Result<(), String> {
        schemes::acts_on(&self.memory, scheme)
    }

    /// Whether what `scheme` goes by can be told here, beside accesses: what comes back, and what
    /// its watermarks and its goal are of; if not, why, and what to do about it.
    pub fn tell(&self, scheme: &Scheme) -> Result<(), String> {
        schemes::tells_refaults(&self.memory, scheme)?;
        measures(&HostMetrics::new(), scheme)
    }

    /// Makes `process` a target whose end is noticed at once.
    fn add(&mut self, process: Process) -> Result<(), LiveError> {
        let pidfd = process.as_fd().try_clone_to_owned();
        let what = "keeping a hold of the target";
        self.pidfds.push(pidfd.map_err(|source| LiveError::Wait { what, source })?);
        if let LiveMemory::Processes(memory) = &mut self.memory {
            memory.add(process)?;
        }
        Ok(())
    }

    /// Begins to watch them, and the command that was started, until all have ended,
    /// `duration_us` have passed or `stop` is set.
    ///
    /// # Errors
    ///
    /// [`LiveError`] when the command can't be watched, or the first tick fails.
    pub fn watch<M: Monitor>(
        mut self,
        command: Option<&Started>,
        monitor: M,
        duration_us: Option<u64>,
        stop: Arc<AtomicBool>,
    ) -> Result<Live<M>, LiveError> {
        if let Some(command) = command {
            match Process::open(command.pid()) {
                Ok(process) => self.add(process)?,
                // One that is over already leaves nothing to see.
                Err(ProcessError::Zombie(_) | ProcessError::NotFound(_)) => {}
                Err(err) => return Err(err.into()),
            }
        }
        // Children of targets may become many.
        let open_files = self.open_files.take().unwrap_or_else(RaisedOpenFiles::raise);
        let Self { memory, pidfds, max_overhead, goes_on, of_machine, .. } = self;
        let failed = |what| move |source| LiveError::Wait { what, source };
        let projected = match &memory {
            LiveMemory::Machine(memory) => {
                Some(Projected::new(monitor.attrs(), &memory.ram(), max_overhead))
            }
            LiveMemory::Processes(_) => None,
        };
        let mut driver = Driver::new(monitor, Watched(memory), stop, duration_us)
            .map_err(failed("preparing the timer"))?
            .going_on(goes_on);
        for pidfd in &pidfds {
            driver.watch(pidfd).map_err(failed("watching for the target's end"))?;
        }
        let setup_cpu_us = cpu::used_us();
        driver.begin()?;
        let mut metrics = HostMetrics::new().with_max_overhead(max_overhead);
        if of_machine {
            metrics = metrics.of_machine();
        }
        Ok(Live {
            driver,
            is_by_owner: of_machine && projected.is_none(),
            projected,
            metrics,
            swap: None,
            told_opaque: BTreeSet::new(),
            told_left_out: false,
            unwatched_children: UnwatchedChildren::new(),
            told_protected: false,
            told_too_many: false,
            told_claimed: false,
            next_sample_us: 0,
            setup_cpu_us,
            _open_files: open_files,
        })
    }
}

/// Processes under watch.
#[derive(Debug)]
pub struct Live<M = AnyMonitor> {
    driver: Driver<Watched, M>,
    /// What is told of the machine, if that is the target.
    projected: Option<Projected>,
    /// Whether the machine is the target, but nothing is told by physical address.
    is_by_owner: bool,
    metrics: HostMetrics,
    swap: Option<TempSwap>,
    /// Processes of which it was told that their memory can't be observed.
    told_opaque: BTreeSet<u32>,
    /// Whether it was told that children, or processes that were found, are left out.
    told_left_out: bool,
    unwatched_children: UnwatchedChildren,
    /// Whether it was told that processes are not acted on.
    told_protected: bool,
    /// Whether it was told that there are too many processes.
    told_too_many: bool,
    told_claimed: bool,
    /// When the next sample of their memory is due.
    next_sample_us: u64,
    /// CPU time in microseconds before the first tick.
    pub setup_cpu_us: u64,
    _open_files: RaisedOpenFiles,
}

impl<M: Monitor> Live<M> {
    /// Counts what this swap device, which was set up for them, takes of memory.
    pub fn with_swap(self, swap: Option<TempSwap>) -> Self {
        Self { swap, ..self }
    }

    /// `CLOCK_MONOTONIC` at the first tick, in microseconds: time 0 of the snapshots.
    pub fn start_us(&self) -> u64 {
        self.driver.start_us()
    }

    /// The primitives.
    pub fn memory(&self) -> &LiveMemory {
        &self.driver.access().0
    }

    /// What the processes have in swap now, in bytes.
    pub fn swapped_bytes(&self) -> u64 {
        ProcessMemory::of_all(Path::new("/proc"), self.memory().pids()).swap_bytes
    }

    /// Whether it was told that what targets have started is not watched.
    pub fn told_of_children(&self) -> bool {
        self.unwatched_children.were_told()
    }

    /// Why it ended; `None` while it goes on.
    pub fn stop(&self) -> Option<Stop> {
        self.driver.stop()
    }

    /// Watches no more, and waits for the command, if there is one, to end, or ends it:
    /// `asked` is set by Ctrl-C. Says why it ended, and how the command did.
    ///
    /// # Errors
    ///
    /// [`CommandError`] when the command can't be waited for.
    pub fn finish(
        self,
        command: Option<Started>,
        asked: &AtomicBool,
    ) -> Result<Ending, CommandError> {
        let stop = self.driver.stop().unwrap_or(Stop::TargetsEnded);
        // From here on we may wait for the command: run where we like.
        drop(self);
        let command = match (command, stop) {
            (None, _) => None,
            (Some(command), Stop::Duration) => Some(command.finish(Duration::ZERO)?),
            (Some(command), Stop::Asked) => Some(command.finish(AFTER_CTRL_C)?),
            (Some(command), Stop::TargetsEnded) => Some(command.wait(asked, AFTER_CTRL_C)?),
        };
        Ok(Ending { stop, command })
    }
}

/// How watching ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Why.
    pub stop: Stop,
    /// How the command ended, if there was one.
    pub command: Option<Ended>,
}

impl Ending {
    /// Why, in words.
    pub fn reason(&self) -> &'static str {
        match self.stop {
            Stop::Duration => "the duration was over",
            Stop::Asked => "it was interrupted",
            Stop::TargetsEnded => "the target ended",
        }
    }

    /// The exit status of a command that ended by itself, or after Ctrl-C.
    pub fn exit_status(&self) -> Option<i32> {
        match self.stop {
            Stop::Duration => None,
            Stop::Asked | Stop::TargetsEnded => self.command.as_ref()?.status(),
        }
    }
}

/// Whether there is to measure what `scheme` goes by.
fn measures(metrics: &HostMetrics, scheme: &Scheme) -> Result<(), String> {
    scheme.metrics().try_for_each(|metric| metrics.supports(metric))
}

impl<M: Monitor> SnapshotSource for Live<M> {
    type Error = DriverError<BpfError>;

    fn next_snapshot(&mut self) -> Result<Option<Snapshot>, Self::Error> {
        let Some(snapshot) = self.driver.next_snapshot()? else { return Ok(None) };
        let Some(projected) = &mut self.projected else { return Ok(Some(snapshot)) };
        let told = self.driver.beside(|Watched(memory)| {
            let LiveMemory::Machine(memory) = memory else { return Ok(snapshot) };
            let mut begun_us = cpu::used_us();
            let took_us = |_: &mut VirtualMemory, stepped: Stepped| {
                let step_us = cpu::used_us() - begun_us;
                begun_us += step_us;
                step_us + (stepped.told as f64 * RECORD_US) as u64
            };
            projected.go_on(&snapshot, memory.owners_mut(), cpu::monotonic_us(), took_us)?;
            Ok(projected.of(snapshot, daos_bpf::paddr::ALL, memory.resident_bytes()))
        });
        told.map(Some).map_err(DriverError::Access)
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        self.driver.changed_targets()
    }
}

impl<M: Monitor> Source for Live<M> {
    type Memory = LiveMemory;

    fn lend<T>(
        &mut self,
        work: impl FnOnce(&mut LiveMemory, &mut dyn Metrics) -> T,
    ) -> (T, CpuCost) {
        self.metrics.set_targets(self.memory().pids());
        let metrics = &mut self.metrics;
        self.driver.apart(|Watched(memory)| work(memory, metrics))
    }

    fn supports(&self, scheme: &Scheme) -> Result<(), String> {
        if self.is_by_owner && scheme.goes_by_address() {
            return Err("a filter by physical address can't be added while it runs: start daos \
                        again"
                .to_owned());
        }
        schemes::supports(self.memory(), scheme)?;
        measures(&self.metrics, scheme)
    }

    fn sample_memory(&mut self, snapshot: &Snapshot) -> Option<MemoryUse> {
        if snapshot.end_us < self.next_sample_us {
            return None;
        }
        self.next_sample_us = snapshot.end_us + SAMPLE_US;
        self.metrics.set_targets(self.memory().pids());
        let sum = self.metrics.memory_of_targets()?;
        let usage = self.swap.as_ref().and_then(|swap| swap.usage(Path::new("/")));
        Some(MemoryUse {
            resident: sum.resident_bytes,
            swap: sum.swap_bytes,
            zram: usage.map_or(0, |usage| usage.memory_bytes),
        })
    }

    fn forget_samples(&mut self) {
        self.next_sample_us = 0;
    }

    fn take_notes(&mut self) -> Vec<String> {
        let memory = self.driver.access().0.processes();
        let told = &mut self.told_opaque;
        let new = memory.opaque_pids().filter(|pid| told.insert(*pid));
        let note = |pid| {
            format!(
                "note: process {pid} owns a virtual machine, or shares its memory with a device: \
                 what these access can't be observed, so nothing of its memory is called idle or \
                 acted on"
            )
        };
        let mut notes: Vec<_> = new.map(note).collect();
        notes.extend(self.unwatched_children.note(memory));
        let first = |told: &mut bool, nr: usize| nr > 0 && !std::mem::replace(told, true);
        let left_out = memory.nr_left_out();
        if first(&mut self.told_left_out, left_out) {
            notes.push(format!(
                "note: {left_out} or more processes are not watched, as no more files may be \
                 open: raise the limit (ulimit -n, or LimitNOFILE= of a service)"
            ));
        }
        let protected = memory.nr_protected();
        if first(&mut self.told_protected, protected) {
            notes.push(format!(
                "note: {protected} processes are left alone: process 1, daos, what it runs under, \
                 and system daemons unless --include-system was given"
            ));
        }
        let too_many = memory.nr_too_many();
        if first(&mut self.told_too_many, too_many) {
            notes.push(format!(
                "note: {too_many} or more processes, the smallest, are not watched: there may be \
                 three targets for four of --max-regions; raise that, or --min-rss"
            ));
        }
        let claimed = memory.nr_claimed();
        if first(&mut self.told_claimed, claimed) {
            let (are, them) = if claimed == 1 { (" is", "it") } else { ("es are", "them") };
            notes.push(format!(
                "note: {claimed} process{are} not watched, as another daos watches {them}: two would \
                 clear each other's accessed bits"
            ));
        }
        notes
    }
}
