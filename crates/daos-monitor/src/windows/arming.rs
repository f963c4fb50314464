//! What a round arms: probes and pages in use that are due, then whole page tables.

use super::evidence::chance;
use super::looks::{BETWEEN_LOOKS_US, key_to_arm, wait_us};
use super::round::{Due, Place, Who};
use super::subregion::Subregion;
use super::table::Table;
use super::target::TargetSubregions;
use super::{IDLE_PAGES, Windows};
use daos_core::pages::Pages;
use daos_core::rng::Rng;
use daos_core::{AccessCheck, HUGE_PAGE_SIZE, PAGE_SIZE, evenly};
use std::cmp::Reverse;

/// Pages in the probe of a subregion that is accessed often. Chosen: each costs its user something
/// whenever it is accessed after it was armed.
const BUSY_PAGES: u64 = 4;
/// Pages in the probe of a subregion that is accessed seldom. Chosen: see [`BUSY_PAGES`].
const USED_PAGES: u64 = 16;
/// Pages of a page table that a look at some in use spans at most, unless those are [`BUSY_PAGES`]
/// or fewer. Chosen: to pass over a page between costs nearly as much as to arm it.
const MOST_SPAN: u32 = 64;
/// Accesses a second and page from which on few pages are enough. Chosen.
pub(super) const BUSY_RATE: f64 = 10.0;
/// The share of the budget for page tables that is left for those that are known page by page,
/// while others are not. Chosen: a change is to be noticed meanwhile.
const FOR_KNOWN: f64 = 0.05;
/// The keys by which new subregions are armed lie below this; all other keys (times in
/// microseconds) are raised to it. Chosen.
const NEW_KEYS: u64 = 1 << 16;
/// Turns below this are of page tables that are not known page by page yet ([`first_turn`]): they
/// come first. Turns of others are times in microseconds, plus this.
const KNOWN: u64 = 10;
/// A table is armed again although no page of it is in use if more than this share of its pages
/// can't be observed. Chosen.
const SOME_HIDDEN: f64 = 0.1;
/// How much later than others such a table has its turn, in microseconds. Chosen.
const BEHIND_US: u64 = 30_000_000;
/// What is to be read within less than this many sampling intervals is read after one, in a tick of
/// its own. Chosen.
const READ_SOON_SAMPLES: u64 = 4;

impl Windows {
    /// Arms the probes that are due and don't wait for an access, while more than `kept` of the
    /// budget is left. Those that were never armed come first, while more than `kept_by_first` is
    /// left.
    pub(super) fn arm_due(&mut self, now_us: u64, kept_by_first: f64, kept: f64) {
        let key = |subregion: &Subregion| match subregion.is_new() {
            true => new_key(subregion),
            false => key_to_arm(subregion).max(NEW_KEYS),
        };
        let mut due = self.all_due(now_us, |_| true, key);
        let most = self.max_windows();
        let mut news_wait = false;
        while let Some(Reverse((key, who))) = due.pop() {
            let Who::Subregion(at, index) = who else { continue };
            let subregion = &mut self.targets[at].subregions[index];
            if subregion.next_look(now_us).is_some() {
                continue;
            }
            let due_us = subregion.due_us;
            let kept = if key < NEW_KEYS { kept_by_first } else { kept };
            let rate = subregion.estimate.rate();
            let pages = if rate >= BUSY_RATE {
                BUSY_PAGES
            } else if rate > 0.0 {
                USED_PAGES
            } else {
                IDLE_PAGES
            };
            let (from, to) = match subregion.table.as_deref() {
                Some(Table { suspect: Some(run), .. }) => *run,
                Some(table) => {
                    let some = some_in_use(table, &subregion.waiting, pages, &mut self.rng);
                    let Some(run) = some else {
                        subregion.due_us = now_us + BETWEEN_LOOKS_US;
                        continue;
                    };
                    run
                }
                None => {
                    let may_be_any = self.fits_tables && !subregion.is_cut;
                    let within = if may_be_any { subregion.range } else { subregion.alike() };
                    // Where few pages are used, most of those that are looked at are left alone. To
                    // leave places with such a page, but not those without, would find too few.
                    let may_leave = !(subregion.unsure || subregion.is_waiting());
                    if may_leave && within.pages() > pages {
                        let room = within.pages() - pages;
                        let start = within.start + self.rng.below(room + 1) * PAGE_SIZE;
                        subregion.move_probe(start, pages);
                    }
                    (0, subregion.nr_pages())
                }
            };
            let chance = chance(rate, BETWEEN_LOOKS_US as f64 / 1e6);
            let set = Pages::range(from, to).without(&subregion.waiting);
            let price = self.budget.arming(&set, u64::from(to - from), chance);
            if self.places.len() >= most || !self.budget.reserve(price, kept) {
                news_wait = subregion.unsure;
                self.note_left(due_us, now_us);
                break;
            }
            self.push_armed(Place { who, from, to }, now_us);
        }
        self.budget.news_wait &= news_wait;
        self.due = due.into_vec();
    }

