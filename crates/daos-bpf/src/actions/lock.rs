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

use super::{RecentPages, leaves};
use crate::BpfError;
use crate::programs::Facts;
use crate::vaddr::{Space, VirtualMemory};
use daos_core::{ActionReport, AddrRange, Refusal};
use daos_linux::cgroup::MemoryCgroup;
use daos_linux::{cpu, host};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Microseconds after which a page is looked at again. Measured: under the worst pressure
/// that was tried, a page took longer from the active list to being paged out.
const CHECK_AGAIN_US: u64 = 190_000;
/// Percent of the memory limit that are kept at most, of all that are under it. The kernel keeps the inactive list
/// about as long as the active one, so this is chosen to be less than half. A range more
/// than this may be.
const MOST_PERCENT: u64 = 42;
/// What is paged out is brought back by parts of that, one in the time after which pages
/// are looked at again: all at once would take memory from what is in use, and where
/// something cold is taken for hot, it goes on and on. Chosen.
const BROUGHT_AT_ONCE: u64 = 8;
/// Pages that are touched, and touched again, in turn. Chosen: few enough that none is paged
/// out again in between.
const TOUCHED_AT_ONCE: usize = 128;

/// What is kept resident of a process.
#[derive(Debug)]
pub(crate) struct Locked {
    /// Pages that were looked at.
    seen: RecentPages,
    /// When it was last found out how much memory there is.
    since_us: u64,
    /// Most bytes to be kept, together with others of the same limit.
    most_bytes: u64,
    /// The cgroup whose limit that is a part of; `None`: it is of all memory.
    limited_by: Option<PathBuf>,
    /// Bytes that may still be brought back before it is found out again.
    room_bytes: u64,
}

impl Locked {
    pub(crate) fn new() -> Self {
        let seen = RecentPages::new(CHECK_AGAIN_US);
        Self { seen, since_us: 0, most_bytes: 0, limited_by: None, room_bytes: 0 }
    }

    /// Takes what `most_bytes` says for the time until pages are looked at again.
    fn renew(&mut self, now_us: u64, most_bytes: impl FnOnce() -> (u64, Option<PathBuf>)) {
        self.seen.clear_away(now_us);
        if now_us.saturating_sub(self.since_us) >= CHECK_AGAIN_US {
            self.since_us = now_us;
            (self.most_bytes, self.limited_by) = most_bytes();
            self.room_bytes = self.most_bytes / BROUGHT_AT_ONCE;
        }
    }

    /// What is kept at `now_us`: nothing if it was not asked for lately.
    fn kept_bytes(&self, now_us: u64) -> u64 {
        let is_over = now_us.saturating_sub(self.since_us) >= 2 * CHECK_AGAIN_US;
        if is_over { 0 } else { self.seen.bytes() }
    }

    /// Those of `ranges` that have to be looked at. What is too much, with the `others_bytes` that
    /// are kept of others, is refused.
    fn due(
        &mut self,
        ranges: &[AddrRange],
        others_bytes: u64,
        now_us: u64,
        report: &mut ActionReport,
    ) -> Vec<AddrRange> {
        let mut due = Vec::new();
        for range in ranges {
            if others_bytes + self.seen.bytes() >= self.most_bytes {
                report.refuse(Refusal::NoRoom, range.len());
            } else if self.seen.add_range(*range, now_us) {
                due.push(*range);
            }
        }
        due
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::HUGE_PAGE_SIZE;

    #[test]
    fn no_more_is_kept_than_was_found_to_fit() {
        let block = |n: u64| AddrRange::new(n * HUGE_PAGE_SIZE, (n + 1) * HUGE_PAGE_SIZE);
        let blocks = [block(0), block(1), block(2)];
        let mut locked = Locked::new();
        let mut due = |now_us, most, others| {
            let mut report = ActionReport::default();
            locked.renew(now_us, || (most * HUGE_PAGE_SIZE, None));
            let due = locked.due(&blocks, others * HUGE_PAGE_SIZE, now_us, &mut report);
            (due.len(), report.refused)
        };
        let refused = |blocks| vec![(Refusal::NoRoom, blocks * HUGE_PAGE_SIZE)];
        let start = 10 * CHECK_AGAIN_US;
        assert_eq!(due(start, 2, 0), (2, refused(1)));
        assert_eq!(due(start + CHECK_AGAIN_US - 1, 3, 0), (0, refused(3)), "known as it was");
        assert_eq!(due(start + CHECK_AGAIN_US, 3, 0), (3, vec![]));
        let later = start + 2 * CHECK_AGAIN_US;
        assert_eq!(due(later, 3, 2), (1, refused(2)), "others of the same limit have some");
        assert_eq!(locked.kept_bytes(later + CHECK_AGAIN_US), HUGE_PAGE_SIZE);
        assert_eq!(locked.kept_bytes(later + 2 * CHECK_AGAIN_US), 0, "nobody asks for it any more");
    }

    #[test]
    fn some_may_be_brought_back_each_time() {
        let mut locked = Locked::new();
        let start = 10 * CHECK_AGAIN_US;
        locked.renew(start, || (8000, None));
        assert_eq!(locked.room_bytes, 1000);
        locked.room_bytes -= 900;
        locked.renew(start + CHECK_AGAIN_US / 2, || (8000, None));
        assert_eq!(locked.room_bytes, 100);
        locked.renew(start + CHECK_AGAIN_US, || (16_000, None));
        assert_eq!(locked.room_bytes, 2000);
    }
}
