//! From a target's mappings to the ranges worth watching.

use daos_core::AddrRange;

/// Reduces sorted, disjoint `mapped` ranges to at most three by leaving out the
/// two largest gaps between them. In a process these lie between heap, mmap area
/// and stack, and are terabytes of nothing; the small gaps that stay inside cost
/// less than following every mapping would.
///
/// Source: the cover letter's Appendix C and the kernel's
/// `__damon_va_three_regions`, which refuses fewer than two gaps; here fewer
/// gaps simply give fewer ranges.
pub fn three_ranges(mapped: &[AddrRange]) -> Vec<AddrRange> {
    let (Some(first), Some(last)) = (mapped.first(), mapped.last()) else {
        return Vec::new();
    };
    let mut gaps: Vec<AddrRange> = mapped
        .windows(2)
        .map(|pair| AddrRange::new(pair[0].end, pair[1].start))
        .filter(|gap| !gap.is_empty())
        .collect();
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.len()));
    gaps.truncate(2);
    gaps.sort_by_key(|gap| gap.start);

    let mut ranges = Vec::with_capacity(3);
    let mut start = first.start;
    for gap in gaps {
        ranges.push(AddrRange::new(start, gap.start));
        start = gap.end;
    }
    ranges.push(AddrRange::new(start, last.end));
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduce(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let ranges: Vec<_> = ranges.iter().map(|&(s, e)| AddrRange::new(s, e)).collect();
        three_ranges(&ranges).iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn the_two_largest_gaps_are_left_out() {
        assert_eq!(
            reduce(&[(10, 20), (20, 25), (200, 210), (210, 220), (221, 230), (300, 305)]),
            [(10, 25), (200, 230), (300, 305)]
        );
    }

    #[test]
    fn fewer_gaps_are_no_error() {
        assert_eq!(reduce(&[]), []);
        assert_eq!(reduce(&[(1, 2)]), [(1, 2)]);
        assert_eq!(reduce(&[(1, 2), (2, 3)]), [(1, 3)]);
        assert_eq!(reduce(&[(1, 2), (5, 6)]), [(1, 2), (5, 6)]);
    }

    #[test]
    fn of_equal_gaps_the_lower_ones_are_left_out() {
        assert_eq!(reduce(&[(0, 1), (3, 4), (6, 7), (9, 10)]), [(0, 1), (3, 4), (6, 10)]);
    }
}
