//! Memory that is alike, as the schemes see it: regions, without the pages in them that
//! are known to differ, and as old as what was done to them last allows.

use super::spans::Spans;
use daos_core::access::TargetId;
use daos_core::addr::AddrRange;
use daos_core::snapshot::{PageRun, RegionSnapshot, Snapshot, TargetSnapshot};
use std::collections::BTreeMap;

/// Memory of one access rate and one age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
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
pub(super) fn of(snapshot: &Snapshot, acted: &BTreeMap<TargetId, Spans>, out: &mut Vec<Piece>) {
    out.clear();
    for target in &snapshot.targets {
        let acted = acted.get(&target.id).filter(|spans| !spans.is_empty());
        each_part(target, |range, region_bytes, nr_accesses, age| {
            let piece = Piece {
                target: target.id,
                range,
                region_bytes,
                rate: f64::from(nr_accesses) / f64::from(snapshot.max_nr_accesses.max(1)),
                age_us: u64::from(age) * snapshot.aggregation_us,
            };
            let Some(acted) = acted else { return out.push(piece) };
            out.extend(acted.over(range).map(|(range, at_us)| {
                let since = at_us.map_or(u64::MAX, |at_us| snapshot.end_us.saturating_sub(at_us));
                Piece { range, age_us: piece.age_us.min(since), ..piece }
            }));
        });
    }
}

/// Calls `each` for the parts of a target with range, bytes of the region, frequency and
/// age: runs of pages that are known by themselves, and what is left of the regions.
fn each_part(target: &TargetSnapshot, mut each: impl FnMut(AddrRange, u64, u32, u32)) {
    let mut runs = target.pages.iter().peekable();
    for region in &target.regions {
        let RegionSnapshot { range, nr_accesses, age, .. } = *region;
        let mut rest = range;
        while let Some(run) = runs.peek() {
            if run.range.end <= rest.start {
                runs.next();
                continue;
            }
            let Some(inside) = run.range.intersect(&rest) else { break };
            let before = AddrRange::new(rest.start, inside.start);
            if !before.is_empty() {
                each(before, range.len(), nr_accesses, age);
            }
            let PageRun { nr_accesses, age, .. } = **run;
            each(inside, inside.len(), nr_accesses, age);
            rest.start = inside.end;
            if run.range.end > range.end {
                break;
            }
        }
        if !rest.is_empty() {
            each(rest, range.len(), nr_accesses, age);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: u64, end: u64, nr_accesses: u32, age: u32) -> RegionSnapshot {
        RegionSnapshot { range: AddrRange::new(start, end), nr_accesses, nr_unobserved: 0, age }
    }

    fn run(start: u64, end: u64, nr_accesses: u32, age: u32) -> PageRun {
        PageRun { range: AddrRange::new(start, end), nr_accesses, age }
    }

    fn snapshot(regions: Vec<RegionSnapshot>, pages: Vec<PageRun>) -> Snapshot {
        Snapshot {
            end_us: 1000,
            aggregation_us: 10,
            max_nr_accesses: 20,
            targets: vec![TargetSnapshot { regions, pages, ..TargetSnapshot::default() }],
            ..Snapshot::default()
        }
    }

    fn parts(snapshot: &Snapshot, acted: Spans) -> Vec<(u64, u64, u64, f64, u64)> {
        let mut out = Vec::new();
        of(snapshot, &BTreeMap::from([(TargetId(0), acted)]), &mut out);
        let tell = |p: &Piece| (p.range.start, p.range.end, p.region_bytes, p.rate, p.age_us);
        out.iter().map(tell).collect()
    }

    #[test]
    fn pages_that_differ_are_cut_out_of_their_region() {
        let regions = vec![region(0, 100, 0, 9), region(100, 200, 10, 2)];
        let pages = vec![run(10, 12, 20, 0), run(90, 120, 0, 5), run(300, 400, 1, 1)];
        let expected = [
            (0, 10, 100, 0.0, 90),
            (10, 12, 2, 1.0, 0),
            (12, 90, 100, 0.0, 90),
            (90, 100, 10, 0.0, 50),
            (100, 120, 20, 0.0, 50),
            (120, 200, 100, 0.5, 20),
        ];
        assert_eq!(parts(&snapshot(regions, pages), Spans::default()), expected);
    }

    #[test]
    fn what_was_acted_on_is_no_older_than_that() {
        let mut acted = Spans::default();
        acted.set(AddrRange::new(50, 150), 970);
        let regions = vec![region(0, 100, 0, 9), region(100, 200, 10, 2)];
        let expected = [
            (0, 50, 100, 0.0, 90),
            (50, 100, 100, 0.0, 30),
            (100, 150, 100, 0.5, 20),
            (150, 200, 100, 0.5, 20),
        ];
        assert_eq!(parts(&snapshot(regions, Vec::new()), acted), expected);
    }
}
