//! The subregions of one target.

use super::IDLE_PAGES;
use super::estimate::Estimate;
use super::growth::{GROWN, Growth};
use super::page_runs::TargetRuns;
use super::subregion::Subregion;
use super::survey::Survey;
use super::together::{LookAtAll, MostlySwept};
use crate::fitting::pieces;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, TargetId, WorkingSets};

/// What a look says of a sweep it says of this many subregions on each side, at most, if they are
/// near. Chosen: what is swept is some ten mebibytes and more.
const SWEPT_WITH: usize = 4;
/// And only of those whose access rates differ by less than this factor. Chosen: as for
/// [`SWEPT_WITH`].
const ABOUT: f64 = 3.0;

/// Sorted, disjoint subregions that cover what a target has mapped.
#[derive(Debug, Clone)]
pub(super) struct TargetSubregions {
    pub id: TargetId,
    pub resident_bytes: Option<u64>,
    pub subregions: Vec<Subregion>,
    /// What is mapped: the subregions were fitted to it.
    ranges: Vec<AddrRange>,
    /// When all that is mapped was read last; 0 before.
    listed_us: u64,
    pub runs: TargetRuns,
    /// How much of it is accessed within which time; `None` where regions tell as much.
    pub working_sets: Option<WorkingSets>,
    /// When that is to be added up anew.
    pub working_sets_due_us: u64,
    /// Whether most of its memory in use is swept.
    mostly_swept: MostlySwept,
    /// Places drawn evenly from all of it, where it is not known page by page.
    pub survey: Survey,
    /// From when on it may be planned to arm all of it at once.
    pub at_once_from_us: u64,
    /// How much of its memory was filled of late.
    pub growth: Growth,
}

impl TargetSubregions {
    pub fn new(id: TargetId) -> Self {
        Self {
            id,
            resident_bytes: None,
            subregions: Vec::new(),
            ranges: Vec::new(),
            listed_us: 0,
            runs: TargetRuns::default(),
            working_sets: None,
            working_sets_due_us: 0,
            mostly_swept: MostlySwept::default(),
            survey: Survey::default(),
            at_once_from_us: 0,
            growth: Growth::default(),
        }
    }

    /// Takes in how much of it is resident.
    pub fn set_resident(&mut self, bytes: Option<u64>, now_us: u64) {
        self.resident_bytes = bytes;
        if let Some(bytes) = bytes {
            self.growth.note(bytes, now_us);
        }
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(AddrRange::len).sum()
    }

    /// Page tables that map it.
    pub fn nr_tables(&self) -> u64 {
        self.ranges.iter().map(tables).sum()
    }

    /// Ranges that are mapped.
    pub fn nr_ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Whether all of `range` is mapped, in one piece.
    pub fn is_mapped(&self, range: AddrRange) -> bool {
        let at = self.ranges.partition_point(|r| r.end <= range.start);
        self.ranges.get(at).is_some_and(|r| r.intersect(&range) == Some(range))
    }

    /// The index of the subregion around `address`.
    pub fn find(&self, address: u64) -> Option<usize> {
        let at = self.subregions.partition_point(|c| c.range.end <= address);
        self.subregions.get(at).filter(|c| c.range.contains(address)).map(|_| at)
    }

    /// `range` from its first subregion's start, or its own, to its last subregion's end.
    pub fn without_gaps_at_ends(&self, range: AddrRange) -> Option<AddrRange> {
        let first = self.subregions.partition_point(|c| c.range.end <= range.start);
        let behind = self.subregions.partition_point(|c| c.range.start < range.end);
        let subregions = self.subregions.get(first..behind)?;
        let (first, last) = (subregions.first()?.range, subregions.last()?.range);
        Some(AddrRange::new(range.start.max(first.start), range.end.min(last.end)))
    }

    /// Makes `subregions[at]` and `reach` neighbours on each side due: what changed one may have
    /// changed the others.
    pub fn make_due_around(&mut self, at: usize, reach: usize, now_us: u64) {
        let end = (at + 1 + reach).min(self.subregions.len());
        for subregion in &mut self.subregions[at.saturating_sub(reach)..end] {
            subregion.due_us = subregion.due_us.min(now_us);
        }
    }

    /// Takes in what a look at all pages of a subregion says of whether they are accessed together.
    /// It says the same of subregions that are near and accessed about as often: what is swept is
    /// larger than a page table. And it tells whether most memory in use of the target is swept.
    pub fn note_at_all(&mut self, at: usize, look: LookAtAll) {
        let this = &self.subregions[at];
        let (start, rate) = (this.range.start, this.estimate.rate());
        let reach = SWEPT_WITH as u64 * this.range.len().max(HUGE_PAGE_SIZE);
        let is_usual = self.mostly_swept.add(look, rate);
        let end = (at + 1 + SWEPT_WITH).min(self.subregions.len());
        for subregion in &mut self.subregions[at.saturating_sub(SWEPT_WITH)..end] {
            let own = subregion.estimate.rate();
            let is_near = subregion.range.start.abs_diff(start) <= reach;
            if is_near && own.max(rate) < ABOUT * own.min(rate) {
                subregion.estimate.add_at_all(look, is_usual);
            }
        }
    }

