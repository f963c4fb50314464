//! What schemes do to page frames: [`ActionSink`] for [`PhysicalMemory`].
//!
//! Who has a frame, and where, is looked up right before each action; then it is an action on
//! the memory of that process, with all that is checked there. What is locked, shared, or of a
//! process that is left alone, is refused.

use super::frames;
use super::owners::Piece;
use super::{ALL, PhysicalMemory};
use crate::BpfError;
use crate::actions::Found;
use crate::programs::{FrameKind, Wanted};
use daos_core::{
    Action, ActionReport, ActionSink, AddrRange, HUGE_PAGE_SIZE, Mapping, OwnedMemory, PAGE_SIZE,
    Refusal, TargetId, Window,
};
use daos_linux::cpu;

impl ActionSink for PhysicalMemory {
    fn supports(&self, action: Action) -> Result<(), String> {
        match action {
            Action::Pageout | Action::Cold | Action::Stat => self.owners.processes.supports(action),
            Action::Willneed | Action::Hugepage | Action::Nohugepage | Action::Lock => {
                Err(format!(
                    "{} is not done by physical address, only pageout, cold and stat are: use --all",
                    action.name()
                ))
            }
        }
    }

    fn apply(
        &mut self,
        action: Action,
        _: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        self.act(action, ranges, Found::Any)
    }

    fn apply_to_idle(
        &mut self,
        action: Action,
        _: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        self.act(action, ranges, Found::Idle)
    }

    fn clock_us(&self) -> f64 {
        cpu::monotonic_us() as f64
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        let mut cleared = std::mem::take(self.cleared.get_or_insert_default());
        // Where it can't be read, it may be anywhere.
        let frames = self.cleared_of_owners().unwrap_or_else(|_| self.ram());
        cleared.extend(frames.into_iter().map(|range| (ALL, range)));
        cleared
    }

    fn mappings(&self, _: TargetId) -> &[Mapping] {
        &self.ram
    }

    fn cgroup(&self, _: TargetId) -> Option<String> {
        None
    }

    fn has_owners(&self) -> bool {
        true
    }

    fn owned(&mut self, _: TargetId, ranges: &[AddrRange]) -> Result<Vec<OwnedMemory>, BpfError> {
        self.owners.begin_tick();
        let mut owned = Vec::new();
        let mut pieces = self.pieces(ranges, &mut ActionReport::default())?;
        pieces.sort_unstable_by_key(|piece| (piece.pid, piece.pgd, piece.va));
        for of_one in pieces.chunk_by(|a, b| (a.pid, a.pgd) == (b.pid, b.pgd)) {
            let Some(at) = self.owners.find(of_one[0].pid, of_one[0].pgd)? else { continue };
            if !self.owners.may_be_acted_on(at) {
                continue;
            }
            self.owners.know_mappings(at, of_one);
            let space = &self.owners.processes.spaces[at];
            let cgroup = space.memory_cgroup();
            for piece in of_one {
                if let Some(mapping) = space.mapping_at(piece.va) {
                    let (range, cgroup) = (piece.physical(piece.range()), cgroup.clone());
                    let mapping = Mapping { range, ..mapping.clone() };
                    owned.push(OwnedMemory { mapping, cgroup, is_huge: piece.is_huge });
                }
            }
        }
        owned.sort_unstable_by_key(|owned| owned.mapping.range.start);
        Ok(owned)
    }
}

