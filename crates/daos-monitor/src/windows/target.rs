//! The subregions of one target.

use super::page_map::{PageMaps, WINDOW};
use super::subregion::Subregion;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, TargetId};

/// An edge that lies somewhere among so few pages is looked for in all of them at once.
/// Measured: a window of 64 pages costs 40 % more to read than one of a single page.
pub(super) const EDGE_PAGES: u64 = 64;
/// Aggregation intervals for which an edge is remembered after it has gone. Chosen: a minute
/// by default.
const EDGE_REMEMBERED: u64 = 600;
/// Size of a huge page in pages.
pub(super) const HUGE_PAGES: u64 = HUGE_PAGE_SIZE / PAGE_SIZE;

/// Sorted, disjoint subregions that cover what a target has mapped.
#[derive(Debug, Clone)]
pub(super) struct TargetSubregions {
    pub id: TargetId,
    pub resident_bytes: Option<u64>,
    pub subregions: Vec<Subregion>,
    /// What is mapped: the subregions were fitted to it.
    ranges: Vec<AddrRange>,
    /// What is known page by page.
    pub maps: PageMaps,
}

impl TargetSubregions {
    pub fn new(id: TargetId) -> Self {
        Self {
            id,
            resident_bytes: None,
            subregions: Vec::new(),
            ranges: Vec::new(),
            maps: PageMaps::default(),
        }
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(AddrRange::len).sum()
    }

