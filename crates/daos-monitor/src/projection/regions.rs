//! From segments of page frames to regions, and runs of pages in those that are mixed.

use super::segments::{Coarseness, Segment, Sums};
use crate::fitting::{pieces, slacks};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PageRun, RegionSnapshot};

/// Rates that differ by no more than this share of the higher one are alike, where frames differ.
/// Chosen: as the windows monitor has it.
const ALIKE: f64 = 0.25;

/// Neighbouring segments that are taken for one region.
#[derive(Debug, Clone, Copy)]
struct Group {
    range: AddrRange,
    /// How many segments.
    len: usize,
    sums: Sums,
    /// Of its only one, or of its first.
    first: Segment,
}

impl Group {
    fn of(segment: &Segment) -> Self {
        Self { range: segment.range, len: 1, sums: segment.sums, first: *segment }
    }

    fn absorb(&mut self, next: &Self) {
        self.range.end = next.range.end;
        self.len += next.len;
        self.sums.add(&next.sums);
    }

    fn is_mixed(&self) -> bool {
        self.len > 1
    }

    fn rate(&self) -> f64 {
        self.sums.rate_over(self.range.pages() as f64)
    }

    fn is_like(&self, next: &Self, slack: f64) -> bool {
        let (one, other) = (self.rate(), next.rate());
        let off = (one - other).abs();
        let hidden = |group: &Self| group.sums.unobserved_over(group.range.pages() as f64);
        if slack < 1.0 && (hidden(self) - hidden(next)).abs() > 0.5 {
            return false;
        }
        match (self.is_mixed(), next.is_mixed()) {
            _ if slack > 0.0 => off <= slack,
            (true, true) => off <= ALIKE * one.max(other),
            (false, false) => {
                Coarseness::default().kinds_are_alike(self.first.kind, next.first.kind)
            }
            _ => false,
        }
    }
}

/// At least and at most so many regions of `segments`, as a rule, and runs of pages where regions
/// are of several segments.
pub(super) fn regions(
    segments: &[Segment],
    (min, max): (usize, usize),
    now_us: u64,
) -> (Vec<RegionSnapshot>, Vec<PageRun>) {
    let mut groups = groups(segments, max);
    for (slack, gap) in slacks() {
        if groups.len() <= max {
            break;
        }
        join(&mut groups, slack, gap);
    }
    let pages: u64 = groups.iter().map(|group| group.range.pages()).sum();
    let limit = (pages / min.max(1) as u64).max(1);
    let mut room = max.saturating_sub(groups.len()) as u64;
    let (mut regions, mut runs) = (Vec::new(), Vec::new());
    let mut rest = segments;
    for group in &groups {
        let (these, behind) = rest.split_at(group.len);
        rest = behind;
        if group.is_mixed() {
            append_runs(these, now_us, &mut runs);
        }
        let all = group.range.pages() as f64;
        let region = RegionSnapshot {
            range: group.range,
            access_rate: group.rate(),
            unobserved: group.sums.unobserved_over(all),
            age_us: group.sums.age_us(now_us),
        };
        let parts = group.range.pages().div_ceil(limit).min(room + 1);
        room -= parts - 1;
        regions.extend(pieces(group.range, parts).map(|range| RegionSnapshot { range, ..region }));
    }
    (regions, runs)
}

/// The segments; of more than `max`, small ones in the same 2 MiB are one group.
fn groups(segments: &[Segment], max: usize) -> Vec<Group> {
    if segments.len() <= max {
        return segments.iter().map(Group::of).collect();
    }
    let mut groups: Vec<Group> = Vec::new();
    for segment in segments {
        let next = Group::of(segment);
        let block = |range: AddrRange| range.start / HUGE_PAGE_SIZE;
        let is_large = |group: &Group| !group.is_mixed() && group.range.len() >= HUGE_PAGE_SIZE;
        match groups.last_mut() {
            Some(last)
                if last.range.end == next.range.start
                    && block(last.range) == block(next.range)
                    && !is_large(last)
                    && !is_large(&next) =>
            {
                last.absorb(&next);
            }
            _ => groups.push(next),
        }
    }
    groups
}

