//! Edges: where neighbouring subregions differ, narrowed down to the page.

use super::segment;
use super::subregion::Subregion;
use super::target::{EDGE_PAGES, HUGE_PAGES, TargetSubregions, pieces};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, PageBits};

/// How many parts a wide gap between two probes is split into. Chosen: two rounds narrow an
/// edge down to a sixteenth.
const GAP_PARTS: u64 = 4;
/// Rates that differ by less are not worth finding the edge between. Chosen: less than what
/// tells hot memory from idle.
const EDGE_RATE: f64 = 0.15;

impl TargetSubregions {
    /// Whether there is an edge between `subregions[at]` and the one before it that is worth
    /// knowing exactly.
    pub fn is_edge(&self, at: usize) -> bool {
        if !self.touches(at) {
            return false;
        }
        let (left, right) = (&self.subregions[at - 1], &self.subregions[at]);
        let has_open_edge =
            |subregion: &Subregion| subregion.unsure || subregion.absent || subregion.has_page_map;
        !has_open_edge(left)
            && !has_open_edge(right)
            && (left.estimate.rate() - right.estimate.rate()).abs() >= EDGE_RATE
            && left.estimate.differs(&right.estimate)
    }

    /// Whether an edge is being looked for on either side of `subregions[at]`: then its probe
    /// is what was found out so far.
    pub fn is_beside_open_edge(&self, at: usize) -> bool {
        self.has_open_edge(at) || (at + 1 < self.subregions.len() && self.has_open_edge(at + 1))
    }

    /// Whether it is not known yet where the edge on the left of `subregions[at]` is, if any.
    pub fn has_open_edge(&self, at: usize) -> bool {
        self.touches(at)
            && (self.subregions[at - 1].unsure
                || self.subregions[at].unsure
                || (self.subregions[at].edge_seen == 0 && self.is_edge(at)))
    }

    /// Splits where an edge lies somewhere between two probes: puts unsure subregions into
    /// the gap, at most `most` in total. Returns how many it put there.
    pub fn split_at_edges(&mut self, most: usize, interval: u64) -> usize {
        let mut put = 0;
        let mut subregions: Vec<Subregion> = Vec::new();
        let mut copied = 0;
        for at in 1..self.subregions.len() {
            let (left, right) = (&self.subregions[at - 1], &self.subregions[at]);
            let known = right.edge_seen > 0 || left.has_page_map || right.has_page_map;
            if known || left.unsure || right.unsure || !self.touches(at) {
                continue;
            }
            let huge = left.huge && right.huge;
            let gap = gap(left.probe.end, right.probe.start, huge);
            if gap.is_empty() {
                if huge && self.is_edge(at) {
                    self.set_edge(at, gap.start);
                }
                // Whether there is an edge or not, it can't be anywhere else.
                self.subregions[at].edge_seen = interval;
                continue;
            }
            if !self.is_edge(at) {
                continue;
            }
            let parts = match gap.pages() {
                ..=EDGE_PAGES => 1,
                pages if huge => (pages / HUGE_PAGES).min(GAP_PARTS),
                _ => GAP_PARTS,
            };
            if put + parts as usize > most {
                break;
            }
            put += parts as usize;
            subregions.extend_from_slice(&self.subregions[copied..at]);
            copied = at;
            let boundary = self.subregions[at].range.start;
            if let Some(left) = subregions.last_mut() {
                left.range.end = gap.start;
            }
            self.subregions[at].range.start = gap.end;
            let unit = if huge && gap.pages() > EDGE_PAGES { HUGE_PAGES } else { 1 };
            for range in pieces(gap, parts, unit) {
                let parent = if range.start < boundary {
                    &self.subregions[at - 1]
                } else {
                    &self.subregions[at]
                };
                let mut piece = parent.part(range);
                piece.centre_probe(if parts == 1 { EDGE_PAGES } else { 8 });
                subregions.push(piece);
            }
        }
        if put > 0 {
            subregions.extend_from_slice(&self.subregions[copied..]);
            self.subregions = subregions;
            debug_assert!(self.is_sound());
        }
        put
    }

    /// Moves the edge on the left of `subregions[at]` to where `bits` of the pages `seen` show
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
        let (left, right) = (&self.subregions[at - 1], &self.subregions[at]);
        let pages = seen.pages() as u32;
        let edge = right.range.start;
        let expected = ((edge - seen.start) / PAGE_SIZE) as u32;
        let rates = (left.estimate.rate(), right.estimate.rate());
        let cut = segment::best_cut(bits, pages, rates, expected, weight);
        let moved = seen.start + u64::from(cut) * PAGE_SIZE;
        let found = 0 < cut && cut < pages;
        let room = left.range.start < moved && moved < right.range.end;
        if cut.abs_diff(expected) <= 1 {
            self.subregions[at].edge_seen = interval;
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
            self.subregions[at].edge_seen = if found { interval } else { 0 };
        } else {
            self.subregions[at].edge_seen = 0;
        }
    }

    /// Puts the edge on the left of `subregions[at]` there, if both probes allow it.
    fn set_edge(&mut self, at: usize, edge: u64) {
        let (left, right) = (self.subregions[at - 1].probe, self.subregions[at].probe);
        if left.end <= edge && edge <= right.start {
            self.subregions[at - 1].range.end = edge;
            self.subregions[at].range.start = edge;
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
            let subregion = &mut self.subregions[at];
            subregion.range = range;
            let inside = |r: AddrRange| r.intersect(&range) == Some(r);
            if let Some(probe) = probe.filter(|p| inside(*p)) {
                subregion.set_probe(probe.start, probe.pages());
            } else if !inside(subregion.probe) {
                subregion.centre_probe(subregion.probe.pages().min(8));
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
