//! How pages are armed, and what had to be left.

use super::{Space, VirtualMemory};
use crate::BpfError;
use crate::programs::{Facts, Task, Whereabouts};
use crate::ranges;
use crate::to_arm::{FolioToArm, Rules, ToArm};
use daos_core::{AccessCheck, AddrRange, Window};
use daos_linux::cpu;
use daos_linux::madvise::Advice;
use rustix::io::Errno;

/// Ranges with a flush each from which on moving to the target's CPU and back is worth it: the
/// move costs some 50 µs, an interrupt some 14 µs to either side.
pub(crate) const WORTH_A_MOVE: usize = 4;
/// Most pages that are armed at once. Chosen: what the kernel keeps of so many takes a quarter of a
/// usual second-level cache.
const PAGES_AT_ONCE: u32 = 2048;

impl VirtualMemory {
    /// Arms the windows of one target: so few pages at once that what is read of their frames is
    /// still in the CPU's cache when the kernel clears their bits.
    pub(super) fn arm_space(&mut self, at: usize, windows: &[Window]) -> Result<(), BpfError> {
        let mut rest = windows;
        let mut armed = Ok(());
        while !rest.is_empty() && armed.is_ok() {
            let mut pages = 0;
            let fits = |window: &&Window| {
                pages += window.pages;
                pages <= PAGES_AT_ONCE
            };
            let nr = rest.iter().take_while(fits).count().max(1);
            armed = self.arm_windows(at, &rest[..nr], self.prices().most_gap()).map(|_| ());
            // Where the target waits for us, nothing is read.
            self.placement.follow(None);
            rest = &rest[nr..];
        }
        armed
    }

