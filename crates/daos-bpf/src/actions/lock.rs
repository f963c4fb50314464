//! Lock: hot memory stays resident under memory pressure.
//!
//! `mlock` works only from inside a process. But to read a byte of a page from outside
//! makes the kernel take it for used: it comes back if it was paged out, and when it is
//! read twice it goes to the active list, from which reclaim does not take. So pages that
//! are not on that list are touched, which are few, and nothing is held: when daos ends,
//! however it does, the memory is as any other.
//!
//! That holds while what is hot is less than about half of the memory there is; beyond, the
//! kernel takes from the active list as fast as it is filled (docs/actions.md). So what is kept of
//! all processes that share a limit is bounded.

use super::leaves;
use crate::BpfError;
use crate::programs::Facts;
use crate::vaddr::{Space, VirtualMemory};
use daos_core::{ActionReport, AddrRange, Refusal};
use daos_linux::cgroup::MemoryCgroup;
use daos_linux::{cpu, host};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Percent of the memory limit that are kept at most, of all that are under it. The kernel keeps
/// the inactive list about as long as the active one, so this is chosen to be less than half. A
/// range more than this may be.
const MOST_PERCENT: u64 = 42;
/// Pages that are touched, and touched again, in turn. Chosen: few enough that none is paged
/// out again in between.
const TOUCHED_AT_ONCE: usize = 128;

impl VirtualMemory {
    /// Bytes that are kept of other targets which share the limit of this one.
    fn kept_of_others(&self, at: usize, now_us: u64) -> u64 {
        let limited_by = &self.spaces[at].locked.limited_by;
        let others = self.spaces.iter().enumerate().filter(|(other, _)| *other != at);
        let alike = others.filter(|(_, other)| other.locked.limited_by == *limited_by);
        alike.map(|(_, other)| other.locked.kept_bytes(now_us)).sum()
    }

    /// Keeps `ranges` resident until some time after the last call; `None` when the
    /// process has ended.
    ///
    /// Applied are pages that were paged out and are present again. That sets their
    /// accessed bits, once: they look accessed to whoever armed them before.
    pub(super) fn lock(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<ActionReport>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let now_us = cpu::monotonic_us();
        let Space { process, locked, .. } = &mut self.spaces[at];
        locked.renew(now_us, || most_bytes(process.pid()));
        let others_bytes = self.kept_of_others(at, now_us);
        let Space { process, locked, .. } = &mut self.spaces[at];
        let mut report = ActionReport::default();
        let due = locked.due(ranges, others_bytes, now_us, &mut report);

        let room = &mut locked.room_bytes;
        let (mut touch, mut swapped) = (Vec::new(), Vec::new());
        let generations = self.has_lru_generations;
        let there = leaves::for_each(&mut self.reader, &task, &due, Facts::OfPresent, |leaf| {
            if leaf.level == 1 && leaf.entry.is_swapped() {
                if *room < leaf.range.len() {
                    return report.refuse(Refusal::NoRoom, leaf.range.len());
                }
                *room -= leaf.range.len();
                leaf.range.push_joined(&mut swapped);
                touch.push(leaf.range.start);
            } else if leaf.is_memory() && (leaf.facts.active == 0 || generations) {
                touch.push(leaf.range.start);
            }
        })?;
        // The first time a page on the inactive list is noted; the second, moved. That is
        // done soon, lest it be paged out again meanwhile.
        let mut chunks = touch.chunks(TOUCHED_AT_ONCE);
        let touched = chunks.try_for_each(|pages| process.touch(pages).and(process.touch(pages)));
        // Of other errors, such as no memory, the tables tell what came.
        if !there || matches!(touched, Err(Errno::SRCH | Errno::PERM)) {
            return Ok(None);
        }

        let there = leaves::for_each(&mut self.reader, &task, &swapped, Facts::None, |leaf| {
            if leaf.entry.is_present() {
                report.applied_bytes += leaf.range.len();
                leaf.range.push_joined(&mut report.applied);
            } else {
                report.refuse(Refusal::Kept, leaf.range.len());
            }
        })?;
        Ok(there.then_some(report))
    }
}

/// How much can be kept of a process and others of the same limit: a part of the memory that its
/// cgroup may use, or else of all there is; and which cgroup's limit that is. If all of it were
/// active, reclaim would find nothing to take, and the kernel would kill one for want of memory.
fn most_bytes(pid: u32) -> (u64, Option<PathBuf>) {
    let limit = MemoryCgroup::of(Path::new("/"), pid).and_then(|cgroup| cgroup.limit());
    let all = host::meminfo(Path::new("/proc"), "MemTotal").unwrap_or(0);
    let (bytes, limited_by) = match limit {
        Some((bytes, of)) if bytes < all => (bytes, Some(of)),
        _ => (all, None),
    };
    (bytes / 100 * MOST_PERCENT, limited_by)
}
