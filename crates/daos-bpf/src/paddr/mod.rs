//! Physical addresses: the RAM of the machine, whoever uses it.
//!
//! A page frame is accessed if the entry that maps it was. So what is watched is its owners, the
//! processes of the machine, by their page tables ([`PhysicalMemory::owners_mut`]), and what is
//! known of them is projected onto page frames (`daos_monitor::projection`).
//!
//! Schemes look at single frames, and act on them: an eBPF program goes from frames to the entries
//! that map them; arming and acting go through their owners, by virtual address. What several
//! map can't be armed, and is not observed. Page cache that nobody maps has no accessed bits: it
//! counts as not there, as free memory does, and the kernel's.
//!
//! | module | holds |
//! |---|---|
//! | this one | its owners, and the [`AccessCheck`] of schemes |
//! | `frames` | what windows of page frames hold |
//! | `owners` | the processes that have them |
//! | `blocks`, `ownership` | who has which part of all RAM |
//! | `actions` | what schemes do to them |
//! | `prices` | what looking and arming costs by frame, measured |

mod actions;
mod blocks;
mod frames;
mod owners;
mod ownership;
mod prices;

use crate::BpfError;
use crate::left::Left;
use crate::page_cache::PageCacheLook;
use crate::programs::Wanted;
use crate::reader::Reader;
use crate::vaddr::VirtualMemory;
use blocks::Blocks;
use daos_core::access::MAX_WINDOW_PAGES;
use daos_core::pages::{Pages, nr_in_table};
use daos_core::{
    AccessCheck, ActionSink, AddrRange, Capabilities, HUGE_PAGE_SIZE, MappedFrames, Mapping,
    Observation, PAGE_SIZE, PageFrames, Prices, Target, TargetId, TargetInfo, Window,
};
use daos_linux::census::Selection;
use daos_linux::iomem;
use daos_linux::memory::ProcessMemory;
use daos_linux::pid_namespace;
use owners::{Owners, Piece};
use std::path::Path;

/// The only target: the machine.
pub const ALL: TargetId = TargetId(0);

/// When a page is armed, so are all pages of its process in the aligned block of this size around
/// it. Chosen: to arm them as one run takes a twentieth of the time that they take one by one, and
/// few accesses to the others go unseen for it.
const ARMED_AROUND: u64 = 64 * PAGE_SIZE;
/// Finding owners, and reading what they have mapped, is planned as if the bound were this part of
/// what it is. Chosen: the other half is for projecting what is known of owners onto page frames.
const TO_KEEP_UP: f64 = 0.5;

/// The RAM of the machine: those who have it, to be watched, and accessed bits of page frames, read
/// with eBPF and armed with `process_madvise`, for schemes.
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
    left: Left,
    /// What is resident of the machine's memory, as of the last regions update.
    resident_bytes: Option<u64>,
    prices: Prices,
    /// Where set bits were cleared, if anyone wants to know.
    cleared: Option<Vec<(TargetId, AddrRange)>>,
}

impl PhysicalMemory {
    /// Loads the eBPF programs and checks that they find the owners of page frames here.
    /// `selection`: the processes whose memory is watched, `most` of them at a time, and may be
    /// acted on. `max_overhead`: the bound on what watching costs in all, as a share of one CPU.
    ///
    /// Needs root, or the capabilities of [`VirtualMemory`](crate::VirtualMemory::new) and
    /// CAP_SYS_ADMIN, and a kernel with memory cgroups (`CONFIG_MEMCG`).
    ///
    /// # Errors
    ///
    /// [`BpfError`] where this host lacks what it takes.
    pub fn new(selection: Selection, most: usize, max_overhead: f64) -> Result<Self, BpfError> {
        if !pid_namespace::is_of_host(Path::new("/proc")) {
            return Err(BpfError::PidNamespace);
        }
        let mut reader = Reader::with_frames()?;
        let own_pgd = reader.myself()?.pgd;
        let ram = iomem::system_ram(Path::new("/"))?;
        let page_cache = PageCacheLook::new(&mut reader)?;
        let looks = prices::measure_looks(&mut reader, &ram)?;
        let mut owners = Owners::new(reader, selection, most, TO_KEEP_UP * max_overhead)?;
        let blocks = Blocks::find(&mut owners, own_pgd, &ram, max_overhead)?;
        let name = || "System RAM".to_owned();
        let ram = ram.into_iter().map(|range| Mapping { range, name: name(), shared: false });
        Ok(Self {
            prices: prices::with(looks, owners.processes.prices()),
            owners,
            page_cache,
            own_pgd,
            ram: ram.collect(),
            blocks,
            left: Left::new(),
            resident_bytes: None,
            cleared: None,
        })
    }

