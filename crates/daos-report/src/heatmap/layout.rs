//! From what the snapshots cover to columns and rows.

use super::HeatmapOptions;
use super::coverage::Coverage;
use super::edges::{self, Edges};
use daos_core::{AddrRange, Snapshot, TargetId, TargetInfo};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A gap is left out if it is larger than this share of what is covered.
const LARGE_GAP: u64 = 50;

/// So many gaps of each target are left out before any other: between its heap, its mappings and its stack.
const GAPS_OF_EACH: usize = 2;

/// A segment gets at least this share of the rows, so that a stack of 132 KiB
/// beside a gigabyte of heap can be seen and labelled.
const SMALL_SEGMENT: usize = 40;

/// A row: a part of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Whose addresses.
    pub target: TargetId,
    /// Number of the segment that it is a part of, from 0.
    pub segment: usize,
    /// Its addresses.
    pub range: AddrRange,
}

/// The part of the options that narrows what is shown, as a filter.
#[derive(Debug, Clone, Copy)]
struct View {
    address: AddrRange,
    time: (u64, u64),
    target: Option<TargetId>,
}

/// When and where there is something to show.
#[derive(Debug)]
pub struct Extent {
    view: View,
    time: Option<(u64, u64)>,
    coverage: BTreeMap<TargetId, Coverage>,
    edges: BTreeMap<TargetId, Edges>,
    /// What each target has ever mapped, where that is known.
    mapped: BTreeMap<TargetId, Coverage>,
}

impl Extent {
    /// Nothing yet.
    pub fn new(options: &HeatmapOptions, targets: &[TargetInfo]) -> Self {
        let view = View {
            address: options.address.unwrap_or(AddrRange::new(0, u64::MAX)),
            time: options.time.unwrap_or((0, u64::MAX)),
            target: options.target,
        };
        let mapped = |target: &TargetInfo| {
            let mut mapped = Coverage::default();
            target.mappings.iter().for_each(|mapping| mapped.add(mapping.range));
            (target.id, mapped)
        };
        let mapped = targets.iter().filter(|t| !t.mappings.is_empty()).map(mapped).collect();
        Self { view, time: None, coverage: BTreeMap::new(), edges: BTreeMap::new(), mapped }
    }

    /// Takes in what `snapshot` covers. Regions reach over holes in what is mapped;
    /// there is something to show of a hole only if accesses were seen around it.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let start = snapshot.start_us.max(self.view.time.0);
        let end = snapshot.end_us.min(self.view.time.1);
        if start >= end {
            return;
        }
        let (first, last) = self.time.unwrap_or((start, end));
        self.time = Some((first.min(start), last.max(end)));
        let shown = |id| self.view.target.is_none_or(|wanted| wanted == id);
        for target in snapshot.targets.iter().filter(|target| shown(target.id)) {
            let edges = self.edges.entry(target.id).or_default();
            edges.add(target, self.view.address);
            let coverage = self.coverage.entry(target.id).or_default();
            for region in &target.regions {
                let Some(range) = region.range.intersect(&self.view.address) else { continue };
                match self.mapped.get(&target.id) {
                    Some(mapped) if region.access_rate == 0.0 => {
                        mapped.within(range).for_each(|part| coverage.add(part));
                        let used = target.runs_in(region.range).filter(|run| run.access_rate > 0.0);
                        let used = used.filter_map(|run| run.range.intersect(&range));
                        used.for_each(|part| coverage.add(part));
                    }
                    _ => coverage.add(range),
                }
            }
        }
    }

    /// The edges of the columns, and the rows by target and rising address.
    pub fn lay_out(&self, options: &HeatmapOptions) -> (Vec<u64>, Vec<Row>) {
        let segments = largest(self.segments(options.rows), options.most_segments);
        let Some((from, to)) = self.time.filter(|_| !segments.is_empty()) else {
            return (Vec::new(), Vec::new());
        };
        let rows = segments.iter().zip(row_counts(&segments, options)).enumerate();
        let rows = rows.flat_map(|(segment, (&(target, range), count))| {
            let edges = edges::rows(range, count, self.edges.get(&target));
            let row =
                move |at: &[u64]| Row { target, segment, range: AddrRange::new(at[0], at[1]) };
            edges.windows(2).map(row).collect::<Vec<_>>()
        });
        (columns(from, to, options.columns), rows.collect())
    }

    /// What is covered, without the large gaps. When that leaves more segments
    /// than `rows` can show side by side, the largest gaps go first.
    fn segments(&self, rows: usize) -> Vec<(TargetId, AddrRange)> {
        let covered = self.coverage.values().map(Coverage::bytes).fold(0, u64::saturating_add);
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (&id, coverage) in &self.coverage {
            let gaps = coverage.gaps().filter(|gap| gap.len() > covered / LARGE_GAP);
            let mut gaps: Vec<_> = gaps.map(|gap| (id, gap)).collect();
            gaps.sort_by_key(|(_, gap)| Reverse(gap.len()));
            others.extend(gaps.split_off(gaps.len().min(GAPS_OF_EACH)));
            first.append(&mut gaps);
        }
        others.sort_by_key(|(_, gap)| Reverse(gap.len()));
        let room = (rows / 8).max(6).saturating_sub(self.coverage.len());
        others.truncate(room.saturating_sub(first.len()));
        let large: BTreeSet<_> = first.into_iter().chain(others).collect();
        let of_target = |(&id, coverage): (&TargetId, &Coverage)| {
            let segments = coverage.closed(|gap| large.contains(&(id, *gap)));
            segments.into_iter().map(move |range| (id, range)).collect::<Vec<_>>()
        };
        self.coverage.iter().flat_map(of_target).collect()
    }

    /// How many segments there are beyond those that are laid out.
    pub fn left_out(&self, options: &HeatmapOptions) -> usize {
        self.segments(options.rows).len().saturating_sub(options.most_segments)
    }
}

