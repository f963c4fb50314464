//! Reads `/proc/PID/maps`: what a process has mapped, and under which name.

use daos_core::{AddrRange, Mapping};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io;
use std::path::Path;

/// Most bytes of the file that are read. Chosen: a million mappings without long names; what
/// a target can have the kernel write has hardly another bound.
const MAX_BYTES: u64 = 64 << 20;
/// Bytes that are asked for at once: as much as the kernel gives.
const PART_BYTES: usize = 4096;

/// The mappings in the file `path`, by rising address.
///
/// Leaves out `[vsyscall]`, which is the kernel's and in no page table of the
/// process, and what lies behind the first 64 MiB of the file.
///
/// # Errors
///
/// Those of reading the file; a line that is not a mapping is an
/// [`io::ErrorKind::InvalidData`].
pub fn read(path: &Path) -> io::Result<Vec<Mapping>> {
    MapsReading::open(path)?.rest()
}

/// A reading of such a file part by part, so that what a long one costs can be spread over
/// time. The kernel gives what is mapped behind the part before, at the time of asking.
#[derive(Debug)]
pub struct MapsReading {
    file: File,
    /// The beginning of a line.
    text: Vec<u8>,
    /// Bytes that may still be read.
    left_bytes: u64,
    /// Where what was told ends.
    told: u64,
    /// Mappings larger than this that nobody may access are left out, in bytes.
    most_reserved: u64,
}

impl MapsReading {
    /// Of the file `path`, of which nothing is read yet.
    ///
    /// # Errors
    ///
    /// Those of opening it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::of(File::open(path)?, MAX_BYTES))
    }

    /// The same without mappings of more than so many bytes that nobody may access: where that is
    /// more than is resident of the process, they are reserved addresses, hardly any of which are
    /// in memory.
    pub fn without_reserved(self, most_reserved: u64) -> Self {
        Self { most_reserved, ..self }
    }

    fn of(file: File, most_bytes: u64) -> Self {
        Self { file, text: Vec::new(), left_bytes: most_bytes, told: 0, most_reserved: u64::MAX }
    }

    /// All that is left of it.
    fn rest(mut self) -> io::Result<Vec<Mapping>> {
        let mut mappings = Vec::new();
        while self.go_on(&mut mappings)? {}
        Ok(mappings)
    }

    /// Adds the next mappings to `mappings`: some fifty, which takes the kernel and us some
    /// 50 µs. Whether there may be more.
    ///
    /// # Errors
    ///
    /// As those of [`read`].
    pub fn go_on(&mut self, mappings: &mut Vec<Mapping>) -> io::Result<bool> {
        let mut part = [0; PART_BYTES];
        let most = self.left_bytes.min(PART_BYTES as u64) as usize;
        let read = retry_on_intr(|| rustix::io::read(&self.file, &mut part[..most]))?;
        self.left_bytes -= read as u64;
        self.text.extend_from_slice(&part[..read]);
        if read == 0 && self.left_bytes > 0 {
            // Its last line needs no end.
            self.text.push(b'\n');
        }
        let whole = self.text.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
        for line in self.text[..whole].split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let (mapping, is_reserved) = parse(line).ok_or_else(|| {
                let line = String::from_utf8_lossy(line);
                io::Error::new(io::ErrorKind::InvalidData, format!("not a mapping: {line:?}"))
            })?;
            if mapping.name != "[vsyscall]"
                && let Some(mapping) = behind(self.told, mapping)
            {
                self.told = mapping.range.end;
                if !(is_reserved && mapping.range.len() > self.most_reserved) {
                    mappings.push(mapping);
                }
            }
        }
        self.text.drain(..whole);
        Ok(read > 0)
    }
}

/// What of a mapping lies behind `told`, where the one before it ends: what changes while mappings
/// are read may be told twice, as it was and as it is.
pub(crate) fn behind(told: u64, mapping: Mapping) -> Option<Mapping> {
    let range = AddrRange::new(mapping.range.start.max(told), mapping.range.end.max(told));
    (!range.is_empty()).then_some(Mapping { range, ..mapping })
}

/// `start-end perms offset dev inode   name`; the name may hold spaces or be missing. And whether
/// nobody may access it.
fn parse(line: &[u8]) -> Option<(Mapping, bool)> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let range =
        AddrRange::new(u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    let permissions = fields.next()?;
    let (shared, is_reserved) = (permissions.ends_with('s'), permissions.starts_with("---"));
    let name = fields.nth(3).unwrap_or("").trim_start().to_owned();
    (!range.is_empty()).then_some((Mapping { range, name, shared }, is_reserved))
}

