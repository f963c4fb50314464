//! Scouts: places between the probes, armed and read until they tell whether they are like
//! the subregion that they lie in.
//!
//! Two kinds: those that explore lie all over the memory, as evenly as the multiples of the
//! golden ratio do; those at borders narrow down where two subregions that differ meet.

use super::Windows;
use super::estimate::{AS_ONE, Estimate};
use super::evidence::chance;
use super::subregion::{IDLE_RATE, Subregion};
use super::survey::{SURVEYED_US, Visit};
use super::target::TargetSubregions;
use daos_core::{AddrRange, Observation, PAGE_SIZE, TargetId, evenly};

/// Pages at a place. Chosen: their page-table entries are two cache lines.
const PAGES: u64 = 16;
/// How long a scout stays out at most if nothing was accessed at its place, in microseconds.
/// Chosen: eight pages that are each accessed once in two seconds had four accesses by then.
const OUT_US: u64 = 1_000_000;
/// The same in swept memory, in periods of the sweep. Chosen: a place that was left alone for three
/// is idle.
const PERIODS: f64 = 3.0;
/// The longest that those periods may be, in microseconds. Chosen.
const MOST_OUT_US: u64 = 6_000_000;
/// One exploring scout in this many is *patient*: it also waits for what is accessed seldom.
/// Chosen: others may be back within a sampling interval, and so be many times as many.
const PATIENT: u64 = 4;
/// One exploring scout in this many surveys: it stays for the same time whatever it finds. Chosen:
/// every fourth of the patient ones.
const SURVEY: u64 = 4 * PATIENT;
/// A place has so many pages that this many accesses are to be expected in a sampling interval if
/// there is something to find. Chosen: one in twenty has none by chance.
const ACCESSES_TO_FIND: f64 = 3.0;
/// Places at a border that are looked at together. Chosen: three quarter the gap.
const AT_BORDER: u64 = 3;
/// The share of the budget for scouts that borders leave for exploring. Chosen: where used pages
/// lie among others, there is no end of borders.
const FOR_EXPLORING: f64 = 0.2;
/// A border is known well enough when it is known to one part in this many of the smaller
/// neighbour. Chosen.
const BORDER_PART: u64 = 64;
/// Readings of a scout after it was armed that are paid for beforehand. Chosen: few scouts stay for
/// longer.
const READINGS_LATER: f64 = 3.0;
/// Memory of which more than this share can't be observed is not looked at. Chosen.
const MOST_HIDDEN: f64 = 0.5;

/// A place that is being looked at.
#[derive(Debug, Clone)]
pub(super) struct Scout {
    pub target: TargetId,
    pub place: Subregion,
    /// When it was sent out.
    pub out_us: u64,
    /// Whether it is to find a border; otherwise it explores.
    pub at_border: bool,
    /// The access rate, in accesses a second, that it is to tell from none: it does not wait for a
    /// lower one.
    pub sought: f64,
    /// What it saw, if it surveys.
    survey: Option<Visit>,
}

impl Scout {
    fn new(target: TargetId, pages: AddrRange, now_us: u64) -> Self {
        let place = Subregion::new(pages, pages.pages(), now_us);
        Self { target, place, out_us: now_us, at_border: false, sought: 0.0, survey: None }
    }

    /// Whether it has told what it can of its place in `host`. `expected`: the rate that it is to
    /// tell from none.
    pub fn is_back(&self, host: &Subregion, expected: f64, now_us: u64) -> bool {
        let estimate = &self.place.estimate;
        let out_us = now_us.saturating_sub(self.out_us);
        if self.survey.is_some() {
            return self.place.absent
                || self.place.whole_read_us >= self.place.armed.at_us + SURVEYED_US;
        }
        // A few accesses where none are expected may be too few to tell yet.
        let may_differ = !self.at_border
            && host.estimate.rate() < IDLE_RATE
            && estimate.rate() > 0.0
            && host.estimate.is_like(estimate);
        let (expected, most_us) = match host.estimate.is_together() {
            // A sweep is elsewhere for most of its period.
            true => (expected / AS_ONE, periods_us(host.estimate.rate())),
            false => (expected, OUT_US),
        };
        let is_enough = estimate.is_enough(expected) && !may_differ;
        out_us >= most_us || self.place.absent || is_enough
    }

    /// If it surveys and is due, it comes first: a late reading would tell little.
    pub fn hurry(&mut self, now_us: u64) {
        if self.survey.is_some() && self.place.due_us <= now_us {
            self.place.due_us = 0;
        }
    }

