//! How many regions there are is bounded, from below and above: what is larger is cut, and
//! neighbours that differ least are taken for one.

use daos_core::{AddrRange, PAGE_SIZE};

/// Gaps up to so many bytes are bridged before differences are given up. Chosen.
const NEAR_BYTES: u64 = 64 << 10;

/// `range` in so many equal parts of whole pages, as far as there are enough of them.
pub(crate) fn pieces(range: AddrRange, parts: u64) -> impl Iterator<Item = AddrRange> {
    let pages = range.pages();
    let parts = parts.min(pages).max(1);
    let at = move |part: u64| range.start + pages * part / parts * PAGE_SIZE;
    (0..parts).map(move |part| AddrRange::new(at(part), at(part + 1)))
}

/// By how much rates may differ, and over how many bytes of a gap, for neighbours to be taken for
/// one: nothing at first, then more and more, until all are. Bridging a gap is better than giving
/// up a difference, up to 64 KiB.
pub(crate) fn slacks() -> impl Iterator<Item = (f64, u64)> {
    std::iter::successors(Some((0.0, 0)), |&(slack, gap): &(f64, u64)| {
        if gap > u64::MAX / 4 && slack >= 1.0 {
            None
        } else if gap < NEAR_BYTES || slack >= 1.0 {
            Some((slack, (gap * 2).max(PAGE_SIZE)))
        } else {
            Some(((slack * 2.0).max(1.0 / 1024.0), gap))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gaps_are_bridged_then_differences_given_up_then_all_gaps() {
        let all: Vec<_> = slacks().collect();
        assert_eq!(all[..2], [(0.0, 0), (0.0, PAGE_SIZE)]);
        assert_eq!(all[5..7], [(0.0, 64 << 10), (1.0 / 1024.0, 64 << 10)]);
        assert!(all.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        assert!(all.last().is_some_and(|&(slack, gap)| slack >= 1.0 && gap > u64::MAX / 4));
    }
}
