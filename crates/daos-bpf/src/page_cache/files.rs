//! Files with page cache that nobody maps, as targets of schemes: their addresses are offsets.
//!
//! No accessed bit tells of such a page, but its folio's flags do as long as it is inactive: who
//! reads it through a file descriptor has it noted as referenced, who reads it again has it made
//! active (or, where the kernel keeps pages by generation, counted). So a page is *armed* by noting
//! its flags, and was accessed if these have changed. What is active already tells no more, what is
//! dirty can't go, and what is mapped is its process's: such pages are not observable, and so no
//! scheme takes them.

use super::{ACTIVE, DIRTY, PRESENT, SHMEM, UNMAPPED};
use crate::BpfError;
use crate::programs::CachedFile;
use crate::reader::Reader;
use daos_core::pages::nr_in_table;
use daos_core::{
    Action, ActionReport, AddrRange, HUGE_PAGE_SIZE, Mapping, Observation, PAGE_SIZE, Refusal,
    RegionSnapshot, Residence, TargetId, TargetSnapshot, Window,
};
use daos_linux::cached_file::{self, FileId, Mounts};
use daos_linux::cpu;
use std::collections::HashMap;
use std::path::PathBuf;

/// Pages that a file must have in memory. Chosen: with a megabyte it is worth to be looked for.
const LEAST_PAGES: u64 = 256;
/// Files at a time, at most. Chosen: each is looked through again and again.
const MOST_FILES: usize = 256;
/// How long a file is remembered of which nothing is in memory any more, so that it is the same
/// target if it comes back; and how long a file that can't be opened is not tried again. In
/// microseconds. Chosen.
const REMEMBERED_US: u64 = 600_000_000;
/// Files that are not tried again, at most. Chosen: more than are large.
const MOST_LEFT: usize = 4096;
/// Microseconds from one search of the files for pages in memory to the next. Chosen.
const BETWEEN_US: u64 = 5_000_000;
/// Calls of the eBPF program in one search, of some thousand steps each. Chosen: enough for four
/// gigabytes, in some milliseconds.
const CALLS_AT_ONCE: usize = 8;
/// Most ranges of a file; pages behind the last of them are left alone. Chosen: the engine goes
/// over each range in each pass.
const MOST_RANGES: usize = 4096;
/// How long what is in use is left alone, in microseconds. Chosen: what is active stays so until
/// memory is short.
const IN_USE_FOR_US: u64 = 60_000_000;

/// The pages of a block of 2 MiB.
const BLOCK_PAGES: usize = (HUGE_PAGE_SIZE / PAGE_SIZE) as usize;

/// Files that have page cache which nobody maps.
#[derive(Debug, Default)]
pub(crate) struct CachedFiles {
    /// By rising number.
    files: Vec<OneFile>,
    nr_found: u32,
    /// Those that can't be opened, and until when they are not tried again.
    left: HashMap<FileId, u64>,
    looked_us: Option<u64>,
    /// The file that is looked through next, by number.
    next: TargetId,
}

#[derive(Debug)]
struct OneFile {
    id: TargetId,
    /// Where the kernel has it.
    kernel: CachedFile,
    file: FileId,
    /// Where its file system is mounted.
    mount: PathBuf,
    /// All of it, under its name.
    mapping: [Mapping; 1],
    found_us: u64,
    /// When it last had pages in memory.
    there_us: u64,
    /// Blocks of 2 MiB where it has pages in memory that are not known to be in use.
    ranges: Vec<AddrRange>,
    /// The same of the look that goes on, and where that is.
    looking: (Vec<AddrRange>, u64),
    /// What was noted when pages were armed, by block.
    armed: HashMap<u64, Box<[u32; BLOCK_PAGES]>>,
    /// Blocks in which all is in use, and until when they are left alone.
    in_use: HashMap<u64, u64>,
}

