//! Who has page frames: processes, taken on when one of their pages is to be armed or acted on.
//!
//! The eBPF program gives the number of a process, and where the tables are that map the frame.
//! What is held is a pidfd; that its process still has these tables is looked up behind it, so a
//! process that took over the number is never taken for it.

use super::frames::Run;
use crate::BpfError;
use crate::reader::Reader;
use crate::vaddr::{Origin, VirtualMemory};
use daos_core::{AccessCheck, AddrRange, PAGE_SIZE, Target, TargetId, huge_page_start};
use daos_linux::Process;
use daos_linux::census::{Census, Selection, Verdict};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Processes that are taken on in a tick. Chosen: each takes some 100 µs.
const NEW_IN_A_TICK: usize = 8;
/// Most that are held. Chosen: each takes two open files, and some look-ups a second.
const MOST: usize = 1024;
/// Regions updates after which processes that could not be taken on are tried again.
const UPDATES_BETWEEN_TRIES: u64 = 10;

/// Page frames that somebody has, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) pid: u32,
    /// The tables that map it.
    pub(super) pgd: u64,
    pub(super) va: u64,
    pub(super) frame: u64,
    pub(super) pages: u64,
    pub(super) is_huge: bool,
    pub(super) is_young: bool,
    /// Order of the folio that it is part of.
    order: u16,
}

impl Piece {
    /// What the run is, if its owner was told.
    pub(super) fn of(run: &Run<'_>) -> Option<Self> {
        let found = run.found;
        let is_huge = run.is_huge();
        // Inside a huge page, the address is that of its start.
        let inside = if is_huge { run.frame % 512 * PAGE_SIZE } else { 0 };
        (run.is_mapped() && found.tgid != 0).then_some(Self {
            pid: found.tgid,
            pgd: found.pgd,
            va: found.va + inside,
            frame: run.frame,
            pages: found.nr.into(),
            is_huge,
            is_young: run.is_young(),
            order: found.order,
        })
    }

    /// One that lies at these addresses in some process.
    #[cfg(test)]
    pub(super) fn at(range: AddrRange) -> Self {
        let (va, pages) = (range.start, range.pages());
        Self { pid: 1, pgd: 0, va, frame: 0, pages, is_huge: false, is_young: true, order: 0 }
    }

    /// Its addresses in its process.
    pub(super) fn range(&self) -> AddrRange {
        AddrRange::new(self.va, self.va + self.bytes())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.pages * PAGE_SIZE
    }

    /// Physical addresses of it, or of the part that lies at `range`.
    pub(super) fn physical(&self, range: AddrRange) -> AddrRange {
        let start = self.frame * PAGE_SIZE + (range.start - self.va);
        AddrRange::new(start, start + range.len())
    }

    /// Physical addresses of all of the folio that it is part of: it is armed as a whole.
    pub(super) fn folio(&self) -> AddrRange {
        let folio = PAGE_SIZE << self.order;
        let range = self.physical(self.range());
        AddrRange::new(range.start / folio * folio, range.end.next_multiple_of(folio))
    }

    /// Where its page or huge page begins in its process.
    pub(super) fn entry_va(&self) -> u64 {
        if self.is_huge { huge_page_start(self.va) } else { self.va }
    }
}

/// The processes that have page frames.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) processes: VirtualMemory,
    /// By process number.
    known: HashMap<u32, TargetId>,
    /// Those that can't be taken on: they are not meant, others watch them, or they have ended.
    refused: HashSet<u32>,
    pub(super) census: Census,
    updates: u64,
    /// How many may still be taken on in this tick.
    new_left: usize,
}

impl Owners {
    /// Those that `selection` means, found as they come and go, up to `most` at a time, and others
    /// of them whose frames are armed.
    pub(super) fn new(
        reader: Reader,
        selection: Selection,
        most: usize,
        max_overhead: f64,
    ) -> Result<Self, BpfError> {
        let mut processes = VirtualMemory::with_reader(reader).with_max_overhead(max_overhead);
        processes.watch_everyone(selection.clone(), most)?;
        // It is told of the machine.
        processes.page_cache = None;
        Ok(Self {
            processes,
            known: HashMap::new(),
            refused: HashSet::new(),
            census: Census::new(Path::new("/"), selection),
            updates: 0,
            new_left: NEW_IN_A_TICK,
        })
    }

    /// Looks at what they have mapped, as far as upkeep allows, and drops those that have ended:
    /// the others, by virtual address.
    pub(super) fn keep_up(&mut self) -> Result<Vec<Target>, BpfError> {
        let targets = self.processes.targets()?;
        let ids: HashMap<_, _> =
            self.processes.spaces.iter().map(|s| (s.process.pid(), s.id)).collect();
        self.known = ids;
        self.updates += 1;
        if self.updates.is_multiple_of(UPDATES_BETWEEN_TRIES) {
            self.refused.clear();
        }
        Ok(targets)
    }

    /// Some may be taken on again.
    pub(super) fn begin_tick(&mut self) {
        self.new_left = NEW_IN_A_TICK;
    }

    /// The process `pid`, if the tables at `pgd` are its own: its place among the processes.
    pub(super) fn find(&mut self, pid: u32, pgd: u64) -> Result<Option<usize>, BpfError> {
        if let Some(at) = self.place_of(pid) {
            if self.has_tables(at, pgd)? {
                return Ok(Some(at));
            }
            // It executes another program now, or has ended.
            self.processes.spaces[at].task = None;
            return Ok(self.has_tables(at, pgd)?.then_some(at));
        }
        let is_full = || self.known.len() >= MOST || !self.processes.has_files_for_one_more();
        if self.refused.contains(&pid) || self.new_left == 0 || is_full() {
            return Ok(None);
        }
        self.new_left -= 1;
        // The verdict holds for who is held, if that is there until after.
        let process = Process::open(pid).ok();
        let meant = process.filter(|_| self.census.verdict_on(pid) == Verdict::Fits);
        let added = meant.filter(Process::is_alive);
        let added = added.and_then(|process| self.processes.add_as(Origin::Found, process).ok());
        let Some(id) = added else {
            self.refused.insert(pid);
            return Ok(None);
        };
        self.known.insert(pid, id);
        let Some(at) = self.place_of(pid) else { return Ok(None) };
        self.processes.look_now(at);
        Ok(self.has_tables(at, pgd)?.then_some(at))
    }

    fn place_of(&self, pid: u32) -> Option<usize> {
        self.processes.place_of(*self.known.get(&pid)?)
    }

    fn has_tables(&mut self, at: usize, pgd: u64) -> Result<bool, BpfError> {
        Ok(self.processes.task(at)?.is_some_and(|task| task.pgd == pgd))
    }

    /// Whether the process may be acted on.
    pub(super) fn may_be_acted_on(&self, at: usize) -> bool {
        let process = &self.processes.spaces[at].process;
        self.census.verdict_on(process.pid()) == Verdict::Fits && process.is_alive()
    }

    /// Looks again at what a process has mapped where some of it is not known.
    pub(super) fn know_mappings(&mut self, at: usize, pieces: &[Piece]) {
        let space = &self.processes.spaces[at];
        if pieces.iter().any(|piece| space.mapping_at(piece.va).is_none()) {
            self.processes.look_now(at);
        }
    }
}
