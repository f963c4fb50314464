//! Arming all that a target has in memory at once, for a tenth of what it takes page by page.
//!
//! The kernel clears the accessed bits of a whole process (`/proc/PID/clear_refs`), but it does not
//! say which were set, and flushes no TLB. So the page tables are read before, which tells what
//! will be cleared. And the TLB is flushed afterwards: through an entry that a CPU has in its TLB,
//! it accesses memory without setting the bit in the page table, so that a megabyte which is used
//! all the time would not show as accessed for seconds.

use crate::BpfError;
use crate::at_once_price;
use crate::entry::Entry;
use crate::programs::Facts;
use crate::reader::{Answer, huge_page, page_of};
use crate::to_arm::young_pages;
use crate::vaddr::{ToFlush, VirtualMemory};
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::pages::{Pages, page_range};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Window};
use daos_linux::clear_refs::ClearRefs;
use daos_linux::cpu;
use std::cmp::Reverse;

/// Where the TLB can't be flushed by itself: so many page tables, those with the most young pages,
/// are armed once more to have it flushed. Chosen: in one of them two pages will have been accessed
/// meanwhile that are as far apart as [`FLUSHES_ALL`] asks for.
const TO_FLUSH_BY: usize = 8;
/// Pages in a range from which on the kernel, when it clears bits in that range, flushes all of the
/// target's TLB and not page by page: more than its `tlb_single_page_flush_ceiling`, which is 33
/// unless somebody set another.
const FLUSHES_ALL: u32 = 34;
/// Regions updates at which that is tried again until it flushed all. Chosen: after so many seconds
/// little is left in the TLB of what it had.
const TRIES: u32 = 10;

/// What the page tables of a target say right before it is armed.
#[derive(Debug, Default)]
struct Before {
    /// Entries that map a page or a huge page.
    entries: u64,
    /// Huge pages whose bits are set.
    huge: Vec<AddrRange>,
    /// Small pages whose bits are set, by the address of the first in their table, without those
    /// that the kernel passes over.
    young: Vec<(u64, Pages)>,
    /// The addresses of those: pages of devices, and the page of zeros.
    left: Vec<u64>,
    /// Parts of tables that changed while they were read.
    torn: Vec<AddrRange>,
    /// How many pages of each table are young.
    tables: Vec<(u32, Window)>,
    /// Pages of which it turned out that they were armed before, and accessed since.
    found_set: u32,
}

impl VirtualMemory {
    /// Arms the target at this place at once. Returns whether that could be done.
    pub(crate) fn arm_all_of(&mut self, at: usize) -> Result<bool, BpfError> {
        let begun_us = cpu::used_us();
        let Some(before) = self.look_before(at)? else { return Ok(false) };
        let space = &self.spaces[at];
        let id = space.id;
        self.target_cost.found_set(before.found_set);
        if space.is_opaque || space.clear_refs.as_ref().and_then(ClearRefs::clear).is_none() {
            return Ok(false);
        }
        for (start, pages) in &before.young {
            if let Some(armed) = &mut self.armed_pages {
                armed.insert(id, *start, pages);
            }
            if let Some(cleared) = &mut self.cleared {
                let ranges = pages.ranges();
                cleared.extend(ranges.map(|(from, to)| (id, page_range(*start, from, to))));
            }
        }
        if let Some(cleared) = &mut self.cleared {
            cleared.extend(before.huge.iter().chain(&before.torn).map(|range| (id, *range)));
        }
        // What could not be armed by itself can be observed now, until it is armed by itself again.
        self.left.arm_target(id);
        before.left.iter().for_each(|page| self.left.leave(id, *page));
        self.leave_huge_pages(at, &before.huge);
        self.flush(at, before.tables)?;
        let took_us = (cpu::used_us() - begun_us) as f64;
        at_once_price::note(&mut self.prices.arm_target_page, before.entries, took_us);
        Ok(true)
    }