/// Joins neighbours that touch, so that ten thousand mappings of one heap are one range.
pub fn ranges(mappings: &[Mapping]) -> Vec<AddrRange> {
    AddrRange::joined(mappings.iter().map(|mapping| mapping.range))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MAPS: &str = "\
55d5a2a00000-55d5a2a02000 r--p 00000000 fe:00 1234                       /usr/bin/cat
55d5a2a02000-55d5a2a07000 r-xp 00002000 fe:00 1234                       /usr/bin/a b (deleted)
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 
7f0000100000-7f0000121000 rw-s 00000000 00:01 7                          /dev/zero (deleted)
7ffc1b000000-7ffc1b021000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    fn tree(maps: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("maps"), maps).unwrap();
        dir
    }

    #[test]
    fn reads_ranges_and_names() {
        let mappings = read(&tree(MAPS).path().join("maps")).unwrap();
        let names: Vec<_> = mappings.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(
            names,
            ["/usr/bin/cat", "/usr/bin/a b (deleted)", "", "/dev/zero (deleted)", "[stack]"]
        );
        let shared: Vec<_> = mappings.iter().map(|m| m.shared).collect();
        assert_eq!(shared, [false, false, false, true, false]);
        let ranges = ranges(&mappings);
        assert_eq!(ranges.len(), 4, "the two parts of the program touch");
        assert_eq!(ranges[0], AddrRange::new(0x55d5_a2a0_0000, 0x55d5_a2a0_7000));
    }

    #[test]
    fn what_is_too_much_is_left_out_by_whole_lines() {
        let tree = tree(MAPS);
        let read = |most_bytes| {
            let file = File::open(tree.path().join("maps")).unwrap();
            MapsReading::of(file, most_bytes).rest().unwrap().len()
        };
        assert_eq!([MAPS.len() as u64, 200, 20].map(read), [5, 2, 0]);
    }

    #[test]
    fn a_long_list_comes_in_parts() {
        let line = |n: u64| format!("{:x}-{:x} rw-p 00000000 00:00 0 \n", n << 12, (n + 1) << 12);
        let tree = tree(&(0..1000).map(line).collect::<String>());
        let path = tree.path().join("maps");
        let (mut reading, mut mappings) = (MapsReading::open(&path).unwrap(), Vec::new());
        let mut parts = 1;
        while reading.go_on(&mut mappings).unwrap() {
            parts += 1;
            assert!(mappings.len() <= 200 * parts, "{} in {parts}", mappings.len());
        }
        assert_eq!(mappings.len(), 1000);
        assert_eq!(ranges(&mappings), [AddrRange::new(0, 1000 << 12)]);
    }

    #[test]
    fn reserved_addresses_are_left_out_if_they_are_more_than_may_be_there() {
        let line = |range: &str, permissions: &str| format!("{range} {permissions} 0 00:00 0 \n");
        let (heap, locked) = (line("1000-9000", "rw-p"), line("9000-d000", "---p"));
        let reserved = line("d000-100000000", "---p");
        let tree = tree(&[heap, locked, reserved, line("100000000-100001000", "rw-p")].concat());
        let path = tree.path().join("maps");
        let read = |most_reserved| {
            let reading = MapsReading::open(&path).unwrap().without_reserved(most_reserved);
            ranges(&reading.rest().unwrap())
                .iter()
                .map(|range| (range.start, range.end))
                .collect::<Vec<_>>()
        };
        let behind = (1 << 32, (1 << 32) + 0x1000);
        assert_eq!(read(0x8000), [(0x1000, 0xd000), behind]);
        assert_eq!(read(0), [(0x1000, 0x9000), behind]);
        assert_eq!(read(1 << 40), [(0x1000, behind.1)]);
    }

    #[test]
    fn what_changes_while_it_is_read_is_told_once() {
        let line = |range: &str| format!("{range} rw-p 00000000 00:00 0 \n");
        let maps = ["1000-3000", "2000-5000", "4000-5000", "1000-6000", "8000-9000"];
        let tree = tree(&maps.map(line).concat());
        let read = read(&tree.path().join("maps")).unwrap();
        let ranges: Vec<_> = read.iter().map(|m| (m.range.start, m.range.end)).collect();
        let expected = [(0x1000, 0x3000), (0x3000, 0x5000), (0x5000, 0x6000), (0x8000, 0x9000)];
        assert_eq!(ranges, expected);
    }

    #[test]
    fn says_which_line_is_no_mapping() {
        let err = read(&tree("bad\n").path().join("maps")).unwrap_err();
        assert!(err.to_string().contains("\"bad\""), "{err}");
    }
}
