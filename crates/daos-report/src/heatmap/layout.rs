//! From what the snapshots cover to columns and rows.

use super::HeatmapOptions;
use super::coverage::Coverage;
use super::edges::{self, Edges};
use daos_core::{AddrRange, Snapshot, TargetId, TargetInfo};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A gap is left out if it is larger than this share of what is covered.
const LARGE_GAP: u64 = 50;

/// How many gaps of each target are left out before any others are: those between its program, its
/// heap, its mappings and its stack.
const GAPS_OF_EACH: usize = 3;

/// A target of which less than this share of the largest one's is covered is small. Chosen: shells
/// and pipes that a program is started through, a few MiB each, are small beside a hundred.
const SMALL_TARGET: u64 = 16;

/// Small targets are left out if they would have more parts than this. Chosen: those of two
/// processes, a quarter of the rows of a terminal.
const FEW_PARTS: usize = 10;

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

/// Addresses of a target without a large gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    target: TargetId,
    range: AddrRange,
    /// Bytes of it that are covered.
    covered: u64,
}

/// What there is no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Parts of targets that are shown, the smallest.
    pub parts: usize,
    /// Targets that are small beside the largest.
    pub targets: usize,
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

    /// The edges of the columns, the rows by target and rising address, and what is not shown.
    pub fn lay_out(&self, options: &HeatmapOptions) -> (Vec<u64>, Vec<Row>, LeftOut) {
        let (parts, left_out) = self.parts(options);
        let Some((from, to)) = self.time.filter(|_| !parts.is_empty()) else {
            return (Vec::new(), Vec::new(), left_out);
        };
        let rows = parts.iter().zip(row_counts(&parts, options)).enumerate();
        let rows = rows.flat_map(|(segment, (&Part { target, range, .. }, count))| {
            let edges = edges::rows(range, count, self.edges.get(&target));
            let row =
                move |at: &[u64]| Row { target, segment, range: AddrRange::new(at[0], at[1]) };
            edges.windows(2).map(row).collect::<Vec<_>>()
        });
        (columns(from, to, options.columns), rows.collect(), left_out)
    }

    /// The parts that are shown, and what is not.
    fn parts(&self, options: &HeatmapOptions) -> (Vec<Part>, LeftOut) {
        let most = self.coverage.values().map(Coverage::bytes).max().unwrap_or(0);
        let is_large = |(_, coverage): &(_, &Coverage)| coverage.bytes() >= most / SMALL_TARGET;
        let (large, small): (Vec<_>, Vec<_>) = self.coverage.iter().partition(is_large);
        let are_few = || parts(&small, options.rows).len() <= FEW_PARTS;
        let (shown, targets) = match options.small_targets || are_few() {
            true => (self.coverage.iter().collect(), 0),
            false => (large, small.len()),
        };
        let all = parts(&shown, options.rows);
        let left_out = LeftOut { parts: all.len().saturating_sub(options.most_segments), targets };
        (largest(all, options.most_segments), left_out)
    }
}

/// What these targets cover, without the large gaps. When that leaves more parts
/// than `rows` can show side by side, the largest gaps go first.
fn parts(targets: &[(&TargetId, &Coverage)], rows: usize) -> Vec<Part> {
    let covered = targets.iter().map(|(_, coverage)| coverage.bytes()).fold(0, u64::saturating_add);
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for &(&id, coverage) in targets {
        let gaps = coverage.gaps().filter(|gap| gap.len() > covered / LARGE_GAP);
        let mut gaps: Vec<_> = gaps.map(|gap| (id, gap)).collect();
        gaps.sort_by_key(|(_, gap)| Reverse(gap.len()));
        others.extend(gaps.split_off(gaps.len().min(GAPS_OF_EACH)));
        first.append(&mut gaps);
    }
    others.sort_by_key(|(_, gap)| Reverse(gap.len()));
    let room = (rows / 8).max(6).saturating_sub(targets.len());
    others.truncate(room.saturating_sub(first.len()));
    let large: BTreeSet<_> = first.into_iter().chain(others).collect();
    let of_target = |&(&target, coverage): &(&TargetId, &Coverage)| {
        let part = |range| Part {
            target,
            range,
            covered: coverage.within(range).map(|part| part.len()).sum(),
        };
        let ranges = coverage.closed(|gap| large.contains(&(target, *gap)));
        ranges.into_iter().map(part).collect::<Vec<_>>()
    };
    targets.iter().flat_map(of_target).collect()
}

/// So many of them at most, the largest, in their order.
fn largest(mut parts: Vec<Part>, most: usize) -> Vec<Part> {
    if parts.len() > most {
        parts.sort_by_key(|part| Reverse(part.covered));
        parts.truncate(most);
        parts.sort_by_key(|part| (part.target, part.range.start));
    }
    parts
}

/// How many rows each part gets: one for each page where there are few pages, else
/// its share.
fn row_counts(parts: &[Part], options: &HeatmapOptions) -> Vec<usize> {
    let pages = parts.iter().map(|part| edges::pages(part.range));
    match pages.clone().fold(0, u64::saturating_add) {
        few if few <= options.page_rows as u64 => pages.map(|pages| pages as usize).collect(),
        _ => shares(parts, options.rows),
    }
}

/// How many of `rows` rows each part gets: the least each, and the rest by what is covered.
fn shares(parts: &[Part], rows: usize) -> Vec<usize> {
    let least = (rows / SMALL_SEGMENT).max(1);
    let rest = rows.saturating_sub(least * parts.len()) as u128;
    let total: u128 = parts.iter().map(|part| u128::from(part.covered)).sum();
    let mut below = 0;
    let share = |part: &Part| {
        let upto = below + u128::from(part.covered);
        let rows = upto * rest / total - below * rest / total;
        below = upto;
        least + rows as usize
    };
    parts.iter().map(share).collect()
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

    fn part(start: u64, end: u64) -> Part {
        let range = AddrRange::new(start, end);
        Part { target: TargetId(0), range, covered: range.len() }
    }

    #[test]
    fn all_rows_are_given_out() {
        let mut parts = [part(0, 1000), part(5000, 5001), part(9000, 9500)];
        assert_eq!(shares(&parts, 40), [25, 1, 14]);
        assert_eq!(shares(&parts, 2), [1, 1, 1]);
        parts[0].covered = 1;
        assert_eq!(shares(&parts, 40), [1, 1, 38], "holes get no rows");
    }

    #[test]
    fn of_too_many_parts_the_largest_are_left() {
        let size = |index: u64| if index == 700 { 1 } else { 2 };
        let all = (0..1001).map(|index| part(index * 10, index * 10 + size(index)));
        let left = largest(all.clone().collect(), 1000);
        assert!(left.iter().copied().eq(all.filter(|part| part.covered == 2)));
    }

    #[test]
    fn edges_are_exact_and_never_the_same() {
        assert_eq!(columns(0, 10, 4), [0, 2, 5, 7, 10]);
        assert_eq!(columns(7, 9, 100), [7, 8, 9]);
        assert_eq!(columns(0, u64::MAX, 2), [0, u64::MAX / 2, u64::MAX]);
    }
}
