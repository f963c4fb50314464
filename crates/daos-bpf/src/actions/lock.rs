//! Lock: hot memory stays resident under memory pressure.
//!
//! `mlock` works only from inside a process. But to read a byte of a page from outside
//! makes the kernel take it for used: it comes back if it was paged out, and when it is
//! read twice it goes to the active list, from which reclaim does not take. So pages that
//! are not on that list are touched, which are few, and nothing is held: when daos ends,
//! however it does, the memory is as any other.
//!
//! That holds while what is hot is less than about half of the memory there is; beyond, the
//! kernel takes from the active list as fast as it is filled (docs/actions.md).

use super::leaves;
use crate::BpfError;
use crate::programs::Facts;
use crate::vaddr::VirtualMemory;
use daos_core::AddrRange;
use daos_core::schemes::{Outcome, Refusal};
use daos_linux::cgroup::MemoryCgroup;
use daos_linux::{cpu, host};
use rustix::io::Errno;
use std::path::Path;

/// Microseconds after which a page is looked at again. Under the worst pressure that was
/// tried, a page took longer from the active list to being paged out.
pub(crate) const LOOK_AGAIN_US: u64 = 190_000;
/// Percent of the memory limit that are kept at most. The kernel keeps the inactive list
/// about as long as the active one. A range more than this may be.
const MOST_PERCENT: u64 = 42;
/// What is paged out is brought back by parts of that, one in the time after which pages
/// are looked at again: all at once would take memory from what is in use, and where
/// something cold is taken for hot, it goes on and on.
const BROUGHT_AT_ONCE: u64 = 8;
/// Pages that are touched, and touched again, in turn.
const TOUCHED_AT_ONCE: usize = 128;

impl VirtualMemory {
    /// Keeps `ranges` resident until some time after the last call; `None` when the
    /// process has ended.
    ///
    /// Applied are pages that were paged out and are present again. That sets their
    /// accessed bits, once: they look accessed to whoever armed them before.
    pub(super) fn lock(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<Outcome>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let now_us = cpu::monotonic_us();
        let most_bytes = most_bytes(self.spaces[at].process.pid());
        let locked = &mut self.spaces[at].locked;
        locked.clear_away(now_us);
        let mut outcome = Outcome::default();
        let mut due = Vec::new();
        for range in ranges {
            if locked.bytes(now_us) >= most_bytes {
                outcome.refuse(Refusal::NoRoom, range.len());
            } else if locked.add_range(*range, now_us) {
                due.push(*range);
            }
        }

        let mut room = locked.room_to_bring(now_us, most_bytes / BROUGHT_AT_ONCE);
        let (mut touch, mut swapped) = (Vec::new(), Vec::new());
        let generations = self.has_lru_generations;
        let there = leaves::for_each(&mut self.reader, &task, &due, Facts::OfPresent, |leaf| {
            if leaf.level == 1 && leaf.entry.is_swapped() {
                if room < leaf.range.len() {
                    return outcome.refuse(Refusal::NoRoom, leaf.range.len());
                }
                room -= leaf.range.len();
                leaf.range.push_joined(&mut swapped);
                touch.push(leaf.range.start);
            } else if leaf.is_memory() && (leaf.facts.active == 0 || generations) {
                touch.push(leaf.range.start);
            }
        })?;
        self.spaces[at].locked.brought(swapped.iter().map(AddrRange::len).sum());
        let process = &self.spaces[at].process;
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
                outcome.applied_bytes += leaf.range.len();
                leaf.range.push_joined(&mut outcome.applied);
            } else {
                outcome.refuse(Refusal::Kept, leaf.range.len());
            }
        })?;
        Ok(there.then_some(outcome))
    }
}

/// How much of a process can be kept: a part of the memory that its cgroup may use, or else
/// of all there is. If all of it were active, reclaim would find nothing to take, and the
/// kernel would kill the process for want of memory.
fn most_bytes(pid: u32) -> u64 {
    let cgroup = MemoryCgroup::of(Path::new("/"), pid).and_then(|cgroup| cgroup.limit_bytes());
    let all = host::meminfo(Path::new("/proc"), "MemTotal").unwrap_or(0);
    cgroup.unwrap_or(all).min(all) / 100 * MOST_PERCENT
}
