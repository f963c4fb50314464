//! A value for each address range: when it was acted on, since when it is armed.

use daos_core::AddrRange;
use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;

/// Disjoint ranges with a value each. Neighbours of one value are one range.
#[derive(Debug, Clone, Default)]
pub(super) struct IntervalMap {
    /// By start: end and value.
    intervals: BTreeMap<u64, (u64, u64)>,
}

impl IntervalMap {
    /// Gives `range` this value, whatever its parts had.
    pub(super) fn set(&mut self, range: AddrRange, value: u64) {
        if range.is_empty() {
            return;
        }
        self.clear(range);
        let mut whole = range;
        let before = self.intervals.range(..range.start).next_back();
        if let Some((&start, &(end, same))) = before
            && end == range.start
            && same == value
        {
            whole.start = start;
        }
        if let Some(&(end, same)) = self.intervals.get(&range.end)
            && same == value
        {
            self.intervals.remove(&range.end);
            whole.end = end;
        }
        self.intervals.insert(whole.start, (whole.end, value));
    }

    /// Forgets the values of `range`.
    pub(super) fn clear(&mut self, range: AddrRange) {
        let from = self.first_at(range.start);
        let cut: Vec<(u64, u64, u64)> = self
            .intervals
            .range(from..range.end)
            .filter(|(_, (end, _))| *end > range.start)
            .map(|(&start, &(end, value))| (start, end, value))
            .collect();
        for (start, end, value) in cut {
            self.intervals.remove(&start);
            if start < range.start {
                self.intervals.insert(start, (range.start, value));
            }
            if end > range.end {
                self.intervals.insert(range.end, (end, value));
            }
        }
    }

    /// The parts of `range`, by rising address, each with its value if it has one.
    pub(super) fn over(&self, range: AddrRange) -> impl Iterator<Item = (AddrRange, Option<u64>)> {
        let mut walk = self.walk_from(range.start);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let (part, value) = walk.first_of(AddrRange::new(at, range.end))?;
            at = part.end;
            Some((part, value))
        })
    }

    /// A walk over what lies behind `addr`.
    pub(super) fn walk_from(&self, addr: u64) -> Walk<'_> {
        Walk { intervals: self.intervals.range(self.first_at(addr)..).peekable() }
    }

    /// Keeps only what has a value that `keep` wants.
    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.intervals.retain(|_, (_, value)| keep(*value));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Where the first interval starts that may reach behind `addr`.
    fn first_at(&self, addr: u64) -> u64 {
        self.intervals.range(..=addr).next_back().map_or(addr, |(&start, _)| start)
    }
}

/// A walk over the intervals by rising address: faster than to search for each range.
pub(super) struct Walk<'a> {
    intervals: Peekable<btree_map::Range<'a, u64, (u64, u64)>>,
}

impl Walk<'_> {
    /// The first part of `range` of one value, if it is not empty. No range may begin before
    /// one that was asked for earlier.
    pub(super) fn first_of(&mut self, range: AddrRange) -> Option<(AddrRange, Option<u64>)> {
        let AddrRange { start, end } = range;
        if range.is_empty() {
            return None;
        }
        while self.intervals.next_if(|(_, (until, _))| *until <= start).is_some() {}
        let (until, value) = match self.intervals.peek() {
            Some(&(&from, &(until, value))) if from <= start => (until, Some(value)),
            Some(&(&from, _)) => (from, None),
            None => (end, None),
        };
        Some((AddrRange::new(start, until.min(end)), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(start: u64, end: u64) -> AddrRange {
        AddrRange::new(start, end)
    }

    #[test]
    fn neighbours_of_one_value_are_one() {
        let mut map = IntervalMap::default();
        map.set(range(0, 4), 7);
        map.set(range(8, 12), 7);
        map.set(range(4, 8), 7);
        assert_eq!(map.intervals.len(), 1);
        map.set(range(5, 6), 8);
        let parts: Vec<_> = map.over(range(2, 20)).collect();
        let expected = [
            (range(2, 5), Some(7)),
            (range(5, 6), Some(8)),
            (range(6, 12), Some(7)),
            (range(12, 20), None),
        ];
        assert_eq!(parts, expected);
    }

    proptest! {
        #[test]
        fn like_an_array(changes in prop::collection::vec((0u64..40, 1u64..12, 0u64..4), 1..40)) {
            let mut map = IntervalMap::default();
            let mut array = [None; 64];
            for (start, len, value) in changes {
                let at = range(start, start + len);
                if value == 0 { map.clear(at) } else { map.set(at, value) }
                for slot in &mut array[start as usize..(start + len) as usize] {
                    *slot = (value > 0).then_some(value);
                }
                let mut next = 3;
                for (part, value) in map.over(range(3, 60)) {
                    prop_assert_eq!(part.start, next);
                    prop_assert!(!part.is_empty());
                    next = part.end;
                    for slot in &array[part.start as usize..part.end as usize] {
                        prop_assert_eq!(*slot, value);
                    }
                }
                prop_assert_eq!(next, 60);
            }
        }
    }
}