    /// Whether `subregions[at]` and the one before it touch.
    pub fn touches(&self, at: usize) -> bool {
        at > 0 && self.subregions[at - 1].range.end == self.subregions[at].range.start
    }

    /// Whether use begins or ends in `subregions[at]` or beside it, as far as is known.
    pub fn is_edge(&self, at: usize) -> bool {
        let is_used = self.subregions[at].mean_rate() > 0.0;
        let left = self.touches(at).then(|| self.subregions[at - 1].is_used_at(true));
        let has_next = at + 1 < self.subregions.len() && self.touches(at + 1);
        let right = has_next.then(|| self.subregions[at + 1].is_used_at(false));
        [left, right].into_iter().flatten().flatten().any(|beside| beside != is_used)
    }

    /// Fits the subregions to what is mapped now: cuts and drops what left, fills what is new.
    pub fn fit(&mut self, ranges: Vec<AddrRange>, is_listed: bool, now_us: u64) {
        // Of what was there before all that is mapped was read nothing is known.
        let unmapped_us = self.listed_us;
        if is_listed {
            self.listed_us = now_us;
        }
        if ranges == self.ranges {
            return;
        }
        let (before, now) = (self.bytes(), ranges.iter().map(AddrRange::len).sum());
        if before.abs_diff(now) > before / GROWN {
            // These were drawn from other memory.
            (self.survey, self.mostly_swept) = Default::default();
        }
        let mut fitted = Vec::with_capacity(self.subregions.len() + 16);
        let mut rest = std::mem::take(&mut self.subregions).into_iter().peekable();
        for range in &ranges {
            while rest.next_if(|c| c.range.end <= range.start).is_some() {}
            let mut covered = range.start;
            let fill = |from: u64, to: u64, fitted: &mut Vec<Subregion>| {
                if from < to {
                    let range = AddrRange::new(from, to);
                    fitted.push(Subregion::mapped_since(unmapped_us, range, IDLE_PAGES, now_us));
                }
            };
            while let Some(next) = rest.peek().filter(|c| c.range.start < range.end) {
                let goes_on = next.range.end > range.end;
                let mut subregion =
                    if goes_on { next.clone() } else { rest.next().expect("peeked") };
                subregion.clip(*range, IDLE_PAGES);
                fill(covered, subregion.range.start, &mut fitted);
                covered = subregion.range.end;
                fitted.push(subregion);
                if goes_on {
                    break;
                }
            }
            fill(covered, range.end, &mut fitted);
        }
        self.subregions = fitted;
        self.ranges = ranges;
        self.runs.note_mapped_anew();
        self.working_sets_due_us = 0;
    }

    /// Splits subregions where a page table ends, while there are fewer than `most`.
    pub fn split_at_tables(&mut self, most: usize, now_us: u64) {
        if self.subregions.iter().all(|c| c.absent || c.is_in_one_table()) {
            return;
        }
        let mut room = most.saturating_sub(self.subregions.len()) as u64;
        let mut cut = Vec::with_capacity(self.subregions.len() * 2);
        for subregion in std::mem::take(&mut self.subregions) {
            let range = subregion.range;
            let tables = tables(&range);
            if tables == 1 || subregion.absent || tables - 1 > room {
                cut.push(subregion);
                continue;
            }
            room -= tables - 1;
            cut.extend(range.blocks(HUGE_PAGE_SIZE).map(|part| subregion.part(part, now_us)));
        }
        self.subregions = cut;
    }

    /// Forgets which pages are in use, one by one: there are too many.
    pub fn drop_tables(&mut self) {
        self.subregions.iter_mut().for_each(Subregion::leave_table);
    }

    /// Splits subregions larger than `limit` bytes into equal parts that are not, while
    /// there are fewer than `most`.
    pub fn split_large(&mut self, limit: u64, most: usize, now_us: u64) {
        let limit = (limit / PAGE_SIZE).max(1);
        let whole = |c: &Subregion| c.absent || c.range.pages() <= limit;
        if self.subregions.iter().all(whole) {
            return;
        }
        let mut room = most.saturating_sub(self.subregions.len()) as u64;
        let mut cut = Vec::with_capacity(self.subregions.len() + 64);
        for subregion in std::mem::take(&mut self.subregions) {
            let pages = subregion.range.pages();
            let parts = if whole(&subregion) { 1 } else { pages.div_ceil(limit).min(room + 1) };
            room -= parts - 1;
            if parts == 1 {
                cut.push(subregion);
            } else {
                let parts = pieces(subregion.range, parts);
                cut.extend(parts.map(|range| subregion.part(range, now_us)));
            }
        }
        self.subregions = cut;
    }

