//! The monitoring primitive of physical addresses: the RAM of the machine, whoever uses it.
//!
//! A page frame is accessed if the entry that maps it was. An eBPF program goes from frames to
//! these entries; arming and acting go through their owners, by virtual address. What several
//! map can't be armed, and is not observed. Page cache that nobody maps has no accessed bits: it
//! counts as not there, as free memory does, and the kernel's.
//!
//! | module | holds |
//! |---|---|
//! | this one | the [`AccessCheck`] |
//! | `blocks` | where anything is mapped: the rest is not watched |
//! | `frames` | what windows of page frames hold |
//! | `owners` | the processes that have them |
//! | `ownership` | who has which part of all RAM |
//! | `actions` | what schemes do to them |
//! | `prices` | what looking and arming costs by frame, measured |

mod actions;
mod blocks;
mod frames;
mod owners;
mod ownership;
mod prices;

use crate::BpfError;
use crate::armed_pages::ArmedPages;
use crate::page_cache::PageCacheLook;
use crate::programs::Wanted;
use crate::reader::Reader;
use blocks::Blocks;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::{
    AccessCheck, AddrRange, Capabilities, Mapping, Observation, Prices, Target, TargetId,
    TargetInfo, Window,
};
use daos_linux::census::Selection;
use daos_linux::iomem;
use daos_linux::memory::ProcessMemory;
use owners::{Owners, Piece};
use std::collections::HashSet;
use std::path::Path;

/// The only target.
const ALL: TargetId = TargetId(0);
/// Regions updates after which frames that could not be armed are tried again. Chosen: as with
/// virtual addresses.
const UPDATES_BETWEEN_TRIES: u64 = 10;

/// Accessed bits of page frames, read with eBPF and armed with `process_madvise`.
#[derive(Debug)]
pub struct PhysicalMemory {
    owners: Owners,
    page_cache: PageCacheLook,
    /// The tables of this process, whose own memory is not observed.
    own_pgd: u64,
    /// System RAM, as mappings of the target.
    ram: Vec<Mapping>,
    blocks: Blocks,
    /// Frames that had to be left when they were last armed.
    left: HashSet<u64>,
    /// By physical address.
    armed: ArmedPages,
    updates: u64,
    prices: Prices,
    /// Where set bits were cleared, if anyone wants to know.
    cleared: Option<Vec<(TargetId, AddrRange)>>,
}

impl PhysicalMemory {
    /// Loads the eBPF programs and checks that they find the owners of page frames here.
    /// `selection`: the processes whose memory is armed, and may be acted on; that of others is
    /// not observed while it is in use. `max_overhead`: the bound on what
    /// watching costs in all, as a share of one CPU.
    ///
    /// Needs root, or the capabilities of [`VirtualMemory`](crate::VirtualMemory::new) and
    /// CAP_SYS_ADMIN, and a kernel with memory cgroups (`CONFIG_MEMCG`).
    ///
    /// # Errors
    ///
    /// [`BpfError`] where this host lacks what it takes.
    pub fn new(selection: Selection, max_overhead: f64) -> Result<Self, BpfError> {
        let mut reader = Reader::with_frames()?;
        let own_pgd = reader.myself()?.pgd;
        let name = || "System RAM".to_owned();
        let ram = iomem::system_ram(Path::new("/"))?;
        let page_cache = PageCacheLook::new(&mut reader)?;
        let mut owners = Owners::new(reader, selection, max_overhead);
        let blocks = Blocks::find(&mut owners, own_pgd, &ram, max_overhead)?;
        let looks = prices::measure_looks(&mut owners.processes.reader, &blocks.mapped())?;
        let ram = ram.into_iter().map(|range| Mapping { range, name: name(), shared: false });
        Ok(Self {
            prices: prices::with(looks, owners.processes.prices()),
            owners,
            page_cache,
            own_pgd,
            ram: ram.collect(),
            blocks,
            left: HashSet::new(),
            armed: ArmedPages::default(),
            updates: 0,
            cleared: None,
        })
    }

