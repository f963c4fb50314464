//! What schemes do to the memory of processes: [`ActionSink`] for [`VirtualMemory`].
//!
//! Each action reads the page tables first, asks the kernel only for what it can
//! change, and reads again: what it counts is what came of it, not what was asked.
//! Reading costs a microsecond for 2 MiB, an advice about that for a page.
//!
//! | module | holds |
//! |---|---|
//! | `support` | which actions can be done on this host |
//! | `leaves` | the entries that map a range, pages and huge pages, one by one |
//! | `reclaim` | pageout and cold |
//! | `whole_blocks` | blocks that are paged out as one page |
//! | `willneed` | reading in again what was paged out |
//! | `hugepage` | making huge pages |
//! | `nohugepage` | making regular pages of them again |
//! | `lock` | keeping hot memory resident |
//! | `recent_pages` | what was asked for not long ago |

mod hugepage;
mod leaves;
mod lock;
mod nohugepage;
mod recent_pages;
mod reclaim;
mod support;
#[cfg(test)]
mod tests;
mod whole_blocks;
mod willneed;

use crate::BpfError;
use crate::vaddr::VirtualMemory;
use daos_core::{Action, ActionReport, ActionSink, AddrRange, Mapping, Refusal, TargetId};
use daos_linux::cpu;
use std::path::Path;

pub(crate) use lock::Locked;
pub(crate) use recent_pages::RecentPages;
pub(crate) use willneed::ASK_AGAIN_US;

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
        if action == Action::Stat {
            return Ok(ActionReport::default());
        }
        let at = self.spaces.iter().position(|s| s.id == target);
        let allowed = |at: &usize| self.spaces[*at].process.may_be_acted_on().is_ok();
        let Some(at) = at.filter(allowed) else { return Ok(gone(ranges)) };
        if self.spaces[at].is_opaque {
            let mut report = ActionReport::default();
            report.refuse(Refusal::Unsuitable, bytes(ranges));
            return Ok(report);
        }
        let done = match action {
            Action::Pageout => self.pageout(at, ranges)?,
            Action::Cold => self.cold(at, ranges)?,
            Action::Willneed => self.willneed(at, ranges)?,
            Action::Lock => self.lock(at, ranges)?,
            Action::Hugepage => self.hugepage(at, ranges)?,
            Action::Nohugepage => self.nohugepage(at, ranges)?,
            Action::Stat => Some(ActionReport::default()),
        };
        Ok(done.unwrap_or_else(|| {
            self.spaces[at].task = None;
            gone(ranges)
        }))
    }

    fn clock_us(&self) -> f64 {
        cpu::monotonic_us() as f64
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        std::mem::take(self.cleared.get_or_insert_default())
    }

    fn mappings(&self, target: TargetId) -> &[Mapping] {
        let space = self.spaces.iter().find(|s| s.id == target);
        space.map_or(&[], |s| &s.mappings)
    }

    fn cgroup(&self, target: TargetId) -> Option<String> {
        self.spaces.iter().find(|s| s.id == target)?.process.memory_cgroup()
    }
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
