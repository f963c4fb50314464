//! Adaptive regions adjustment: age, merge, split, and follow the mappings.
//!
//! These are the rules of the seeds (the cover letter's Appendix C) to the
//! kernel's integer. Where the kernel has a defect, we differ and say so at the
//! function. All of them are plain functions over a target's sorted regions, so
//! that each can be tested alone.

use super::region::Region;
use daos_core::{AddrRange, PAGE_SIZE, Rng};

/// Ages every region by one aggregation interval: up by one where the access
/// count changed by no more than `threshold`, else back to 0. It is also 0 when
/// the region has just begun or just ceased to be accessed at all.
///
/// The kernel ages inside its merge, so that a merge repeated with a larger
/// threshold ages regions twice; here ageing is a step of its own.
pub fn age(regions: &mut [Region], threshold: u32) {
    for region in regions {
        let (new, old) = (region.nr_accesses, region.last_nr_accesses);
        if new.abs_diff(old) > threshold || (new == 0) != (old == 0) {
            region.age = 0;
        } else {
            region.age = region.age.saturating_add(1);
        }
    }
}

/// Merges neighbours that touch, whose `count` differs by no more than
/// `threshold`, and that together are no larger than `size_limit` bytes. Goes
/// from left to right; a merged region is compared with its next neighbour.
pub fn merge(
    regions: &mut Vec<Region>,
    threshold: u32,
    size_limit: u64,
    count: impl Fn(&Region) -> u32,
) {
    regions.dedup_by(|next, prev| {
        let alike = prev.range.end == next.range.start
            && count(prev).abs_diff(count(next)) <= threshold
            && prev.range.len() + next.range.len() <= size_limit;
        if alike {
            prev.absorb(next);
        }
        alike
    });
}

/// Cuts each region into `parts` (2 or 3) at random pages; of three, the left
/// part of the first cut is cut again. A region of two pages or fewer stays whole.
///
/// The kernel cuts at tenths of the size only, so that an edge that lies between
/// two tenths is never met; here every page can be the cut.
pub fn split(regions: &mut Vec<Region>, parts: u32, rng: &mut Rng) {
    let mut pieces = Vec::with_capacity(regions.len() * parts as usize);
    for mut left in regions.drain(..) {
        let first = pieces.len();
        for _ in 1..parts {
            let pages = left.range.pages();
            if pages <= 2 {
                break;
            }
            pieces.push(left.split_off(1 + rng.below(pages - 1)));
        }
        pieces.push(left);
        pieces[first..].reverse();
    }
    *regions = pieces;
}

/// Cuts regions larger than `size_limit` bytes into equal parts that are not, as
/// long as there are no more than `most` regions then.
pub fn split_evenly(regions: &mut Vec<Region>, size_limit: u64, most: usize) {
    let limit = (size_limit / PAGE_SIZE).max(1);
    if regions.iter().all(|r| r.range.pages() <= limit) {
        return;
    }
    let mut room = most.saturating_sub(regions.len()) as u64;
    let mut pieces = Vec::with_capacity(regions.len() + 16);
    for mut rest in regions.drain(..) {
        let parts = rest.range.pages().div_ceil(limit).min(room + 1);
        room -= parts - 1;
        for left in (2..=parts).rev() {
            let behind = rest.split_off(rest.range.pages().div_ceil(left));
            pieces.push(std::mem::replace(&mut rest, behind));
        }
        pieces.push(rest);
    }
    *regions = pieces;
}