impl CachedFiles {
    /// The files, of which `cached` are samples, as they are now.
    pub(crate) fn look<'a>(
        &mut self,
        reader: &mut Reader,
        cached: impl Iterator<Item = &'a CachedFile>,
    ) -> Result<Vec<TargetSnapshot>, BpfError> {
        let now_us = cpu::monotonic_us();
        if self.looked_us.is_none_or(|looked_us| now_us >= looked_us + BETWEEN_US) {
            self.looked_us = Some(now_us);
            self.add_new(reader, cached, now_us)?;
            self.look_through(reader, now_us)?;
            self.files.retain(|file| now_us < file.there_us + REMEMBERED_US);
        }
        Ok(self.files.iter().map(|file| file.snapshot(now_us)).collect())
    }

    /// Goes on with looking where files have pages in memory, from the file on where it had to end
    /// the last time.
    fn look_through(&mut self, reader: &mut Reader, now_us: u64) -> Result<(), BpfError> {
        let mut calls = CALLS_AT_ONCE;
        let first = self.files.partition_point(|file| file.id < self.next);
        for nr in 0..self.files.len() {
            let at = (first + nr) % self.files.len();
            self.next = self.files[at].id;
            if !self.files[at].find_ranges(reader, &mut calls, now_us)? {
                break;
            }
        }
        Ok(())
    }

    fn add_new<'a>(
        &mut self,
        reader: &mut Reader,
        cached: impl Iterator<Item = &'a CachedFile>,
        now_us: u64,
    ) -> Result<(), BpfError> {
        let large = cached.filter(|file| file.nr_pages >= LEAST_PAGES);
        let mut found: Vec<CachedFile> = large.copied().collect();
        found.sort_unstable_by_key(|file| (std::cmp::Reverse(file.nr_pages), file.mapping));
        found.dedup_by_key(|file| file.mapping);
        self.left.retain(|_, until_us| *until_us > now_us);
        let Ok(mounts) = Mounts::read() else { return Ok(()) };
        for kernel in found {
            let file = id_of(&kernel);
            let is_room = self.left.len() < MOST_LEFT;
            // A sample may be of what the kernel had there before.
            if self.left.contains_key(&file) || !is_there(reader, &kernel)? {
                continue;
            }
            if let Some(known) = self.files.iter_mut().find(|known| known.file == file) {
                (known.kernel, known.there_us) = (kernel, now_us);
                continue;
            }
            let opened = mounts.point_of(file.device).and_then(|mount| {
                let path = cached_file::path_of(&file.open(&mount).ok()?).ok()?;
                Some((mount, path))
            });
            let Some((mount, path)) = opened else {
                if is_room {
                    self.left.insert(file, now_us + REMEMBERED_US);
                }
                continue;
            };
            if self.files.len() == MOST_FILES && !self.forget_one() {
                break;
            }
            self.files.push(OneFile {
                id: TargetId::of_file(self.nr_found),
                kernel,
                file,
                mount,
                mapping: [Mapping {
                    range: AddrRange::new(0, u64::MAX / PAGE_SIZE * PAGE_SIZE),
                    name: path.to_string_lossy().into_owned(),
                    shared: false,
                }],
                found_us: now_us,
                there_us: now_us,
                ranges: Vec::new(),
                looking: (Vec::new(), 0),
                armed: HashMap::new(),
                in_use: HashMap::new(),
            });
            self.nr_found += 1;
        }
        Ok(())
    }

    /// Makes room: of the files that have nothing in memory, the one that left it first is
    /// forgotten.
    fn forget_one(&mut self) -> bool {
        let gone = self.files.iter().enumerate().filter(|(_, file)| file.ranges.is_empty());
        let Some((at, _)) = gone.min_by_key(|(_, file)| file.there_us) else { return false };
        self.files.remove(at);
        true
    }

    fn place_of(&self, id: TargetId) -> Option<usize> {
        self.files.binary_search_by_key(&id, |file| file.id).ok()
    }

    fn find(&mut self, id: TargetId) -> Option<&mut OneFile> {
        // Most targets are none.
        let at = id.is_file().then(|| self.place_of(id))??;
        Some(&mut self.files[at])
    }

    /// Notes what the pages of those of `windows` are like that are of files.
    pub(crate) fn arm(&mut self, reader: &mut Reader, windows: &[Window]) -> Result<(), BpfError> {
        for window in windows {
            if let Some(file) = self.find(window.target) {
                file.arm(reader, window)?;
            }
        }
        Ok(())
    }

    /// What has become of their pages since.
    pub(crate) fn check(
        &mut self,
        reader: &mut Reader,
        windows: &[Window],
        found: &mut [Observation],
    ) -> Result<(), BpfError> {
        for (window, seen) in windows.iter().zip(found) {
            if let Some(file) = self.find(window.target) {
                file.check(reader, window, seen)?;
            }
        }
        Ok(())
    }

    /// Drops pages that were not used since they were armed.
    pub(crate) fn apply(
        &mut self,
        reader: &mut Reader,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, BpfError> {
        let mut report = ActionReport::default();
        let bytes: u64 = ranges.iter().map(AddrRange::len).sum();
        match self.find(target) {
            None => report.refuse(Refusal::Gone, bytes),
            Some(_) if action != Action::Pageout => report.refuse(Refusal::Unsuitable, bytes),
            Some(file) => file.drop_idle(reader, ranges, &mut report)?,
        }
        Ok(report)
    }

    /// What of sorted `ranges` that were dropped is in memory again.
    pub(crate) fn residence(
        &mut self,
        reader: &mut Reader,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<Residence, BpfError> {
        let mut found = Residence::default();
        let Some(file) = self.find(target) else { return Ok(found) };
        for block in ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)) {
            let now = file.read(reader, &Window::over(target, block))?;
            let present = now.iter().enumerate().filter(|(_, now)| *now & PRESENT != 0);
            let pages = present.map(|(page, _)| page_at(block.start, page));
            pages.for_each(|page| page.push_joined(&mut found.present));
        }
        Ok(found)
    }

    pub(crate) fn mapping(&self, id: TargetId) -> &[Mapping] {
        self.place_of(id).map_or(&[], |at| &self.files[at].mapping)
    }
}