    /// Arms the windows of one target in one go. `most_gap`: pages between two that are passed
    /// over, at most. Returns how many pages there are from the first to the last one that is
    /// armed by itself, in the window where these are most.
    pub(crate) fn arm_windows(
        &mut self,
        at: usize,
        windows: &[Window],
        most_gap: u32,
    ) -> Result<u32, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(0) };
        let mut to_arm = std::mem::take(&mut self.to_arm);
        to_arm.clear();
        let rules = Rules { whole_folios: self.whole_folios, most_gap };
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        let with = Facts::OfYoung { most_gap };
        let mut widest = 0;
        let there = reader.read(&task, windows.iter().copied(), with, |part, answer| {
            let pages = to_arm.add(&part, answer, &space.refused, rules);
            widest = widest.max(pages.span().map_or(0, |(from, to)| to - from));
            if let Some(armed) = &mut self.armed_pages {
                armed.insert(space.id, part.range.start, &pages);
            }
        })?;
        match there {
            Some(there) => {
                self.spaces[at].is_opaque = there.has_secondary_tables;
                self.add_whole_folios(at, &task, &mut to_arm)?;
                let pages = self.join_ranges(at, &mut to_arm);
                self.clear_bits(at, &there, &to_arm, pages);
            }
            None => self.spaces[at].task = None,
        }
        self.to_arm = to_arm;
        Ok(widest)
    }

    /// Of the large folios that are mapped page by page, those of which all is mapped, in one
    /// mapping, are armed as a whole; the young pages of others are left.
    fn add_whole_folios(
        &mut self,
        at: usize,
        task: &Task,
        to_arm: &mut ToArm,
    ) -> Result<(), BpfError> {
        let space = &self.spaces[at];
        // Several pages of one folio are asked for one after the other.
        let mut last = None;
        for FolioToArm { page, range, first } in std::mem::take(&mut to_arm.folios) {
            let is_whole = match last {
                Some((of, is_whole)) if of == (range, first) => is_whole,
                _ => {
                    is_in_one_mapping(space, &range)
                        && self.reader.maps_in_a_row(task, range, first)?
                }
            };
            last = Some(((range, first), is_whole));
            if is_whole {
                if let Some(armed) = &mut self.armed_pages {
                    armed.insert_range(space.id, range);
                }
                to_arm.ranges.push(range);
            } else {
                to_arm.left.push(page);
            }
        }
        Ok(())
    }

    /// Makes as few ranges as can be of all that is to be armed, each inside one mapping. Returns
    /// how many pages are armed, without those between them that are passed over.
    fn join_ranges(&mut self, at: usize, to_arm: &mut ToArm) -> u64 {
        let space = &self.spaces[at];
        let around = |addr| space.mapping_around(addr);
        let advise = &mut to_arm.ranges;
        // The kernel takes one mapping and refuses the next, of which it would tell neither.
        ranges::cut(advise, around);
        // Two windows may lie in one folio, and several pages do.
        ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
        // All that is asked for, whole folios too, even if the call stops in the middle.
        if let Some(cleared) = &mut self.cleared {
            cleared.extend(advise.iter().map(|range| (space.id, *range)));
        }
        let pages = advise.iter().map(AddrRange::pages).sum();
        if !to_arm.bridges.is_empty() {
            to_arm.bridges.retain(|bridge| is_in_one_mapping(space, bridge));
            advise.append(&mut to_arm.bridges);
            ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
        }
        pages
    }

    /// Has the kernel clear the accessed bits, from the CPU that the target runs on where that is
    /// worth it, and notes what that cost the target. `pages`: how many of them are armed.
    fn clear_bits(&mut self, at: usize, there: &Whereabouts, to_arm: &ToArm, pages: u64) {
        if to_arm.ranges.len() >= WORTH_A_MOVE {
            there.follow(&mut self.placement);
        }
        let interrupted = self.placement.interrupts(there.cpu, there.nr_running);
        let begun_us = cpu::used_us();
        let id = self.spaces[at].id;
        to_arm.left.iter().for_each(|addr| self.left.leave(id, *addr));
        self.advise_cold(at, &to_arm.ranges);
        let took_us = (cpu::used_us() - begun_us) as f64;
        self.target_cost.armed(to_arm.ranges.len() as u64, pages, took_us, interrupted);
    }

    pub(crate) fn advise_cold(&mut self, at: usize, ranges: &[AddrRange]) {
        let space = &mut self.spaces[at];
        let advised = space.process.advise(Advice::Cold, ranges);
        for (range, errno) in advised.refused {
            // What is locked or of a device is so for the whole mapping: ask no more
            // of it for a while. A hole is just that.
            let whole = space.mapping_around(range.start).filter(|_| errno == Errno::INVAL);
            let mapping = whole.unwrap_or(range);
            space.refused.push(mapping);
            let left = ranges.iter().filter(|r| mapping.contains(r.start));
            left.for_each(|range| self.left.leave_all(space.id, *range));
        }
        if advised.stopped.is_some() {
            ranges.iter().for_each(|range| self.left.leave_all(space.id, *range));
        }
    }
}

/// Whether all of `range` lies in one mapping of the target, as far as its mappings are known.
fn is_in_one_mapping(space: &Space, range: &AddrRange) -> bool {
    let mapping = space.mapping_around(range.start);
    mapping.is_some_and(|mapping| mapping.intersect(range) == Some(*range))
}

#[cfg(test)]
mod tests {
    use crate::VirtualMemory;
    use crate::child::{HUGE, Making, Target};
    use daos_core::{AccessCheck, Window};
    use test_tag::tag;

    #[tag(root)]
    #[test]
    fn what_could_not_be_armed_never_passes_for_accessed() {
        let child = Target::start(Making { shared: true, ..Making::pages(HUGE) });
        let mut memory = VirtualMemory::new().expect("the programs load");
        let id = memory.add(child.process()).expect("nobody else watches it");
        let start = child.memory.start;
        while memory.spaces.first().is_none_or(|space| space.mapping_around(start).is_none()) {
            memory.targets().expect("it runs");
        }
        let windows = [Window::over(id, child.memory)];
        let is_most = |pages: u32| pages <= windows[0].pages && pages >= windows[0].pages * 9 / 10;
        memory.arm(&windows).expect("it can be asked for");
        let check = |memory: &mut VirtualMemory| {
            let mut seen = Vec::new();
            memory.check(&windows, &mut seen).expect("the programs run");
            // A monitor of the kernel's may clear some bits.
            assert!(seen[0].accessed == 0 && is_most(seen[0].unobservable), "{seen:?}");
        };
        for _ in 0..3 {
            check(&mut memory);
            memory.left.forget_unread();
        }
    }
}