/// Joins neighbours that are alike, over gaps of up to `gap` bytes.
fn join(groups: &mut Vec<Group>, slack: f64, gap: u64) {
    groups.dedup_by(|next, left| {
        let alike = next.range.start - left.range.end <= gap && left.is_like(next, slack);
        if alike {
            left.absorb(next);
        }
        alike
    });
}

/// What segments of a region say of its pages. What lies between them is nobody's.
fn append_runs(segments: &[Segment], now_us: u64, runs: &mut Vec<PageRun>) {
    let mut end = segments.first().map_or(0, |first| first.range.start);
    for segment in segments {
        if end < segment.range.start {
            let range = AddrRange::new(end, segment.range.start);
            runs.push(PageRun { range, access_rate: 0.0, age_us: now_us });
        }
        end = segment.range.end;
        if segment.is_unobserved() {
            continue;
        }
        let access_rate = segment.sums.rate_over(segment.range.pages() as f64);
        let age_us = if access_rate > 0.0 { 0 } else { segment.sums.age_us(now_us) };
        runs.push(PageRun { range: segment.range, access_rate, age_us });
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Kind;
    use super::super::segments::Segments;
    use super::*;
    use daos_core::{PAGE_SIZE, Part, TargetSnapshot};

    const NOW_US: u64 = 100_000_000;

    fn segments(frames: impl Iterator<Item = (u64, u64, f64)>) -> Vec<Segment> {
        let mut segments = Segments::default();
        for (start, end, access_rate) in frames {
            let range = AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE);
            let part = Part {
                range,
                access_rate,
                unobserved: 0.0,
                age_us: 10_000_000,
                alike_bytes: 0,
                is_run: true,
            };
            let kind = Kind::of(&part);
            let mut of_a_page = vec![Sums::default(); 256];
            of_a_page[usize::from(kind.0)] = Sums::of(&part, 1, NOW_US);
            segments.push(range.start, &vec![kind; range.pages() as usize], &of_a_page);
        }
        segments.all
    }

    fn target(segments: &[Segment], max: usize) -> TargetSnapshot {
        let (regions, runs) = regions(segments, (1, max), NOW_US);
        TargetSnapshot { regions, pages: runs.into(), ..TargetSnapshot::default() }
    }

    #[test]
    fn a_few_are_regions_themselves_and_there_are_as_many_as_there_must_be() {
        let few = segments([(0, 512, 0.0), (512, 1024, 0.5), (4096, 4100, 0.0)].into_iter());
        let told = target(&few, 10);
        let list: Vec<_> =
            told.regions.iter().map(|r| (r.range.pages(), r.access_rate, r.age_us)).collect();
        assert_eq!(list, [(512, 0.0, 10_000_000), (512, 0.5, 10_000_000), (4, 0.0, 10_000_000)]);
        assert!(told.pages.is_empty());
        let (regions, _) = regions(&few, (10, 100), NOW_US);
        assert!((10..=13).contains(&regions.len()), "{}", regions.len());
        assert!(regions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
    }

    #[test]
    fn scattered_pages_are_told_one_by_one_in_few_regions() {
        // Every eighth page of 64 blocks is used; a block in eight is nobody's, one idle.
        let used = |page: u64| page.is_multiple_of(8) && page / 512 % 8 != 5;
        let pages = (0..64 * 512).filter(|page| page / 512 % 8 != 3);
        let scattered = segments(pages.map(|p| (p, p + 1, if used(p) { 0.5 } else { 0.0 })));
        let told = target(&scattered, 20);
        assert!((2..=20).contains(&told.regions.len()), "{}", told.regions.len());
        let mut found = 0;
        for part in told.parts() {
            for page in part.range.start / PAGE_SIZE..part.range.end / PAGE_SIZE {
                let is_used = used(page) && page / 512 % 8 != 3;
                assert_eq!(part.access_rate > 0.0, is_used, "{page} of {part:?}");
                found += u64::from(is_used);
            }
        }
        assert_eq!(found, 48 * 64);
        let bytes: f64 = told.regions.iter().map(|r| r.access_rate * r.range.pages() as f64).sum();
        assert!((bytes - 0.5 * found as f64).abs() < 1.0, "{bytes}");
    }
}