    /// The processes that were found to have memory, by number.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.owners.processes.pids()
    }

    /// Those who have it.
    pub fn owners(&self) -> &VirtualMemory {
        &self.owners.processes
    }

    /// The same, to be watched.
    pub fn owners_mut(&mut self) -> &mut VirtualMemory {
        &mut self.owners.processes
    }

    /// System RAM, by rising address.
    pub fn ram(&self) -> Vec<AddrRange> {
        self.ram.iter().map(|mapping| mapping.range).collect()
    }

    /// What is resident of it, in bytes, as of the last regions update.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.resident_bytes
    }

    /// All that there is to do at a regions update. Those who have it, by virtual address.
    ///
    /// # Errors
    ///
    /// [`BpfError`] where the primitives fail.
    pub fn keep_up(&mut self) -> Result<Vec<Target>, BpfError> {
        let owners = self.owners.keep_up()?;
        self.page_cache.go_on(&mut self.owners.processes.reader)?;
        self.left.forget_some();
        let memory = ProcessMemory::of_machine(Path::new("/proc"));
        self.resident_bytes = memory.map(|memory| memory.resident_bytes);
        self.blocks.go_on(&mut self.owners, self.own_pgd)?;
        Ok(owners)
    }

    /// Where owners' set bits were cleared since this was last asked, by page frame.
    fn cleared_of_owners(&mut self) -> Result<Vec<AddrRange>, BpfError> {
        let mut cleared = self.owners.processes.take_cleared();
        cleared.sort_unstable();
        let mut frames = Vec::new();
        for of_one in cleared.chunk_by(|a, b| a.0 == b.0) {
            let ranges = AddrRange::joined(of_one.iter().map(|(_, range)| *range));
            let each = |mapped: MappedFrames| frames.push(mapped.frames());
            self.owners.processes.frames(of_one[0].0, &ranges, each)?;
        }
        Ok(frames)
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
            add_windows(target, of_one, &mut windows);
        }
        self.owners.processes.arm(&windows)?;
        for (target, of_one) in found {
            for piece in of_one {
                if self.owners.processes.left.has(target, piece.entry_va()) {
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
        self.left.leave_all(ALL, piece.physical(piece.range()));
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
        self.keep_up()?;
        Ok(vec![Target {
            id: ALL,
            ranges: self.ram(),
            is_listed: true,
            resident_bytes: self.resident_bytes,
        }])
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
                left.take(ALL, run.range());
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
        let left = &mut self.left;
        let reader = &mut self.owners.processes.reader;
        frames::read(
            reader,
            self.own_pgd,
            windows,
            Wanted::WANT_NO_OWNER,
            |window, bytes| free.push((window, bytes)),
            |run| {
                let left = left.read(ALL, run.range().start);
                note(&mut found[run.window], &run, left.as_ref());
            },
        )?;
        free.into_iter().for_each(|(window, bytes)| found[window].empty_bytes = bytes);
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

/// What is armed with a piece: its neighbours by virtual address, too. The frames that are armed
/// after it are scattered over the address spaces of their owners, and one by one each would take a
/// flush of the TLB. So neighbours are armed in one run, and found armed when it is their turn.
fn around(piece: &Piece) -> AddrRange {
    let AddrRange { start, end } = piece.range();
    AddrRange::new(start / ARMED_AROUND * ARMED_AROUND, end.next_multiple_of(ARMED_AROUND))
}

/// Adds windows over all that is armed with the pieces of one owner, which are sorted by address:
/// what touches or overlaps is one window, as long as it is no larger than a page table maps.
fn add_windows(target: TargetId, pieces: &[Piece], windows: &mut Vec<Window>) {
    let first = windows.len();
    for range in pieces.iter().map(around) {
        let Some(last) = windows[first..].last_mut() else {
            windows.push(Window::over(target, range));
            continue;
        };
        let before = last.range();
        let joined = AddrRange::new(before.start, range.end);
        if range.end <= before.end {
            continue;
        }
        if range.start <= before.end && joined.len() <= HUGE_PAGE_SIZE {
            *last = Window::over(target, joined);
        } else {
            let start = range.start.max(before.end);
            windows.push(Window::over(target, AddrRange::new(start, range.end)));
        }
    }
}

/// Adds a run of frames to the observation of its window. `left`: those of the block of 2 MiB
/// around it that could not be armed.
fn note(seen: &mut Observation, run: &frames::Run<'_>, left: Option<&Pages>) {
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
    let from = nr_in_table(run.range().start);
    let is_left = |page: u32| left.is_some_and(|left| left.has(from + page - run.page));
    let mut accessed = 0;
    let mut present = 0;
    for page in pages {
        if run.is_young() && is_left(page) {
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

    /// Of runs from page frame 512 on; `left`: by number in its block.
    fn noted(runs: &[(FrameKind, u32, u16)], left: &[u32]) -> Observation {
        let left = left.iter().fold(Pages::default(), |all, nr| all.or(&Pages::range(*nr, nr + 1)));
        let mut seen = Observation::default();
        let mut page = 0;
        for &(kind, nr, level) in runs {
            let found = FrameRun { kind, nr, level, ..FrameRun::default() };
            let run = frames::Run { window: 0, page, frame: 512 + u64::from(page), found: &found };
            note(&mut seen, &run, Some(&left));
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
        let seen = noted(&runs, &[1, 2]);
        assert_eq!((seen.present, seen.accessed, seen.unobservable), (2, 1, 1));
    }

    #[test]
    fn what_is_armed_around_pieces_is_few_windows_that_do_not_overlap() {
        let pages = |from: u64, to: u64| AddrRange::new(from * PAGE_SIZE, to * PAGE_SIZE);
        let windows = |pieces: &[AddrRange]| {
            let pieces: Vec<_> = pieces.iter().map(|range| Piece::at(*range)).collect();
            let mut windows = vec![Window::over(TargetId(1), pages(0, 64))];
            add_windows(TargetId(2), &pieces, &mut windows);
            windows[1..].iter().map(Window::range).collect::<Vec<_>>()
        };
        assert_eq!(windows(&[pages(10, 11)]), [pages(0, 64)], "another has what lies before");
        assert_eq!(windows(&[pages(10, 11), pages(12, 14), pages(64, 65)]), [pages(0, 128)]);
        assert_eq!(windows(&[pages(10, 11), pages(200, 201)]), [pages(0, 64), pages(192, 256)]);
        let too_large = windows(&[pages(0, 512), pages(500, 520)]);
        assert_eq!(too_large, [pages(0, 512), pages(512, 576)]);
    }

    #[test]
    fn a_huge_page_has_one_bit() {
        let seen = noted(&[(FrameKind::FRAME_YOUNG, 512, 2)], &[]);
        assert_eq!((seen.present, seen.accessed, seen.entries), (512, 512, 1));
        assert!(seen.is_huge(512));
    }
}
