//! How much page cache nobody maps, and what the kernel has noted of it: by samples.
//!
//! RAM is cut into parts of the same size; of each a page frame is looked at, by chance, and some
//! parts anew at each regions update. So it costs the same on every machine, and what is told is no
//! older than half a minute. Which files have it is found by that, too: of those, schemes can take
//! [page by page](files).

mod files;

use crate::BpfError;
use crate::programs::{CachedFile, MAX_CACHE_FRAMES};
use crate::reader::Reader;
use daos_core::rng::mix;
use daos_core::{AddrRange, PAGE_SIZE, PageCache, TargetId, TargetInfo};
use daos_linux::{cpu, iomem};
use std::path::Path;

pub(crate) use files::CachedFiles;

/// Frames that are looked at, all together. Chosen: of 24 GiB, a gigabyte is told to 4 %.
const SAMPLES: usize = 16384;
/// Regions updates after which each part was looked at again.
const UPDATES_FOR_ALL: usize = 32;
/// Microseconds between two tellings, at least. Chosen.
const BETWEEN_TELLINGS_US: u64 = 5_000_000;

/// Bits that the program gives, as in `intf.h`.
const UNMAPPED: u32 = 1;
const ACTIVE: u32 = 2;
const REFERENCED: u32 = 4;
const DIRTY: u32 = 8;
const SHMEM: u32 = 16;
const PRESENT: u32 = 32;

/// A running look at page cache that nobody maps.
#[derive(Debug)]
pub(crate) struct PageCacheLook {
    ram: Vec<AddrRange>,
    /// What was last found in each part.
    noted: Vec<u32>,
    /// Which file has that, where it is of one.
    files: Vec<CachedFile>,
    next: usize,
    round: u64,
    told: Option<PageCache>,
    told_us: u64,
}

impl PageCacheLook {
    /// Looks at all parts of RAM once.
    pub(crate) fn new(reader: &mut Reader) -> Result<Self, BpfError> {
        let ram = iomem::system_ram(Path::new("/"))?;
        let mut look = Self::of(ram);
        for _ in 0..SAMPLES / MAX_CACHE_FRAMES {
            look.step(reader, MAX_CACHE_FRAMES)?;
        }
        Ok(look)
    }

    fn of(ram: Vec<AddrRange>) -> Self {
        Self {
            ram,
            noted: vec![0; SAMPLES],
            files: vec![CachedFile::default(); SAMPLES],
            next: 0,
            round: 0,
            told: None,
            told_us: 0,
        }
    }

    /// The files that samples were of, some of them several times.
    pub(crate) fn files(&self) -> impl Iterator<Item = &CachedFile> {
        self.files.iter().filter(|file| file.mapping != 0)
    }

    /// Looks at some parts again.
    pub(crate) fn go_on(&mut self, reader: &mut Reader) -> Result<(), BpfError> {
        self.step(reader, SAMPLES / UPDATES_FOR_ALL)
    }

    /// What there is, the first time and where that is news.
    pub(crate) fn news(&mut self) -> Option<TargetInfo> {
        let now_us = cpu::monotonic_us();
        if self.told.is_some() && now_us < self.told_us + BETWEEN_TELLINGS_US {
            return None;
        }
        self.told_us = now_us;
        let now = sum(&self.noted, self.ram.iter().map(AddrRange::len).sum());
        if self.told.is_some_and(|told| !now.differs_from(&told)) {
            return None;
        }
        self.told = Some(now);
        Some(TargetInfo {
            id: TargetId::PAGE_CACHE,
            pid: None,
            name: "page cache that nobody maps".to_owned(),
            mappings: Vec::new(),
            cgroup: None,
            memory: None,
            ownership: None,
            page_cache: Some(now),
        })
    }