    /// The processes that were found to have memory, by number.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.owners.processes.pids()
    }

    /// Arms the pieces, by owner. Those that can't be are left.
    fn arm_pieces(&mut self, pieces: &mut [Piece]) -> Result<(), BpfError> {
        pieces.sort_unstable_by_key(|piece| (piece.pid, piece.va));
        let mut found = Vec::new();
        let mut windows: Vec<Window> = Vec::new();
        for of_one in pieces.chunk_by(|a, b| (a.pid, a.pgd) == (b.pid, b.pgd)) {
            let Some(at) = self.owners.find(of_one[0].pid, of_one[0].pgd)? else {
                of_one.iter().for_each(|piece| self.leave(piece));
                continue;
            };
            let target = self.owners.processes.spaces[at].id;
            found.push((target, of_one));
            let first = windows.len();
            for piece in of_one {
                let pages = piece.pages as u32;
                match windows[first..].last_mut() {
                    Some(last)
                        if last.range().end == piece.va
                            && last.pages + pages <= MAX_WINDOW_PAGES =>
                    {
                        last.pages += pages;
                    }
                    _ => windows.push(Window { target, start: piece.va, pages }),
                }
            }
        }
        for piece in &*pieces {
            self.armed.insert_range(ALL, piece.entry_frames());
        }
        self.owners.processes.arm(&windows)?;
        for (target, of_one) in found {
            for piece in of_one {
                if self.owners.processes.is_left(target, piece.entry_va()) {
                    self.leave(piece);
                }
            }
        }
        if let Some(cleared) = &mut self.cleared {
            cleared.extend(pieces.iter().map(|piece| (ALL, piece.folio())));
        }
        Ok(())
    }

    fn leave(&mut self, piece: &Piece) {
        self.left.extend(piece.frame..piece.frame + piece.pages);
    }
}

impl AccessCheck for PhysicalMemory {
    type Error = BpfError;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "ebpf-paddr",
            max_window_pages: MAX_WINDOW_PAGES,
            page_bits: true,
            sparse: false,
        }
    }

    fn targets(&mut self) -> Result<Vec<Target>, BpfError> {
        self.owners.keep_up()?;
        self.page_cache.go_on(&mut self.owners.processes.reader)?;
        self.updates += 1;
        if self.updates.is_multiple_of(UPDATES_BETWEEN_TRIES) {
            self.left.clear();
        }
        let memory = ProcessMemory::of_machine(Path::new("/proc"));
        let resident_bytes = memory.map(|memory| memory.resident_bytes);
        self.blocks.go_on(&mut self.owners, self.own_pgd)?;
        Ok(vec![Target { id: ALL, ranges: self.blocks.mapped(), resident_bytes }])
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), BpfError> {
        self.owners.begin_tick();
        let mut pieces = Vec::new();
        let left = &mut self.left;
        let reader = &mut self.owners.processes.reader;
        frames::read(
            reader,
            self.own_pgd,
            windows,
            Wanted::WANT_OWNER_OF_YOUNG,
            |_, _| {},
            |run| {
                if !left.is_empty() {
                    (run.frame..run.frame + u64::from(run.found.nr)).for_each(|frame| {
                        left.remove(&frame);
                    });
                }
                pieces.extend(Piece::of(&run));
            },
        )?;
        self.arm_pieces(&mut pieces)
    }

    fn check(&mut self, windows: &[Window], found: &mut Vec<Observation>) -> Result<(), BpfError> {
        let first = found.len();
        let nothing = Observation { pages: Some(Default::default()), ..Observation::default() };
        found.resize(first + windows.len(), nothing);
        let found = &mut found[first..];
        let mut free = Vec::new();
        let left = &self.left;
        let reader = &mut self.owners.processes.reader;
        frames::read(
            reader,
            self.own_pgd,
            windows,
            Wanted::WANT_NO_OWNER,
            |window, bytes| free.push((window, bytes)),
            |run| note(&mut found[run.window], &run, |frame| left.contains(&frame)),
        )?;
        free.into_iter().for_each(|(window, bytes)| found[window].empty_bytes = bytes);
        let set = self.armed.take_found(ALL, windows, found);
        self.owners.processes.target_cost.found_set(set);
        Ok(())
    }

    fn prices(&self) -> Prices {
        self.prices
    }

    fn take_target_us(&mut self) -> f64 {
        self.owners.processes.take_target_us()
    }

    fn changed_targets(&mut self) -> Vec<TargetInfo> {
        let page_cache = self.page_cache.news();
        let ownership = self.blocks.ownership();
        let machine = ownership.map(|ownership| TargetInfo {
            id: ALL,
            pid: None,
            name: "physical memory".to_owned(),
            mappings: self.ram.clone(),
            cgroup: None,
            memory: None,
            ownership: Some(ownership),
            page_cache: None,
        });
        machine.into_iter().chain(page_cache).collect()
    }
}

