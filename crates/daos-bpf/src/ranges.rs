//! Joins what is to be armed into few ranges, each of which costs a flush of the TLB.
//!
//! Ranges that touch are joined. Pages between two of them that need no arming can be a range
//! of their own, a bridge: to pass over one costs some 0.05 µs, a flush 1 µs from the target's
//! own CPU and twenty times as much where it interrupts another.

use daos_core::AddrRange;

/// Longest range that neighbours are joined to when they are armed, in bytes: 1024 pages
/// of 4 KiB. Chosen: the kernel, which holds the target's memory meanwhile, takes a tenth
/// of a millisecond for them.
pub(crate) const MAX_ARMED_BYTES: u64 = 4 << 20;

/// Sorts `ranges`, drops those that are there twice, and joins neighbours inside one
/// mapping, up to `most_bytes`. `mapping` tells the mapping around an address, if it is
/// known.
pub(crate) fn join(
    ranges: &mut Vec<AddrRange>,
    most_bytes: u64,
    mapping: impl Fn(u64) -> Option<AddrRange>,
) {
    ranges.sort_unstable_by_key(|r| r.start);
    ranges.dedup();
    let mut around = AddrRange::new(0, 0);
    ranges.dedup_by(|next, run| {
        if run.end != next.start || next.end - run.start > most_bytes {
            return false;
        }
        if !around.contains(run.start) {
            around = mapping(run.start).unwrap_or(*run);
        }
        let joined = next.end <= around.end;
        if joined {
            run.end = next.end;
        }
        joined
    });
}

/// Cuts `ranges` where mappings end. The parts are in no order. `mapping` as for [`join`]; where it
/// knows of no mapping nothing is cut.
pub(crate) fn cut(ranges: &mut Vec<AddrRange>, mapping: impl Fn(u64) -> Option<AddrRange>) {
    let mut around = AddrRange::new(0, 0);
    for at in 0..ranges.len() {
        loop {
            let AddrRange { start, end } = ranges[at];
            if !around.contains(start) {
                around = mapping(start).unwrap_or(ranges[at]);
            }
            if end <= around.end {
                break;
            }
            ranges.push(AddrRange::new(start, around.end));
            ranges[at].start = around.end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(ranges: &[(u64, u64)], mappings: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let range = |&(start, end): &(u64, u64)| AddrRange::new(start << 12, end << 12);
        let mut ranges: Vec<_> = ranges.iter().map(range).collect();
        join(&mut ranges, MAX_ARMED_BYTES, |addr| {
            mappings.iter().map(range).find(|m| m.contains(addr))
        });
        ranges.iter().map(|r| (r.start >> 12, r.end >> 12)).collect()
    }

    #[test]
    fn a_range_is_cut_where_mappings_end() {
        let mapped = [(0, 2), (2, 5), (5, 9)].map(|(start, end)| AddrRange::new(start, end));
        let mut ranges = vec![AddrRange::new(1, 7), AddrRange::new(7, 8), AddrRange::new(20, 30)];
        cut(&mut ranges, |addr| mapped.iter().find(|m| m.contains(addr)).copied());
        ranges.sort_unstable();
        let found: Vec<_> = ranges.iter().map(|range| (range.start, range.end)).collect();
        assert_eq!(found, [(1, 2), (2, 5), (5, 7), (7, 8), (20, 30)]);
    }

    #[test]
    fn neighbours_are_joined_and_gaps_are_not() {
        let pages = [(9, 10), (1, 2), (2, 3), (5, 6), (2, 3), (6, 8)];
        assert_eq!(joined(&pages, &[(0, 20)]), [(1, 3), (5, 8), (9, 10)]);
    }

    #[test]
    fn a_range_stays_inside_its_mapping() {
        let pages = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)];
        assert_eq!(joined(&pages, &[(0, 3), (3, 5)]), [(1, 3), (3, 5), (5, 6)]);
        assert_eq!(joined(&pages, &[]), pages, "of unknown mappings nothing is joined");
    }

    #[test]
    fn a_range_is_of_bounded_length() {
        let most = MAX_ARMED_BYTES >> 12;
        let pages: Vec<_> = (0..2 * most + 1).map(|page| (page, page + 1)).collect();
        let expected = [(0, most), (most, 2 * most), (2 * most, 2 * most + 1)];
        assert_eq!(joined(&pages, &[(0, 1 << 20)]), expected);
    }
}
