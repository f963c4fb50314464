//! Finds where this kernel keeps physical memory and the array of `struct page`.
//!
//! Neither address is exported, and both are random. Both can be *checked*, so
//! each candidate is, on pages of our own, and nothing is taken that does not pass:
//! through the direct map, our page tables must lead to what we wrote in these
//! pages; the page array must know at which addresses we have them.
//!
//! Nothing but RAM is read on the way: behind other addresses are registers of devices,
//! which may lose their state by that. Tables are followed to System RAM only. Candidates of
//! the direct map are tried from the lowest: below the right one, what would be RAM is RAM,
//! or not mapped. Through a candidate of the page array nothing is read before the kernel's
//! own tables have said that RAM is mapped there, as memory and not as a device is.

use crate::BpfError;
use crate::entry::{Entry, bytes_mapped, table_shape};
use crate::programs::{Facts, Found, KernelLayout, Programs, Request, Task};
use crate::scratch::ScratchMemory;
use daos_core::rng::mix;
use daos_core::{AddrRange, PAGE_SIZE};
use daos_linux::cpu;
use std::fs;

const GIB: u64 = 1 << 30;
/// Pages of our own to check with. Chosen: what is wrong would have to hold the right word
/// at that many places.
const PROBES: usize = 8;
/// Times that a table is read that changes while it is. Chosen: what changes the kernel's
/// own tables is rare and short.
const TRIES: usize = 3;

/// Looks the layout up. Takes some milliseconds, once.
pub(crate) fn find(
    programs: &mut Programs,
    me: &Task,
    ram: &[AddrRange],
) -> Result<KernelLayout, BpfError> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let (levels, frame_mask) = table_shape(&cpuinfo);
    let layout = KernelLayout { direct_map: 0, page_array: 0, frame_mask, levels };
    let probes = Probes::new().ok_or(BpfError::Layout("memory of our own"))?;
    let layout = find_direct_map(programs, me, &probes, ram, layout)?;
    find_page_array(programs, me, &probes, ram, layout)
}

/// The direct map starts 1 GiB-aligned, at or below our top-level table, which
/// lies in it.
fn find_direct_map(
    programs: &mut Programs,
    me: &Task,
    probes: &Probes,
    ram: &[AddrRange],
    layout: KernelLayout,
) -> Result<KernelLayout, BpfError> {
    let physical_end = ram.last().map_or(0, |range| range.end);
    let highest = me.pgd / GIB * GIB;
    let lowest = highest.saturating_sub((1 + physical_end / GIB) * GIB);
    'candidates: for direct_map in (lowest..=highest).step_by(GIB as usize) {
        // Where it would have our top-level table.
        if !AddrRange::any_contains(ram, me.pgd - direct_map) {
            continue;
        }
        let candidate = KernelLayout { direct_map, ..layout };
        for (addr, written) in probes.written() {
            let found = match read_one(programs, me, &candidate, addr)? {
                Some((entry, 1)) if entry.is_present() => {
                    let physical = entry.frame(1, layout.frame_mask) << 12;
                    if !AddrRange::any_contains(ram, physical) {
                        continue 'candidates;
                    }
                    programs.read_word(direct_map.wrapping_add(physical))?
                }
                _ => continue 'candidates,
            };
            if found != written {
                continue 'candidates;
            }
        }
        return Ok(candidate);
    }
    Err(BpfError::Layout("where physical memory is mapped"))
}

/// The page array starts 1 GiB-aligned above the direct map. Under the right
/// start, the frames behind pages of ours say that they are anonymous, mapped
/// once, and at the index that our addresses give.
fn find_page_array(
    programs: &mut Programs,
    me: &Task,
    probes: &Probes,
    ram: &[AddrRange],
    layout: KernelLayout,
) -> Result<KernelLayout, BpfError> {
    let physical_end = ram.last().map_or(0, |range| range.end);
    let mut start = (layout.direct_map + physical_end).next_multiple_of(GIB);
    while let Some(page_array) = next_mapped_gib(programs, me, &layout, start)? {
        let candidate = KernelLayout { page_array, ..layout };
        if has_ram_for(programs, me, probes, ram, &candidate)?
            && knows(programs, me, probes, &candidate)?
        {
            return Ok(candidate);
        }
        let Some(behind) = page_array.checked_add(GIB) else { break };
        start = behind;
    }
    Err(BpfError::Layout("the array of page frames"))
}