    /// Looks at the next `nr` parts.
    fn step(&mut self, reader: &mut Reader, nr: usize) -> Result<(), BpfError> {
        let parts = self.next..(self.next + nr).min(SAMPLES);
        let frames: Vec<u64> = parts.clone().map(|part| self.frame_in(part)).collect();
        let Reader { programs, layout, .. } = reader;
        let (noted, files) = programs.read_cache(layout, &frames)?;
        self.noted[parts.clone()].iter_mut().zip(noted).for_each(|(to, now)| *to = *now as u32);
        self.files[parts.clone()].copy_from_slice(files);
        self.next = parts.end;
        if self.next == SAMPLES {
            self.next = 0;
            self.round += 1;
        }
        Ok(())
    }

    /// A page frame of a part of RAM: another one in each round.
    fn frame_in(&self, part: usize) -> u64 {
        let pages: u64 = self.ram.iter().map(AddrRange::pages).sum();
        let edge = |part: usize| (u128::from(pages) * part as u128 / SAMPLES as u128) as u64;
        let (start, end) = (edge(part), edge(part + 1));
        let chance = mix(self.round * SAMPLES as u64 + part as u64);
        let mut page = start + chance % (end - start).max(1);
        for range in &self.ram {
            if page < range.pages() {
                return range.start / PAGE_SIZE + page;
            }
            page -= range.pages();
        }
        0
    }
}

