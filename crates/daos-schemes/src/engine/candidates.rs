//! What a snapshot offers to the schemes: regions, the pages in them that are known to differ
//! cut out, and none older than what was done to it last.

use super::interval_map::IntervalMap;
use daos_core::{AddrRange, Part, Snapshot, TargetId};
use std::collections::BTreeMap;

/// Memory of one access rate and one age, which some scheme may be for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub target: TargetId,
    pub range: AddrRange,
    /// Size in bytes of the region that it is a part of.
    pub region_bytes: u64,
    /// Its access rate, 0 to 1.
    pub rate: f64,
    /// How long that has been so, or since it was acted on, in microseconds.
    pub age_us: u64,
}

/// All memory of a snapshot, by target and rising address. `acted`: when some of it was
/// acted on.
pub(super) fn candidates(
    snapshot: &Snapshot,
    acted: &BTreeMap<TargetId, IntervalMap>,
    out: &mut Vec<Candidate>,
) {
    out.clear();
    for target in &snapshot.targets {
        let mut acted =
            acted.get(&target.id).filter(|map| !map.is_empty()).map(|map| map.walk_from(0));
        for Part { range, access_rate, age_us, alike_bytes, .. } in target.parts() {
            let candidate = Candidate {
                target: target.id,
                range,
                region_bytes: alike_bytes,
                rate: access_rate,
                age_us,
            };
            let Some(acted) = &mut acted else {
                out.push(candidate);
                continue;
            };
            let mut rest = range;
            while let Some((range, at_us)) = acted.first_of(rest) {
                let since = at_us.map_or(u64::MAX, |at_us| snapshot.end_us.saturating_sub(at_us));
                out.push(Candidate { range, age_us: candidate.age_us.min(since), ..candidate });
                rest.start = range.end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{PageRun, RegionSnapshot, TargetSnapshot};

    fn region(start: u64, end: u64, access_rate: f64, age_us: u64) -> RegionSnapshot {
        RegionSnapshot { range: AddrRange::new(start, end), access_rate, unobserved: 0.0, age_us }
    }

    fn run(start: u64, end: u64, access_rate: f64, age_us: u64) -> PageRun {
        PageRun { range: AddrRange::new(start, end), access_rate, age_us }
    }

    fn snapshot(regions: Vec<RegionSnapshot>, pages: Vec<PageRun>) -> Snapshot {
        Snapshot {
            end_us: 1000,
            aggregation_us: 10,
            targets: vec![TargetSnapshot {
                regions,
                pages: pages.into(),
                ..TargetSnapshot::default()
            }],
            ..Snapshot::default()
        }
    }

    fn parts(snapshot: &Snapshot, acted: IntervalMap) -> Vec<(u64, u64, u64, f64, u64)> {
        let mut out = Vec::new();
        candidates(snapshot, &BTreeMap::from([(TargetId(0), acted)]), &mut out);
        let tell = |p: &Candidate| (p.range.start, p.range.end, p.region_bytes, p.rate, p.age_us);
        out.iter().map(tell).collect()
    }

    #[test]
    fn pages_that_differ_are_cut_out_of_their_region() {
        let regions = vec![region(0, 100, 0.0, 90), region(100, 200, 0.5, 20)];
        let pages = vec![run(10, 12, 1.0, 0), run(90, 120, 0.0, 50), run(300, 400, 0.05, 10)];
        let expected = [
            (0, 10, 100, 0.0, 90),
            (10, 12, 2, 1.0, 0),
            (12, 90, 100, 0.0, 90),
            (90, 100, 10, 0.0, 50),
            (100, 120, 20, 0.0, 50),
            (120, 200, 100, 0.5, 20),
        ];
        assert_eq!(parts(&snapshot(regions, pages), IntervalMap::default()), expected);
    }

    #[test]
    fn what_was_acted_on_is_no_older_than_that() {
        let mut acted = IntervalMap::default();
        acted.set(AddrRange::new(50, 150), 970);
        let regions = vec![region(0, 100, 0.0, 90), region(100, 200, 0.5, 20)];
        let expected = [
            (0, 50, 100, 0.0, 90),
            (50, 100, 100, 0.0, 30),
            (100, 150, 100, 0.5, 20),
            (150, 200, 100, 0.5, 20),
        ];
        assert_eq!(parts(&snapshot(regions, Vec::new()), acted), expected);
    }
}
