//! The monitoring primitive of virtual addresses: processes on a stock kernel.
//!
//! Reading and arming are apart. Reading costs the target nothing, so an arming
//! reads first and touches only pages that are young: of cold memory, which is
//! most, a later read proves that it stayed untouched.

mod arming;
mod observing;
mod seen;
mod space;

pub(crate) use arming::WORTH_A_MOVE;
pub(crate) use space::{Origin, Space, ToFlush};

use crate::BpfError;
use crate::armed_pages::ArmedPages;
use crate::at_once_price;
use crate::everyone::Everyone;
use crate::left::Left;
use crate::page_cache::{CachedFiles, PageCacheLook};
use crate::prices;
use crate::programs::Task;
use crate::reader::Reader;
use crate::target_cost::TargetCost;
use crate::to_arm::ToArm;
use crate::upkeep::Upkeep;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{
    AccessCheck, AddrRange, Capabilities, DEFAULT_MAX_OVERHEAD, Observation, Prices, Target,
    TargetId, TargetInfo, Window,
};
use daos_linux::census::Protection;
use daos_linux::cgroup::CgroupPaths;
use daos_linux::claim::{Claim, Claimed};
use daos_linux::cpu::Placement;
use daos_linux::ends::Ends;
use daos_linux::{Process, clear_refs, cpu_quota, damon, host, support};
use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::path::Path;

/// Regions updates after which mappings that the kernel refused to arm are tried again. Chosen:
/// seldom, since each of them costs a call that is likely to fail.
const UPDATES_BETWEEN_TRIES: u64 = 10;

/// Accessed bits of processes, read with eBPF and armed with `process_madvise`.
#[derive(Debug)]
pub struct VirtualMemory {
    pub(crate) reader: Reader,
    pub(crate) spaces: Vec<Space>,
    next_id: u32,
    pub(crate) with_children: bool,
    whole_folios: bool,
    /// Whether the kernel keeps pages by generation: then a page has no active list.
    pub(crate) has_lru_generations: bool,
    pub(crate) placement: Placement,
    /// Pages and huge pages that had to be left when they were last armed.
    pub(crate) left: Left,
    /// Regions updates so far.
    updates: u64,
    pub(crate) upkeep: Upkeep,
    /// The target that keeping up begins with.
    pub(crate) keep_up_from: usize,
    pub(crate) nr_left_out: usize,
    /// Where targets are found, if all processes are meant.
    pub(crate) everyone: Option<Everyone>,
    /// The page cache that nobody maps, likewise.
    pub(crate) page_cache: Option<PageCacheLook>,
    /// The files that have it, if schemes may take from them.
    pub(crate) cached_files: Option<CachedFiles>,
    ends: Option<Ends>,
    cgroup_paths: CgroupPaths,
    pub(crate) target_cost: TargetCost,
    /// `None`: whoever arms counts those that are accessed then.
    pub(crate) armed_pages: Option<ArmedPages>,
    pub(crate) prices: Prices,
    /// Whether the TLB of a target can be flushed by itself.
    pub(crate) can_flush: bool,
    /// Whether targets may be armed at once: we are not stopped in the middle of it.
    may_arm_targets: bool,
    /// Where set bits were cleared, if anyone wants to know.
    pub(crate) cleared: Option<Vec<(TargetId, AddrRange)>>,
    /// What is to be armed next; kept for its allocation.
    to_arm: ToArm,
}

impl VirtualMemory {
    /// Loads the eBPF programs and checks that they can read page tables here.
    ///
    /// Needs root, or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_NICE.
    pub fn new() -> Result<Self, BpfError> {
        Ok(Self::with_reader(Reader::new()?))
    }

    pub(crate) fn with_reader(mut reader: Reader) -> Self {
        reader.programs.others_clear = others_clear();
        let measured = prices::measure(&mut reader);
        Self {
            reader,
            spaces: Vec::new(),
            next_id: 0,
            with_children: false,
            // Kernels before 6.10 split a large folio also when they are given all of it. Nothing
            // but the version tells: taken for older, a kernel leaves some folios unobserved.
            whole_folios: host::here().kernel_version() >= (6, 10),
            has_lru_generations: support::has_lru_generations(Path::new("/sys")),
            placement: Placement::new(),
            updates: 0,
            upkeep: Upkeep::new(DEFAULT_MAX_OVERHEAD),
            keep_up_from: 0,
            nr_left_out: 0,
            everyone: None,
            page_cache: None,
            cached_files: None,
            ends: Ends::new().ok(),
            cgroup_paths: CgroupPaths::find(Path::new("/")),
            target_cost: TargetCost::new(&measured),
            armed_pages: Some(ArmedPages::default()),
            prices: Prices { arm_target_page: at_once_price::PAGE_US, ..measured.prices },
            can_flush: clear_refs::can_flush(),
            may_arm_targets: may_arm_targets(),
            left: Left::new(),
            cleared: None,
            to_arm: ToArm::default(),
        }
    }

