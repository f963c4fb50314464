//! What a monitor reported, to the page where it is known to the page.

use daos_core::{AddrRange, PageRun, RegionSnapshot, TargetSnapshot};

/// Goes over a target's memory by rising address, with its number of accesses: that of
/// its region, or of a run of pages in it.
#[derive(Debug, Clone)]
pub struct Reported<'a> {
    regions: &'a [RegionSnapshot],
    runs: &'a [PageRun],
    /// What lies before is done.
    at: u64,
}

impl<'a> Reported<'a> {
    /// All that is reported of `target`.
    pub fn of(target: &'a TargetSnapshot) -> Self {
        Self { regions: &target.regions, runs: &target.pages, at: 0 }
    }

    /// Only what is reported of memory at and behind `at`, for who goes over parts of it.
    pub fn from(target: &'a TargetSnapshot, at: u64) -> Self {
        let regions = &target.regions;
        let regions = &regions[regions.partition_point(|region| region.range.end <= at)..];
        let runs = &target.pages[target.pages.partition_point(|run| run.range.end <= at)..];
        Self { regions, runs, at }
    }
}

impl Iterator for Reported<'_> {
    type Item = (AddrRange, u32);

    fn next(&mut self) -> Option<(AddrRange, u32)> {
        let region = loop {
            let region = self.regions.first()?;
            if region.range.end > self.at {
                break region;
            }
            self.regions = &self.regions[1..];
        };
        let start = self.at.max(region.range.start);
        while self.runs.first().is_some_and(|run| run.range.end <= start) {
            self.runs = &self.runs[1..];
        }
        let (end, nr_accesses) = match self.runs.first() {
            Some(run) if run.range.start <= start => (run.range.end, run.nr_accesses),
            Some(run) => (run.range.start, region.nr_accesses),
            None => (u64::MAX, region.nr_accesses),
        };
        let range = AddrRange::new(start, end.min(region.range.end));
        self.at = range.end;
        Some((range, nr_accesses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_pages_take_the_place_of_their_region() {
        let region = |start, end, nr_accesses| RegionSnapshot {
            range: AddrRange::new(start, end),
            nr_accesses,
            nr_unobserved: 0,
            age: 0,
        };
        let run = |start, end, nr_accesses| PageRun {
            range: AddrRange::new(start, end),
            nr_accesses,
            age: 0,
        };
        let target = TargetSnapshot {
            regions: vec![region(0, 100, 1), region(100, 200, 2), region(300, 400, 3)],
            pages: vec![run(10, 20, 8), run(20, 30, 9), run(90, 100, 7), run(300, 400, 6)],
            ..TargetSnapshot::default()
        };
        let list = |reported: Reported<'_>| -> Vec<_> {
            reported.map(|(range, nr)| (range.start, range.end, nr)).collect()
        };
        let all = [
            (0, 10, 1),
            (10, 20, 8),
            (20, 30, 9),
            (30, 90, 1),
            (90, 100, 7),
            (100, 200, 2),
            (300, 400, 6),
        ];
        assert_eq!(list(Reported::of(&target)), all);
        let behind = [(25, 30, 9), (30, 90, 1), (90, 100, 7), (100, 200, 2), (300, 400, 6)];
        assert_eq!(list(Reported::from(&target, 25)), behind);
        assert_eq!(list(Reported::from(&target, 250)), [(300, 400, 6)]);
        assert_eq!(list(Reported::from(&target, 400)), []);
    }
}