    /// Puts `piece` in the place of what it covers of the subregion around it; the parts on
    /// both sides keep what is known of it.
    pub fn split_out(&mut self, at: usize, piece: Subregion, now_us: u64) {
        let host = self.subregions[at].clone();
        let side = |start: u64, end: u64| {
            (start < end).then(|| host.part(AddrRange::new(start, end), now_us))
        };
        let AddrRange { start, end } = piece.range;
        let parts = [side(host.range.start, start), Some(piece), side(end, host.range.end)];
        self.subregions.splice(at..=at, parts.into_iter().flatten());
        debug_assert!(self.is_sound());
    }

    /// Moves the border between `subregions[at - 1]` and `subregions[at]` to the middle of
    /// what is not known to be like either.
    pub fn settle_border(&mut self, at: usize) {
        let (left, right) = (self.subregions[at - 1].known.end, self.subregions[at].known.start);
        if left > right {
            return;
        }
        let middle = left + (right - left) / PAGE_SIZE / 2 * PAGE_SIZE;
        self.subregions[at - 1].range.end = middle;
        self.subregions[at].range.start = middle;
    }

    /// Merges neighbours that are alike, up to `limit` bytes together. Where room is `scarce`, also
    /// merges those that only may be alike.
    pub fn merge_alike(&mut self, limit: u64, scarce: bool, now_us: u64) {
        let are_alike = if scarce { Estimate::is_like } else { Estimate::is_as_good_as };
        let is_like = |left: &Subregion, next: &Subregion| {
            left.range.end == next.range.start
                && left.range.len() + next.range.len() <= limit
                && !(left.unsure || next.unsure)
                && left.absent == next.absent
                && !left.is_of_another_age(next, now_us)
                && (left.unobserved - next.unobserved).abs() <= 0.5
                && are_alike(&left.estimate, &next.estimate)
        };
        let before = std::mem::take(&mut self.subregions);
        let mut merged: Vec<Subregion> = Vec::with_capacity(before.len());
        for next in before {
            match merged.last_mut() {
                Some(left) if is_like(left, &next) => left.absorb(next),
                _ => merged.push(next),
            }
        }
        self.subregions = merged;
    }

    pub(super) fn is_sound(&self) -> bool {
        self.subregions
            .iter()
            .all(|c| !c.range.is_empty() && c.probe.intersect(&c.range) == Some(c.probe))
            && self.subregions.windows(2).all(|w| w[0].range.end <= w[1].range.start)
    }
}

impl Subregion {
    /// A part of this subregion. It keeps the probe if that lies in it. Otherwise it keeps what is
    /// known of the whole, with little weight, until it is looked at.
    pub fn part(&self, range: AddrRange, now_us: u64) -> Self {
        debug_assert!(self.table.is_none());
        if self.probe.intersect(&range) == Some(self.probe) {
            let known = self.known.intersect(&range).unwrap_or(self.probe);
            return Self { range, known, ..self.clone() };
        }
        let mut estimate = self.estimate;
        estimate.doubt(1.0, 4.0);
        Self {
            estimate,
            since_us: self.since_us,
            unobserved: self.unobserved,
            present: self.present,
            was_read: self.was_read,
            filled_us: self.filled_us,
            curve: self.curve,
            ..Self::mapped_since(self.unmapped_us, range, IDLE_PAGES, now_us)
        }
    }
}

/// Page tables that map `range`.
fn tables(range: &AddrRange) -> u64 {
    range.end.div_ceil(HUGE_PAGE_SIZE) - range.start / HUGE_PAGE_SIZE
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Look;
    use super::*;

    #[test]
    fn what_is_found_accessed_in_part_speaks_against_a_sweep_all_over() {
        let told = |share_of_every_fourth: f64| {
            let mut target = TargetSubregions::new(TargetId(0));
            target.fit(vec![AddrRange::new(0, 64 * HUGE_PAGE_SIZE)], true, 0);
            target.split_at_tables(64, 0);
            let look = Look { waiting: 16.0, accessed: 8.0, exposure: 0.3 };
            target.subregions.iter_mut().for_each(|s| s.estimate = Estimate::of(look));
            for nth in 0..400_usize {
                let share = [share_of_every_fourth, 0.0, 1.0, 0.0][nth % 4];
                let look = LookAtAll { pages: 16.0, share, from: 0.0, to: 0.2 };
                target.note_at_all(4 * nth % 64, look);
            }
            // One that was never looked at, nor any near it, but for once.
            target.subregions[2].estimate = Estimate::of(look);
            target.note_at_all(2, LookAtAll { pages: 16.0, share: 1.0, from: 0.0, to: 0.2 });
            target.subregions[2].estimate.is_together()
        };
        assert!(told(1.0) && !told(0.5));
    }
}
