//! Regions in parts, as fine as what is known of them.

use daos_core::{AddrRange, PageRun, RegionSnapshot, Snapshot, TargetSnapshot};

/// A part of a region: a run of pages that are known one by one, or what lies
/// between such runs, of which no more is known than of the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its addresses.
    pub range: AddrRange,
    /// Its access frequency, `0..=`[`Snapshot::max_nr_accesses`].
    pub nr_accesses: u32,
    /// Whether it is known to the page.
    pub known: bool,
}

impl Part {
    /// The chance that a page of it is accessed within one sampling interval, 0 to 1.
    pub fn access_rate(&self, snapshot: &Snapshot) -> f64 {
        (f64::from(self.nr_accesses) / f64::from(snapshot.max_nr_accesses.max(1))).min(1.0)
    }
}

/// The runs of pages in `region`, which is one of the regions of `target`; those at
/// its edges are cut.
pub fn runs(target: &TargetSnapshot, region: &RegionSnapshot) -> impl Iterator<Item = PageRun> {
    let range = region.range;
    let first = target.pages.partition_point(|run| run.range.end <= range.start);
    let inside = move |run: &PageRun| Some(PageRun { range: run.range.intersect(&range)?, ..*run });
    target.pages[first..].iter().map_while(inside)
}

/// Bytes of the runs of pages in `region` that were in use.
pub fn used_bytes(target: &TargetSnapshot, region: &RegionSnapshot) -> u64 {
    runs(target, region).filter(|run| run.nr_accesses > 0).map(|run| run.range.len()).sum()
}

/// All of `region`, which is one of the regions of `target`, by rising address.
pub fn parts(target: &TargetSnapshot, region: &RegionSnapshot) -> impl Iterator<Item = Part> {
    let (nr_accesses, end) = (region.nr_accesses, region.range.end);
    let mut at = region.range.start;
    let stops = runs(target, region).map(Some).chain([None]);
    stops.flat_map(move |run| {
        let next = run.map_or(end, |run| run.range.start);
        let before = Part { range: AddrRange::new(at, next), nr_accesses, known: false };
        let known = |run: PageRun| {
            at = run.range.end;
            Part { range: run.range, nr_accesses: run.nr_accesses, known: true }
        };
        let run = run.map(known);
        [Some(before), run].into_iter().flatten().filter(|part| !part.range.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{region, run};

    #[test]
    fn runs_and_what_lies_between_make_up_the_region() {
        let target = TargetSnapshot {
            pages: vec![run(0, 2, 9), run(4, 6, 0), run(6, 7, 8), run(12, 20, 3)],
            ..TargetSnapshot::default()
        };
        let of = |start, end| {
            let region = region(start, end, 5);
            let parts = parts(&target, &region);
            parts.map(|p| (p.range.start, p.range.end, p.nr_accesses, p.known)).collect::<Vec<_>>()
        };
        let expected =
            [(1, 2, 9, true), (2, 4, 5, false), (4, 6, 0, true), (6, 7, 8, true), (7, 9, 5, false)];
        assert_eq!(of(1, 9), expected);
        assert_eq!(of(13, 15), [(13, 15, 3, true)]);
        assert_eq!(of(30, 40), [(30, 40, 5, false)]);
        assert_eq!(of(40, 40), []);
    }
}
