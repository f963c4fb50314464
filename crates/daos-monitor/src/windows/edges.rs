//! Edges: where neighbouring cells differ, narrowed down to the page.

use super::cell::Cell;
use super::mesh::{FINE, HUGE_PAGES, Mesh, pieces};
use super::segment;
use daos_core::access::PageBits;
use daos_core::addr::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};

/// Into how many parts a wider gap between two probes is cut.
const PARTS: u64 = 4;
/// Rates that differ by less are not worth finding the edge between.
const MATERIAL: f64 = 0.15;

impl Mesh {
    /// Whether there is an edge between `cells[at]` and the one before it that is worth
    /// knowing exactly.
    pub fn is_edge(&self, at: usize) -> bool {
        if !self.touches(at) {
            return false;
        }
        let (left, right) = (&self.cells[at - 1], &self.cells[at]);
        let is_open = |cell: &Cell| cell.fresh || cell.void || cell.mapped;
        !is_open(left)
            && !is_open(right)
            && (left.evidence.rate() - right.evidence.rate()).abs() >= MATERIAL
            && left.evidence.differs(&right.evidence)
    }

    /// Whether somebody looks for an edge on either side of `cells[at]`: then its probe
    /// is what was found out so far.
    pub fn is_searched(&self, at: usize) -> bool {
        self.is_open(at) || (at + 1 < self.cells.len() && self.is_open(at + 1))
    }

    /// Whether it is not known yet where the edge on the left of `cells[at]` is, if any.
    pub fn is_open(&self, at: usize) -> bool {
        self.touches(at)
            && (self.cells[at - 1].fresh
                || self.cells[at].fresh
                || (self.cells[at].edge_seen == 0 && self.is_edge(at)))
    }

    /// Looks for edges that lie somewhere between two probes: puts fresh cells into the
    /// gap, at most `most` in total. Returns how many it put there.
    pub fn refine(&mut self, most: usize, interval: u64) -> usize {
        let mut put = 0;
        let mut cells: Vec<Cell> = Vec::new();
        let mut copied = 0;
        for at in 1..self.cells.len() {
            let (left, right) = (&self.cells[at - 1], &self.cells[at]);
            let known = right.edge_seen > 0 || left.mapped || right.mapped;
            if known || left.fresh || right.fresh || !self.touches(at) {
                continue;
            }
            let huge = left.huge && right.huge;
            let gap = gap(left.probe.end, right.probe.start, huge);
            if gap.is_empty() {
                if huge && self.is_edge(at) {
                    self.set_edge(at, gap.start);
                }
                // Whether there is an edge or not, it can't be anywhere else.
                self.cells[at].edge_seen = interval;
                continue;
            }
            if !self.is_edge(at) {
                continue;
            }
            let parts = match gap.pages() {
                ..=FINE => 1,
                pages if huge => (pages / HUGE_PAGES).min(PARTS),
                _ => PARTS,
            };
            if put + parts as usize > most {
                break;
            }
            put += parts as usize;
            cells.extend_from_slice(&self.cells[copied..at]);
            copied = at;
            let boundary = self.cells[at].range.start;
            if let Some(left) = cells.last_mut() {
                left.range.end = gap.start;
            }
            self.cells[at].range.start = gap.end;
            let unit = if huge && gap.pages() > FINE { HUGE_PAGES } else { 1 };
            for range in pieces(gap, parts, unit) {
                let parent =
                    if range.start < boundary { &self.cells[at - 1] } else { &self.cells[at] };
                let mut piece = parent.part(range);
                piece.centre_probe(if parts == 1 { FINE } else { 8 });
                cells.push(piece);
            }
        }
        if put > 0 {
            cells.extend_from_slice(&self.cells[copied..]);
            self.cells = cells;
            debug_assert!(self.is_sound());
        }
        put
    }

    /// Moves the edge on the left of `cells[at]` to where `bits` of the pages `seen` show
    /// it, each of which is worth `weight` trials, or forgets where it is when it is not
    /// among them. Chance moves nothing.
    pub fn settle_edge(
        &mut self,
        at: usize,
        seen: AddrRange,
        bits: &PageBits,
        weight: f64,
        interval: u64,
    ) {
        let (left, right) = (&self.cells[at - 1], &self.cells[at]);
        let pages = seen.pages() as u32;
        let edge = right.range.start;
        let expected = ((edge - seen.start) / PAGE_SIZE) as u32;
        let rates = (left.evidence.rate(), right.evidence.rate());
        let cut = segment::best_cut(bits, pages, rates, expected, weight);
        let moved = seen.start + u64::from(cut) * PAGE_SIZE;
        let found = 0 < cut && cut < pages;
        let room = left.range.start < moved && moved < right.range.end;
        if cut.abs_diff(expected) <= 1 {
            self.cells[at].edge_seen = interval;
        } else if room {
            let (left, right) =
                (AddrRange::new(left.range.start, moved), AddrRange::new(moved, right.range.end));
            let (left_probe, right_probe) = if cut == 0 {
                // All of it is like the right: the edge is left of here.
                (None, Some(seen))
            } else if found {
                (None, None)
            } else {
                (Some(seen), None)
            };
            self.move_edge(at, left, right, left_probe, right_probe);
            self.cells[at].edge_seen = if found { interval } else { 0 };
        } else {
            self.cells[at].edge_seen = 0;
        }
    }

    /// Puts the edge on the left of `cells[at]` there, if both probes allow it.
    fn set_edge(&mut self, at: usize, edge: u64) {
        let (left, right) = (self.cells[at - 1].probe, self.cells[at].probe);
        if left.end <= edge && edge <= right.start {
            self.cells[at - 1].range.end = edge;
            self.cells[at].range.start = edge;
        }
    }

    fn move_edge(
        &mut self,
        at: usize,
        left: AddrRange,
        right: AddrRange,
        left_probe: Option<AddrRange>,
        right_probe: Option<AddrRange>,
    ) {
        for (at, range, probe) in [(at - 1, left, left_probe), (at, right, right_probe)] {
            let cell = &mut self.cells[at];
            cell.range = range;
            let inside = |r: AddrRange| r.intersect(&range) == Some(r);
            if let Some(probe) = probe.filter(|p| inside(*p)) {
                cell.set_probe(probe.start, probe.pages());
            } else if !inside(cell.probe) {
                cell.centre_probe(cell.probe.pages().min(8));
            }
        }
    }
}

/// Where an edge can be between a probe that ends at `start` and one that begins at
/// `end`. It is empty where there is one place only, its start.
fn gap(start: u64, end: u64, huge: bool) -> AddrRange {
    let gap = AddrRange::new(start, end);
    if huge { gap.whole_blocks(HUGE_PAGE_SIZE) } else { gap }
}
