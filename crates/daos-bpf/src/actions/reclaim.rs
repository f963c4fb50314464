//! Pageout and cold.
//!
//! Only what is present is advised, without pages that others map too. Of cold memory
//! most is on the inactive list with its bits clear already: it is as it should be.

use super::Found;
use super::leaves::{self, Leaf};
use super::whole_blocks::WholeBlocks;
use crate::BpfError;
use crate::programs::Facts;
use crate::ranges;
use crate::vaddr::{Space, VirtualMemory};
use daos_core::{ActionReport, AddrRange, HUGE_PAGE_SIZE, Mapping, Refusal};
use daos_linux::cgroup::MemoryCgroup;
use daos_linux::madvise::{Advice, Advised};
use daos_linux::support::Swap;
use rustix::io::Errno;
use std::path::Path;

impl VirtualMemory {
    /// Pages `ranges` out; `None` when the process has ended.
    ///
    /// Applied are pages that were present and no longer are. Those that the target
    /// brought in again meanwhile count as kept. Dirty pages of files are unmapped now
    /// and written when the kernel gets to it. What was found idle, and is not any more, is
    /// spared.
    pub(super) fn pageout(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
        found: Found,
    ) -> Result<Option<ActionReport>, BpfError> {
        let mut report = ActionReport::default();
        // Without room, the kernel would split idle huge pages before it finds that out.
        let space = &self.spaces[at];
        let is_full = Swap::room_bytes(Path::new("/"), HUGE_PAGE_SIZE) == 0
            || space.anonymous_stayed && space.has_full_swap();
        let without_room = if is_full { space.anonymous_in(ranges) } else { Vec::new() };
        let mut whole = WholeBlocks::default();
        let picked = self.pick(at, Advice::Pageout, ranges, &mut report, |leaf| {
            if found == Found::Idle && leaf.entry.is_young() {
                return Pick::Spare;
            }
            if AddrRange::any_contains(&without_room, leaf.range.start) {
                return Pick::Refuse(Refusal::NoRoom);
            }
            whole.add(leaf);
            Pick::Take
        })?;
        let Some(asked) = picked else { return Ok(None) };
        let asked = whole.collapse(&self.spaces[at], asked);
        let Some(task) = self.task(at)? else { return Ok(None) };
        let advised = self.page_out_on_its_cpu(at, &task, &asked);
        let mut stayed_anonymous = 0;
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        let there = leaves::for_each(reader, &task, &asked, Facts::None, |leaf| {
            let (range, bytes) = (leaf.range, leaf.range.len());
            if !leaf.entry.is_present() {
                report.applied_bytes += bytes;
                range.push_joined(&mut report.applied);
            } else if advised.refused.iter().any(|(refused, _)| refused.contains(range.start)) {
                report.refuse(Refusal::Unsuitable, bytes);
            } else if space.is_of_file(range.start) {
                report.refuse(Refusal::Kept, bytes);
            } else {
                stayed_anonymous += bytes;
            }
        })?;
        if !there || stopped_by_end(&advised) {
            return Ok(None);
        }
        if stayed_anonymous > 0 {
            let room_bytes = Swap::room_bytes(Path::new("/"), HUGE_PAGE_SIZE);
            let has_room = room_bytes >= stayed_anonymous && !space.has_full_swap();
            report.refuse(if has_room { Refusal::Kept } else { Refusal::NoRoom }, stayed_anonymous);
        }
        // While it may have no more in swap, nothing of it is tried.
        self.spaces[at].anonymous_stayed = is_full || stayed_anonymous > 0;
        Ok(Some(report))
    }

    /// Has reclaim take `ranges` first; `None` when the process has ended.
    ///
    /// Applied are the pages that were accessed since they were last looked at, or were on
    /// the active list. A huge page is taken whole, or left: to split it would cost more
    /// than it is worth.
    pub(super) fn cold(
        &mut self,
        at: usize,
        ranges: &[AddrRange],
    ) -> Result<Option<ActionReport>, BpfError> {
        let mut report = ActionReport::default();
        let generations = self.has_lru_generations;
        let picked = self.pick(at, Advice::Cold, ranges, &mut report, |leaf| {
            let is_warm = leaf.entry.is_young() || leaf.facts.active == 1 || generations;
            match (is_warm, leaf.is_whole()) {
                (false, _) => Pick::Skip,
                (true, false) => Pick::Refuse(Refusal::Unsuitable),
                (true, true) => Pick::Take,
            }
        })?;
        let Some(asked) = picked else { return Ok(None) };
        let advised = self.spaces[at].process.advise(Advice::Cold, &asked);
        if stopped_by_end(&advised) {
            return Ok(None);
        }
        let mut refused: Vec<_> = advised.refused.iter().map(|(range, _)| *range).collect();
        refused.sort_unstable();
        for range in asked {
            if AddrRange::any_contains(&refused, range.start) {
                report.refuse(Refusal::Unsuitable, range.len());
            } else {
                report.applied_bytes += range.len();
                range.push_joined(&mut report.applied);
            }
        }
        Ok(Some(report))
    }

    /// What of `ranges` to advise, sorted, in parts fit for a call, by what `choose` says
    /// of each page or huge page that is present and not shared.
    fn pick(
        &mut self,
        at: usize,
        advice: Advice,
        ranges: &[AddrRange],
        report: &mut ActionReport,
        mut choose: impl FnMut(&Leaf<'_>) -> Pick,
    ) -> Result<Option<Vec<AddrRange>>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let mut picked = Vec::new();
        let there = leaves::for_each(&mut self.reader, &task, ranges, Facts::OfPresent, |leaf| {
            if !leaf.is_memory() {
                return;
            }
            if leaf.is_shared() {
                return report.refuse(Refusal::Shared, leaf.range.len());
            }
            match choose(&leaf) {
                Pick::Take => picked.push(leaf.range),
                Pick::Skip => {}
                Pick::Spare => report.spared_bytes += leaf.range.len(),
                Pick::Refuse(why) => report.refuse(why, leaf.range.len()),
            }
        })?;
        let space = &self.spaces[at];
        ranges::join(&mut picked, advice.most_bytes(), |addr| space.mapping_around(addr));
        Ok(there.then_some(picked))
    }
}

/// What to do about a page.
enum Pick {
    Take,
    Skip,
    Spare,
    Refuse(Refusal),
}

fn stopped_by_end(advised: &Advised) -> bool {
    // What may not be advised for want of rights is no process to act on, either.
    matches!(advised.stopped, Some(Errno::SRCH | Errno::PERM | Errno::ACCESS))
}

impl Space {
    /// Whether its cgroup lets it have no more in swap.
    fn has_full_swap(&self) -> bool {
        let cgroup = MemoryCgroup::of(Path::new("/"), self.process.pid());
        cgroup.is_some_and(|cgroup| cgroup.is_swap_full())
    }

    /// The mappings of no file of which some lies around sorted `ranges`.
    fn anonymous_in(&self, ranges: &[AddrRange]) -> Vec<AddrRange> {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return Vec::new() };
        let mappings = &self.seen.mappings;
        let from = mappings.partition_point(|m| m.range.end <= first.start);
        let there = mappings[from..].iter().take_while(|m| m.range.start < last.end);
        there.filter(|m| !m.is_of_file()).map(|m| m.range).collect()
    }

    /// Whether a file is mapped at `addr`.
    pub(crate) fn is_of_file(&self, addr: u64) -> bool {
        self.mapping_at(addr).is_some_and(Mapping::is_of_file)
    }
}
