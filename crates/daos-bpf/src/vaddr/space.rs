//! A process that is watched.

use super::seen::Seen;
use crate::actions::locked::Locked;
use crate::actions::recent_pages::{ASK_AGAIN_US, RecentPages};
use crate::programs::Task;
use daos_core::{AddrRange, KindsOfMemory, Mapping, TargetId, TargetInfo, Window};
use daos_linux::Process;
use daos_linux::cgroup::CgroupPaths;
use daos_linux::claim::Claim;
use daos_linux::clear_refs::ClearRefs;

/// Mappings that a description of a target names at most; of more, the largest. Chosen: a
/// record stays small, and what is left out is too small to be seen in a report.
const MAX_DESCRIBED: usize = 1000;
/// The same of a target that was found among all. Chosen: there may be hundreds.
const MAX_DESCRIBED_OF_FOUND: usize = 50;
/// Most regions updates from one description of a target to the next while its mappings change. It
/// is one at first, and doubles each time. Chosen: what a program maps when it starts is told soon,
/// and a program that maps and unmaps all the time does not fill the record.
const MOST_BETWEEN_DESCRIPTIONS: u32 = 10;

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

/// A flush of the TLB of a target that is still to be done.
#[derive(Debug)]
pub(crate) struct ToFlush {
    /// Page tables to be armed once more to have it flushed.
    pub(crate) by: Vec<Window>,
    /// How many times more it may be tried.
    pub(crate) tries: u32,
}

/// A target process and what is known of its memory.
#[derive(Debug)]
pub(crate) struct Space {
    pub(crate) id: TargetId,
    pub(crate) process: Process,
    /// The way to arm all of it at once, where that may be used.
    pub(crate) clear_refs: Option<ClearRefs>,
    /// What is left to do after it was armed so: a flush of its TLB that has not come off yet.
    pub(crate) to_flush: Option<ToFlush>,
    pub(crate) origin: Origin,
    /// Whether [`Ends`](daos_linux::ends::Ends) tells when it has ended, so that it need not be
    /// asked.
    pub(super) end_is_told: bool,
    /// Held for as long as we watch.
    _claim: Claim,
    pub(crate) task: Option<Task>,
    /// The task could not be looked up since the last regions update.
    pub(super) lookup_failed: bool,
    pub(crate) seen: Seen,
    /// The cgroup whose memory controller counts it, once it was described, and how it is told.
    cgroup: Option<String>,
    cgroup_paths: CgroupPaths,
    /// Mappings that the kernel refused to arm.
    pub(crate) refused: Vec<AddrRange>,
    /// Regions updates since the mappings were last described; `None`: never.
    pub(super) described: Option<u32>,
    /// After so many of them they are described again.
    describe_after: u32,
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

impl Space {
    pub(super) fn new(
        id: TargetId,
        process: Process,
        origin: Origin,
        end_is_told: bool,
        claim: Claim,
        cgroup_paths: CgroupPaths,
    ) -> Self {
        Self {
            id,
            // As long as there are the rights to.
            clear_refs: process.clear_refs(),
            process,
            to_flush: None,
            origin,
            end_is_told,
            _claim: claim,
            task: None,
            lookup_failed: false,
            seen: Seen::default(),
            cgroup: None,
            cgroup_paths,
            refused: Vec::new(),
            described: None,
            describe_after: 0,
            described_mappings: Vec::new(),
            described_memory: None,
            willneed: RecentPages::new(ASK_AGAIN_US),
            locked: Locked::new(),
            is_opaque: false,
            anonymous_stayed: false,
        }
    }

    /// The cgroup whose memory controller counts it now.
    pub(crate) fn memory_cgroup(&self) -> Option<String> {
        self.process.memory_cgroup(self.cgroup_paths)
    }

    pub(crate) fn mapping_at(&self, addr: u64) -> Option<&Mapping> {
        Mapping::at(&self.seen.mappings, addr)
    }

    pub(crate) fn mapping_around(&self, addr: u64) -> Option<AddrRange> {
        self.mapping_at(addr).map(|m| m.range)
    }

    /// What is watched of it.
    pub(super) fn ranges(&mut self) -> &[AddrRange] {
        match self.origin {
            Origin::Found => self.seen.main_ranges(),
            Origin::Named | Origin::Child => &self.seen.ranges,
        }
    }

    /// Whether a whole list of its mappings was read since this was last asked, all of which is
    /// watched: then what is not in the list was not mapped when it was read.
    pub(super) fn was_listed(&mut self) -> bool {
        self.seen.take_was_listed() && self.origin != Origin::Found
    }

    /// What it is and has mapped, if that is news.
    pub(super) fn describe(&mut self) -> Option<TargetInfo> {
        let due = self.described.is_none_or(|updates| updates >= self.describe_after)
            || self.described_mappings.len() < 2;
        if !due || self.seen.mappings.is_empty() || !std::mem::take(&mut self.seen.is_news) {
            return None;
        }
        let most =
            if self.origin == Origin::Found { MAX_DESCRIBED_OF_FOUND } else { MAX_DESCRIBED };
        let mappings = joined(&self.seen.mappings, most);
        self.described = Some(0);
        self.describe_after = (2 * self.describe_after).clamp(1, MOST_BETWEEN_DESCRIPTIONS);
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
            self.cgroup = self.memory_cgroup();
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
