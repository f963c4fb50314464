//! The subregions of one target.

use super::IDLE_PAGES;
use super::curve::Curve;
use super::estimate::Estimate;
use super::page_runs::TargetRuns;
use super::subregion::Subregion;
use super::survey::Survey;
use super::together::{LookAtAll, MostlySwept};
use crate::fitting::pieces;
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE, TargetId, WITHIN_US, WorkingSets};

/// What it costs to add up what is known of a subregion, in microseconds of CPU time. Measured, with
/// cold caches.
const ADDING_US: f64 = 0.2;
/// The share of what may be spent that this may take, and the longest time from one adding up to the
/// next that it is stretched to, in microseconds. Chosen: the shortest for which they tell what happened,
/// rather than what usually does.
const FOR_WORKING_SETS: f64 = 0.04;
const MOST_BETWEEN_US: f64 = 1_000_000.0;
/// A target grows that has one part in so many more than before, and so long after that, in microseconds; and it may so
/// long after it was seen for the first time, when it is not known how it came to what it has. Chosen.
const GROWN: u64 = 8;
const GROWING_US: u64 = 3_000_000;
const MAY_GROW_US: u64 = 1_000_000;
/// How long memory counts as new, in microseconds, and how many parts of it tell of the others. Chosen: what is filled within so long
/// is mostly used alike, and of eight parts a share is known to a sixth.
const NEW_FOR_US: u64 = 30_000_000;
const SOME_LOOKED_AT: usize = 8;
/// Subregions on each side, page tables or as large as one is, that are gone over with it, at most, if they are accessed as often
/// within this factor. Chosen: what is gone over is some ten mebibytes and more.
const TOGETHER: usize = 4;
const ABOUT: f64 = 3.0;

/// Sorted, disjoint subregions that cover what a target has mapped.
#[derive(Debug, Clone)]
pub(super) struct TargetSubregions {
    pub id: TargetId,
    pub resident_bytes: Option<u64>,
    pub subregions: Vec<Subregion>,
    /// What is mapped: the subregions were fitted to it.
    ranges: Vec<AddrRange>,
    /// When it was; 0 before.
    fitted_us: u64,
    pub runs: TargetRuns,
    /// How much of it is accessed within which time, `None` where regions tell as
    /// much; and when it is to be added up anew.
    pub working_sets: Option<WorkingSets>,
    working_sets_due_us: u64,
    /// Whether most of it in use is gone over.
    mostly_swept: MostlySwept,
    /// Places drawn from all of it, where it is not known page by page.
    pub survey: Survey,
    /// When it may be planned to arm it at once.
    pub at_once_from_us: u64,
    /// What was resident when that had last grown by a part, until when it counts as growing for it, and until when it
    /// is not known whether it does.
    grown_to: u64,
    growing_until_us: u64,
    may_grow_until_us: u64,
}

impl TargetSubregions {
    pub fn new(id: TargetId) -> Self {
        Self {
            id,
            resident_bytes: None,
            subregions: Vec::new(),
            ranges: Vec::new(),
            fitted_us: 0,
            runs: TargetRuns::default(),
            working_sets: None,
            working_sets_due_us: 0,
            mostly_swept: MostlySwept::default(),
            survey: Survey::default(),
            at_once_from_us: 0,
            grown_to: 0,
            growing_until_us: 0,
            may_grow_until_us: 0,
        }
    }

    /// Takes in how much of it is resident.
    pub fn set_resident(&mut self, bytes: Option<u64>, now_us: u64) {
        self.resident_bytes = bytes;
        let Some(bytes) = bytes else { return };
        if bytes > self.grown_to + self.grown_to / GROWN {
            match self.grown_to {
                0 => self.may_grow_until_us = now_us + MAY_GROW_US,
                _ => self.growing_until_us = now_us + GROWING_US,
            }
            self.grown_to = bytes;
        }
    }

    /// Whether it has filled much of its memory of late: what is known of it then does not hold for long.
    pub fn is_growing(&self, now_us: u64) -> bool {
        now_us < self.growing_until_us
    }

    /// Whether that is not known yet.
    pub fn may_grow(&self, now_us: u64) -> bool {
        now_us < self.may_grow_until_us
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(AddrRange::len).sum()
    }

