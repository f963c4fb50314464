//! What a process has mapped in a few places, without reading the list of all it has mapped.
//!
//! `PROCMAP_QUERY`, an ioctl of `/proc/PID/maps`, costs about a microsecond for a mapping
//! (Linux 6.11). Older kernels are asked for the whole list, which holds for as long as it took:
//! so no more than about half of the time goes into it, however long it is, and what it says is
//! hardly older than it has to be.

use crate::maps;
use daos_core::{AddrRange, Mapping};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The mapping around an address, or else the next one.
const COVERING_OR_NEXT: u64 = 0x10;
const SHARED: u64 = 0x08;
/// Longest name, in bytes: that of a path (`PATH_MAX`) and ` (deleted)` behind it.
const NAME_BYTES: usize = 4096 + 16;

/// `struct procmap_query` of `linux/fs.h`.
#[repr(C)]
#[derive(Debug, Default)]
struct Query {
    size: u64,
    flags: u64,
    addr: u64,
    start: u64,
    end: u64,
    vma_flags: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_bytes: u32,
    build_id_bytes: u32,
    name: u64,
    build_id: u64,
}

const PROCMAP_QUERY: Opcode = opcode::read_write::<Query>(b'f', 17);

/// Looks up mappings of one process.
#[derive(Debug)]
pub struct MappingLookup {
    maps: File,
    path: PathBuf,
    /// Whether the kernel can be asked for single ones.
    single: bool,
    name: Vec<u8>,
    /// The whole list, of a kernel that can't.
    list: Option<List>,
}

/// All that a process has mapped.
#[derive(Debug)]
struct List {
    mappings: Vec<Mapping>,
    read_at: Instant,
    took: Duration,
}

impl List {
    fn read(path: &Path) -> io::Result<Self> {
        let begun = Instant::now();
        let mappings = maps::read(path)?;
        Ok(Self { mappings, read_at: Instant::now(), took: begun.elapsed() })
    }

    fn is_old(&self) -> bool {
        self.read_at.elapsed() > self.took
    }

    fn in_ranges(&self, ranges: &[AddrRange]) -> Vec<Mapping> {
        let Some(AddrRange { start, .. }) = ranges.first() else { return Vec::new() };
        let first = self.mappings.partition_point(|mapping| mapping.range.end <= *start);
        let end = ranges.last().map_or(0, |last| last.end);
        let near = self.mappings[first..].iter().take_while(|mapping| mapping.range.start < end);
        let lies_in = |mapping: &&Mapping| {
            let first = ranges.partition_point(|range| range.end <= mapping.range.start);
            ranges.get(first).is_some_and(|range| range.start < mapping.range.end)
        };
        near.filter(lies_in).cloned().collect()
    }
}

