//! The cells of one target.

use super::cell::Cell;
use super::pages::{PageMaps, WINDOW};
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use daos_core::target::TargetId;

/// An edge that lies somewhere among so few pages is looked for in all of them at once.
pub(super) const FINE: u64 = 64;
/// Aggregation intervals for which an edge is remembered after it has gone.
const EDGE_REMEMBERED: u64 = 600;
/// Size of a huge page in pages.
pub(super) const HUGE_PAGES: u64 = HUGE_PAGE_SIZE / PAGE_SIZE;

/// Sorted, disjoint cells that cover what a target has mapped.
#[derive(Debug, Clone)]
pub(super) struct Mesh {
    pub id: TargetId,
    pub resident_bytes: Option<u64>,
    pub cells: Vec<Cell>,
    /// What is mapped: the cells were fitted to it.
    ranges: Vec<AddrRange>,
    /// What is known page by page.
    pub maps: PageMaps,
}

impl Mesh {
    pub fn new(id: TargetId) -> Self {
        Self {
            id,
            resident_bytes: None,
            cells: Vec::new(),
            ranges: Vec::new(),
            maps: PageMaps::default(),
        }
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(AddrRange::len).sum()
    }

    /// The cell around `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let at = self.cells.partition_point(|c| c.range.end <= address);
        self.cells.get(at).filter(|c| c.range.contains(address)).map(|_| at)
    }

    /// The part of a window that is mapped, if that is one part.
    pub fn mapped_part(&self, window: u64) -> Option<AddrRange> {
        let end = window.checked_add(1)?.checked_mul(WINDOW)?;
        let whole = AddrRange::new(end - WINDOW, end);
        let first = self.ranges.partition_point(|r| r.end <= whole.start);
        self.ranges.get(first)?.intersect(&whole)
    }

    /// `range` from its first cell's start, or its own, to its last cell's end.
    pub fn without_gaps_at_ends(&self, range: AddrRange) -> Option<AddrRange> {
        let first = self.cells.partition_point(|c| c.range.end <= range.start);
        let behind = self.cells.partition_point(|c| c.range.start < range.end);
        let cells = self.cells.get(first..behind)?;
        let (first, last) = (cells.first()?.range, cells.last()?.range);
        Some(AddrRange::new(range.start.max(first.start), range.end.min(last.end)))
    }

    /// Makes `cells[at]` and its neighbours due: what befell it may have befallen them.
    pub fn wake_around(&mut self, at: usize, interval: u64) {
        let end = (at + 2).min(self.cells.len());
        for cell in &mut self.cells[at.saturating_sub(1)..end] {
            cell.due = cell.due.min(interval);
        }
    }

    /// Forgets maps of what is not mapped any more. A cell that was known by them has to be
    /// looked at again.
    fn keep_maps(&mut self) {
        self.maps.keep(&self.ranges);
        for cell in self.cells.iter_mut().filter(|c| c.mapped) {
            if !self.maps.covers(cell.range) {
                (cell.mapped, cell.fresh, cell.due) = (false, true, 0);
                cell.centre_probe(8);
            }
        }
    }

    /// Puts a cell in the place of whatever it covers.
    pub fn overwrite(&mut self, piece: Cell) {
        let first = self.cells.partition_point(|c| c.range.end <= piece.range.start);
        let last = self.cells.partition_point(|c| c.range.start < piece.range.end);
        let Some((left, right)) =
            self.cells[first..last].first().zip(self.cells[first..last].last())
        else {
            return;
        };
        let mut cells = Vec::with_capacity(3);
        if left.range.start < piece.range.start {
            let mut part = *left;
            part.clip(AddrRange::new(left.range.start, piece.range.start));
            cells.push(part);
        }
        cells.push(piece);
        if piece.range.end < right.range.end {
            let mut part = *right;
            part.clip(AddrRange::new(piece.range.end, right.range.end));
            cells.push(part);
        }
        self.cells.splice(first..last, cells);
        debug_assert!(self.is_sound());
    }

    /// Whether `cells[at]` and the one before it touch.
    pub fn touches(&self, at: usize) -> bool {
        at > 0 && self.cells[at - 1].range.end == self.cells[at].range.start
    }

    /// Fits the cells to what is mapped now: cuts and drops what left, fills what is new.
    pub fn fit(&mut self, ranges: Vec<AddrRange>, now_us: u64) {
        if ranges == self.ranges {
            return;
        }
        let mut fitted = Vec::with_capacity(self.cells.len() + 16);
        let mut rest = self.cells.as_slice();
        for range in &ranges {
            rest = &rest[rest.partition_point(|c| c.range.end <= range.start)..];
            let mut covered = range.start;
            for cell in rest.iter().take_while(|c| c.range.start < range.end) {
                let mut cell = *cell;
                cell.clip(*range);
                if covered < cell.range.start {
                    fitted.push(Cell::new(AddrRange::new(covered, cell.range.start), now_us));
                }
                covered = cell.range.end;
                fitted.push(cell);
            }
            if covered < range.end {
                fitted.push(Cell::new(AddrRange::new(covered, range.end), now_us));
            }
        }
        self.cells = fitted;
        self.ranges = ranges;
        self.keep_maps();
    }

    /// Cuts cells larger than `limit` bytes into equal parts that are not, while there
    /// are fewer than `most`.
    pub fn cut_large(&mut self, limit: u64, most: usize) {
        let limit = (limit / PAGE_SIZE).max(1);
        let whole = |c: &Cell| c.void || c.mapped;
        if self.cells.iter().all(|c| whole(c) || c.range.pages() <= limit) {
            return;
        }
        let mut room = most.saturating_sub(self.cells.len()) as u64;
        let mut cut = Vec::with_capacity(self.cells.len() + 64);
        for cell in &self.cells {
            let pages = cell.range.pages();
            let parts = if whole(cell) { 1 } else { pages.div_ceil(limit).min(room + 1) };
            room -= parts - 1;
            if parts == 1 {
                cut.push(*cell);
            } else {
                cut.extend(pieces(cell.range, parts, 1).map(|range| cell.part(range)));
            }
        }
        self.cells = cut;
    }

    /// Puts pieces in the place of what they cover; what is known of the rest stays. A
    /// piece that lies in several cells, as when others were moved meanwhile, is cut.
    pub fn carve(&mut self, mut pieces: Vec<Cell>) {
        if pieces.is_empty() {
            return;
        }
        pieces.sort_unstable_by_key(|p| p.range.start);
        pieces.dedup_by(|next, left| next.range.start < left.range.end);
        let mut carved = Vec::with_capacity(self.cells.len() + 2 * pieces.len());
        let mut pieces = pieces.into_iter().peekable();
        for cell in &self.cells {
            let mut start = cell.range.start;
            let rest = |start: u64, end: u64, carved: &mut Vec<Cell>| {
                let range = AddrRange::new(start, end);
                if !range.is_empty() {
                    let mut part = *cell;
                    part.clip(range);
                    carved.push(part);
                }
            };
            while let Some(mut piece) = pieces.next_if(|p| p.range.start < cell.range.end) {
                let room = AddrRange::new(start, cell.range.end);
                if piece.range.intersect(&room).is_none() {
                    continue;
                }
                piece.clip(room);
                rest(start, piece.range.start, &mut carved);
                start = piece.range.end;
                carved.push(piece);
            }
            rest(start, cell.range.end, &mut carved);
        }
        self.cells = carved;
        debug_assert!(self.is_sound());
    }

    /// Takes neighbours that are alike for one, up to `limit` bytes together, unless
    /// somebody looks for an edge there, or there was one not long ago and there is
    /// `room`: memory that was used as one is likely to be used as one again.
    pub fn merge_alike(&mut self, limit: u64, (interval, now_us): (u64, u64), room: bool) {
        for at in 1..self.cells.len() {
            if self.cells[at].edge_seen > 0 && self.is_edge(at) {
                self.cells[at].edge_until = interval + EDGE_REMEMBERED;
            }
        }
        let mut searched = vec![false; self.cells.len()];
        for at in 1..self.cells.len() {
            if self.is_open(at) {
                (searched[at - 1], searched[at]) = (true, true);
            }
        }
        let mut at = 0;
        let mut left_is_searched = searched.first().copied().unwrap_or_default();
        self.cells.dedup_by(|next, left| {
            at += 1;
            let remembered = room && next.edge_until > interval;
            let alike = left.range.end == next.range.start
                && left.range.len() + next.range.len() <= limit
                && !(remembered || left_is_searched || searched[at])
                && !left.is_of_another_age(next, now_us)
                && left.void == next.void
                && left.mapped == next.mapped
                && (left.unobserved - next.unobserved).abs() <= 0.5
                && left.evidence.is_like(&next.evidence);
            if alike {
                left.absorb(next);
            } else {
                left_is_searched = searched[at];
            }
            alike
        });
    }

    pub(super) fn is_sound(&self) -> bool {
        self.cells
            .iter()
            .all(|c| !c.range.is_empty() && c.probe.intersect(&c.range) == Some(c.probe))
            && self.cells.windows(2).all(|w| w[0].range.end <= w[1].range.start)
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