impl PhysicalMemory {
    fn act(
        &mut self,
        action: Action,
        ranges: &[AddrRange],
        found: Found,
    ) -> Result<ActionReport, BpfError> {
        let mut report = ActionReport::default();
        if action == Action::Stat {
            return Ok(report);
        }
        self.owners.begin_tick();
        let mut pieces = self.pieces(ranges, &mut report)?;
        if found == Found::Idle {
            let young = pieces.iter().filter(|piece| piece.is_young);
            report.spared_bytes += young.map(Piece::bytes).sum::<u64>();
            pieces.retain(|piece| !piece.is_young);
        }
        pieces.sort_unstable_by_key(|piece| (piece.pid, piece.pgd, piece.va));
        let mut applied = Vec::new();
        for of_one in pieces.chunk_by(|a, b| (a.pid, a.pgd) == (b.pid, b.pgd)) {
            let bytes = of_one.iter().map(Piece::bytes).sum();
            let Some(at) = self.owners.find(of_one[0].pid, of_one[0].pgd)? else {
                report.refuse(Refusal::Gone, bytes);
                continue;
            };
            if !self.owners.may_be_acted_on(at) {
                report.refuse(Refusal::Unsuitable, bytes);
                continue;
            }
            self.owners.know_mappings(at, of_one);
            let target = self.owners.processes.spaces[at].id;
            let theirs = AddrRange::joined(of_one.iter().map(Piece::range));
            let done = self.owners.processes.apply_in_parts(action, target, &theirs, found)?;
            applied.extend(physical(of_one, &done.applied));
            report.add(ActionReport { applied: Vec::new(), ..done });
        }
        applied.sort_unstable();
        report.applied = AddrRange::joined(applied);
        Ok(report)
    }

    /// What somebody has of `ranges`. What can't be acted on is refused.
    fn pieces(
        &mut self,
        ranges: &[AddrRange],
        report: &mut ActionReport,
    ) -> Result<Vec<Piece>, BpfError> {
        let parts = ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
        let windows: Vec<_> = parts.map(|part| Window::over(ALL, part)).collect();
        let mut pieces = Vec::new();
        let reader = &mut self.owners.processes.reader;
        frames::read(
            reader,
            self.own_pgd,
            &windows,
            Wanted::WANT_OWNER,
            |_, _| {},
            |run| {
                let why = match run.found.kind {
                    FrameKind::FRAME_SHARED | FrameKind::FRAME_KSM => Refusal::Shared,
                    _ => Refusal::Unsuitable,
                };
                if run.is_unobservable() {
                    report.refuse(why, u64::from(run.found.nr) * PAGE_SIZE);
                }
                pieces.extend(Piece::of(&run));
            },
        )?;
        Ok(pieces)
    }
}

/// The physical addresses of sorted `ranges` of the process that has `pieces`, which are sorted.
fn physical(pieces: &[Piece], ranges: &[AddrRange]) -> Vec<AddrRange> {
    let mut found = Vec::new();
    for range in ranges {
        let first = pieces.partition_point(|piece| piece.range().end <= range.start);
        let inside = pieces[first..].iter().take_while(|piece| piece.va < range.end);
        let part = |piece: &Piece| Some(piece.physical(piece.range().intersect(range)?));
        found.extend(inside.filter_map(part));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::FrameRun;

    #[test]
    fn what_was_done_at_virtual_addresses_is_told_by_physical_ones() {
        let piece = |va: u64, frame, nr| {
            let kind = FrameKind::FRAME_OLD;
            let va = va * PAGE_SIZE;
            let found = FrameRun { kind, nr, va, tgid: 1, level: 1, ..FrameRun::default() };
            Piece::of(&frames::Run { window: 0, page: 0, frame, found: &found }).unwrap()
        };
        let pages = |start: u64, end: u64| AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE);
        let pieces = [piece(5, 90, 1), piece(6, 20, 1), piece(7, 30, 4), piece(20, 10, 1)];
        let done = [pages(5, 9), pages(10, 11)];
        let expected = [pages(90, 91), pages(20, 21), pages(30, 32), pages(33, 34)];
        assert_eq!(physical(&pieces, &done), expected);
    }

    #[test]
    fn part_of_a_huge_page_has_its_own_address_and_is_armed_as_a_whole() {
        let kind = FrameKind::FRAME_YOUNG;
        let (va, nr) = (HUGE_PAGE_SIZE, 8);
        let found = FrameRun { kind, nr, va, tgid: 1, level: 2, order: 9, ..FrameRun::default() };
        let run = frames::Run { window: 0, page: 0, frame: 512 * 3 + 16, found: &found };
        let piece = Piece::of(&run).unwrap();
        assert_eq!(piece.range().start, HUGE_PAGE_SIZE + 16 * PAGE_SIZE);
        assert_eq!(piece.entry_va(), HUGE_PAGE_SIZE);
        assert_eq!(piece.folio(), AddrRange::new(3 * HUGE_PAGE_SIZE, 4 * HUGE_PAGE_SIZE));
    }
}
