//! How pages are armed, and what had to be left.

use super::VirtualMemory;
use crate::BpfError;
use crate::programs::Facts;
use crate::ranges;
use crate::to_arm::{FolioToArm, Rules};
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

    /// The same at once. `most_gap`: pages between two that are passed over, at most. Returns how many pages there are
    /// from the first to the last one that is armed by itself, in the window where these are most.
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
        if let Some(there) = there {
            self.spaces[at].is_opaque = there.has_secondary_tables;
            // Several pages of one folio are asked for one after the other.
            let mut last = None;
            for FolioToArm { page, range, first } in std::mem::take(&mut to_arm.folios) {
                let space = &self.spaces[at];
                let is_whole = match last {
                    Some((of, is_whole)) if of == (range, first) => is_whole,
                    _ => {
                        let mapping = space.mapping_around(range.start);
                        let inside = mapping.is_some_and(|m| m.intersect(&range) == Some(range));
                        inside && reader.maps_in_a_row(&task, range, first)?
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
            let advise = &mut to_arm.ranges;
            let id = self.spaces[at].id;
            let around = |addr| self.spaces[at].mapping_around(addr);
            // The kernel takes one mapping and refuses the next, of which it would tell neither.
            ranges::cut(advise, around);
            // Two windows may lie in one folio, and several pages do.
            ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
            // All that is asked for, whole folios too, even if the call stops in the middle.
            if let Some(cleared) = &mut self.cleared {
                cleared.extend(advise.iter().map(|range| (id, *range)));
            }
            let armed: u64 = advise.iter().map(AddrRange::pages).sum();
            if !to_arm.bridges.is_empty() {
                let is_inside = |bridge: &AddrRange| {
                    around(bridge.start).is_some_and(|m| m.intersect(bridge) == Some(*bridge))
                };
                to_arm.bridges.retain(is_inside);
                advise.append(&mut to_arm.bridges);
                ranges::join(advise, ranges::MAX_ARMED_BYTES, around);
            }
            if advise.len() >= WORTH_A_MOVE {
                there.follow(&mut self.placement);
            }
            let interrupted = self.placement.interrupts(there.cpu, there.nr_running);
            let begun_us = cpu::used_us();
            to_arm.left.iter().for_each(|addr| self.left.leave(id, *addr));
            self.advise_cold(at, &to_arm.ranges);
            let took_us = (cpu::used_us() - begun_us) as f64;
            let flushes = to_arm.ranges.len() as u64;
            self.target_cost.armed(flushes, armed, took_us, interrupted);
        } else {
            self.spaces[at].task = None;
        }
        self.to_arm = to_arm;
        Ok(widest)
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