    /// Watches `process` from the next regions update on, unless another `daos` does.
    pub fn add(&mut self, process: Process) -> Result<TargetId, Claimed> {
        self.add_as(Origin::Named, process)
    }

    pub(crate) fn add_as(&mut self, origin: Origin, process: Process) -> Result<TargetId, Claimed> {
        let claim = Claim::take(process.pid())?;
        let id = TargetId(self.next_id);
        self.next_id += 1;
        let end_is_told =
            self.ends.as_ref().is_some_and(|ends| ends.add(&process, id.0.into()).is_ok());
        let paths = self.cgroup_paths;
        self.spaces.push(Space::new(id, process, origin, end_is_told, claim, paths));
        Ok(id)
    }

    /// The descendants of named targets that are no targets themselves, by process number, `most`
    /// at most; none if children are watched, too.
    pub fn unwatched_children(&self, most: usize) -> Vec<u32> {
        if self.with_children {
            return Vec::new();
        }
        let named = self.spaces.iter().filter(|space| space.origin == Origin::Named);
        let started = named.flat_map(|space| space.process.descendants());
        let found: BTreeSet<u32> = started.map(|process| process.pid()).collect();
        if found.is_empty() {
            return Vec::new();
        }
        // If what is watched is the shell that `daos` was started from, `daos` is a descendant of
        // it, and so is what runs it in between, such as `sudo`.
        let own = Protection::new(Path::new("/"), true);
        let is_other = |pid: &u32| !own.is_above(*pid) && !self.pids().any(|other| other == *pid);
        found.into_iter().filter(is_other).take(most).collect()
    }

    /// Whether processes that targets start become targets too, at the regions
    /// update after they started.
    pub fn with_children(mut self, yes: bool) -> Self {
        self.with_children = yes;
        self
    }

    /// The bound on what watching costs in all, as a share of one CPU, 0.5 % unless this is
    /// called: keeping up with targets takes a part of it at most.
    pub fn with_max_overhead(mut self, share: f64) -> Self {
        self.upkeep = Upkeep::new(share);
        self
    }

    /// Lets schemes take page cache that nobody maps, too, of those files that are found: when
    /// [everyone is watched](Self::watch_everyone).
    pub fn offer_page_cache(&mut self) {
        self.cached_files = Some(CachedFiles::default());
    }

    /// The place of a target among the spaces, which are sorted by it.
    pub(crate) fn place_of(&self, target: TargetId) -> Option<usize> {
        self.spaces.binary_search_by_key(&target, |space| space.id).ok()
    }

    /// The processes that are targets, by number.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.spaces.iter().map(|space| space.process.pid())
    }

    /// Targets that have ended are none any more.
    fn drop_ended(&mut self) {
        let mut ended = self.ends.as_ref().map_or(Vec::new(), Ends::take);
        ended.sort_unstable();
        let is_told = |space: &Space| ended.binary_search(&space.id.0.into()).is_ok();
        self.spaces.retain(|space| match space.end_is_told {
            true => !is_told(space),
            false => space.process.is_alive(),
        });
    }

    /// The targets, by number, whose accessed bits say nothing, since others access their
    /// memory by tables of their own: virtual machine monitors, users of some devices.
    pub fn opaque_pids(&self) -> impl Iterator<Item = u32> {
        self.spaces.iter().filter(|space| space.is_opaque).map(|space| space.process.pid())
    }

    /// The task through which the tables of a space are read, looked up anew
    /// when the last one is gone. One that can't be looked up is its own target's
    /// trouble: it is tried again after the next regions update.
    pub(crate) fn task(&mut self, at: usize) -> Result<Option<Task>, BpfError> {
        let space = &mut self.spaces[at];
        if space.task.is_none() && !space.lookup_failed {
            let found = match self.reader.find_task(space.process.as_fd()) {
                Err(BpfError::Iterator(_)) => {
                    space.lookup_failed = true;
                    None
                }
                found => found?,
            };
            // The look-up went by number: it holds if the process was there until after.
            space.task = found.filter(|_| space.process.is_alive());
        }
        Ok(space.task)
    }

    /// Calls `each` for every run of windows of one live target.
    fn by_space(
        &mut self,
        windows: &[Window],
        mut each: impl FnMut(&mut Self, usize, std::ops::Range<usize>) -> Result<(), BpfError>,
    ) -> Result<(), BpfError> {
        let mut start = 0;
        for run in windows.chunk_by(|a, b| a.target == b.target) {
            let range = start..start + run.len();
            start = range.end;
            if let Some(at) = self.place_of(run[0].target) {
                each(self, at, range)?;
            }
        }
        Ok(())
    }
}

