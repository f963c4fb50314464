//! The monitoring primitive of virtual addresses: processes on a stock kernel.
//!
//! Reading and arming are apart. Reading costs the target nothing, so an arming
//! reads first and touches only pages that are young: of cold memory, which is
//! most, a later read proves that it stayed untouched.

use crate::BpfError;
use crate::actions::{ASK_AGAIN_US, Locked, RecentPages};
use crate::arm_target::{self, PAGE_US, ToFlush};
use crate::armed_pages::ArmedPages;
use crate::entry::{Entry, bytes_mapped};
use crate::everyone::Everyone;
use crate::keeping_up::Seen;
use crate::page_cache::{CachedFiles, PageCacheLook};
use crate::prices;
use crate::programs::{Facts, Task};
use crate::ranges;
use crate::reader::{Answer, Reader, WindowPart, huge_page, page_of};
use crate::target_cost::TargetCost;
use crate::to_arm::{FolioToArm, Rules, ToArm};
use crate::upkeep::Upkeep;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::pages::Pages;
use daos_core::{
    AccessCheck, AddrRange, Capabilities, KindsOfMemory, Mapping, Observation, PAGE_SIZE, PageBits,
    Prices, Target, TargetId, TargetInfo, Window,
};
use daos_linux::claim::{Claim, Claimed};
use daos_linux::clear_refs::{self, ClearRefs};
use daos_linux::cpu::Placement;
use daos_linux::ends::Ends;
use daos_linux::madvise::Advice;
use daos_linux::{Process, cpu, cpu_quota, damon, host, support};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;

/// The bound on the overhead unless another is given, as a share of one CPU. Chosen: that of
/// the default monitor.
const MAX_OVERHEAD: f64 = 0.005;
/// Mappings that a description of a target names at most; of more, the largest. Chosen: a
/// record stays small, and what is left out is too small to be seen in a report.
const MAX_DESCRIBED: usize = 1000;
/// The same of a target that was found among all. Chosen: there may be hundreds.
const MAX_DESCRIBED_OF_FOUND: usize = 50;
/// Regions updates between two descriptions of a target whose mappings change. Chosen: what
/// changes all the time is written seldom.
const UPDATES_BETWEEN_DESCRIPTIONS: u32 = 10;
/// Regions updates after which memory that could not be armed is tried again. Until
/// then its bits stay set, and must not pass for accesses. Chosen: seldom, as to try again
/// costs a call that fails for each of them.
const UPDATES_BETWEEN_TRIES: u64 = 10;
/// Ranges with a flush each from which on moving to the target's CPU and back is worth it: the
/// move costs some 50 µs, an interrupt some 14 µs to either side.
pub(crate) const WORTH_A_MOVE: usize = 4;
/// Most pages that are armed at once. Chosen: what the kernel keeps of so many takes a quarter of a
/// usual second-level cache.
const PAGES_AT_ONCE: u32 = 2048;

/// How a process came to be a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It was named.
    Named,
    /// It was started by a target.
    Child,
    /// It was found among all.
    Found,
}