/// Whether the kernel maps RAM, as memory, where a page array that starts there has what
/// belongs to our pages.
fn has_ram_for(
    programs: &mut Programs,
    me: &Task,
    probes: &Probes,
    ram: &[AddrRange],
    candidate: &KernelLayout,
) -> Result<bool, BpfError> {
    for addr in probes.addresses() {
        let Some((entry, 1)) = read_one(programs, me, candidate, addr)? else { return Ok(false) };
        let frame = entry.frame(1, candidate.frame_mask);
        let size = programs.struct_page_size();
        let first = candidate.page_array.checked_add(frame * size);
        // Two reads: it may cross the end of a page.
        for at in [first, first.and_then(|first| first.checked_add(size - 1))] {
            let Some(at) = at else { return Ok(false) };
            let Some((entry, level)) = read_one(programs, me, candidate, at)? else {
                return Ok(false);
            };
            let physical = entry.frame(level, candidate.frame_mask) << 12;
            if !entry.is_present()
                || !entry.is_write_back(level)
                || !AddrRange::any_contains(ram, physical)
            {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether a page array that starts there knows our pages.
fn knows(
    programs: &mut Programs,
    me: &Task,
    probes: &Probes,
    candidate: &KernelLayout,
) -> Result<bool, BpfError> {
    // A kernel short of memory may have cleared their accessed bits meanwhile.
    probes.write();
    for (addr, out) in probes.addresses().zip(0..) {
        programs.requests()[out as usize] = Request { va: addr, pages: 1, out };
    }
    programs.read_tables(me, candidate, Facts::Owners, PROBES)?;
    let Found { replies, entries, facts, .. } = programs.found();
    Ok(probes.addresses().enumerate().all(|(i, addr)| {
        replies[i].level == 1
            && replies[i].torn == 0
            && Entry(entries[i]).is_young()
            && facts[i].mapping & 3 == 1
            && facts[i].mapcount == 1
            && facts[i].index == addr >> 12
    }))
}

/// The first GiB at or above `start` in which anything is mapped, skipping what an
/// empty upper entry rules out.
fn next_mapped_gib(
    programs: &mut Programs,
    me: &Task,
    layout: &KernelLayout,
    mut start: u64,
) -> Result<Option<u64>, BpfError> {
    loop {
        let Some((entry, level)) = read_one(programs, me, layout, start)? else {
            return Ok(None);
        };
        if level < 3 || entry.is_present() {
            return Ok(Some(start));
        }
        let size = bytes_mapped(level);
        match (start & !(size - 1)).checked_add(size) {
            Some(next) => start = next,
            None => return Ok(None),
        }
    }
}

/// The entry that maps `addr` in our own table, and its level; `None` when it can't be told.
fn read_one(
    programs: &mut Programs,
    me: &Task,
    layout: &KernelLayout,
    addr: u64,
) -> Result<Option<(Entry, u32)>, BpfError> {
    for _ in 0..TRIES {
        programs.requests()[0] = Request { va: addr, pages: 1, out: 0 };
        if programs.read_tables(me, layout, Facts::None, 1)?.is_none() {
            return Ok(None);
        }
        let Found { replies, entries, .. } = programs.found();
        if replies[0].torn != 0 {
            continue;
        }
        let level = replies[0].level;
        let entry = if level == 1 { entries[0] } else { replies[0].entry };
        return Ok(Some((Entry(entry), level)));
    }
    Ok(None)
}

/// A few pages of our own, each beginning with a word that no other page has.
struct Probes {
    pages: ScratchMemory,
    seed: u64,
}

impl Probes {
    fn new() -> Option<Self> {
        let pages = ScratchMemory::map(PROBES as u64 * PAGE_SIZE)?;
        let seed = mix(cpu::monotonic_us() ^ u64::from(std::process::id()) << 32);
        let probes = Self { pages, seed };
        probes.write();
        Some(probes)
    }

    fn write(&self) {
        self.written().for_each(|(addr, word)| self.pages.write_word(addr, word));
    }

    fn addresses(&self) -> impl Iterator<Item = u64> + use<> {
        let start = self.pages.start();
        (0..PROBES as u64).map(move |page| start + page * PAGE_SIZE)
    }

    /// The address of each page, and the word there.
    fn written(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let seed = self.seed;
        self.addresses().map(move |addr| (addr, mix(seed ^ addr)))
    }
}

#[cfg(test)]
mod tests {
    use crate::reader::Reader;
    use test_tag::tag;

    /// What a wrong candidate would find is chance, so one success says little.
    #[tag(root)]
    #[test]
    fn the_layout_is_found_every_time() {
        let first = Reader::new().unwrap().layout();
        for _ in 0..30 {
            assert_eq!(Reader::new().unwrap().layout(), first);
        }
    }
}