    /// Arms whole page tables while more than `kept` of the budget is left: first those that are
    /// not known page by page yet, then those whose pages in use were not armed for long.
    pub(super) fn arm_tables(&mut self, now_us: u64, kept: f64) {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        let (mut lacks_some, mut knows_some) = (false, false);
        for (at, target) in self.targets.iter().enumerate() {
            for (index, subregion) in target.subregions.iter().enumerate() {
                let is_due = self.is_to_be_armed_whole(subregion, now_us);
                // Page tables that may come into use as a whole are known by a few pages.
                if !is_due || self.may_turn(target, index, now_us) {
                    continue;
                }
                let turn = match &subregion.table {
                    // Its pages may be hidden for as long as the target runs.
                    Some(_) if is_hidden(subregion) => KNOWN + subregion.arm_all_us + BEHIND_US,
                    Some(_) => KNOWN + subregion.arm_all_us,
                    None => first_turn(target, index),
                };
                lacks_some |= turn < KNOWN;
                knows_some |= turn >= KNOWN;
                due.push(Reverse((turn, Who::Subregion(at, index))));
            }
        }
        self.is_learning = lacks_some;
        let for_known = if knows_some { FOR_KNOWN } else { 0.0 };
        let there_is = (self.budget.fullness() - kept).max(0.0);
        let mut due = Due::from(due);
        while let Some(Reverse((turn, who))) = due.pop() {
            let is_known = turn >= KNOWN;
            let kept_by_it = if is_known { kept } else { kept + for_known * there_is };
            if self.arm_whole(who, kept_by_it, now_us) {
                continue;
            }
            if is_known {
                break;
            }
            due.retain(|Reverse((turn, _))| *turn >= KNOWN);
        }
        self.due = due.into_vec();
    }

    /// Whether a page table is to be armed as a whole: it never was, or not for long.
    pub(super) fn is_to_be_armed_whole(&self, subregion: &Subregion, now_us: u64) -> bool {
        // What can't be observed may become observable, as when a child ends that it was shared
        // with.
        let has_any =
            subregion.summary.used > 0 || subregion.arm_all_us == 0 || is_hidden(subregion);
        subregion.arm_all_us <= now_us && has_any && self.may_be_table(subregion)
    }

    /// Whether its pages can be known one by one.
    pub(super) fn may_be_table(&self, subregion: &Subregion) -> bool {
        subregion.is_in_one_table()
            && !(subregion.absent || subregion.huge || subregion.estimate.is_empty())
            && u64::from(self.most_pages) >= subregion.range.pages()
            && subregion.range.pages() > 1
    }

    /// Arms a page table as a whole if that leaves `kept` of the budget. Returns false once the
    /// budget, or the windows of a tick, are used up.
    fn arm_whole(&mut self, who: Who, kept: f64, now_us: u64) -> bool {
        let Who::Subregion(at, index) = who else { return true };
        let subregion = &self.targets[at].subregions[index];
        let is_just_armed = subregion.armed.at_us == now_us;
        if is_just_armed || self.is_to_be_armed_at_once(self.targets[at].id) {
            return true;
        }
        let nr = subregion.range.pages();
        let price = match &subregion.table {
            None => {
                // Where nobody armed any page, all bits are set.
                self.budget.sampling(nr, chance(subregion.estimate.rate(), 1.0))
            }
            Some(table) => {
                let set = Pages::range(0, nr as u32).without(&subregion.waiting);
                let used = f64::from(table.used().len()) / f64::from(set.len().max(1));
                self.budget.arming(&set, nr, used)
            }
        };
        if self.places.len() >= self.max_windows() || !self.budget.reserve(price, kept) {
            return false;
        }
        let subregion = &mut self.targets[at].subregions[index];
        if subregion.table.is_none() {
            subregion.make_table();
        }
        self.push_armed(Place { who, from: 0, to: nr as u32 }, now_us);
        let subregion = &mut self.targets[at].subregions[index];
        if let Some(table) = &mut subregion.table {
            subregion.arm_all_us = table.armed_all(now_us, &mut self.rng);
        }
        true
    }

