//! Which addresses the snapshots cover, all together.

use daos_core::AddrRange;

/// A set of addresses: sorted ranges that neither overlap nor touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    ranges: Vec<AddrRange>,
}

impl Coverage {
    /// Adds the addresses of `range`.
    pub fn add(&mut self, range: AddrRange) {
        if range.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let behind = self.ranges.partition_point(|known| known.start <= range.end);
        let touched = &self.ranges[first..behind];
        let (Some(low), Some(high)) = (touched.first(), touched.last()) else {
            self.ranges.insert(first, range);
            return;
        };
        let whole = AddrRange::new(low.start.min(range.start), high.end.max(range.end));
        self.ranges.splice(first..behind, [whole]);
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(AddrRange::len).sum()
    }

    /// The parts of `range` that are in it.
    pub fn within(&self, range: AddrRange) -> impl Iterator<Item = AddrRange> {
        let first = self.ranges.partition_point(|known| known.end <= range.start);
        self.ranges[first..].iter().map_while(move |known| known.intersect(&range))
    }

    /// What lies between its ranges, by rising address.
    pub fn gaps(&self) -> impl Iterator<Item = AddrRange> {
        self.ranges.windows(2).map(|pair| AddrRange::new(pair[0].end, pair[1].start))
    }

    /// Its ranges, with all gaps between them closed but those to be kept `open`.
    pub fn closed(&self, open: impl Fn(&AddrRange) -> bool) -> Vec<AddrRange> {
        let mut closed: Vec<AddrRange> = Vec::new();
        for range in &self.ranges {
            match closed.last_mut() {
                Some(last) if !open(&AddrRange::new(last.end, range.start)) => last.end = range.end,
                _ => closed.push(*range),
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(ranges: &[(u64, u64)]) -> Coverage {
        let mut coverage = Coverage::default();
        ranges.iter().for_each(|&(start, end)| coverage.add(AddrRange::new(start, end)));
        coverage
    }

    #[test]
    fn touching_ranges_become_one() {
        assert_eq!(of(&[(0, 4), (8, 12), (4, 8)]).ranges, [AddrRange::new(0, 12)]);
        assert_eq!(of(&[(5, 5)]).ranges, []);
    }

    #[test]
    fn gaps_are_closed_or_stay_open() {
        let coverage = of(&[(0, 10), (12, 20), (50, 60)]);
        let gaps: Vec<_> = coverage.gaps().collect();
        assert_eq!(gaps, [AddrRange::new(10, 12), AddrRange::new(20, 50)]);
        assert_eq!(
            coverage.closed(|gap| *gap == gaps[1]),
            [AddrRange::new(0, 20), AddrRange::new(50, 60)]
        );
    }

    proptest! {
        #[test]
        fn covers_exactly_what_was_added(ranges in prop::collection::vec((0u64..60, 0u64..9), 0..20)) {
            let ranges: Vec<_> = ranges.into_iter().map(|(start, len)| (start, start + len)).collect();
            let coverage = of(&ranges);
            for addr in 0..70 {
                let added = ranges.iter().any(|&(start, end)| (start..end).contains(&addr));
                prop_assert_eq!(coverage.ranges.iter().any(|range| range.contains(addr)), added);
            }
            prop_assert!(coverage.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