    /// Adds up how much of it is accessed within which time, when that is due: all that is known of it has
    /// to be gone through. `per_second`: microseconds of CPU time that may be spent.
    pub fn add_up_working_sets(&mut self, per_second: f64, now_us: u64) {
        if now_us < self.working_sets_due_us {
            return;
        }
        let cost_us = self.subregions.len() as f64 * ADDING_US;
        let between_us = cost_us * 1e6 / (FOR_WORKING_SETS * per_second);
        self.working_sets_due_us = now_us + between_us.min(MOST_BETWEEN_US) as u64;
        // Of what can be surveyed, and of the rest.
        let (mut sum, mut rest, mut surveyed) =
            ([0.0; WITHIN_US.len()], [0.0; WITHIN_US.len()], 0.0);
        let (mut hidden, mut there, mut unseen) = (0.0, 0.0, 0.0);
        let new = self.usual_of_new(now_us);
        let of_unseen = self.usual_of_unseen(now_us);
        for subregion in &self.subregions {
            // Shares are of the pages that can be observed.
            let all = subregion.range.len() as f64;
            let bytes = all * (1.0 - subregion.unobserved);
            if of_unseen.is_some() && subregion.is_unseen() {
                unseen += bytes;
                continue;
            }
            if !subregion.absent {
                hidden += all - bytes;
                there += bytes * f64::from(subregion.present);
            }
            let is_surveyed = subregion.may_be_explored();
            surveyed += if is_surveyed { bytes } else { 0.0 };
            let sum = if is_surveyed { &mut sum } else { &mut rest };
            let of_others = new.filter(|_| subregion.is_only_filled());
            let usual = of_others.unwrap_or(subregion.curve);
            for (sum, share) in sum.iter_mut().zip(subregion.shares_if(usual, now_us)) {
                *sum += bytes * f64::from(share);
            }
        }
        for (sum, least) in sum.iter_mut().zip(self.survey.at_least(now_us)) {
            *sum = sum.max(least * surveyed);
        }
        sum.iter_mut().zip(rest).for_each(|(sum, rest)| *sum += rest);
        // What a few pages tell of many may add up to more than there is.
        let most = self.resident_bytes.map_or(f64::MAX, |bytes| bytes as f64);
        let unseen = unseen.min((most - there).max(0.0));
        there += unseen;
        for (sum, share) in sum.iter_mut().zip(of_unseen.unwrap_or_default().shares) {
            *sum += unseen * f64::from(share);
        }
        let hidden = hidden * (most / (hidden + there).max(1.0)).min(1.0);
        let sets = WorkingSets::new(sum).beside_hidden(hidden);
        self.working_sets = (self.subregions.len() > 1).then_some(sets);
    }

    /// How many pages in memory of what was not looked at yet are accessed within which time, by what was; `None` if that is little,
    /// or all was.
    fn usual_of_unseen(&self, now_us: u64) -> Option<Curve> {
        if !self.subregions.iter().any(Subregion::is_unseen) {
            return None;
        }
        let tells = |s: &Subregion| !(s.absent || s.is_unseen() || s.is_new()) && s.present > 0.0;
        self.mean_shares(tells, now_us)
    }

    /// How many pages of memory that was filled of late are accessed within which time, by those parts of it that were looked at
    /// since; `None` if these are few, or there are no others. Of the others it is only known that they were accessed once.
    fn usual_of_new(&self, now_us: u64) -> Option<Curve> {
        if !self.subregions.iter().any(Subregion::is_only_filled) {
            return None;
        }
        let tells = |s: &Subregion| !s.absent && s.was_looked_at_since_filled(NEW_FOR_US, now_us);
        self.mean_shares(tells, now_us)
    }