    /// Notes that a place is armed in this round, and when it is to be read.
    pub(super) fn push_armed(&mut self, place: Place, now_us: u64) {
        let sample_us = self.attrs.sample_us;
        let subregion = self.at_mut(place.who);
        subregion.arm(place.from, place.to, now_us);
        let rate = subregion.estimate.rate();
        let all = place.to - place.from == subregion.nr_pages();
        let wait_us =
            if all || subregion.unsure || rate == 0.0 || matches!(place.who, Who::Scout(_)) {
                sample_us
            } else {
                wait_us(rate, sample_us)
            };
        subregion.due_us = now_us + wait_us;
        if wait_us < READ_SOON_SAMPLES * sample_us {
            self.check_soon(place.who, now_us);
        }
        self.places.push(place);
    }

    /// Has what is armed now read after one sampling interval.
    pub(super) fn check_soon(&mut self, who: Who, now_us: u64) {
        let check_us = now_us + self.attrs.sample_us;
        self.at_mut(who).due_us = check_us;
        self.check_us = Some(check_us);
        self.to_check.push(who);
    }

    /// Arms the places of this round.
    pub(super) fn arm<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<(), A::Error> {
        if self.places.is_empty() {
            return Ok(());
        }
        self.sort_places();
        self.fill_windows();
        self.budget.note_sampling();
        access.arm(&self.windows)?;
        self.cost.armed += self.windows.iter().map(|w| u64::from(w.pages)).sum::<u64>();
        (self.armed_us, self.just_armed) = (now_us, true);
        Ok(())
    }

    /// Corrects the times at which windows were armed in the last tick, and are to be read, now
    /// that the tick is over.
    pub(super) fn was_armed(&mut self, over_us: u64) {
        let took_us = over_us.saturating_sub(self.armed_us);
        if !std::mem::take(&mut self.just_armed) {
            return;
        }
        if let Some(check_us) = &mut self.check_us {
            *check_us += took_us;
            self.planned_us += took_us;
            self.wait_us += took_us;
        }
        let was_at_once = std::mem::take(&mut self.at_once.was_just_armed);
        let nr = self.places.len().max(1) as u64;
        for (nth, place) in (0..).zip(&self.places) {
            // All of a target is armed one page after the other, all through the tick.
            let at_us = if was_at_once { self.armed_us + took_us * nth / nr } else { over_us };
            let subregion = match place.who {
                Who::Subregion(at, index) => {
                    self.targets.get_mut(at).and_then(|t| t.subregions.get_mut(index))
                }
                Who::Scout(at) => self.scouts.get_mut(at).map(|scout| &mut scout.place),
            };
            if let Some(subregion) = subregion.filter(|s| s.armed.at_us == self.armed_us) {
                subregion.was_armed(at_us);
                subregion.due_us += took_us;
            }
        }
    }
}

/// Whether many pages of a table can't be observed.
fn is_hidden(subregion: &Subregion) -> bool {
    subregion.table.is_some() && subregion.unobserved > SOME_HIDDEN
}

/// The key by which a new subregion is armed: evenly spread, so that those that were armed at any
/// time lie all over the target.
fn new_key(subregion: &Subregion) -> u64 {
    evenly::part_of(evenly::place(subregion.range.start / HUGE_PAGE_SIZE), NEW_KEYS)
}

/// A random page of a table that is in use and does not wait, and the next in use: up to `pages` of
/// them, as far as they are near.
fn some_in_use(table: &Table, waiting: &Pages, pages: u64, rng: &mut Rng) -> Option<(u32, u32)> {
    let set = table.used().without(waiting);
    let first = set.nth(rng.below(u64::from(set.len().max(1))) as u32)?;
    let is_near =
        |(nth, page): &(usize, u32)| (*nth as u64) < BUSY_PAGES || page - first < MOST_SPAN;
    let from_first = set.iter().skip_while(|page| *page < first).take(pages as usize);
    let last = from_first.enumerate().take_while(is_near).last();
    Some((first, last.map_or(first, |(_, last)| last) + 1))
}

/// When it is the turn of a page table that is not known yet: first those in which use begins
/// or ends, then others in use, as a whole or in part; last those that are idle, as far as a
/// probe can tell.
fn first_turn(target: &TargetSubregions, index: usize) -> u64 {
    let this = &target.subregions[index];
    if is_at_border(target, index) {
        0
    } else if this.mean_rate() > 0.0 || this.is_probe_mixed() {
        1
    } else {
        2
    }
}

/// Whether use begins or ends in a page table, as far as is known, or the last looks at it were
/// odd.
pub(super) fn is_at_border(target: &TargetSubregions, index: usize) -> bool {
    let subregion = &target.subregions[index];
    target.is_edge(index) || subregion.estimate.is_odd() || subregion.is_cut
}