/// What these samples of so many bytes come to.
fn sum(noted: &[u32], bytes: u64) -> PageCache {
    let of = |is: &dyn Fn(u32) -> bool| {
        let samples = noted.iter().filter(|&&noted| noted & UNMAPPED != 0 && is(noted)).count();
        (u128::from(bytes) * samples as u128 / noted.len().max(1) as u128) as u64
    };
    PageCache {
        bytes: of(&|_| true),
        active_bytes: of(&|noted| noted & ACTIVE != 0),
        referenced_bytes: of(&|noted| noted & (ACTIVE | REFERENCED) == REFERENCED),
        dirty_bytes: of(&|noted| noted & DIRTY != 0),
        shmem_bytes: of(&|noted| noted & SHMEM != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, FRAME_MASK};
    use crate::programs::Facts;
    use crate::reader::{Answer, WindowPart};
    use daos_core::{HUGE_PAGE_SIZE, Window};
    use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use test_tag::tag;

    #[test]
    fn samples_are_summed_up_by_what_is_noted() {
        let noted =
            [0, ACTIVE, 1, 1 | ACTIVE | REFERENCED, 1 | REFERENCED | DIRTY, 1 | SHMEM, 0, 0];
        let expected = PageCache {
            bytes: 400,
            active_bytes: 100,
            referenced_bytes: 100,
            dirty_bytes: 100,
            shmem_bytes: 100,
        };
        assert_eq!(sum(&noted, 800), expected);
        assert_eq!(sum(&[], 800), PageCache::default());
    }

    #[test]
    fn each_part_has_a_frame_of_ram_and_another_in_each_round() {
        let mib = |start: u64, end: u64| AddrRange::new(start << 20, end << 20);
        let ram = vec![mib(1, 300), mib(1024, 4096)];
        let mut look = PageCacheLook::of(ram);
        let frames = |look: &PageCacheLook| -> Vec<u64> {
            (0..SAMPLES).map(|part| look.frame_in(part)).collect()
        };
        let first = frames(&look);
        assert!(first.is_sorted_by(|a, b| a < b));
        let inside = |&frame: &u64| AddrRange::any_contains(&look.ram, frame * PAGE_SIZE);
        assert!(first.iter().all(inside));
        look.round = 1;
        assert_ne!(first, frames(&look));
    }

    const BYTES: usize = 4 << 20;

    /// The frames of a file, which is mapped for as long as that takes: as they are then, and as
    /// they are once nobody maps them.
    pub(super) fn frames_of(reader: &mut Reader, file: &File) -> (Vec<u64>, Vec<u32>) {
        let mapping = FileMapping::new(file, BYTES).unwrap();
        let me = reader.myself().unwrap();
        let windows = (0..BYTES as u64 / HUGE_PAGE_SIZE).map(|at| Window {
            target: TargetId(0),
            start: mapping.start() + at * HUGE_PAGE_SIZE,
            pages: 512,
        });
        let mut frames = Vec::new();
        let collect = |part: WindowPart, answer: Answer<'_>| match answer {
            Answer::Pages(entries, ..) => {
                let present = entries.iter().map(|&entry| Entry(entry)).filter(|e| e.is_present());
                frames.extend(present.map(|entry| entry.frame(1, FRAME_MASK)));
            }
            Answer::Huge(entry, level, _) => {
                let first = entry.frame(level, FRAME_MASK);
                frames.extend(first..first + part.range.pages());
            }
            _ => {}
        };
        reader.read(&me, windows, Facts::None, collect).unwrap();
        let mapped = noted(reader, &frames);
        (frames, mapped)
    }

    fn noted(reader: &mut Reader, frames: &[u64]) -> Vec<u32> {
        let (noted, _) = reader.programs.read_cache(&reader.layout, frames).unwrap();
        noted.iter().map(|&noted| noted as u32).collect()
    }

    /// The share of them of which these bits are noted.
    fn share(noted: &[u32], bits: u32) -> f64 {
        let with = noted.iter().filter(|&&noted| noted & bits == bits).count();
        with as f64 / noted.len() as f64
    }

    #[tag(root)]
    #[test]
    fn what_is_noted_of_a_file_is_whether_it_was_used_again_and_whether_it_is_dirty() {
        let mut reader = Reader::new().unwrap();
        // Not in /tmp, which may be no disk.
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![1; BYTES]).unwrap();
        file.sync_all().unwrap();
        let (frames, mapped) = frames_of(&mut reader, &file);
        assert!(frames.len() > BYTES / 4096 / 2, "{}", frames.len());
        assert_eq!(share(&mapped, 0), 1.0);
        assert!(share(&mapped, UNMAPPED) < 0.01, "{}", share(&mapped, UNMAPPED));
        let left = noted(&mut reader, &frames);
        assert!(share(&left, UNMAPPED) > 0.95, "{}", share(&left, UNMAPPED));
        assert!(share(&left, DIRTY) < 0.05 && share(&left, SHMEM) == 0.0);
        let mut content = Vec::new();
        for _ in 0..2 {
            file.rewind().unwrap();
            content.clear();
            file.read_to_end(&mut content).unwrap();
        }
        let used_again = share(&noted(&mut reader, &frames), UNMAPPED | ACTIVE);
        assert!(used_again > 0.9, "{used_again}");
        file.rewind().unwrap();
        file.write_all(&content).unwrap();
        let dirty = share(&noted(&mut reader, &frames), UNMAPPED | DIRTY);
        assert!(dirty > 0.9, "{dirty}");
    }

    #[tag(root)]
    #[test]
    fn samples_find_no_more_than_the_kernel_counts() {
        let mut reader = Reader::new().unwrap();
        let look = PageCacheLook::new(&mut reader).unwrap();
        let found = sum(&look.noted, look.ram.iter().map(AddrRange::len).sum());
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
        let of = |name: &str| {
            let line = meminfo.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
        };
        let cached = of("Cached:") + of("Buffers:") + of("SwapCached:");
        let slack = cached / 5 + (64 << 20);
        assert!(found.bytes <= cached + slack, "{found:?} of {cached}");
        assert!(found.bytes + of("Mapped:") + slack >= cached, "{found:?} of {cached}");
    }

    /// A file, mapped to be read, each page of it touched.
    struct FileMapping(*mut std::ffi::c_void, usize);

    impl FileMapping {
        fn new(file: &File, bytes: usize) -> std::io::Result<Self> {
            let (access, flags) = (ProtFlags::READ, MapFlags::SHARED);
            // SAFETY: a new mapping that touches no other memory.
            let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) }?;
            for page in (0..bytes).step_by(PAGE_SIZE as usize) {
                // SAFETY: inside the mapping, and of the file, which nobody cuts.
                unsafe { start.cast::<u8>().add(page).read_volatile() };
            }
            Ok(Self(start, bytes))
        }

        fn start(&self) -> u64 {
            self.0 as u64
        }
    }

    impl Drop for FileMapping {
        fn drop(&mut self) {
            // SAFETY: unmaps what `new` mapped; no reference to it is left.
            let _ = unsafe { munmap(self.0, self.1) };
        }
    }
}