/// Fits regions to what is mapped now: drops what left `ranges`, cuts and
/// stretches at their edges, fills holes with new regions. Both are sorted.
///
/// A region that a new gap goes through is cut in two that both keep its counts
/// and age, where the kernel's `damon_set_regions` forgets the second.
pub fn fit(regions: &mut Vec<Region>, ranges: &[AddrRange]) {
    let mut fitted: Vec<Region> = Vec::with_capacity(regions.len() + ranges.len());
    let mut rest = regions.as_slice();
    for range in ranges {
        rest = &rest[rest.partition_point(|r| r.range.end <= range.start)..];
        let inside = &rest[..rest.partition_point(|r| r.range.start < range.end)];
        let Some((first, last)) = inside.first().zip(inside.last()) else {
            fitted.push(Region::new(*range));
            continue;
        };
        let (first, last) = (first.range.start, last.range.end);
        let mut covered = range.start;
        for region in inside {
            let mut piece = *region;
            piece.range.start =
                if region.range.start == first { range.start } else { region.range.start };
            piece.range.end = if region.range.end == last { range.end } else { region.range.end };
            if covered < piece.range.start {
                fitted.push(Region::new(AddrRange::new(covered, piece.range.start)));
            }
            covered = piece.range.end;
            fitted.push(piece);
        }
    }
    *regions = fitted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::Rng;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

    fn region(start: u64, end: u64, nr_accesses: u32) -> Region {
        let range = AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE);
        Region { nr_accesses, last_nr_accesses: nr_accesses, ..Region::new(range) }
    }

    fn pages(regions: &[Region]) -> Vec<(u64, u64)> {
        regions.iter().map(|r| (r.range.start / PAGE_SIZE, r.range.end / PAGE_SIZE)).collect()
    }

    #[test]
    fn age_follows_the_access_count() {
        let cases = [
            // (old, new, threshold) -> age from 7
            ((5, 5, 0), 8),
            ((5, 7, 2), 8),
            ((5, 8, 2), 0),
            ((0, 1, 2), 0),
            ((1, 0, 2), 0),
            ((0, 0, 0), 8),
        ];
        for ((old, new, threshold), want) in cases {
            let mut r = [Region { last_nr_accesses: old, age: 7, ..region(0, 1, new) }];
            age(&mut r, threshold);
            assert_eq!(r[0].age, want, "{old} -> {new} at threshold {threshold}");
        }
    }

    #[test]
    fn merge_weighs_by_size_and_heeds_gap_threshold_and_limit() {
        let mut regions = vec![
            Region { age: 10, ..region(0, 3, 4) },
            Region { age: 2, ..region(3, 4, 8) },
            region(5, 6, 5),
            region(6, 7, 9),
        ];
        merge(&mut regions, 4, 100 * PAGE_SIZE, |r| r.nr_accesses);
        assert_eq!(pages(&regions), [(0, 4), (5, 7)]);
        assert_eq!((regions[0].nr_accesses, regions[0].age), (5, 8));

        let mut regions = vec![region(0, 3, 4), region(3, 4, 9), region(4, 5, 9)];
        merge(&mut regions, 4, 4 * PAGE_SIZE, |r| r.nr_accesses);
        assert_eq!(pages(&regions), [(0, 3), (3, 5)], "differs by 5 > 4; 9 and 9 merge");

        let mut regions = vec![region(0, 3, 1), region(3, 5, 1)];
        merge(&mut regions, 4, 4 * PAGE_SIZE, |r| r.nr_accesses);
        assert_eq!(pages(&regions), [(0, 3), (3, 5)], "5 pages are above the limit of 4");
    }

    #[test]
    fn split_leaves_two_pages_whole() {
        let mut regions = vec![region(0, 2, 1), region(2, 3, 1)];
        split(&mut regions, 3, &mut Rng::new(1));
        assert_eq!(pages(&regions), [(0, 2), (2, 3)]);
    }

    #[test]
    fn split_cuts_at_every_page() {
        let mut cuts = std::collections::BTreeSet::new();
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            let mut regions = vec![region(0, 23, 1)];
            split(&mut regions, 2, &mut rng);
            assert_eq!(regions.len(), 2);
            cuts.insert(regions[1].range.start / PAGE_SIZE);
        }
        assert_eq!(cuts.into_iter().collect::<Vec<_>>(), (1..23).collect::<Vec<_>>());
    }

    #[test]
    fn split_evenly_keeps_the_parts_alike() {
        let mut regions = vec![region(0, 10, 1), region(10, 12, 1)];
        split_evenly(&mut regions, 4 * PAGE_SIZE, 100);
        assert_eq!(pages(&regions), [(0, 4), (4, 7), (7, 10), (10, 12)]);
        let mut regions = vec![region(0, 10, 1), region(10, 20, 1)];
        split_evenly(&mut regions, PAGE_SIZE, 4);
        assert_eq!(pages(&regions), [(0, 4), (4, 7), (7, 10), (10, 20)]);
    }

    #[test]
    fn fit_drops_cuts_stretches_and_fills() {
        let range = |s: u64, e: u64| AddrRange::new(s * PAGE_SIZE, e * PAGE_SIZE);
        // Dropped: 0..2. Cut: 4..8 at both ends of the gap 5..6. Filled: 9..10.
        // Stretched: 10..11 to 13. New: 20..30.
        let mut regions =
            vec![region(0, 2, 1), region(4, 8, 2), region(8, 9, 3), region(10, 11, 4)];
        fit(&mut regions, &[range(3, 5), range(6, 13), range(20, 30)]);
        assert_eq!(pages(&regions), [(3, 5), (6, 8), (8, 9), (9, 10), (10, 13), (20, 30)]);
        let counts: Vec<_> = regions.iter().map(|r| r.nr_accesses).collect();
        assert_eq!(counts, [2, 2, 3, 0, 4, 0]);
    }

    /// Sorted regions with gaps, some of them touching.
    fn any_regions() -> impl Strategy<Value = Vec<Region>> {
        proptest::collection::vec((0u64..3, 1u64..40, 0u32..21, 0u32..50), 1..60).prop_map(
            |parts| {
                let mut at = 0;
                parts
                    .into_iter()
                    .map(|(gap, len, nr, age)| {
                        let start = at + gap;
                        at = start + len;
                        Region { age, ..region(start, at, nr) }
                    })
                    .collect()
            },
        )
    }

    fn any_ranges() -> impl Strategy<Value = Vec<AddrRange>> {
        proptest::collection::vec((1u64..50, 1u64..200), 1..6).prop_map(|parts| {
            let mut at = 0;
            parts
                .into_iter()
                .map(|(gap, len)| {
                    let start = at + gap;
                    at = start + len;
                    AddrRange::new(start * PAGE_SIZE, at * PAGE_SIZE)
                })
                .collect()
        })
    }

    fn bytes(regions: &[Region]) -> u64 {
        regions.iter().map(|r| r.range.len()).sum()
    }

    fn assert_sorted(regions: &[Region]) {
        assert!(regions.iter().all(|r| !r.range.is_empty()));
        assert!(regions.windows(2).all(|w| w[0].range.end <= w[1].range.start));
    }

    proptest! {
        #[test]
        fn merge_keeps_the_bytes_and_stays_between(
            before in any_regions(), threshold in 0u32..25, limit in 1u64..500,
        ) {
            let mut after = before.clone();
            merge(&mut after, threshold, limit * PAGE_SIZE, |r| r.nr_accesses);
            assert_sorted(&after);
            prop_assert_eq!(bytes(&before), bytes(&after));
            for r in &after {
                let parts: Vec<_> =
                    before.iter().filter(|b| r.range.intersect(&b.range).is_some()).collect();
                prop_assert!(parts.len() == 1 || r.range.pages() <= limit);
                let within = |f: fn(&Region) -> u32| {
                    let (low, high) = parts.iter().fold((u32::MAX, 0), |(l, h), p| {
                        (l.min(f(p)), h.max(f(p)))
                    });
                    // Rounding down repeatedly may lose up to one below the lowest.
                    low <= f(r) && f(r) <= high
                };
                prop_assert!(within(|r| r.nr_accesses));
                prop_assert!(within(|r| r.age));
            }
        }

        #[test]
        fn split_keeps_the_bytes_counts_and_ages(
            before in any_regions(), parts in 2u32..4, seed in any::<u64>(),
        ) {
            let mut after = before.clone();
            split(&mut after, parts, &mut Rng::new(seed));
            assert_sorted(&after);
            prop_assert_eq!(bytes(&before), bytes(&after));
            prop_assert!(after.len() <= before.len() * parts as usize);
            for r in &after {
                let parent = before.iter().find(|b| b.range.intersect(&r.range).is_some()).unwrap();
                prop_assert_eq!(parent.range.intersect(&r.range), Some(r.range));
                prop_assert_eq!((parent.nr_accesses, parent.age), (r.nr_accesses, r.age));
            }
        }

        #[test]
        fn split_evenly_bounds_every_region(before in any_regions(), limit in 1u64..50) {
            let mut after = before.clone();
            split_evenly(&mut after, limit * PAGE_SIZE, usize::MAX);
            assert_sorted(&after);
            prop_assert_eq!(bytes(&before), bytes(&after));
            prop_assert!(after.iter().all(|r| r.range.pages() <= limit));
        }

        #[test]
        fn fit_covers_the_ranges_exactly(before in any_regions(), ranges in any_ranges()) {
            let mut after = before.clone();
            fit(&mut after, &ranges);
            assert_sorted(&after);
            let mut covered = after.iter().map(|r| r.range).collect::<Vec<_>>();
            covered.dedup_by(|next, prev| {
                let touch = prev.end == next.start
                    && ranges.iter().any(|r| r.contains(prev.start) && r.contains(next.start));
                if touch { prev.end = next.end; }
                touch
            });
            prop_assert_eq!(covered, ranges);
        }
    }
}