impl MappingLookup {
    /// By the file `maps` of a process.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (maps, name) = (File::open(path)?, vec![0; NAME_BYTES]);
        Ok(Self { maps, path: path.to_owned(), single: true, name, list: None })
    }

    /// The mappings that lie in sorted `ranges` now, in part or whole, by rising address.
    ///
    /// # Errors
    ///
    /// Those of reading the file: `ESRCH` when the process has ended.
    pub fn in_ranges(&mut self, ranges: &[AddrRange]) -> io::Result<Vec<Mapping>> {
        let mut found: Vec<Mapping> = Vec::new();
        for range in ranges {
            let mut addr = range.start.max(found.last().map_or(0, |last| last.range.end));
            while addr < range.end && self.single {
                match self.at_or_behind(addr) {
                    Ok(Some(mapping)) => {
                        addr = mapping.range.end.max(addr + 1);
                        if mapping.range.start < range.end {
                            push_behind(&mut found, mapping);
                        }
                    }
                    Ok(None) => break,
                    Err(Errno::NOTTY | Errno::INVAL) => self.single = false,
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        if self.single {
            return Ok(found);
        }
        let list = match self.list.take().filter(|list| !list.is_old()) {
            Some(list) => list,
            None => List::read(&self.path)?,
        };
        Ok(self.list.insert(list).in_ranges(ranges))
    }

    /// The mapping that holds `addr`, or else the next one; `None` behind the last.
    fn at_or_behind(&mut self, addr: u64) -> Result<Option<Mapping>, Errno> {
        let mut query = Query {
            size: size_of::<Query>() as u64,
            flags: COVERING_OR_NEXT,
            addr,
            name_bytes: self.name.len() as u32,
            name: self.name.as_mut_ptr() as u64,
            ..Query::default()
        };
        // SAFETY: the kernel reads and writes the structure, whose size it is told, and writes
        // no more than `name_bytes` bytes to `name`, which is ours as long as this lasts.
        let done = unsafe { ioctl(&self.maps, Updater::<PROCMAP_QUERY, _>::new(&mut query)) };
        match done {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        // The length counts the zero at the end; without a name it is 0.
        let name = &self.name[..(query.name_bytes as usize).clamp(1, NAME_BYTES) - 1];
        Ok(Some(Mapping {
            range: AddrRange::new(query.start, query.end),
            name: String::from_utf8_lossy(name).into_owned(),
            shared: query.vma_flags & SHARED != 0,
        }))
    }
}

/// Appends a mapping, without what was found before: each answer is of its own moment.
fn push_behind(found: &mut Vec<Mapping>, mapping: Mapping) {
    let told = found.last().map_or(0, |last| last.range.end);
    found.extend(maps::behind(told, mapping));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    use std::ptr::null_mut;

    #[test]
    fn a_mapping_that_has_grown_meanwhile_is_told_once() {
        let mapping = |start: u64, end: u64| Mapping {
            range: AddrRange::new(start << 12, end << 12),
            name: String::new(),
            shared: false,
        };
        let mut found = vec![mapping(0, 4)];
        push_behind(&mut found, mapping(2, 6));
        push_behind(&mut found, mapping(5, 6));
        push_behind(&mut found, mapping(8, 9));
        let pages = |m: &Mapping| (m.range.start >> 12, m.range.end >> 12);
        assert_eq!(found.iter().map(pages).collect::<Vec<_>>(), [(0, 4), (4, 6), (8, 9)]);
    }

    #[test]
    fn single_mappings_are_told_as_the_whole_list_does() {
        let path = Path::new("/proc/self/maps");
        // SAFETY: the kernel chooses a free place, of which nothing is used.
        let start = unsafe {
            mmap_anonymous(null_mut(), 8 << 20, ProtFlags::READ, MapFlags::SHARED).unwrap()
        } as u64;
        let middle = AddrRange::new(start + (2 << 20), start + (4 << 20));
        for single in [true, false] {
            let mut lookup = MappingLookup::open(path).unwrap();
            lookup.single = single;
            let all = maps::read(path).unwrap();
            let ranges: Vec<_> = all.iter().map(|mapping| mapping.range).collect();
            let told = lookup.in_ranges(&ranges).unwrap();
            // Other tests map and unmap meanwhile; what is here before and after them stays.
            let program = all.iter().find(|mapping| mapping.is_of_file()).unwrap();
            assert!(told.contains(program), "{program:?}");
            let stack = all.iter().find(|mapping| mapping.name == "[stack]").unwrap();
            assert!(told.iter().any(|mapping| mapping.name == stack.name), "{stack:?}");

            let told = lookup.in_ranges(&[middle, AddrRange::new(middle.end, middle.end + 1)]);
            let told = told.unwrap();
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].shared && told[0].range.contains(start), "{told:?}");
            assert_eq!(lookup.in_ranges(&[AddrRange::new(0, 4096)]).unwrap(), []);
        }
        let mut lookup = MappingLookup::open(path).unwrap();
        lookup.single = false;
        let list = |took| List { mappings: Vec::new(), read_at: Instant::now(), took };
        lookup.list = Some(list(Duration::from_secs(3600)));
        assert_eq!(lookup.in_ranges(&[middle]).unwrap(), [], "what took long is not read again");
        lookup.list = Some(list(Duration::ZERO));
        assert_eq!(lookup.in_ranges(&[middle]).unwrap().len(), 1, "what did not, is");
        // SAFETY: it was mapped above, and nobody uses it.
        unsafe { munmap(start as *mut _, 8 << 20).unwrap() };
    }
}