    /// Takes in what was found in these of its pages, and plans its next reading: after twice the
    /// time or, if it surveys, at the next of the times that it tells of.
    pub fn take(&mut self, pages: (u32, u32), seen: &Observation, sample_us: u64, now_us: u64) {
        if seen.present == 0 && seen.unobservable == 0 {
            self.place.absent = true;
        } else {
            self.place.take(pages, seen, now_us);
        }
        let out_us = now_us.saturating_sub(self.place.armed.at_us);
        self.place.due_us = now_us + out_us.max(sample_us);
        if let Some(survey) = &mut self.survey {
            let observed = f64::from(self.place.nr_pages()) * (1.0 - self.place.unobserved);
            let waiting = f64::from(self.place.waiting.len()) / observed.max(1.0);
            survey.add(out_us, (1.0 - waiting).max(0.0));
            self.place.due_us = self.place.armed.at_us + Visit::next_us(out_us);
        }
    }
}

impl Windows {
    /// Sends as many scouts as the budget allows beside the share `kept` of a full bucket: to
    /// borders, then all over.
    pub(super) fn send_scouts(&mut self, now_us: u64, kept: f64) {
        let room = self.max_windows().saturating_sub(self.places.len());
        let most = self.max_scouts().min(self.scouts.len() + room);
        let there_is = (self.budget.fullness() - kept).max(0.0);
        self.send_to_borders(most, now_us, kept + FOR_EXPLORING * there_is);
        self.explore(most, now_us, kept);
    }

    /// Reserves the price of a scout at so many pages, if the budget has enough: of arming them,
    /// and of [`READINGS_LATER`] readings.
    fn affords(&mut self, pages: u64, rate: f64, kept: f64) -> bool {
        let mut price = self.budget.sampling(pages, chance(rate, 1.0));
        price.reading_later *= READINGS_LATER;
        self.budget.reserve(price, kept)
    }

    /// Sends scouts to borders, until `most` are out in all.
    fn send_to_borders(&mut self, most: usize, now_us: u64, kept: f64) {
        if self.scouts.len() >= most {
            return;
        }
        let of_target = |(at, target): (usize, &TargetSubregions)| {
            let gap = |index: usize| Some((at, index, open_border(target, index)?));
            (1..target.subregions.len()).filter_map(gap).collect::<Vec<_>>()
        };
        let mut borders: Vec<_> = self.targets.iter().enumerate().flat_map(of_target).collect();
        // A random border comes first: where the budget is too small for all, others have their
        // turn in another round.
        let first = self.rng.below(borders.len().max(1) as u64) as usize;
        borders.rotate_left(first);
        for (at, index, gap) in borders {
            let target = &self.targets[at];
            let is_there = |scout: &Scout| {
                scout.at_border
                    && scout.target == target.id
                    && scout.place.range.intersect(&gap).is_some()
            };
            if self.scouts.iter().any(is_there) {
                continue;
            }
            let (left, right) = (&target.subregions[index - 1], &target.subregions[index]);
            let rate = left.estimate.rate().max(right.estimate.rate());
            let id = target.id;
            for place in places_in(gap) {
                if self.scouts.len() >= most || !self.affords(PAGES, rate, kept) {
                    return;
                }
                self.scouts.push(Scout { at_border: true, ..Scout::new(id, place, now_us) });
            }
        }
    }

    /// Sends scouts all over, until `most` are out in all.
    fn explore(&mut self, most: usize, now_us: u64, kept: f64) {
        let mut ends = Vec::new();
        let mut total = 0u64;
        for (at, target) in self.targets.iter().enumerate() {
            for (index, subregion) in target.subregions.iter().enumerate() {
                // Memory that can't be observed tells nothing, wherever it is looked at.
                if subregion.may_be_explored() && subregion.unobserved <= MOST_HIDDEN {
                    total += subregion.range.pages();
                    ends.push((total, at, index));
                }
            }
        }
        // If subregions are as small as places, there is nothing to explore.
        let fine = total <= ends.len() as u64 * PAGES * 2;
        while !fine && self.scouts.len() < most {
            // Surveying scouts have a sequence of places of their own, between the others': one in
            // every few places of one sequence would lie in a few clusters.
            let is_survey = self.explore_place.is_multiple_of(SURVEY);
            let fraction = match is_survey {
                true => evenly::place(self.explore_place / SURVEY).wrapping_add(1 << 63),
                false => evenly::place(self.explore_place),
            };
            let place = evenly::part_of(fraction, total);
            let (end, at, index) = ends[ends.partition_point(|&(end, ..)| end <= place)];
            let host = &self.targets[at].subregions[index];
            let is_patient = self.explore_place.is_multiple_of(PATIENT);
            let survey = is_survey.then(Visit::default);
            let sought = if is_patient { 0.0 } else { self.sought };
            let nr = pages_to_find(sought, self.attrs.sample_us as f64 / 1e6);
            let start = host.range.end - (end - place) * PAGE_SIZE;
            let pages =
                table_part(AddrRange::new(start, (start + nr * PAGE_SIZE).min(host.range.end)));
            if !self.affords(nr, host.estimate.rate(), kept) {
                return;
            }
            self.explore_place = self.explore_place.wrapping_add(1);
            self.nr_explored += 1;
            if self.targets[at].subregions[index].probe.intersect(&pages).is_none() {
                let id = self.targets[at].id;
                self.scouts.push(Scout { sought, survey, ..Scout::new(id, pages, now_us) });
            }
        }
    }