impl OneFile {
    /// Goes on searching for pages of it in memory while there are `calls` left. Whether it came to
    /// the end of the file.
    fn find_ranges(
        &mut self,
        reader: &mut Reader,
        calls: &mut usize,
        now_us: u64,
    ) -> Result<bool, BpfError> {
        let (mut ranges, mut index) = std::mem::take(&mut self.looking);
        self.in_use.retain(|_, until_us| *until_us > now_us);
        while index != u64::MAX {
            if *calls == 0 {
                self.looking = (ranges, index);
                return Ok(false);
            }
            *calls -= 1;
            let Reader { programs, layout, .. } = &mut *reader;
            let Some((runs, next)) = programs.find_in_file(layout, &self.kernel, index)? else {
                ranges.clear();
                break;
            };
            for run in runs {
                // Whatever the kernel wrote there meanwhile.
                let block = |page: u64| block_of(page.saturating_mul(PAGE_SIZE));
                for block in block(run.start)..=block(run.end.saturating_sub(1)) {
                    if ranges.len() == MOST_RANGES {
                        break;
                    }
                    self.there_us = now_us;
                    if !self.in_use.contains_key(&block) {
                        let start = block * HUGE_PAGE_SIZE;
                        AddrRange::new(start, start.saturating_add(HUGE_PAGE_SIZE))
                            .push_joined(&mut ranges);
                    }
                }
            }
            // Each call must get further, whatever the kernel changed meanwhile.
            index = if next > index { next } else { u64::MAX };
        }
        self.ranges = ranges;
        let has = |block: &u64| {
            let start = block * HUGE_PAGE_SIZE;
            let at = self.ranges.partition_point(|range| range.end <= start);
            self.ranges.get(at).is_some_and(|range| range.start <= start)
        };
        self.armed.retain(|block, _| has(block));
        Ok(true)
    }

    fn snapshot(&self, now_us: u64) -> TargetSnapshot {
        let age_us = now_us.saturating_sub(self.found_us);
        let region = |&range| RegionSnapshot { range, access_rate: 0.0, unobserved: 0.0, age_us };
        TargetSnapshot {
            id: self.id,
            regions: self.ranges.iter().map(region).collect(),
            ..TargetSnapshot::default()
        }
    }

    /// What is noted of the pages of a window now; nothing if it has left memory.
    fn read(&self, reader: &mut Reader, window: &Window) -> Result<Vec<u32>, BpfError> {
        let Reader { programs, layout, .. } = reader;
        let (index, nr) = (window.start / PAGE_SIZE, window.pages as usize);
        Ok(programs.read_file(layout, &self.kernel, index, nr)?.unwrap_or_default().to_vec())
    }

    fn arm(&mut self, reader: &mut Reader, window: &Window) -> Result<(), BpfError> {
        let now = self.read(reader, window)?;
        let armed = self.armed.entry(block_of(window.start));
        let armed = armed.or_insert_with(|| Box::new([0; BLOCK_PAGES]));
        armed[page_in_block(window.start)..].iter_mut().zip(now).for_each(|(to, now)| *to = now);
        Ok(())
    }

    fn check(
        &mut self,
        reader: &mut Reader,
        window: &Window,
        seen: &mut Observation,
    ) -> Result<(), BpfError> {
        let now = self.read(reader, window)?;
        let armed = self.armed_of(window.start);
        for (page, (&now, &armed)) in now.iter().zip(armed).enumerate() {
            let bit = 1 << (page % 64);
            match state(now, armed) {
                State::Absent => continue,
                State::Unknown => {
                    seen.unobservable += 1;
                    seen.unknown.get_or_insert_default()[page / 64] |= bit;
                    continue;
                }
                State::Accessed => {
                    seen.accessed += 1;
                    seen.pages.get_or_insert_default()[page / 64] |= bit;
                }
                State::Idle => {}
            }
            seen.present += 1;
            seen.entries += 1;
        }
        // Each page has its bit, also where none is set.
        seen.pages.get_or_insert_default();
        let is_block = window.pages as usize == BLOCK_PAGES;
        if is_block && seen.present == 0 && seen.unobservable > 0 {
            let until_us = cpu::monotonic_us() + IN_USE_FOR_US;
            self.in_use.insert(block_of(window.start), until_us);
        }
        Ok(())
    }

