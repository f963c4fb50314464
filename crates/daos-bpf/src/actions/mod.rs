//! What schemes do to the memory of processes: [`ActionSink`] for [`VirtualMemory`].
//!
//! Each action reads the page tables first, asks the kernel only for what it can
//! change, and reads again: what it counts is what came of it, not what was asked.
//! Reading costs a microsecond for 2 MiB, an advice about that for a page.
//!
//! A target may map something else, or move its memory, at any time. So it goes in parts of
//! 2 MiB, and right before each the mappings of that part are looked up again, and the
//! accessed bits of what was found idle. What a target can still slip in between the look and
//! the action is one such part, within the milliseconds that its action takes.
//!
//! | module | holds |
//! |---|---|
//! | `support` | which actions can be done on this host |
//! | `unchanged` | what is mapped as it was when it was chosen |
//! | `leaves` | the entries that map a range, pages and huge pages, one by one |
//! | `reclaim` | pageout and cold |
//! | `on_its_cpu` | paging out pages one by one, on the CPU that the target runs on |
//! | `whole_blocks` | blocks that are paged out as one page |
//! | `willneed` | reading in again what was paged out |
//! | `hugepage` | making huge pages |
//! | `nohugepage` | making regular pages of them again |
//! | `lock`, `locked` | keeping hot memory resident; what of it is kept |
//! | `recent_pages` | what was asked for not long ago |

mod hugepage;
mod leaves;
mod lock;
pub(crate) mod locked;
mod nohugepage;
mod on_its_cpu;
pub(crate) mod recent_pages;
mod reclaim;
mod support;
#[cfg(test)]
mod tests;
mod unchanged;
mod whole_blocks;
mod willneed;

use crate::BpfError;
use crate::programs::Facts;
use crate::vaddr::VirtualMemory;
use daos_core::{
    Action, ActionReport, ActionSink, AddrRange, HUGE_PAGE_SIZE, Mapping, Refusal, Residence,
    TargetId, TargetSnapshot,
};
use daos_linux::cpu;
use std::path::Path;
use unchanged::unchanged;

impl ActionSink for VirtualMemory {
    fn supports(&self, action: Action) -> Result<(), String> {
        support::check(Path::new("/"), action)
    }

    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        self.apply_in_parts(action, target, ranges, Found::Any)
    }

    fn apply_to_idle(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        if let Some(files) = self.cached_files.as_mut().filter(|_| target.is_file()) {
            return files.apply(&mut self.reader, action, target, ranges);
        }
        self.apply_in_parts(action, target, ranges, Found::Idle)
    }

    fn residence(&mut self, target: TargetId, ranges: &[AddrRange]) -> Result<Residence, BpfError> {
        if let Some(files) = self.cached_files.as_mut().filter(|_| target.is_file()) {
            return files.residence(&mut self.reader, target, ranges);
        }
        let mut found = Residence::default();
        let at = self.place_of(target);
        let Some((at, task)) = at.and_then(|at| Some((at, self.task(at).transpose()?))) else {
            return Ok(found);
        };
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        leaves::for_each(reader, &task?, ranges, Facts::None, |leaf| {
            if leaf.entry.is_present() {
                leaf.range.push_joined(&mut found.present);
            } else if leaf.entry.is_empty() && !space.is_of_file(leaf.range.start) {
                // Of a file, an empty entry says that it is not mapped by this process, as when
                // it was paged out.
                leaf.range.push_joined(&mut found.empty);
            }
        })?;
        Ok(found)
    }

    fn shared(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Vec<AddrRange>, BpfError> {
        let mut shared = Vec::new();
        let Some(at) = self.place_of(target) else { return Ok(shared) };
        let Some(task) = self.task(at)? else { return Ok(shared) };
        leaves::for_each(&mut self.reader, &task, ranges, Facts::OfPresent, |leaf| {
            if leaf.is_memory() && leaf.is_shared() {
                leaf.range.push_joined(&mut shared);
            }
        })?;
        Ok(shared)
    }

    fn clock_us(&self) -> f64 {
        cpu::monotonic_us() as f64
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        std::mem::take(self.cleared.get_or_insert_default())
    }

    fn unmapped_files(&mut self) -> Result<Vec<TargetSnapshot>, BpfError> {
        match (&mut self.cached_files, &self.page_cache) {
            (Some(files), Some(look)) => files.look(&mut self.reader, look.files()),
            _ => Ok(Vec::new()),
        }
    }

    fn mappings(&self, target: TargetId) -> &[Mapping] {
        if let Some(files) = self.cached_files.as_ref().filter(|_| target.is_file()) {
            return files.mapping(target);
        }
        self.place_of(target).map_or(&[], |at| &self.spaces[at].seen.mappings)
    }

    fn cgroup(&self, target: TargetId) -> Option<String> {
        self.spaces[self.place_of(target)?].memory_cgroup()
    }
}

