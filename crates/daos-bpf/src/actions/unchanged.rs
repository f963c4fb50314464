//! What of some ranges is still mapped as it was when it was chosen.
//!
//! What a scheme may act on is decided by the list of mappings, which may be a second old,
//! and far older where reading it is dear. A target can replace a mapping at any moment, so
//! the mappings of what is acted on are looked up again right before.

use daos_core::{AddrRange, Mapping};

/// The parts of sorted `ranges` that `now` maps as `known` did: the same file, or anonymous
/// memory of the same name, private or shared.
pub(super) fn unchanged(
    ranges: &[AddrRange],
    known: &[Mapping],
    now: &[Mapping],
) -> Vec<AddrRange> {
    let mut parts = Vec::new();
    for range in ranges {
        for new in inside(now, *range) {
            let part =
                AddrRange::new(new.range.start.max(range.start), new.range.end.min(range.end));
            let alike = |old: &&Mapping| (&old.name, old.shared) == (&new.name, new.shared);
            let old = inside(known, part).filter(alike);
            parts.extend(old.filter_map(|old| old.range.intersect(&part)));
        }
    }
    AddrRange::joined(parts)
}

/// Those of sorted `mappings` that lie in `range`, in part or whole.
fn inside(mappings: &[Mapping], range: AddrRange) -> impl Iterator<Item = &Mapping> {
    let first = mappings.partition_point(|mapping| mapping.range.end <= range.start);
    mappings[first..].iter().take_while(move |mapping| mapping.range.start < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, name: &str, shared: bool) -> Mapping {
        Mapping { range: AddrRange::new(start, end), name: name.into(), shared }
    }

    #[test]
    fn what_became_another_mapping_is_left_out() {
        let known = [
            mapping(0, 10, "", false),
            mapping(10, 20, "", false),
            mapping(20, 30, "/a", false),
            mapping(30, 40, "/a", false),
        ];
        let now = [
            mapping(0, 8, "", false),
            mapping(8, 12, "/a", true),
            mapping(12, 20, "", false),
            mapping(20, 25, "/b", false),
            mapping(25, 30, "/a", false),
            mapping(35, 50, "/a", true),
        ];
        let range = |start, end| AddrRange::new(start, end);
        let parts = unchanged(&[range(2, 6), range(7, 45)], &known, &now);
        assert_eq!(parts, [range(2, 6), range(7, 8), range(12, 20), range(25, 30)]);
        assert_eq!(unchanged(&[range(50, 60)], &known, &now), [], "what was not known");
    }

    #[test]
    fn mappings_that_only_grew_or_were_cut_are_the_same() {
        let range = AddrRange::new(0, 40);
        let whole = [mapping(0, 40, "", false)];
        let pieces = [mapping(0, 10, "", false), mapping(10, 40, "", false)];
        assert_eq!(unchanged(&[range], &whole, &pieces), [range]);
        assert_eq!(unchanged(&[range], &pieces, &whole), [range]);
    }
}