    /// What was noted of pages from this one on, to the end of its block.
    fn armed_of(&self, start: u64) -> &[u32] {
        let armed = self.armed.get(&block_of(start));
        armed.map_or(&[0; BLOCK_PAGES], |armed| armed.as_ref()).split_at(page_in_block(start)).1
    }

    /// Drops the pages in `ranges` that were not used since they were armed.
    fn drop_idle(
        &mut self,
        reader: &mut Reader,
        ranges: &[AddrRange],
        report: &mut ActionReport,
    ) -> Result<(), BpfError> {
        let Ok(open) = self.file.open(&self.mount) else {
            report.refuse(Refusal::Gone, ranges.iter().map(AddrRange::len).sum());
            return Ok(());
        };
        for block in ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE)) {
            let window = Window::over(self.id, block);
            let before = self.read(reader, &window)?;
            let mut idle: Vec<AddrRange> = Vec::new();
            for (page, (&now, &armed)) in before.iter().zip(self.armed_of(block.start)).enumerate()
            {
                match state(now, armed) {
                    State::Idle => page_at(block.start, page).push_joined(&mut idle),
                    State::Accessed => report.spared_bytes += PAGE_SIZE,
                    State::Unknown => report.refuse(Refusal::Unsuitable, PAGE_SIZE),
                    State::Absent => {}
                }
            }
            for range in &idle {
                // What stays is told by reading again.
                let _ = cached_file::drop_from_memory(&open, *range);
            }
            let after = self.read(reader, &window)?;
            for page in idle.iter().flat_map(|range| range.blocks(PAGE_SIZE)) {
                let at = ((page.start - block.start) / PAGE_SIZE) as usize;
                if after.get(at).is_some_and(|now| now & PRESENT != 0) {
                    report.refuse(Refusal::Kept, PAGE_SIZE);
                } else {
                    report.applied_bytes += PAGE_SIZE;
                    page.push_joined(&mut report.applied);
                }
            }
        }
        Ok(())
    }
}

/// What a page of a file is, by its flags now and when it was armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not in memory.
    Absent,
    /// In use, for all that is known: its flags would not tell.
    Unknown,
    /// Its flags have changed.
    Accessed,
    /// They are what they were.
    Idle,
}

fn state(now: u32, armed: u32) -> State {
    if now & PRESENT == 0 {
        State::Absent
    } else if now & UNMAPPED == 0 || now & (ACTIVE | DIRTY | SHMEM) != 0 {
        State::Unknown
    } else if now != armed {
        State::Accessed
    } else {
        State::Idle
    }
}

/// Whether the kernel has the file where it was.
fn is_there(reader: &mut Reader, kernel: &CachedFile) -> Result<bool, BpfError> {
    let Reader { programs, layout, .. } = reader;
    Ok(programs.read_file(layout, kernel, 0, 0)?.is_some())
}

fn block_of(start: u64) -> u64 {
    start / HUGE_PAGE_SIZE
}

fn page_in_block(start: u64) -> usize {
    nr_in_table(start) as usize
}

fn page_at(start: u64, page: usize) -> AddrRange {
    let start = start + page as u64 * PAGE_SIZE;
    AddrRange::new(start, start + PAGE_SIZE)
}