    /// Reads all of its tables. `None` if it has ended.
    fn look_before(&mut self, at: usize) -> Result<Option<Before>, BpfError> {
        let Some(task) = self.task(at)? else { return Ok(None) };
        let (reader, space) = (&mut self.reader, &self.spaces[at]);
        let id = space.id;
        let armed_pages = &mut self.armed_pages;
        let blocks = space.seen.ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
        let windows: Vec<_> = blocks.map(|block| Window::over(id, block)).collect();
        let mut before = Before::default();
        let all = windows.iter().copied();
        let there = reader.read(&task, all, Facts::None, |part, answer| match answer {
            Answer::Huge(entry, level, _) => {
                before.entries += 1;
                if entry.is_young() {
                    before.huge.push(huge_page(part.range.start, level));
                }
            }
            Answer::Pages(entries, ..) => {
                let (present, young) = young_pages(entries);
                before.entries += u64::from(present.len());
                before.tables.push((young.len(), windows[part.window]));
                let start = part.range.start;
                let mut armed = young;
                for page in young.iter().filter(|page| Entry(entries[*page as usize]).is_special())
                {
                    before.left.push(page_of(&part, page as usize).start);
                    armed = armed.without(&Pages::range(page, page + 1));
                }
                if let Some(known) = armed_pages {
                    before.found_set += known.take(id, start, &young.0);
                }
                before.young.push((start, armed));
            }
            Answer::Torn => before.torn.push(part.range),
            Answer::Empty(_) => {}
        })?;
        let Some(there) = there else {
            self.spaces[at].task = None;
            return Ok(None);
        };
        self.spaces[at].is_opaque = there.has_secondary_tables;
        Ok(Some(before))
    }

    /// Notes the huge pages whose bits `clear_refs` left as they were: those of hugetlbfs and of
    /// devices. `MADV_COLD` is refused there as well, and tells so: it is tried with one huge page
    /// of each mapping.
    fn leave_huge_pages(&mut self, at: usize, young: &[AddrRange]) {
        let mut tried = AddrRange::new(0, 0);
        for huge in young {
            if !tried.contains(huge.start) {
                tried = self.spaces[at].mapping_around(huge.start).unwrap_or(*huge);
                self.advise_cold(at, &[*huge]);
            }
            let space = &self.spaces[at];
            if space.refused.iter().any(|mapping| mapping.contains(huge.start)) {
                self.left.leave(space.id, huge.start);
            }
        }
    }

    /// Flushes the TLB of a target. `tables`: how many of its pages were young, table by table.
    fn flush(&mut self, at: usize, mut tables: Vec<(u32, Window)>) -> Result<(), BpfError> {
        let way = self.spaces[at].clear_refs.as_ref().filter(|_| self.can_flush);
        if way.and_then(ClearRefs::flush).is_some() {
            self.target_cost.interrupted();
            return Ok(());
        }
        tables.sort_unstable_by_key(|(young, window)| (Reverse(*young), window.start));
        tables.truncate(TO_FLUSH_BY);
        let mut by: Vec<Window> = tables.into_iter().map(|(_, window)| window).collect();
        by.sort_unstable_by_key(|window| window.start);
        self.spaces[at].to_flush = Some(ToFlush { by, tries: TRIES });
        self.try_to_flush(at)
    }