    /// How many pages of those that tell are accessed within which time, on average; `None` if they are few.
    fn mean_shares(&self, tells: impl Fn(&Subregion) -> bool, now_us: u64) -> Option<Curve> {
        let (mut sum, mut looked_at) = ([0.0; WITHIN_US.len()], 0);
        for subregion in self.subregions.iter().filter(|subregion| tells(subregion)) {
            let shares = subregion.shares_within(now_us);
            sum.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
            looked_at += 1;
        }
        let mean = || Curve { shares: sum.map(|sum| sum / looked_at as f32) };
        (looked_at >= SOME_LOOKED_AT).then(mean)
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

    /// The subregion around `address`.
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

    /// Makes so many neighbours of `subregions[at]` due: what befell it may have befallen
    /// them.
    pub fn make_due_around(&mut self, at: usize, reach: usize, now_us: u64) {
        let end = (at + 1 + reach).min(self.subregions.len());
        for subregion in &mut self.subregions[at.saturating_sub(reach)..end] {
            subregion.due_us = subregion.due_us.min(now_us);
        }
    }

    /// What the last look at a subregion says of whether pages are accessed together, it says of others that are near
    /// and accessed about as often, too: what is gone over is larger than a page table. And of all of the target, whether most
    /// of what is in use is gone over.
    pub fn note_at_all(&mut self, at: usize, look: LookAtAll) {
        let this = &self.subregions[at];
        let (start, rate) = (this.range.start, this.estimate.rate());
        let reach = TOGETHER as u64 * this.range.len().max(HUGE_PAGE_SIZE);
        let is_usual = self.mostly_swept.add(look, rate);
        let end = (at + 1 + TOGETHER).min(self.subregions.len());
        for subregion in &mut self.subregions[at.saturating_sub(TOGETHER)..end] {
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
    pub fn fit(&mut self, ranges: Vec<AddrRange>, now_us: u64) {
        // Of what was there before it was watched nothing is known.
        let unmapped_us = std::mem::replace(&mut self.fitted_us, now_us);
        if ranges == self.ranges {
            return;
        }
        let (before, now) = (self.bytes(), ranges.iter().map(AddrRange::len).sum());
        if before.abs_diff(now) > before / GROWN {
            // They were drawn from other memory.
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
        for subregion in self.subregions.iter_mut().filter(|s| s.table.is_some()) {
            subregion.centre_probe(IDLE_PAGES);
            (subregion.unsure, subregion.due_us) = (true, 0);
        }
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
        let parts = [
            side(host.range.start, piece.range.start),
            Some(piece.clone()),
            side(piece.range.end, host.range.end),
        ];
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

    /// Merges neighbours that are alike, up to `limit` bytes together; where room is `scarce`, also those that may be.
    pub fn merge_alike(&mut self, limit: u64, scarce: bool, now_us: u64) {
        let are_alike = if scarce { Estimate::is_like } else { Estimate::is_as_good_as };
        let is_like = |left: &Subregion, next: &Subregion| {
            left.range.end == next.range.start
                && left.range.len() + next.range.len() <= limit
                && left.table.is_none()
                && next.table.is_none()
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
    /// A part of this subregion. It keeps the probe if that is in it; else it keeps what is
    /// known of the whole, for little, until it is looked at.
    pub fn part(&self, range: AddrRange, now_us: u64) -> Self {
        if self.table.is_none() && self.probe.intersect(&range) == Some(self.probe) {
            let known = self.known.intersect(&range).unwrap_or(self.probe);
            return Self { range, known, ..self.clone() };
        }
        let mut estimate = self.estimate;
        estimate.doubt(1.0, 4.0);
        Self {
            estimate,
            since_us: self.since_us,
            unobserved: self.unobserved,
            was_read: self.was_read,
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
    use super::super::estimate::Look;
    use super::*;
    use daos_core::Observation;

    #[test]
    fn a_target_may_be_growing_until_it_was_seen_for_a_while() {
        const S: u64 = 1_000_000;
        let seen = |readings: &[Option<u64>]| {
            let mut target = TargetSubregions::new(TargetId(0));
            for (second, bytes) in (0..).zip(readings) {
                target.set_resident(bytes.map(|tables| tables * HUGE_PAGE_SIZE), second * S);
            }
            target
        };
        assert!(!seen(&[None]).may_grow(0), "nothing speaks for it");
        let seen_once = seen(&[Some(100)]);
        assert!(seen_once.may_grow(S - 1) && !seen_once.may_grow(S) && !seen_once.is_growing(0));
        assert!(!seen(&[Some(100), Some(101)]).is_growing(S));
        let growing = seen(&[Some(20), Some(60)]);
        assert!(growing.is_growing(S) && !growing.is_growing(S + GROWING_US));
    }

    #[test]
    fn what_is_found_accessed_in_part_speaks_against_a_sweep_all_over() {
        let told = |share_of_every_fourth: f64| {
            let mut target = TargetSubregions::new(TargetId(0));
            target.fit(vec![AddrRange::new(0, 64 * HUGE_PAGE_SIZE)], 0);
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

    #[test]
    fn what_was_filled_is_used_as_those_parts_of_it_are_that_were_looked_at_since() {
        const S: u64 = 1_000_000;
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(0, HUGE_PAGE_SIZE)], S);
        target.fit(vec![AddrRange::new(0, 65 * HUGE_PAGE_SIZE)], 2 * S);
        target.split_at_tables(65, 2 * S);
        let seen = |accessed| Observation { present: 8, accessed, ..Observation::default() };
        for subregion in &mut target.subregions[1..] {
            subregion.take((0, 8), &seen(8), 2 * S);
        }
        let told = |target: &mut TargetSubregions, now_us| {
            target.add_up_working_sets(1e9, now_us);
            target.working_sets.expect("counted").within(S) / HUGE_PAGE_SIZE as f64
        };
        assert!(told(&mut target, 4 * S) > 32.0, "of none it is known");
        for subregion in &mut target.subregions[1..17] {
            subregion.arm(0, 8, 3 * S);
            subregion.take((0, 8), &seen(0), 4 * S);
        }
        assert!(told(&mut target, 5 * S) < 8.0);
        for subregion in &mut target.subregions[1..17] {
            subregion.take((0, 8), &seen(8), 5 * S);
        }
        assert!(told(&mut target, 6 * S) > 32.0);
    }

    #[test]
    fn what_nobody_looked_at_yet_is_used_as_what_somebody_did_look_at() {
        const S: u64 = 1_000_000;
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(HUGE_PAGE_SIZE, 65 * HUGE_PAGE_SIZE)], S);
        target.split_at_tables(64, S);
        let told = |target: &mut TargetSubregions, now_us| {
            target.add_up_working_sets(1e9, now_us);
            target.working_sets.expect("counted").within(S) / HUGE_PAGE_SIZE as f64
        };
        let seen = |accessed| Observation { present: 8, accessed, ..Observation::default() };
        let look = |target: &mut TargetSubregions, at: usize| {
            target.subregions[at].arm(0, 8, S);
            let accessed = if at.is_multiple_of(4) { 8 } else { 0 };
            target.subregions[at].take((0, 8), &seen(accessed), 2 * S);
        };
        (0..4).for_each(|at| look(&mut target, at));
        assert!(told(&mut target, 2 * S) < 1.5, "four are few");
        (4..16).for_each(|at| look(&mut target, at));
        let all = told(&mut target, 3 * S);
        assert!((12.0..20.0).contains(&all), "{all} of 64");
        // No more of it than is in memory.
        target.set_resident(Some(32 * HUGE_PAGE_SIZE), 4 * S);
        let half = told(&mut target, 4 * S);
        assert!((6.0..10.0).contains(&half), "{half} of 32");
        // Nothing is where somebody looked.
        let empty = Observation { empty_bytes: PAGE_SIZE, ..Observation::default() };
        for subregion in &mut target.subregions[16..] {
            subregion.arm(0, 8, 4 * S);
            subregion.take((0, 8), &empty, 5 * S);
        }
        let some = told(&mut target, 5 * S);
        assert!((3.0..5.0).contains(&some), "{some} of 16");
    }

    #[test]
    fn a_survey_tells_of_what_it_was_drawn_from() {
        const S: u64 = 1_000_000;
        let all = AddrRange::new(HUGE_PAGE_SIZE, 513 * HUGE_PAGE_SIZE);
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![all], 0);
        target.split_large(64 << 20, 100, 0);
        target.subregions.iter_mut().for_each(|subregion| subregion.unsure = false);
        let told = |target: &mut TargetSubregions, now_us| {
            target.add_up_working_sets(1e6, now_us);
            target.working_sets.expect("counted").within(S) / all.len() as f64
        };
        (0..100).for_each(|_| target.survey.add([0.1; 5], S));
        assert!((0.09..0.11).contains(&told(&mut target, S)));
        // Of what is unsure it tells nothing.
        let half = target.subregions.len() / 2;
        target.subregions[..half].iter_mut().for_each(|subregion| subregion.unsure = true);
        assert!((0.04..0.06).contains(&told(&mut target, 2 * S)));
        target.fit(vec![AddrRange::new(all.start, all.start + all.len() / 2)], 3 * S);
        assert_eq!(told(&mut target, 3 * S), 0.0, "what it was drawn from is gone");
    }
}