/// Numbers of devices inside the kernel: twelve bits and twenty.
fn id_of(file: &CachedFile) -> FileId {
    FileId {
        device: (file.dev >> 20, file.dev & 0xf_ffff),
        inode: file.inode,
        generation: file.generation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_cache::tests::frames_of;
    use daos_core::access::has_page;
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};
    use test_tag::tag;

    #[test]
    fn a_page_is_idle_if_nothing_that_is_noted_of_it_has_changed() {
        let cold = PRESENT | UNMAPPED;
        assert_eq!(state(0, 0), State::Absent);
        assert_eq!(state(cold, cold), State::Idle);
        assert_eq!(state(cold, 0), State::Accessed, "it was not there when it was armed");
        assert_eq!(state(cold | 1 << 9, cold), State::Accessed, "another flag");
        for bit in [ACTIVE, DIRTY, SHMEM] {
            assert_eq!(state(cold | bit, cold | bit), State::Unknown);
        }
        assert_eq!(state(PRESENT, PRESENT), State::Unknown, "somebody maps it");
    }

    #[test]
    fn the_kernels_numbers_of_devices() {
        let file = CachedFile { dev: 254 << 20 | 70_000, inode: 5, ..CachedFile::default() };
        assert_eq!((id_of(&file).device, id_of(&file).inode), ((254, 70_000), 5));
    }

    const BYTES: usize = 4 << 20;
    const HALF: u64 = BYTES as u64 / 2;

    /// All of a file, or what is behind `from`, read.
    fn read(file: &mut File, from: u64) {
        file.seek(SeekFrom::Start(from)).unwrap();
        file.read_to_end(&mut Vec::new()).unwrap();
    }

    /// Somebody else may take page cache meanwhile, so no more is asked of what is idle than that
    /// it is not in use.
    #[tag(root)]
    #[test]
    fn what_is_not_read_of_a_file_is_found_and_dropped_and_what_is_read_stays() {
        let mut reader = Reader::new().unwrap();
        // Not in /tmp, which may be no disk.
        let mut open = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        open.write_all(&vec![1; BYTES]).unwrap();
        open.as_file().sync_all().unwrap();
        let (frames, _) = frames_of(&mut reader, open.as_file());
        let (_, found) = reader.programs.read_cache(&reader.layout, &frames[..16]).unwrap();
        let found: Vec<_> = found.iter().copied().filter(|file| file.mapping != 0).collect();
        assert!(!found.is_empty(), "it is found by its frames");
        // What was mapped counts as used.
        let all = AddrRange::new(0, BYTES as u64);
        cached_file::drop_from_memory(open.as_file(), all).unwrap();
        read(open.as_file_mut(), 0);

        let mut files = CachedFiles::default();
        let snapshots = files.look(&mut reader, found.iter()).unwrap();
        let [snapshot] = &snapshots[..] else { panic!("{snapshots:?}") };
        let name = &files.mapping(snapshot.id)[0].name;
        assert_eq!(*name, open.path().canonicalize().unwrap().to_string_lossy());
        let covered: u64 = snapshot.regions.iter().map(|region| region.range.len()).sum();
        assert_eq!(covered, BYTES as u64);

        let windows: Vec<Window> = (0..BYTES as u64 / HUGE_PAGE_SIZE)
            .map(|block| Window { target: snapshot.id, start: block * HUGE_PAGE_SIZE, pages: 512 })
            .collect();
        files.arm(&mut reader, &windows).unwrap();
        let mut check = |files: &mut CachedFiles| {
            let mut seen = vec![Observation::default(); windows.len()];
            files.check(&mut reader, &windows, &mut seen).unwrap();
            seen
        };
        let seen = check(&mut files);
        assert!(seen.iter().all(|seen| seen.present > 256 && seen.accessed < 64), "{seen:?}");
        read(open.as_file_mut(), HALF);
        let seen = check(&mut files);
        assert!(seen[0].accessed + seen[0].unobservable < 64, "{seen:?}");
        let knows = |page| {
            let in_use = |bits: &Option<_>| bits.is_some_and(|bits| has_page(&bits, page));
            in_use(&seen[1].pages) || in_use(&seen[1].unknown)
        };
        let nr = (0..512).filter(|&page| knows(page)).count() as u32;
        assert_eq!(nr, seen[1].accessed + seen[1].unobservable);
        assert!(nr > 256, "{seen:?}");

        let report = files.apply(&mut reader, Action::Pageout, snapshot.id, &[all]).unwrap();
        assert!(report.applied_bytes > HALF / 2, "{report:?}");
        assert!(report.spared_bytes + u64::from(seen[1].unobservable) * PAGE_SIZE > HALF / 2);
        assert!(report.applied.iter().all(|range| range.end <= HALF), "{report:?}");
        let mut back = |files: &mut CachedFiles| {
            let residence = files.residence(&mut reader, snapshot.id, &report.applied).unwrap();
            residence.present.iter().map(AddrRange::len).sum::<u64>()
        };
        assert_eq!(back(&mut files), 0);
        read(open.as_file_mut(), 0);
        assert!(back(&mut files) > HALF / 2, "it was read again");
        // What is known of it outlives that it is not in memory.
        cached_file::drop_from_memory(open.as_file(), all).unwrap();
        files.looked_us = None;
        let snapshots = files.look(&mut reader, found.iter()).unwrap();
        assert_eq!(snapshots.iter().map(|known| known.id).collect::<Vec<_>>(), [snapshot.id]);
    }
}
