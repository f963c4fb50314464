//! Where the rows of a segment begin and end: at pages, and where that makes what
//! is shown sharper, at the edges of what was recorded.

use daos_core::{AddrRange, PAGE_SIZE, TargetSnapshot};
use std::collections::BTreeMap;

/// Most bytes that are looked at for edges: there is one number for each of their pages.
const CLOSE: u64 = 64 << 20;
/// Steps of the access rate in which differences are counted: as fine as records are.
const STEPS: f64 = 1000.0;

/// Edges between memory of different access rates, in a close view of a target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edges {
    /// By page number, how large the differences there were, all together.
    differences: BTreeMap<u64, u64>,
}

impl Edges {
    /// Takes in what `target` has in `view`, if that is a close view.
    pub fn add(&mut self, target: &TargetSnapshot, view: AddrRange) {
        if view.len() > CLOSE {
            return;
        }
        // Where the part before ended, and its rate in steps and one; 0 of a gap.
        let mut before = (0, 0);
        for part in target.parts().filter(|part| part.unobserved < 1.0) {
            let Some(range) = part.range.intersect(&view) else { continue };
            let level = (part.access_rate * STEPS).round() as u64 + 1;
            if before.0 < range.start {
                self.count(before.0, before.1);
                before = (range.start, 0);
            }
            self.count(range.start, level.abs_diff(before.1));
            before = (range.end, level);
        }
        self.count(before.0, before.1);
    }

    fn count(&mut self, address: u64, difference: u64) {
        if difference > 0 && address.is_multiple_of(PAGE_SIZE) {
            let sum = self.differences.entry(address / PAGE_SIZE).or_default();
            *sum = sum.saturating_add(difference);
        }
    }

    /// The page with the largest difference of `pages`, or else `page`.
    fn near(&self, page: u64, pages: std::ops::RangeInclusive<u64>) -> u64 {
        let largest = self.differences.range(pages).max_by_key(|(_, difference)| **difference);
        largest.map_or(page, |(&page, _)| page)
    }
}

/// Number of pages that `range` touches.
pub fn pages(range: AddrRange) -> u64 {
    range.end.div_ceil(PAGE_SIZE) - range.start / PAGE_SIZE
}

/// The edges of `range`, which is not empty, cut at pages into `count` parts of about
/// the same size, or fewer if it has fewer pages; at least one. An edge that is near
/// to one of `edges` is there.
pub fn rows(range: AddrRange, count: usize, edges: Option<&Edges>) -> Vec<u64> {
    let (first, pages) = (range.start / PAGE_SIZE, pages(range));
    let count = (count as u64).clamp(1, pages);
    // Apart by at least this, so that each may move by half of it.
    let apart = pages / count;
    let inner = (1..count).map(|i| {
        let page = first + (u128::from(pages) * u128::from(i) / u128::from(count)) as u64;
        let around = page - (apart - 1) / 2..=page + apart / 2;
        edges.map_or(page, |edges| edges.near(page, around)) * PAGE_SIZE
    });
    [range.start].into_iter().chain(inner).chain([range.end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{region, run, snapshot};
    use proptest::prelude::*;

    const P: u64 = PAGE_SIZE;

    #[test]
    fn rows_begin_with_pages() {
        let rows = |start, end, count| rows(AddrRange::new(start, end), count, None);
        assert_eq!(rows(0, 10 * P, 4), [0, 2 * P, 5 * P, 7 * P, 10 * P]);
        assert_eq!(rows(7 * P, 9 * P, 100), [7 * P, 8 * P, 9 * P]);
        assert_eq!(rows(P + 5, 2 * P + 7, 9), [P + 5, 2 * P, 2 * P + 7]);
        assert_eq!(rows(P + 5, P + 7, 9), [P + 5, P + 7]);
        assert_eq!(rows(0, u64::MAX, 2), [0, 1 << 63, u64::MAX]);
    }

    #[test]
    fn edges_are_where_rates_differ() {
        let mut moment = snapshot(
            0,
            10,
            &[
                region(0, 4 * P, 5),
                region(4 * P, 8 * P, 5),
                region(8 * P, 9 * P, 6),
                region(20 * P, 21 * P, 0),
            ],
        );
        moment.targets[0].pages = vec![run(P, 2 * P, 15)].into();
        let mut edges = Edges::default();
        edges.add(&moment.targets[0], AddrRange::new(0, 30 * P));
        let found: Vec<_> = edges.differences.into_iter().collect();
        assert_eq!(found, [(0, 251), (1, 500), (2, 500), (8, 50), (9, 301), (20, 1), (21, 1)]);
        let mut far = Edges::default();
        far.add(&moment.targets[0], AddrRange::new(0, u64::MAX));
        assert_eq!(far, Edges::default());
    }

    #[test]
    fn rows_move_to_the_sharpest_edge_nearby() {
        let differences = [(9, 3), (11, 50), (12, 4), (60, 1)].into_iter().collect();
        let edges = Edges { differences };
        let rows = rows(AddrRange::new(0, 100 * P), 10, Some(&edges));
        let pages: Vec<_> = rows.iter().map(|edge| edge / P).collect();
        assert_eq!(pages, [0, 11, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    }

    proptest! {
        #[test]
        fn rows_rise_and_have_all(
            start in 0..1u64 << 20, len in 1..1u64 << 20, count in 1..200usize,
            at in prop::collection::vec((0..512u64, 1..9u64), 0..60),
        ) {
            let edges = Edges { differences: at.into_iter().collect() };
            let range = AddrRange::new(start, start + len);
            let rows = rows(range, count, Some(&edges));
            prop_assert!(rows.is_sorted_by(|a, b| a < b));
            prop_assert_eq!((rows[0], rows[rows.len() - 1]), (range.start, range.end));
            prop_assert_eq!(rows.len() as u64 - 1, (count as u64).min(pages(range)));
            prop_assert!(rows[1..rows.len() - 1].iter().all(|edge| edge % P == 0));
        }
    }
}
