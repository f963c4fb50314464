//! Finds where this kernel keeps physical memory and the array of `struct page`.
//!
//! Neither address is exported, and both are random. Both can be *checked*, so
//! each candidate is, on pages of our own, and nothing is taken that does not pass:
//! through the direct map, our page tables must lead to what we wrote in these
//! pages; the page array must know at which addresses we have them.

use crate::BpfError;
use crate::entry::{Entry, FRAME_MASK, bytes_mapped, table_shape};
use crate::programs::{Facts, Found, KernelLayout, Programs, Request, Task};
use crate::scratch::ScratchMemory;
use daos_core::PAGE_SIZE;
use daos_core::rng::mix;
use daos_linux::cpu;
use std::fs;

const GIB: u64 = 1 << 30;
/// Pages of our own to check with. Chosen: what is wrong would have to hold the right word
/// at that many places.
const PROBES: usize = 8;

/// Looks the layout up. Takes some milliseconds, once.
pub(crate) fn find(programs: &mut Programs, me: &Task) -> Result<KernelLayout, BpfError> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let (levels, frame_mask) = table_shape(&cpuinfo);
    let layout = KernelLayout { direct_map: 0, page_array: 0, frame_mask, levels };
    let probes = Probes::new().ok_or(BpfError::Layout("memory of our own"))?;
    let layout = find_direct_map(programs, me, &probes, layout)?;
    find_page_array(programs, me, &probes, layout)
}

/// The direct map starts 1 GiB-aligned, at or below our top-level table, which
/// lies in it.
fn find_direct_map(
    programs: &mut Programs,
    me: &Task,
    probes: &Probes,
    layout: KernelLayout,
) -> Result<KernelLayout, BpfError> {
    let most = 1 + physical_end() / GIB;
    let highest = me.pgd / GIB * GIB;
    'candidates: for direct_map in (0..most).filter_map(|gib| highest.checked_sub(gib * GIB)) {
        let candidate = KernelLayout { direct_map, ..layout };
        for (addr, written) in probes.written() {
            let found = match read_one(programs, me, &candidate, addr)? {
                Some((entry, 1)) if entry.is_present() => {
                    let physical = entry.frame(1, layout.frame_mask) << 12;
                    programs.read_word(direct_map.wrapping_add(physical))?
                }
                _ => 0,
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
    layout: KernelLayout,
) -> Result<KernelLayout, BpfError> {
    let mut start = layout.direct_map;
    while let Some(page_array) = next_mapped_gib(programs, me, &layout, start)? {
        let candidate = KernelLayout { page_array, ..layout };
        // A kernel short of memory may have cleared their accessed bits meanwhile.
        probes.write();
        for (addr, out) in probes.addresses().zip(0..) {
            programs.requests()[out as usize] = Request { va: addr, pages: 1, out };
        }
        programs.read_tables(me, &candidate, Facts::Owners, PROBES)?;
        let Found { replies, entries, facts } = programs.found();
        let ours = probes.addresses().enumerate().all(|(i, addr)| {
            replies[i].level == 1
                && Entry(entries[i]).is_young()
                && facts[i].mapping & 3 == 1
                && facts[i].mapcount == 1
                && facts[i].index == addr >> 12
        });
        if ours {
            return Ok(candidate);
        }
        let Some(behind) = page_array.checked_add(GIB) else { break };
        start = behind;
    }
    Err(BpfError::Layout("the array of page frames"))
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
        let Some((entry, level)) = read_one(programs, me, layout, start)? else { return Ok(None) };
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

/// The entry that maps `addr` in our own table, and its level.
fn read_one(
    programs: &mut Programs,
    me: &Task,
    layout: &KernelLayout,
    addr: u64,
) -> Result<Option<(Entry, u32)>, BpfError> {
    programs.requests()[0] = Request { va: addr, pages: 1, out: 0 };
    if programs.read_tables(me, layout, Facts::None, 1)?.is_none() {
        return Ok(None);
    }
    let Found { replies, entries, .. } = programs.found();
    let level = replies[0].level;
    let entry = if level == 1 { entries[0] } else { replies[0].entry };
    Ok(Some((Entry(entry), level)))
}

/// Where physical memory ends, from `/proc/iomem`; for those who may not read it,
/// a generous guess. It only bounds the search.
fn physical_end() -> u64 {
    let iomem = fs::read_to_string("/proc/iomem").unwrap_or_default();
    let end = iomem
        .lines()
        .filter(|l| l.ends_with("System RAM"))
        .filter_map(|l| {
            u64::from_str_radix(l.trim().split_once([' ', '-'])?.1.split(' ').next()?, 16).ok()
        })
        .max()
        .unwrap_or(0);
    if end == 0 { FRAME_MASK >> 6 } else { end }
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
