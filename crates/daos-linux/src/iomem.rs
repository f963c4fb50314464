//! What is RAM among the physical addresses, from `/proc/iomem` and `/proc/meminfo`.
//!
//! Who follows addresses in the kernel's memory must know: behind others are registers of
//! devices, which lose their state when they are read.

use daos_core::{AddrRange, PAGE_SIZE};
use std::fs;
use std::path::Path;
use thiserror::Error;

/// Why it is not known what is RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IomemError {
    /// The kernel shows no addresses.
    #[error(
        "/proc/iomem hides where RAM is, without which daos reads nothing of the kernel's memory; run it as root (or with CAP_SYS_ADMIN)"
    )]
    Hidden,
    /// Some of what is listed as RAM may not be read yet.
    #[error(
        "this confidential virtual machine has {0} kB of memory that it has not accepted yet, which must not be read; boot it with accept_memory=eager, or try again when `Unaccepted` in /proc/meminfo is 0"
    )]
    Unaccepted(u64),
}

/// The ranges of physical addresses that are System RAM, that which drivers have brought
/// online included: whole pages, sorted, disjoint, those that touch as one.
///
/// # Errors
///
/// [`IomemError`] where they are hidden from who asks, or not all of them may be read.
pub fn system_ram(root: &Path) -> Result<Vec<AddrRange>, IomemError> {
    let read = |file: &str| fs::read_to_string(root.join("proc").join(file)).unwrap_or_default();
    match unaccepted_kb(&read("meminfo")) {
        0 => {}
        kb => return Err(IomemError::Unaccepted(kb)),
    }
    let ram = parse(&read("iomem"));
    if ram.is_empty() { Err(IomemError::Hidden) } else { Ok(ram) }
}

/// The same of the text of `/proc/iomem`; none where it shows no addresses.
pub fn parse(iomem: &str) -> Vec<AddrRange> {
    let mut ram: Vec<AddrRange> = iomem.lines().filter_map(range_of_ram).collect();
    ram.sort();
    AddrRange::joined(ram)
}

/// `START-END : NAME`, in hexadecimal, the end belonging to it.
fn range_of_ram(line: &str) -> Option<AddrRange> {
    let (addresses, name) = line.split_once(" : ")?;
    // A driver that brings memory online adds its name: `System RAM (kmem)`.
    let is_ram = name == "System RAM" || name.starts_with("System RAM (");
    let (start, end) = addresses.trim().split_once('-').filter(|_| is_ram)?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?.checked_add(1)?);
    let pages =
        AddrRange::new(start.checked_next_multiple_of(PAGE_SIZE)?, end / PAGE_SIZE * PAGE_SIZE);
    (!pages.is_empty()).then_some(pages)
}

/// Of the text of `/proc/meminfo`; 0 where there is no such memory.
fn unaccepted_kb(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("Unaccepted:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOMEM: &str = "\
00000000-00000fff : Reserved
00001000-0009fbff : System RAM
000f0000-000fffff : System ROM
00100000-bfffffff : System RAM
  01000000-02209987 : Kernel code
c0001000-eebfffff : PCI Bus 0000:00
100000000-63fffffff : System RAM
640000000-67fffffff : dax0.0
  640000000-67fffffff : System RAM (kmem)
700000000-700000fff : System RAMdisk
";

    #[test]
    fn ram_is_found_page_by_page() {
        let ranges = [(0x1000, 0x9_f000), (0x10_0000, 0xc000_0000), (1 << 32, 0x6_8000_0000)];
        assert_eq!(parse(IOMEM), ranges.map(|(start, end)| AddrRange::new(start, end)));
    }

    #[test]
    fn what_is_hidden_or_unaccepted_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("proc")).unwrap();
        let write = |file: &str, text: &str| fs::write(dir.path().join("proc").join(file), text);
        assert_eq!(system_ram(dir.path()), Err(IomemError::Hidden));
        write("iomem", "00000000-00000000 : Reserved\n00000000-00000000 : System RAM\n").unwrap();
        assert_eq!(system_ram(dir.path()), Err(IomemError::Hidden));
        write("iomem", IOMEM).unwrap();
        assert_eq!(system_ram(dir.path()).unwrap().len(), 3);
        write("meminfo", "MemTotal: 5 kB\nUnaccepted:   1024 kB\n").unwrap();
        assert_eq!(system_ram(dir.path()), Err(IomemError::Unaccepted(1024)));
    }

    #[test]
    fn nonsense_is_no_ram() {
        for line in ["", " : System RAM", "5-3 : System RAM", "x-y : System RAM"] {
            assert!(parse(line).is_empty(), "{line}");
        }
        assert!(parse("0-ffffffffffffffff : System RAM").is_empty(), "ends behind 2^64");
    }
}