/// A target process and what is known of its memory.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) id: TargetId,
    pub(crate) process: Process,
    /// The way to arm all of it at once, where that may be used.
    pub(crate) clear_refs: Option<ClearRefs>,
    /// After it was armed so.
    pub(crate) to_flush: Option<ToFlush>,
    pub(crate) origin: Origin,
    /// Whether its end is told by [`Ends`], and it need not be asked.
    end_is_told: bool,
    /// Held for as long as we watch.
    _claim: Claim,
    pub(crate) task: Option<Task>,
    /// The task could not be looked up since the last regions update.
    lookup_failed: bool,
    pub(crate) seen: Seen,
    /// The cgroup whose memory controller counts it, once it was described.
    cgroup: Option<String>,
    /// Mappings that the kernel refused to arm.
    pub(crate) refused: Vec<AddrRange>,
    /// Regions updates since the mappings were last described; `None`: never.
    described: Option<u32>,
    described_mappings: Vec<Mapping>,
    described_memory: Option<KindsOfMemory>,
    /// Pages that were asked for, to be read in.
    pub(crate) willneed: RecentPages,
    /// What is kept resident.
    pub(crate) locked: Locked,
    /// Others access its memory by tables of their own, as the guests of a virtual machine:
    /// nothing is known of it, and nothing is done to it.
    pub(crate) is_opaque: bool,
    /// Anonymous memory of it that was to be paged out stayed, the last time.
    pub(crate) anonymous_stayed: bool,
}

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
    /// Pages and huge pages that had to be left when they were last armed. Sorted.
    pub(crate) unobservable: Vec<(TargetId, u64)>,
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
            upkeep: Upkeep::new(MAX_OVERHEAD),
            keep_up_from: 0,
            nr_left_out: 0,
            everyone: None,
            page_cache: None,
            cached_files: None,
            ends: Ends::new().ok(),
            target_cost: TargetCost::new(&measured),
            armed_pages: Some(ArmedPages::default()),
            prices: Prices { arm_target_page: PAGE_US, ..measured.prices },
            can_flush: clear_refs::can_flush(),
            may_arm_targets: may_arm_targets(),
            unobservable: Vec::new(),
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
        // As long as there are the rights to.
        let clear_refs = process.clear_refs();
        self.spaces.push(Space {
            id,
            process,
            clear_refs,
            to_flush: None,
            origin,
            end_is_told,
            _claim: claim,
            task: None,
            lookup_failed: false,
            seen: Seen::default(),
            cgroup: None,
            refused: Vec::new(),
            described: None,
            described_mappings: Vec::new(),
            described_memory: None,
            willneed: RecentPages::new(ASK_AGAIN_US),
            locked: Locked::new(),
            is_opaque: false,
            anonymous_stayed: false,
        });
        Ok(id)
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

    /// Arms the windows of one target: so few pages at once that what is read of their frames is
    /// still in the CPU's cache when the kernel clears their bits.
    fn arm_space(&mut self, at: usize, windows: &[Window]) -> Result<(), BpfError> {
        let mut rest = windows;
        let mut armed = Ok(());
        while !rest.is_empty() && armed.is_ok() {
            let mut pages = 0;
            let fits = |window: &&Window| {
                pages += window.pages;
                pages <= PAGES_AT_ONCE
            };
            let nr = rest.iter().take_while(fits).count().max(1);
            armed = self.arm_windows(at, &rest[..nr], self.prices().most_gap()).map(|_| ());
            // Where the target waits for us, nothing is read.
            self.placement.follow(None);
            rest = &rest[nr..];
        }
        armed
    }

    /// The same at once. `most_gap`: pages between two that are passed over, at most. Returns how many pages there are
    /// from the first to the last one that is armed by itself, in the window where these are most.
    pub(crate) fn arm_windows(
        &mut self,
        at: usize,
        windows: &[Window],
        most_gap: u32,
    ) -> Result<u32, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(0) };
        let mut to_arm = std::mem::take(&mut self.to_arm);
        to_arm.clear();
        let rules = Rules { whole_folios: self.whole_folios, most_gap };
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        let with = Facts::OfYoung { most_gap };
        let mut widest = 0;
        let there = reader.read(&task, windows.iter().copied(), with, |part, answer| {
            let pages = to_arm.add(&part, answer, &space.refused, rules);
            widest = widest.max(pages.span().map_or(0, |(from, to)| to - from));
            if let Some(armed) = &mut self.armed_pages {
                armed.insert(space.id, part.range.start, &pages);
            }
        })?;
        if let Some(there) = there {
            self.spaces[at].is_opaque = there.has_secondary_tables;
            for FolioToArm { page, range, first } in std::mem::take(&mut to_arm.folios) {
                let space = &self.spaces[at];
                let mapping = space.mapping_around(range.start);
                let inside = mapping.is_some_and(|m| m.intersect(&range) == Some(range));
                if inside && reader.maps_in_a_row(&task, range, first)? {
                    if let Some(armed) = &mut self.armed_pages {
                        armed.insert_range(space.id, range);
                    }
                    to_arm.ranges.push(range);
                } else {
                    to_arm.left.push(page);
                }
            }
            let advise = &mut to_arm.ranges;
            let id = self.spaces[at].id;
            let around = |addr| self.spaces[at].mapping_around(addr);
            // Two windows may lie in one folio, and several pages do.
            ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
            // All that is asked for, whole folios too, even if the call stops in the middle.
            if let Some(cleared) = &mut self.cleared {
                cleared.extend(advise.iter().map(|range| (id, *range)));
            }
            let armed: u64 = advise.iter().map(AddrRange::pages).sum();
            if !to_arm.bridges.is_empty() {
                advise.append(&mut to_arm.bridges);
                ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
            }
            if advise.len() >= WORTH_A_MOVE {
                there.follow(&mut self.placement);
            }
            let may_interrupt = self.placement.interrupts(there.cpu, there.nr_running);
            let begun_us = cpu::used_us();
            self.unobservable.extend(to_arm.left.iter().map(|addr| (id, *addr)));
            self.advise_cold(at, &to_arm.ranges);
            let took_us = (cpu::used_us() - begun_us) as f64;
            let flushes = to_arm.ranges.len() as u64;
            self.target_cost.armed(flushes, armed, took_us, may_interrupt);
        } else {
            self.spaces[at].task = None;
        }
        self.to_arm = to_arm;
        Ok(widest)
    }

    pub(crate) fn advise_cold(&mut self, at: usize, ranges: &[AddrRange]) {
        let space = &mut self.spaces[at];
        let advised = space.process.advise(Advice::Cold, ranges);
        for (range, errno) in advised.refused {
            // What is locked or of a device is so for the whole mapping: ask no more
            // of it for a while. A hole is just that.
            let whole = space.mapping_around(range.start).filter(|_| errno == Errno::INVAL);
            let mapping = whole.unwrap_or(range);
            space.refused.push(mapping);
            let left = ranges.iter().filter(|r| mapping.contains(r.start));
            self.unobservable.extend(left.flat_map(pages).map(|page| (space.id, page)));
        }
        if advised.stopped.is_some() {
            let left = ranges.iter().flat_map(pages);
            self.unobservable.extend(left.map(|page| (space.id, page)));
        }
    }

    fn check_space(
        &mut self,
        at: usize,
        windows: &[Window],
        found: &mut [Observation],
    ) -> Result<(), BpfError> {
        let id = self.spaces[at].id;
        let Some(task) = self.task(at)? else {
            if self.spaces[at].lookup_failed {
                windows.iter().zip(found).for_each(|(window, seen)| set_unknown(window, seen));
            }
            return Ok(());
        };
        let unobservable = &self.unobservable;
        let left =
            |addr: u64| !unobservable.is_empty() && unobservable.binary_search(&(id, addr)).is_ok();
        let windows_of = windows.iter().copied();
        let there = self.reader.read(&task, windows_of, Facts::None, |part, answer| {
            let start = windows[part.window].start;
            let is_in = |(of, addr): &(TargetId, u64)| *of == id && part.range.contains(*addr);
            let from = unobservable.partition_point(|left| *left < (id, part.range.start));
            let may_be_left =
                matches!(answer, Answer::Huge(..)) || unobservable.get(from).is_some_and(is_in);
            note(&mut found[part.window], start, &part, answer, may_be_left, left);
        })?;
        if let Some(armed) = &mut self.armed_pages {
            let set = armed.take_found(id, windows, found);
            self.target_cost.found_set(set);
        }
        match there {
            Some(there) => self.spaces[at].is_opaque = there.has_secondary_tables,
            None => self.spaces[at].task = None,
        }
        Ok(())
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

    /// Whether the page or huge page at `addr` had to be left when it was last armed.
    pub(crate) fn is_left(&self, target: TargetId, addr: u64) -> bool {
        self.unobservable.binary_search(&(target, addr)).is_ok()
    }

    /// Puts in order what had to be left when something was armed.
    pub(crate) fn sort_unobservable(&mut self) {
        self.unobservable.sort_unstable();
        self.unobservable.dedup();
    }

    /// What is armed now may be observable again.
    fn forget_unobservable(&mut self, windows: &[Window]) {
        for window in windows {
            if self.unobservable.is_empty() {
                return;
            }
            // It may begin inside a huge page.
            let start = huge_page(window.start, 2).start;
            if let Ok(at) = self.unobservable.binary_search(&(window.target, start)) {
                self.unobservable.remove(at);
            }
            let from = |addr| move |left: &(TargetId, u64)| *left < (window.target, addr);
            let first = self.unobservable.partition_point(from(window.start));
            let end = self.unobservable.partition_point(from(window.range().end));
            self.unobservable.drain(first..end);
        }
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
            // Numbers rise.
            if let Ok(at) = self.spaces.binary_search_by_key(&run[0].target, |s| s.id) {
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
        self.sort_unobservable();
        self.updates += 1;
        arm_target::let_price_fade(&mut self.prices.arm_target_page);
        let try_again = self.updates.is_multiple_of(UPDATES_BETWEEN_TRIES);
        if try_again {
            self.unobservable.clear();
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
        self.forget_unobservable(windows);
        self.by_space(windows, |this, at, range| this.arm_space(at, &windows[range]))?;
        self.sort_unobservable();
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
        space.weigh()?;
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
        let interrupt = self.target_cost.of_a_flush_us(may_interrupt);
        // Who flushes waits for as long.
        Prices { arm_run: self.prices.arm_run + interrupt, interrupt, ..self.prices }
    }

    fn take_target_us(&mut self) -> f64 {
        self.target_cost.take()
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        let page_cache = self.page_cache.as_mut().and_then(PageCacheLook::news);
        self.spaces.iter_mut().filter_map(Space::describe).chain(page_cache).collect()
    }
}

impl Space {
    pub(crate) fn mapping_at(&self, addr: u64) -> Option<&Mapping> {
        Mapping::at(&self.seen.mappings, addr)
    }

    pub(crate) fn mapping_around(&self, addr: u64) -> Option<AddrRange> {
        self.mapping_at(addr).map(|m| m.range)
    }

    /// What is watched of it.
    fn ranges(&mut self) -> &[AddrRange] {
        match self.origin {
            Origin::Found => self.seen.main_ranges(),
            Origin::Named | Origin::Child => &self.seen.ranges,
        }
    }

    /// What it is and has mapped, if that is news.
    fn describe(&mut self) -> Option<TargetInfo> {
        let due = self.described.is_none_or(|updates| updates >= UPDATES_BETWEEN_DESCRIPTIONS)
            || self.described_mappings.len() < 2;
        if !due || self.seen.mappings.is_empty() || !std::mem::take(&mut self.seen.is_news) {
            return None;
        }
        let most =
            if self.origin == Origin::Found { MAX_DESCRIBED_OF_FOUND } else { MAX_DESCRIBED };
        let mappings = joined(&self.seen.mappings, most);
        self.described = Some(0);
        let has_other_memory = match (self.described_memory, self.seen.memory) {
            (Some(before), Some(now)) => before.differs_from(&now),
            (before, now) => before != now,
        };
        if mappings == self.described_mappings && !has_other_memory {
            return None;
        }
        self.described_mappings.clone_from(&mappings);
        self.described_memory = self.seen.memory;
        if self.cgroup.is_none() {
            self.cgroup = self.process.memory_cgroup();
        }
        Some(TargetInfo {
            id: self.id,
            pid: Some(self.process.pid()),
            name: self.process.name(),
            mappings,
            cgroup: self.cgroup.clone(),
            memory: self.seen.memory,
            ownership: None,
            page_cache: None,
        })
    }
}

/// The addresses of the pages of a range that was to be armed; the first of them is
/// that of a huge page, too.
fn pages(range: &AddrRange) -> impl Iterator<Item = u64> + use<> {
    (range.start..range.end).step_by(PAGE_SIZE as usize)
}

/// Joins neighbours of one name, and keeps the largest of too many.
fn joined(mappings: &[Mapping], most: usize) -> Vec<Mapping> {
    let mut joined: Vec<Mapping> = Vec::new();
    for mapping in mappings {
        match joined.last_mut() {
            Some(last) if last.range.end == mapping.range.start && last.name == mapping.name => {
                last.range.end = mapping.range.end;
            }
            _ => joined.push(mapping.clone()),
        }
    }
    if joined.len() > most {
        joined.sort_by_key(|m| std::cmp::Reverse(m.range.len()));
        joined.truncate(most);
        joined.sort_by_key(|m| m.range.start);
    }
    joined
}

/// Whether all of a target may be armed at once: not where we may be stopped in the middle of that.
fn may_arm_targets() -> bool {
    !cpu_quota::is_limited(Path::new("/"), std::process::id())
}

/// Whether a DAMON of the kernel may clear accessed bits, too.
fn others_clear() -> bool {
    !damon::running(Path::new("/sys")).is_empty()
}

/// Nothing can be said of a window.
fn set_unknown(window: &Window, seen: &mut Observation) {
    seen.unobservable = window.pages;
    add(seen.unknown.get_or_insert_default(), 0, window.pages);
}

/// Adds the pages `from..to`.
fn add(bits: &mut PageBits, from: u32, to: u32) {
    *bits = Pages(*bits).or(&Pages::range(from, to)).0;
}

/// Adds what the tables say of a part of a window to the observation of the window, which
/// starts at `start`. `left`: could the page or huge page at an address not be armed? None of
/// them, unless `may_be_left`.
fn note(
    seen: &mut Observation,
    start: u64,
    part: &WindowPart,
    answer: Answer<'_>,
    may_be_left: bool,
    left: impl Fn(u64) -> bool,
) {
    let bits: &mut PageBits = seen.pages.get_or_insert_default();
    let first = ((part.range.start - start) / PAGE_SIZE) as usize;
    let pages = part.range.pages() as usize;
    let add_all = |bits: &mut PageBits| add(bits, first as u32, (first + pages) as u32);
    match answer {
        Answer::Empty(level) => {
            add_all(seen.absent.get_or_insert_default());
            // What is said is of the block around the window's first page.
            if first == 0 {
                seen.empty_bytes = bytes_mapped(level);
            }
        }
        Answer::Torn => {
            seen.unobservable += pages as u32;
            add_all(seen.unknown.get_or_insert_default());
        }
        Answer::Huge(entry, level, _) => {
            let is_left = || entry.is_young() && left(huge_page(part.range.start, level).start);
            if part.is_opaque || is_left() {
                seen.unobservable += pages as u32;
                add_all(seen.unknown.get_or_insert_default());
                return;
            }
            seen.present += pages as u32;
            seen.entries += 1;
            if entry.is_young() {
                seen.accessed += pages as u32;
                add_all(bits);
            }
        }
        Answer::Pages(ptes, ..) => {
            let (mut entries, mut at) = (ptes, first);
            while !entries.is_empty() {
                // As many as are in the same word.
                let (these, rest) = entries.split_at(entries.len().min(64 - at % 64));
                let (mut present, mut young, mut gone) = (0u64, 0u64, 0u64);
                for (page, pte) in these.iter().enumerate() {
                    let entry = Entry(*pte);
                    present |= u64::from(entry.is_present()) << page;
                    young |= u64::from(entry.is_young()) << page;
                    // Others are there, but may not be accessed now, or are being moved.
                    gone |= u64::from(entry.is_empty() || entry.is_swapped()) << page;
                }
                if gone != 0 {
                    seen.absent.get_or_insert_default()[at / 64] |= gone << (at % 64);
                }
                let is_left = |page: &usize| left(page_of(part, at - first + page).start);
                let hidden = match (part.is_opaque, may_be_left) {
                    (true, _) => present,
                    (false, true) => (0..these.len())
                        .filter(|page| young >> page & 1 == 1)
                        .filter(is_left)
                        .fold(0, |hidden, page| hidden | 1 << page),
                    (false, false) => 0,
                };
                if hidden != 0 {
                    seen.unobservable += hidden.count_ones();
                    seen.unknown.get_or_insert_default()[at / 64] |= hidden << (at % 64);
                }
                let (present, young) = (present & !hidden, young & !hidden);
                bits[at / 64] |= young << (at % 64);
                seen.present += present.count_ones();
                seen.entries += present.count_ones();
                seen.accessed += young.count_ones();
                (entries, at) = (rest, at + these.len());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::FrameFacts;

    const TABLE: u64 = 2 << 20;

    fn noted(start: u64, part: AddrRange, answer: Answer<'_>) -> Observation {
        let mut seen = Observation::default();
        let part = WindowPart { window: 0, range: part, is_opaque: false };
        note(&mut seen, start, &part, answer, false, |_| false);
        seen
    }

    #[test]
    fn a_hole_is_as_large_as_the_entry_that_is_empty() {
        let part = AddrRange::new(TABLE - PAGE_SIZE, TABLE);
        let empty = |start, level| noted(start, part, Answer::Empty(level)).empty_bytes;
        assert_eq!(empty(part.start, 2), TABLE);
        assert_eq!(empty(part.start, 3), 1 << 30);
        assert_eq!(empty(part.start, 4), 1 << 39);
        assert_eq!(empty(part.start - PAGE_SIZE, 2), 0, "its first page lies before");
    }

    #[test]
    fn what_others_access_by_tables_of_their_own_is_not_observed() {
        let range = AddrRange::new(TABLE, TABLE + 4 * PAGE_SIZE);
        let part = WindowPart { window: 0, range, is_opaque: true };
        let mut seen = Observation::default();
        let ptes = [0x21, 0x01, 0, 0];
        note(&mut seen, TABLE, &part, Answer::Pages(&ptes, &[], &[]), false, |_| false);
        assert_eq!((seen.present, seen.unobservable, seen.accessed), (0, 2, 0));
        assert_eq!(seen.unknown.unwrap()[0], 0b0011);
        let facts = FrameFacts::default();
        note(&mut seen, TABLE, &part, Answer::Huge(Entry(0xa1), 2, &facts), false, |_| false);
        assert_eq!((seen.present, seen.unobservable), (0, 6));
    }

    #[test]
    fn entries_are_counted_beside_pages() {
        let part = AddrRange::new(TABLE, TABLE + 4 * PAGE_SIZE);
        let facts = FrameFacts::default();
        let seen = noted(TABLE, part, Answer::Huge(Entry(0xa1), 2, &facts));
        assert_eq!((seen.present, seen.accessed, seen.entries), (4, 4, 1));
        assert_eq!(seen.absent, None);
        let ptes = [0x21, 0x01, 0, 0x21];
        let seen = noted(TABLE - PAGE_SIZE, part, Answer::Pages(&ptes, &[], &[]));
        assert_eq!((seen.present, seen.accessed, seen.entries), (3, 2, 3));
        assert_eq!((seen.absent.unwrap()[0], seen.pages.unwrap()[0]), (0b01000, 0b10010));
        let none = AddrRange::new(TABLE + 10 * PAGE_SIZE, TABLE + 200 * PAGE_SIZE);
        let absent = noted(TABLE, none, Answer::Empty(2)).absent.unwrap();
        let is_absent = |page: usize| absent[page / 64] >> (page % 64) & 1 == 1;
        assert!((0..512).all(|page| is_absent(page) == (10..200).contains(&page)));
        // May not be accessed now; in swap.
        let two = AddrRange::new(TABLE, TABLE + 2 * PAGE_SIZE);
        let others = noted(TABLE, two, Answer::Pages(&[0x100, 0x400], &[], &[]));
        assert_eq!((others.present, others.absent.unwrap()[0]), (0, 0b10));
    }
}