    /// Takes in what scouts found that are back.
    pub(super) fn recall_scouts(&mut self, now_us: u64) {
        let mut out = Vec::with_capacity(self.scouts.len());
        for scout in std::mem::take(&mut self.scouts) {
            let Some(at) = self.index_of(scout.target) else { continue };
            let Some(index) = self.targets[at].find(scout.place.range.start) else { continue };
            let host = &self.targets[at].subregions[index];
            // The place belongs to `host` still: no border was moved across it.
            let is_there = host.range.intersect(&scout.place.range) == Some(scout.place.range)
                && host.table.is_none();
            let can_tell = scout.place.unobserved <= MOST_HIDDEN;
            if !can_tell || !is_there && scout.survey.is_none() {
                continue;
            }
            let is_back = scout.is_back(host, self.rate_expected(at, index, &scout), now_us);
            if let Some(seen) = scout.survey.as_ref().filter(|_| is_back) {
                self.targets[at].survey.add(seen.shares(scout.place.nr_pages()), now_us);
            }
            if !is_back {
                out.push(scout);
            } else if !is_there {
                // It told the survey what it was sent for.
            } else if scout.at_border && self.take_border(at, &scout) {
                // It told where the border is not.
            } else if !scout.place.absent {
                self.take_explored(at, index, scout, now_us);
            }
        }
        self.scouts = out;
    }

    /// The rate that a scout is to tell from none, in accesses a second.
    fn rate_expected(&self, at: usize, index: usize, scout: &Scout) -> f64 {
        let subregions = &self.targets[at].subregions;
        let own = subregions[index].estimate.rate();
        if !scout.at_border {
            return own.max(scout.sought);
        }
        let next = |index: Option<usize>| {
            index.and_then(|i| subregions.get(i)).map_or(0.0, |s| s.estimate.rate())
        };
        own.max(next(index.checked_sub(1))).max(next(Some(index + 1)))
    }

    /// Takes in an explored place. If it is like its subregion, the subregion is known to be alike
    /// up to there; else the place is split out.
    fn take_explored(&mut self, at: usize, index: usize, scout: Scout, now_us: u64) {
        let host = &mut self.targets[at].subregions[index];
        let place = scout.place;
        if host.unsure || place.estimate.is_empty() {
            return;
        }
        if host.estimate.is_like(&place.estimate) {
            host.known.start = host.known.start.min(place.range.start);
            host.known.end = host.known.end.max(place.range.end);
            return;
        }
        if self.room() >= 2 {
            self.split_around(at, index, place, now_us);
            self.changes += 1;
        }
    }

    /// Splits out the present place of a probe that is not like where it was before, as for a
    /// scout; its former place is to be looked at at once. If all page tables are known one by one,
    /// notes instead that this one is in use in part.
    pub(super) fn split_where_moved(&mut self, at: usize, start: u64, now_us: u64) {
        let Some(index) = self.targets[at].find(start) else { return };
        if self.fits_tables {
            // Its pages, once known one by one, tell which part.
            let subregion = &mut self.targets[at].subregions[index];
            subregion.is_cut = subregion.move_back().is_some();
            return;
        }
        let has_room = self.room() >= 2;
        let subregion = &mut self.targets[at].subregions[index];
        if !has_room {
            subregion.moved_from = None;
        } else if let Some(there) = subregion.move_back() {
            self.split_around(at, index, there, now_us);
        }
    }

    /// Splits out of a subregion what lies around a place that is not like it; there must be room.
    /// The piece reaches to the next places that were explored, but at most half of the way to the
    /// subregion's probe, which is like the rest.
    fn split_around(&mut self, at: usize, index: usize, place: Subregion, now_us: u64) {
        let spacing = self.spacing();
        let host = &self.targets[at].subregions[index];
        let mut start = place.range.start.saturating_sub(spacing).max(host.range.start);
        let mut end = (place.range.end + spacing).min(host.range.end);
        let half = |left: u64, right: u64| left + (right - left) / PAGE_SIZE / 2 * PAGE_SIZE;
        if host.probe.end <= place.range.start {
            start = start.max(half(host.probe.end, place.range.start));
        } else if place.range.end <= host.probe.start {
            end = end.min(half(place.range.end, host.probe.start));
        } else {
            (start, end) = (place.range.start, place.range.end);
        }
        let piece = Subregion { range: AddrRange::new(start, end), unsure: false, ..place };
        self.targets[at].split_out(index, piece, now_us);
    }

