//! All processes of the machine, gone over a few at a time.
//!
//! What it costs to look at one, some 10 µs, is so of thousands tens of milliseconds. So a
//! [`Census`] takes steps, and its caller decides how many are due. Numbers are all that it
//! gives: they may be another's a moment later, so whoever goes on takes hold of the process
//! ([`Process::open`](crate::Process::open)) and asks [`verdict_on`](Census::verdict_on) again.
//!
//! | module | holds |
//! |---|---|
//! | this one | the steps |
//! | `stat` | `/proc/PID/stat` |
//! | [`selection`] | which processes are meant |
//! | [`protected`] | which are never acted on |

pub mod protected;
pub mod selection;
pub(crate) mod stat;

use crate::cgroup::{self, CgroupPaths};
use crate::process;
pub use protected::Protection;
pub use selection::{CgroupPattern, Selection};
use stat::Stat;
use std::fs::{self, ReadDir};
use std::path::{Path, PathBuf};

/// How long a process must have been there to be counted, in clock ticks of 10 ms. Chosen: one
/// second. What ends sooner leaves nothing to see, and there may be hundreds of those a second.
const LEAST_AGE_TICKS: u64 = 100;
/// How long after a census those it found too young may be gone over, in microseconds: what
/// `LEAST_AGE_TICKS` is.
pub const COME_OF_AGE_US: u64 = 1_000_000;
/// Most of those that are remembered. Chosen: a storm of short-lived processes has no end.
const MOST_YOUNG: usize = 4096;
/// Bytes from which on a process counts at once. Chosen: it was not made for a moment.
const LARGE_BYTES: u64 = 64 << 20;

/// What a census says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is one of those that are meant.
    Fits,
    /// It has less memory than is asked for, or is too young to tell.
    NotYet,
    /// It is of others, or has no memory of its own, or has ended.
    Other,
    /// It is one that is never acted on.
    Protected,
}

/// A process as it was a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Its number.
    pub pid: u32,
    /// What of it was resident, in bytes.
    pub resident_bytes: u64,
    /// Whether it is meant.
    pub verdict: Verdict,
}

/// Goes over the processes of the machine again and again.
#[derive(Debug)]
pub struct Census {
    root: PathBuf,
    selection: Selection,
    cgroups: CgroupPaths,
    walk: Option<Walk>,
    /// Those that were too young, of the last walk over all.
    young: Vec<u32>,
    /// Clock ticks since the machine was started, when the walk was begun.
    now_ticks: u64,
    me: u32,
}

/// What a census goes over.
#[derive(Debug)]
enum Walk {
    All(ReadDir),
    Young(std::vec::IntoIter<u32>),
}

impl Iterator for Walk {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::All(listing) => {
                listing.flatten().find_map(|entry| entry.file_name().to_str()?.parse().ok())
            }
            Self::Young(pids) => pids.next(),
        }
    }
}

impl Census {
    /// Of those that `selection` means. `root` is `/`, or a test's tree.
    pub fn new(root: &Path, selection: Selection) -> Self {
        let cgroups = CgroupPaths::find(root);
        let (root, me) = (root.to_owned(), std::process::id());
        Self { root, selection, cgroups, walk: None, young: Vec::new(), now_ticks: 0, me }
    }

    /// The next process; `None` when all have been gone over. The next step after that begins
    /// anew.
    pub fn step(&mut self) -> Option<Counted> {
        if self.walk.is_none() {
            self.young.clear();
            let listing = fs::read_dir(self.root.join("proc")).ok()?;
            self.begin(Walk::All(listing));
        }
        let walk = self.walk.as_mut()?;
        let Some(pid) = walk.next() else {
            self.walk = None;
            return None;
        };
        let is_of_all = matches!(walk, Walk::All(_));
        let (counted, is_young) = self.count(pid);
        if is_young && is_of_all && self.young.len() < MOST_YOUNG {
            self.young.push(pid);
        }
        Some(counted)
    }

    /// Goes over those that were too young when all were gone over, and over no others: due
    /// [`COME_OF_AGE_US`] after that. Whether there are any.
    pub fn go_over_young(&mut self) -> bool {
        let young = std::mem::take(&mut self.young);
        let are_there = !young.is_empty();
        self.begin(Walk::Young(young.into_iter()));
        are_there
    }

    /// Whether any were too young when all were gone over, and were not gone over since.
    pub fn has_young(&self) -> bool {
        !self.young.is_empty()
    }

    fn begin(&mut self, walk: Walk) {
        self.now_ticks = process::ticks_now();
        self.walk = Some(walk);
    }

    /// What it says of process `pid` now, whatever its age and size.
    pub fn verdict_on(&self, pid: u32) -> Verdict {
        match Stat::read(&self.root, pid) {
            Some(stat) => self.judge(pid, &stat),
            None => Verdict::Other,
        }
    }

    /// The least that those who are meant have resident, in bytes.
    pub fn min_resident_bytes(&self) -> u64 {
        self.selection.min_resident_bytes
    }

    /// The cgroup whose memory controller counts process `pid`.
    pub fn cgroup_of(&self, pid: u32) -> Option<String> {
        self.cgroups.of(&self.root, pid)
    }

    /// The process, and whether it was only too young.
    fn count(&self, pid: u32) -> (Counted, bool) {
        let Some(stat) = Stat::read(&self.root, pid) else {
            return (Counted { pid, resident_bytes: 0, verdict: Verdict::Other }, false);
        };
        let resident_bytes = stat.resident_bytes;
        let age = self.now_ticks.saturating_sub(stat.start_ticks);
        let is_small = resident_bytes < self.selection.min_resident_bytes.max(1);
        let is_young = age < LEAST_AGE_TICKS && resident_bytes < LARGE_BYTES;
        let verdict = match () {
            () if stat.has_no_memory() => Verdict::Other,
            () if is_small || is_young => Verdict::NotYet,
            () => self.judge(pid, &stat),
        };
        (Counted { pid, resident_bytes, verdict }, is_young && verdict == Verdict::NotYet)
    }

    fn judge(&self, pid: u32, stat: &Stat) -> Verdict {
        if pid == self.me || stat.has_no_memory() {
            return Verdict::Other;
        }
        let Selection { cgroup, uid, protection, .. } = &self.selection;
        let owner = || stat::effective_uid(&self.root, pid);
        if uid.is_some_and(|uid| owner() != Some(uid)) {
            return Verdict::Other;
        }
        let cgroups = match (cgroup, protection) {
            (None, None) => String::new(),
            _ => match cgroup::of_process(&self.root, pid) {
                Some(cgroups) => cgroups,
                None => return Verdict::Other,
            },
        };
        if let Some(pattern) = cgroup {
            let path = self.cgroups.path_in(&cgroups);
            if !path.is_some_and(|path| pattern.matches(path)) {
                return Verdict::Other;
            }
        }
        match protection {
            Some(protection) if protection.protects(pid, stat, &cgroups, owner) => {
                Verdict::Protected
            }
            _ => Verdict::Fits,
        }
    }
}

#[cfg(test)]
mod tests;