    /// Has the kernel flush the TLB of a target by arming some of its pages as one wide range. Only
    /// pages with a set bit are armed, so it takes two that were accessed since the bits were
    /// cleared, and lie far apart. A program that gets by with what is in the TLB sets no bits, and
    /// then it is tried again later.
    pub(crate) fn try_to_flush(&mut self, at: usize) -> Result<(), BpfError> {
        let Some(mut flush) = self.spaces[at].to_flush.take() else { return Ok(()) };
        let widest = self.arm_windows(at, &flush.by, MAX_WINDOW_PAGES);
        self.placement.follow(None);
        let widest = widest?;
        flush.tries -= 1;
        if widest < FLUSHES_ALL && flush.tries > 0 {
            self.spaces[at].to_flush = Some(flush);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::TRIES;
    use crate::VirtualMemory;
    use crate::child::{HUGE, Making, Target};
    use daos_core::{AccessCheck, TargetId, Window};
    use std::time::Duration;
    use test_tag::tag;

    fn watch(target: &Target) -> (VirtualMemory, TargetId) {
        let mut memory = VirtualMemory::new().expect("the programs load");
        let id = memory.add(target.process()).expect("nobody else watches it");
        memory.targets().expect("it runs");
        (memory, id)
    }

    /// How many of its pages are in memory, and how many of those were accessed.
    fn check(memory: &mut VirtualMemory, id: TargetId, target: &Target) -> (u32, u32) {
        let blocks = target.memory.blocks(HUGE);
        let windows: Vec<_> = blocks.map(|block| Window::over(id, block)).collect();
        let mut found = Vec::new();
        memory.check(&windows, &mut found).expect("the programs run");
        let sum = |of: fn(&daos_core::Observation) -> u32| found.iter().map(of).sum();
        assert_eq!(found.iter().map(|seen| seen.unobservable).sum::<u32>(), 0);
        (sum(|seen| seen.present), sum(|seen| seen.accessed))
    }

    #[tag(root)]
    #[test]
    fn idle_memory_shows_no_access_and_stays_intact() {
        // Pages of both sizes, and such that a child maps, too, which can't be armed one by one.
        let shared = Making { shared: true, ..Making::pages(4 * HUGE) };
        for making in [Making::pages(16 * HUGE), Making::huge(8 * HUGE), shared] {
            let child = Target::start(making);
            let (mut memory, id) = watch(&child);
            let (present, _) = check(&mut memory, id, &child);
            assert!(memory.arm_target(id).unwrap());
            assert_eq!(check(&mut memory, id, &child), (present, 0));
            assert!(child.is_intact());
            let (_, accessed) = check(&mut memory, id, &child);
            assert!(accessed * 10 >= present * 9, "{accessed} of {present} pages were read");
            assert!(memory.prices().arm_target_page < 1.0, "{:?}", memory.prices());
        }
    }

    /// What a CPU keeps of page tables it would access without a bit being set.
    #[tag(root)]
    #[test]
    fn a_megabyte_that_is_used_all_the_time_shows_at_once() {
        for can_flush in [true, false] {
            let child = Target::start(Making { in_use: true, ..Making::pages(1 << 20) });
            let (mut memory, id) = watch(&child);
            memory.can_flush &= can_flush;
            let share = || {
                assert!(memory.arm_target(id).unwrap());
                // With the other way, what it accesses until then may be all in the TLB.
                for _ in 0..TRIES {
                    std::thread::sleep(Duration::from_millis(20));
                    memory.targets().expect("it runs");
                }
                std::thread::sleep(Duration::from_millis(50));
                let (present, accessed) = check(&mut memory, id, &child);
                f64::from(accessed) / f64::from(present)
            };
            // The child may have no CPU for a while.
            let shares = std::iter::repeat_with(share).take(10);
            let shares: Vec<f64> = shares.take_while(|share| *share < 0.9).collect();
            assert!(
                shares.len() < 10,
                "{shares:?} of it, with another way to flush: {}",
                !can_flush
            );
        }
    }

    #[tag(root)]
    #[test]
    fn what_was_set_tells_schemes_and_counts_as_cost_once() {
        let child = Target::start(Making::pages(4 * HUGE));
        let (mut memory, id) = watch(&child);
        memory.cleared = Some(Vec::new());
        assert!(memory.arm_target(id).unwrap());
        let cleared = |memory: &mut VirtualMemory| {
            let all = memory.cleared.replace(Vec::new()).unwrap();
            let inside = all.iter().filter_map(|(_, range)| range.intersect(&child.memory));
            inside.map(|range| range.pages()).sum::<u64>()
        };
        // A monitor of the kernel's may clear some bits, too.
        let pages = child.memory.pages();
        let is_all = |nr: u64| nr <= pages && nr >= pages * 9 / 10;
        let nr = cleared(&mut memory);
        assert!(is_all(nr), "{nr} of {pages}");
        memory.take_target_us();
        assert!(child.is_intact());
        check(&mut memory, id, &child);
        let us = memory.take_target_us();
        let all_us = memory.prices().set_again * pages as f64;
        assert!(us >= 0.9 * all_us, "{us} of {all_us}");
        assert!(memory.arm_target(id).unwrap());
        let nr = cleared(&mut memory);
        assert!(is_all(nr), "{nr} of {pages}");
        assert!(memory.arm_target(id).unwrap());
        assert_eq!(cleared(&mut memory), 0, "none was accessed since");
    }

    #[tag(root)]
    #[test]
    fn who_has_ended_is_not_armed() {
        let mut child = Target::start(Making::pages(HUGE));
        let (mut memory, id) = watch(&child);
        assert!(memory.resident_bytes_of(id) >= Some(HUGE));
        child.kill();
        assert!(!memory.arm_target(id).unwrap() && memory.resident_bytes_of(id).is_none());
        assert!(!memory.arm_target(TargetId(77)).unwrap() && !memory.can_arm_target(TargetId(77)));
    }
}