/// Adds a run of frames to the observation of its window. `is_left`: could a frame not be armed?
fn note(seen: &mut Observation, run: &frames::Run<'_>, is_left: impl Fn(u64) -> bool) {
    let nr = run.found.nr;
    let pages = run.page..run.page + nr;
    let mut set_unknown = |page: u32| {
        seen.unobservable += 1;
        seen.unknown.get_or_insert_default()[page as usize / 64] |= 1 << (page % 64);
    };
    if run.is_unobservable() {
        pages.for_each(set_unknown);
        return;
    }
    if !run.is_mapped() {
        return;
    }
    let bits = seen.pages.get_or_insert_default();
    let mut accessed = 0;
    let mut present = 0;
    for page in pages {
        if run.is_young() && is_left(run.frame + u64::from(page - run.page)) {
            set_unknown(page);
            continue;
        }
        present += 1;
        if run.is_young() {
            accessed += 1;
            bits[page as usize / 64] |= 1 << (page % 64);
        }
    }
    seen.present += present;
    seen.accessed += accessed;
    seen.entries += if run.is_huge() { present.min(1) } else { present };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{FrameKind, FrameRun};

    fn noted(runs: &[(FrameKind, u32, u16)], left: &[u64]) -> Observation {
        let mut seen = Observation::default();
        let mut page = 0;
        for &(kind, nr, level) in runs {
            let found = FrameRun { kind, nr, level, ..FrameRun::default() };
            let run = frames::Run { window: 0, page, frame: 100 + u64::from(page), found: &found };
            note(&mut seen, &run, |frame| left.contains(&frame));
            page += nr;
        }
        seen
    }

    #[test]
    fn what_nobody_maps_is_not_there_and_what_many_map_is_unknown() {
        let runs = [
            (FrameKind::FRAME_FREE, 2, 1),
            (FrameKind::FRAME_YOUNG, 3, 1),
            (FrameKind::FRAME_UNMAPPED, 1, 1),
            (FrameKind::FRAME_OLD, 2, 1),
            (FrameKind::FRAME_SHARED, 1, 1),
            (FrameKind::FRAME_LOST, 1, 1),
        ];
        let seen = noted(&runs, &[]);
        assert_eq!((seen.present, seen.accessed, seen.entries, seen.unobservable), (5, 3, 5, 2));
        assert_eq!(seen.pages.unwrap()[0], 0b1_1100);
        assert_eq!(seen.unknown.unwrap()[0], 0b11_0000_0000);
    }

    #[test]
    fn what_could_not_be_armed_is_unknown_while_its_bit_is_set() {
        let runs = [(FrameKind::FRAME_YOUNG, 2, 1), (FrameKind::FRAME_OLD, 1, 1)];
        let seen = noted(&runs, &[101, 102]);
        assert_eq!((seen.present, seen.accessed, seen.unobservable), (2, 1, 1));
    }

    #[test]
    fn a_huge_page_has_one_bit() {
        let seen = noted(&[(FrameKind::FRAME_YOUNG, 512, 2)], &[]);
        assert_eq!((seen.present, seen.accessed, seen.entries), (512, 512, 1));
        assert!(seen.is_huge(512));
    }
}