/// So many of them at most, the largest, in their order.
fn largest(mut segments: Vec<(TargetId, AddrRange)>, most: usize) -> Vec<(TargetId, AddrRange)> {
    if segments.len() > most {
        segments.sort_by_key(|(_, range)| Reverse(range.len()));
        segments.truncate(most);
        segments.sort_by_key(|&(id, range)| (id, range.start));
    }
    segments
}

/// How many rows each segment gets: one for each page where there are few pages, else
/// its share.
fn row_counts(segments: &[(TargetId, AddrRange)], options: &HeatmapOptions) -> Vec<usize> {
    let pages = segments.iter().map(|(_, range)| edges::pages(*range));
    match pages.clone().fold(0, u64::saturating_add) {
        few if few <= options.page_rows as u64 => pages.map(|pages| pages as usize).collect(),
        _ => shares(segments, options.rows),
    }
}

/// How many of `rows` rows each segment gets: the least each, and the rest by size.
fn shares(segments: &[(TargetId, AddrRange)], rows: usize) -> Vec<usize> {
    let least = (rows / SMALL_SEGMENT).max(1);
    let rest = rows.saturating_sub(least * segments.len()) as u128;
    let total: u128 = segments.iter().map(|(_, range)| u128::from(range.len())).sum();
    let mut below = 0;
    let share = |(_, range): &(TargetId, AddrRange)| {
        let upto = below + u128::from(range.len());
        let rows = upto * rest / total - below * rest / total;
        below = upto;
        least + rows as usize
    };
    segments.iter().map(share).collect()
}

/// The edges of `from..to` cut into `count` nearly equal parts, or fewer if there
/// is less to cut; at least one.
fn columns(from: u64, to: u64, count: usize) -> Vec<u64> {
    let count = (count as u64).clamp(1, to - from);
    let edge = |i| from + (u128::from(to - from) * u128::from(i) / u128::from(count)) as u64;
    (0..=count).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> (TargetId, AddrRange) {
        (TargetId(0), AddrRange::new(start, end))
    }

    #[test]
    fn all_rows_are_given_out() {
        let segments = [range(0, 1000), range(5000, 5001), range(9000, 9500)];
        assert_eq!(shares(&segments, 40), [25, 1, 14]);
        assert_eq!(shares(&segments, 2), [1, 1, 1]);
    }

    #[test]
    fn of_too_many_segments_the_largest_are_left() {
        let size = |index: u64| if index == 700 { 1 } else { 2 };
        let all = (0..1001).map(|index| range(index * 10, index * 10 + size(index)));
        let left = largest(all.clone().collect(), 1000);
        assert!(left.iter().copied().eq(all.filter(|(_, range)| range.len() == 2)));
    }

    #[test]
    fn edges_are_exact_and_never_the_same() {
        assert_eq!(columns(0, 10, 4), [0, 2, 5, 7, 10]);
        assert_eq!(columns(7, 9, 100), [7, 8, 9]);
        assert_eq!(columns(0, u64::MAX, 2), [0, u64::MAX / 2, u64::MAX]);
    }
}