/// What is known of the pages that are to be acted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or that they are in use.
    Any,
    /// Each was idle when it was last looked at.
    Idle,
}

impl VirtualMemory {
    pub(crate) fn apply_in_parts(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
        found: Found,
    ) -> Result<ActionReport, BpfError> {
        let mut report = ActionReport::default();
        if action == Action::Stat {
            return Ok(report);
        }
        let at = self.place_of(target);
        let allowed = |at: &usize| self.spaces[*at].process.may_be_acted_on().is_ok();
        let Some(at) = at.filter(allowed) else { return Ok(gone(ranges)) };
        if self.spaces[at].is_opaque {
            report.refuse(Refusal::Unsuitable, bytes(ranges));
            return Ok(report);
        }
        let Some(mut lookup) = self.spaces[at].process.mapping_lookup() else {
            return Ok(gone(ranges));
        };
        for part in parts(ranges) {
            // To look for room for a huge page takes the kernel long, and finds none for the
            // next.
            if action == Action::Hugepage && report.is_refused(Refusal::NoRoom) {
                report.refuse(Refusal::NoRoom, bytes(&part));
                continue;
            }
            // It has ended, or executes another program.
            let Ok(now) = lookup.in_ranges(&part) else {
                report.add(gone(&part));
                continue;
            };
            let same = unchanged(&part, &self.spaces[at].seen.mappings, &now);
            report.refuse(Refusal::Unsuitable, bytes(&part).saturating_sub(bytes(&same)));
            if same.is_empty() {
                continue;
            }
            let done = self.act(action, at, &same, found)?;
            report.add(done.unwrap_or_else(|| {
                self.spaces[at].task = None;
                gone(&same)
            }));
        }
        Ok(report)
    }

    /// Does `action` to `ranges`, a part; `None` when the process has ended.
    fn act(
        &mut self,
        action: Action,
        at: usize,
        ranges: &[AddrRange],
        found: Found,
    ) -> Result<Option<ActionReport>, BpfError> {
        match action {
            Action::Pageout => self.pageout(at, ranges, found),
            Action::Cold => self.cold(at, ranges),
            Action::Willneed => self.willneed(at, ranges),
            Action::Lock => self.lock(at, ranges),
            Action::Hugepage => self.hugepage(at, ranges),
            Action::Nohugepage => self.nohugepage(at, ranges),
            Action::Stat => Ok(Some(ActionReport::default())),
        }
    }
}

/// Sorted `ranges` in parts of 2 MiB at most, cut where huge pages begin.
fn parts(ranges: &[AddrRange]) -> Vec<Vec<AddrRange>> {
    let mut parts: Vec<Vec<AddrRange>> = Vec::new();
    let mut room = 0;
    for piece in ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)) {
        match parts.last_mut().filter(|_| piece.len() <= room) {
            Some(part) => part.push(piece),
            None => {
                parts.push(vec![piece]);
                room = HUGE_PAGE_SIZE;
            }
        }
        room -= piece.len();
    }
    parts
}

/// Nothing was done, as there is no process any more.
fn gone(ranges: &[AddrRange]) -> ActionReport {
    let mut report = ActionReport::default();
    report.refuse(Refusal::Gone, bytes(ranges));
    report
}

fn bytes(ranges: &[AddrRange]) -> u64 {
    ranges.iter().map(AddrRange::len).sum()
}