    /// The subregion around `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let at = self.subregions.partition_point(|c| c.range.end <= address);
        self.subregions.get(at).filter(|c| c.range.contains(address)).map(|_| at)
    }

    /// The part of a window that is mapped, if that is one part.
    pub fn mapped_part(&self, window: u64) -> Option<AddrRange> {
        let end = window.checked_add(1)?.checked_mul(WINDOW)?;
        let whole = AddrRange::new(end - WINDOW, end);
        let first = self.ranges.partition_point(|r| r.end <= whole.start);
        self.ranges.get(first)?.intersect(&whole)
    }

    /// `range` from its first subregion's start, or its own, to its last subregion's end.
    pub fn without_gaps_at_ends(&self, range: AddrRange) -> Option<AddrRange> {
        let first = self.subregions.partition_point(|c| c.range.end <= range.start);
        let behind = self.subregions.partition_point(|c| c.range.start < range.end);
        let subregions = self.subregions.get(first..behind)?;
        let (first, last) = (subregions.first()?.range, subregions.last()?.range);
        Some(AddrRange::new(range.start.max(first.start), range.end.min(last.end)))
    }

    /// Makes `subregions[at]` and its neighbours due: what befell it may have befallen them.
    pub fn make_due_around(&mut self, at: usize, interval: u64) {
        let end = (at + 2).min(self.subregions.len());
        for subregion in &mut self.subregions[at.saturating_sub(1)..end] {
            subregion.due = subregion.due.min(interval);
        }
    }

    /// Forgets maps of what is not mapped any more. A subregion that was known by them has
    /// to be sampled again.
    fn keep_maps(&mut self) {
        self.maps.keep(&self.ranges);
        for subregion in self.subregions.iter_mut().filter(|c| c.has_page_map) {
            if !self.maps.covers(subregion.range) {
                (subregion.has_page_map, subregion.unsure, subregion.due) = (false, true, 0);
                subregion.centre_probe(8);
            }
        }
    }

    /// Puts a subregion in the place of whatever it covers.
    pub fn replace_with(&mut self, piece: Subregion) {
        let first = self.subregions.partition_point(|c| c.range.end <= piece.range.start);
        let last = self.subregions.partition_point(|c| c.range.start < piece.range.end);
        let Some((left, right)) =
            self.subregions[first..last].first().zip(self.subregions[first..last].last())
        else {
            return;
        };
        let mut subregions = Vec::with_capacity(3);
        if left.range.start < piece.range.start {
            let mut part = *left;
            part.clip(AddrRange::new(left.range.start, piece.range.start));
            subregions.push(part);
        }
        subregions.push(piece);
        if piece.range.end < right.range.end {
            let mut part = *right;
            part.clip(AddrRange::new(piece.range.end, right.range.end));
            subregions.push(part);
        }
        self.subregions.splice(first..last, subregions);
        debug_assert!(self.is_sound());
    }

    /// Whether `subregions[at]` and the one before it touch.
    pub fn touches(&self, at: usize) -> bool {
        at > 0 && self.subregions[at - 1].range.end == self.subregions[at].range.start
    }

    /// Fits the subregions to what is mapped now: cuts and drops what left, fills what is new.
    pub fn fit(&mut self, ranges: Vec<AddrRange>, now_us: u64) {
        if ranges == self.ranges {
            return;
        }
        let mut fitted = Vec::with_capacity(self.subregions.len() + 16);
        let mut rest = self.subregions.as_slice();
        for range in &ranges {
            rest = &rest[rest.partition_point(|c| c.range.end <= range.start)..];
            let mut covered = range.start;
            for subregion in rest.iter().take_while(|c| c.range.start < range.end) {
                let mut subregion = *subregion;
                subregion.clip(*range);
                if covered < subregion.range.start {
                    fitted.push(Subregion::new(
                        AddrRange::new(covered, subregion.range.start),
                        now_us,
                    ));
                }
                covered = subregion.range.end;
                fitted.push(subregion);
            }
            if covered < range.end {
                fitted.push(Subregion::new(AddrRange::new(covered, range.end), now_us));
            }
        }
        self.subregions = fitted;
        self.ranges = ranges;
        self.keep_maps();
    }

    /// Splits subregions larger than `limit` bytes into equal parts that are not, while
    /// there are fewer than `most`.
    pub fn split_large(&mut self, limit: u64, most: usize) {
        let limit = (limit / PAGE_SIZE).max(1);
        let whole = |c: &Subregion| c.absent || c.has_page_map;
        if self.subregions.iter().all(|c| whole(c) || c.range.pages() <= limit) {
            return;
        }
        let mut room = most.saturating_sub(self.subregions.len()) as u64;
        let mut cut = Vec::with_capacity(self.subregions.len() + 64);
        for subregion in &self.subregions {
            let pages = subregion.range.pages();
            let parts = if whole(subregion) { 1 } else { pages.div_ceil(limit).min(room + 1) };
            room -= parts - 1;
            if parts == 1 {
                cut.push(*subregion);
            } else {
                cut.extend(pieces(subregion.range, parts, 1).map(|range| subregion.part(range)));
            }
        }
        self.subregions = cut;
    }

    /// Puts pieces in the place of what they cover; what is known of the rest stays. A
    /// piece that lies in several subregions, as when others were moved meanwhile, is cut.
    pub fn split_out(&mut self, mut pieces: Vec<Subregion>) {
        if pieces.is_empty() {
            return;
        }
        pieces.sort_unstable_by_key(|p| p.range.start);
        pieces.dedup_by(|next, left| next.range.start < left.range.end);
        let mut split_out = Vec::with_capacity(self.subregions.len() + 2 * pieces.len());
        let mut pieces = pieces.into_iter().peekable();
        for subregion in &self.subregions {
            let mut start = subregion.range.start;
            let rest = |start: u64, end: u64, split_out: &mut Vec<Subregion>| {
                let range = AddrRange::new(start, end);
                if !range.is_empty() {
                    let mut part = *subregion;
                    part.clip(range);
                    split_out.push(part);
                }
            };
            while let Some(mut piece) = pieces.next_if(|p| p.range.start < subregion.range.end) {
                let room = AddrRange::new(start, subregion.range.end);
                if piece.range.intersect(&room).is_none() {
                    continue;
                }
                piece.clip(room);
                rest(start, piece.range.start, &mut split_out);
                start = piece.range.end;
                split_out.push(piece);
            }
            rest(start, subregion.range.end, &mut split_out);
        }
        self.subregions = split_out;
        debug_assert!(self.is_sound());
    }

    /// Merges neighbours that are alike, up to `limit` bytes together, unless an edge is
    /// being looked for there, or there was one not long ago and there is
    /// `room`: memory that was used as one is likely to be used as one again.
    pub fn merge_alike(&mut self, limit: u64, (interval, now_us): (u64, u64), room: bool) {
        for at in 1..self.subregions.len() {
            if self.subregions[at].edge_seen > 0 && self.is_edge(at) {
                self.subregions[at].edge_remembered_until = interval + EDGE_REMEMBERED;
            }
        }
        let mut beside_open_edge = vec![false; self.subregions.len()];
        for at in 1..self.subregions.len() {
            if self.has_open_edge(at) {
                (beside_open_edge[at - 1], beside_open_edge[at]) = (true, true);
            }
        }
        let mut at = 0;
        let mut left_is_beside = beside_open_edge.first().copied().unwrap_or_default();
        self.subregions.dedup_by(|next, left| {
            at += 1;
            let remembered = room && next.edge_remembered_until > interval;
            let alike = left.range.end == next.range.start
                && left.range.len() + next.range.len() <= limit
                && !(remembered || left_is_beside || beside_open_edge[at])
                && !left.is_of_another_age(next, now_us)
                && left.absent == next.absent
                && left.has_page_map == next.has_page_map
                && (left.unobserved - next.unobserved).abs() <= 0.5
                && left.estimate.is_like(&next.estimate);
            if alike {
                left.absorb(next);
            } else {
                left_is_beside = beside_open_edge[at];
            }
            alike
        });
    }

    pub(super) fn is_sound(&self) -> bool {
        self.subregions
            .iter()
            .all(|c| !c.range.is_empty() && c.probe.intersect(&c.range) == Some(c.probe))
            && self.subregions.windows(2).all(|w| w[0].range.end <= w[1].range.start)
    }
}

/// `range` in `parts` equal parts of whole units of so many pages, as far as there are
/// enough of them.
pub(super) fn pieces(range: AddrRange, parts: u64, unit: u64) -> impl Iterator<Item = AddrRange> {
    let units = range.pages() / unit;
    let parts = parts.min(units).max(1);
    let at = move |part: u64| range.start + units * part / parts * unit * PAGE_SIZE;
    (0..parts).map(move |part| AddrRange::new(at(part), at(part + 1)))
}