    /// Takes in a place at a border: it belongs to the side that it is more like. Returns whether
    /// it still was at a border.
    fn take_border(&mut self, at: usize, scout: &Scout) -> bool {
        let target = &mut self.targets[at];
        let pages = scout.place.range;
        // The border at which it lies: what is known of the left side ends before it, and what is
        // known of the right side begins behind it.
        let left = target.subregions.partition_point(|s| s.known.end <= pages.start);
        let Some(left) = left.checked_sub(1) else { return false };
        let Some([a, b]) = target.subregions.get_mut(left..left + 2) else { return false };
        if a.range.end != b.range.start || b.known.start < pages.end || a.known.end > pages.start {
            return false;
        }
        let is_of_first = match scout.place.absent {
            // Where nothing is, nothing is in use.
            true => a.estimate.rate() <= b.estimate.rate(),
            false => closer_to_first(&scout.place.estimate, &a.estimate, &b.estimate),
        };
        if is_of_first {
            a.known.end = pages.end;
        } else {
            b.known.start = pages.start;
        }
        target.settle_border(left + 1);
        true
    }

    /// The access rate that a tenth of the memory in use has, or a higher one; 0 if none is known
    /// to be in use. What is found next likely has that rate, and a short look finds it.
    pub(super) fn rate_in_use(&self) -> f64 {
        let subregions = self.targets.iter().flat_map(|target| &target.subregions);
        let used = subregions.filter(|s| !s.absent && s.estimate.rate() >= IDLE_RATE);
        let mut rates: Vec<_> = used.map(|s| (s.estimate.rate(), s.range.pages())).collect();
        rates.sort_unstable_by(|(one, _), (other, _)| other.total_cmp(one));
        let pages: u64 = rates.iter().map(|(_, pages)| pages).sum();
        let mut faster = 0;
        let at = rates.iter().find(|(_, of_it)| {
            faster += of_it;
            faster * 10 >= pages
        });
        at.map_or(0.0, |(rate, _)| *rate)
    }

    /// About how many bytes lie between two places that were explored.
    fn spacing(&self) -> u64 {
        let apart = self.bytes() / (self.nr_explored + 1);
        (apart / PAGE_SIZE).max(1) * PAGE_SIZE
    }
}

/// How long a scout stays out in memory that is swept so often a second, in microseconds.
fn periods_us(rate: f64) -> u64 {
    ((PERIODS / rate * 1e6) as u64).clamp(OUT_US, MOST_OUT_US)
}

/// How many pages a place needs for memory accessed at this rate to show within a sampling interval
/// of so many seconds, up to [`PAGES`].
fn pages_to_find(rate: f64, seconds: f64) -> u64 {
    (ACCESSES_TO_FIND / (rate * seconds)).ceil().clamp(2.0, PAGES as f64) as u64
}

/// Whether an estimate is more like the first of two others.
fn closer_to_first(one: &Estimate, first: &Estimate, second: &Estimate) -> bool {
    one.distance(first) <= one.distance(second)
}

/// The gap between what is known to be like either of two neighbours that differ, if it is worth
/// looking at.
fn open_border(target: &TargetSubregions, index: usize) -> Option<AddrRange> {
    if !target.touches(index) {
        return None;
    }
    let (left, right) = (&target.subregions[index - 1], &target.subregions[index]);
    let ready = |s: &Subregion| s.may_be_explored() && s.unobserved < MOST_HIDDEN;
    if !(ready(left) && ready(right)) || left.known.end >= right.known.start {
        return None;
    }
    let gap = AddrRange::new(left.known.end, right.known.start);
    let size = left.range.len().min(right.range.len());
    let enough = (size / BORDER_PART).max(PAGE_SIZE);
    (gap.len() > enough && !left.estimate.is_like(&right.estimate)).then_some(gap)
}

/// Places in a gap that quarter it.
fn places_in(gap: AddrRange) -> impl Iterator<Item = AddrRange> {
    let pages = gap.pages();
    let (nr, each) = if pages <= 4 * PAGES { (1, pages.div_ceil(4)) } else { (AT_BORDER, PAGES) };
    (1..=nr).map(move |n| {
        let first = (pages * n / (nr + 1)).min(pages - each);
        let start = gap.start + first * PAGE_SIZE;
        table_part(AddrRange::new(start, start + each * PAGE_SIZE))
    })
}

/// The part of `range` in the page table of its first page.
fn table_part(range: AddrRange) -> AddrRange {
    let table_end = (range.start / daos_core::HUGE_PAGE_SIZE + 1) * daos_core::HUGE_PAGE_SIZE;
    AddrRange::new(range.start, range.end.min(table_end))
}
