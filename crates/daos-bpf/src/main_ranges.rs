//! Which parts of a process's memory are watched where there are many processes.

use daos_core::{AddrRange, HUGE_PAGE_SIZE, Mapping};

/// Files smaller than this are left out: most are parts of libraries, which processes share.
const LEAST_FILE_BYTES: u64 = HUGE_PAGE_SIZE;
/// A process has one range, and one more for each so many bytes resident. Chosen: as many as two
/// page tables map.
const BYTES_A_RANGE: u64 = 2 * HUGE_PAGE_SIZE;
/// Ranges that are no farther apart are one. Chosen: what is between them costs a few entries.
const NEAR_BYTES: u64 = 64 << 10;

/// How many ranges are worth to be watched of a process with so much resident.
pub(crate) fn most_ranges(resident_bytes: u64) -> usize {
    1 + (resident_bytes / BYTES_A_RANGE) as usize
}

/// Which parts of `mappings`, which are sorted by address, are worth watching where there are many
/// processes: `most` ranges, sorted and disjoint. A range may cover small gaps between mappings.
pub(crate) fn main_ranges(mappings: &[Mapping], most: usize) -> Vec<AddrRange> {
    let mut ranges: Vec<AddrRange> = Vec::new();
    for file in mappings.chunk_by(|a, b| a.name == b.name && a.range.end == b.range.start) {
        let (first, last) = (&file[0], &file[file.len() - 1]);
        let range = AddrRange::new(first.range.start, last.range.end);
        let is_kernels = first.name.starts_with("[v");
        if is_kernels || (first.is_of_file() && range.len() < LEAST_FILE_BYTES) {
            continue;
        }
        match ranges.last_mut() {
            Some(before) if range.start - before.end <= NEAR_BYTES => before.end = range.end,
            _ => ranges.push(range),
        }
    }
    if ranges.len() > most {
        ranges.sort_unstable_by_key(|range| std::cmp::Reverse(range.len()));
        ranges.truncate(most);
        ranges.sort_unstable_by_key(|range| range.start);
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_main_ranges_of_a_process() {
        let mapping = |start: u64, bytes: u64, name: &str| Mapping {
            range: AddrRange::new(start, start + bytes),
            name: name.to_owned(),
            shared: false,
        };
        let heap = 0x5555_0000_0000;
        let (high, stack) = (0x7f00_0000_0000, 0x7fff_0000_0000);
        let mappings = [
            mapping(heap - MIB, MIB, "/usr/bin/program"),
            mapping(heap, 8 * MIB, "[heap]"),
            mapping(high, MIB, "/var/data"),
            mapping(high + MIB, MIB, "/var/data"),
            mapping(high + 3 * MIB, 64 << 10, ""),
            mapping(high + 3 * MIB + (128 << 10), 64 << 10, ""),
            mapping(high + 4 * MIB, MIB, "/usr/lib/libc.so.6"),
            mapping(stack, 132 << 10, "[stack]"),
            mapping(stack + MIB, 16 << 10, "[vvar]"),
        ];
        let all = [
            AddrRange::new(heap, heap + 8 * MIB),
            AddrRange::new(high, high + 2 * MIB),
            AddrRange::new(high + 3 * MIB, high + 3 * MIB + (192 << 10)),
            AddrRange::new(stack, stack + (132 << 10)),
        ];
        let main = |resident_bytes| main_ranges(&mappings, most_ranges(resident_bytes));
        assert_eq!(main(1 << 30), all);
        assert_eq!(main(0), all[..1]);
        assert_eq!(main(8 * MIB), all[..3]);
        assert_eq!(main_ranges(&[], 1), []);
    }
}