impl AccessCheck for VirtualMemory {
    type Error = BpfError;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "ebpf-vaddr",
            max_window_pages: MAX_WINDOW_PAGES,
            page_bits: true,
            sparse: true,
        }
    }

    fn targets(&mut self) -> Result<Vec<Target>, BpfError> {
        self.keep_up()?;
        self.drop_ended();
        if let Some(look) = &mut self.page_cache {
            look.go_on(&mut self.reader)?;
        }
        for at in 0..self.spaces.len() {
            self.try_to_flush(at)?;
        }
        self.left.forget_some();
        self.updates += 1;
        at_once_price::let_fade(&mut self.prices.arm_target_page);
        let try_again = self.updates.is_multiple_of(UPDATES_BETWEEN_TRIES);
        if try_again {
            self.reader.programs.others_clear = others_clear();
            self.may_arm_targets = may_arm_targets();
        }
        for space in &mut self.spaces {
            space.lookup_failed = false;
            if try_again {
                space.refused.clear();
            }
            space.described = space.described.map(|updates| updates + 1);
        }
        let target = |s: &mut Space| Target {
            id: s.id,
            ranges: s.ranges().to_vec(),
            is_listed: s.was_listed(),
            resident_bytes: s.seen.resident_bytes(),
        };
        Ok(self.spaces.iter_mut().map(target).collect())
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), BpfError> {
        self.left.arm(windows);
        self.by_space(windows, |this, at, range| this.arm_space(at, &windows[range]))?;
        if let Some(files) = &mut self.cached_files {
            files.arm(&mut self.reader, windows)?;
        }
        Ok(())
    }

    fn can_arm_target(&self, target: TargetId) -> bool {
        let space = self.place_of(target).map(|at| &self.spaces[at]);
        self.may_arm_targets && space.is_some_and(|s| s.clear_refs.is_some() && !s.is_opaque)
    }

    fn arm_target(&mut self, target: TargetId) -> Result<bool, BpfError> {
        self.place_of(target).map_or(Ok(false), |at| self.arm_all_of(at))
    }

    fn resident_bytes_of(&mut self, target: TargetId) -> Option<u64> {
        let at = self.place_of(target)?;
        let space = &mut self.spaces[at];
        space.seen.weigh(&space.process)?;
        space.seen.resident_bytes()
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> Result<(), BpfError> {
        let first = found.len();
        found.resize(first + windows.len(), Observation::default());
        let found = &mut found[first..];
        self.by_space(windows, |this, at, range| {
            this.check_space(at, &windows[range.clone()], &mut found[range])
        })?;
        if let Some(files) = &mut self.cached_files {
            files.check(&mut self.reader, windows, found)?;
        }
        Ok(())
    }

    fn prices(&self) -> Prices {
        let may_interrupt = match &self.spaces[..] {
            [only] => only.seen.threads > 1,
            _ => true,
        };
        // Who flushes waits for all who are interrupted.
        let (wait, interrupt) = self.target_cost.of_a_flush_us(may_interrupt);
        Prices { arm_run: self.prices.arm_run + wait, interrupt, ..self.prices }
    }

    fn take_target_us(&mut self) -> f64 {
        self.target_cost.take()
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        let page_cache = self.page_cache.as_mut().and_then(PageCacheLook::news);
        self.spaces.iter_mut().filter_map(Space::describe).chain(page_cache).collect()
    }
}

/// Whether all of a target may be armed at once: not where we may be stopped in the middle of that.
fn may_arm_targets() -> bool {
    !cpu_quota::is_limited(Path::new("/"), std::process::id())
}

/// Whether a DAMON of the kernel may clear accessed bits, too.
fn others_clear() -> bool {
    !damon::running(Path::new("/sys")).is_empty()
}
