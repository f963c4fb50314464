//! What a round arms: probes and pages in use that are due, then whole page tables.

use super::estimate::chance;
use super::looks::{BETWEEN_LOOKS_US, key, wait_us};
use super::round::{Place, Who};
use super::table::Table;
use super::target::TargetSubregions;
use super::{IDLE_PAGES, Windows};
use daos_core::pages::Pages;
use daos_core::{AccessCheck, PAGE_SIZE};

/// Pages in the probe of a subregion that is accessed often, and of one that is accessed
/// seldom. Chosen: each costs its user something whenever it is accessed after it was armed.
const BUSY_PAGES: u64 = 4;
const USED_PAGES: u64 = 16;
/// Pages of a page table that a look at some in use spans, unless it has as few as of memory that
/// is accessed often. Chosen: those between cost nearly as much to pass over as to arm.
const MOST_SPAN: u32 = 64;
/// Accesses a second and page from which on few pages are enough. Chosen.
const BUSY_RATE: f64 = 10.0;
/// The part of what there is for page tables that those have that are known, while others are
/// not. Chosen: a change is to be noticed meanwhile.
const FOR_KNOWN: f64 = 0.05;
/// Turns of tables that are known begin here: those of others come first.
const KNOWN: u64 = 10;

impl Windows {
    /// Arms the probes that are due and don't wait for an access, as far as it leaves `kept`
    /// of the budget; those that never were before first, as far as it leaves `kept_by_first`.
    pub(super) fn arm_due(&mut self, now_us: u64, kept_by_first: f64, kept: f64) {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        for (at, target) in self.targets.iter().enumerate() {
            for (index, subregion) in target.subregions.iter().enumerate() {
                if subregion.due_us <= now_us && subregion.next_look(now_us).is_none() {
                    let key = if subregion.is_new() { 0 } else { key(subregion).max(1) };
                    due.push((key, Place { who: Who::Subregion(at, index), from: 0, to: 0 }));
                }
            }
        }
        due.sort_unstable_by_key(|(key, _)| *key);
        let most = self.max_windows();
        for (key, Place { who, .. }) in &due {
            let Who::Subregion(at, index) = *who else { continue };
            let subregion = &mut self.targets[at].subregions[index];
            let (key, kept) = match key {
                0 => (subregion.due_us, kept_by_first),
                key => (*key, kept),
            };
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
                // A page in use, and its neighbours.
                Some(table) => {
                    let set = table.used().without(&subregion.waiting);
                    let nth = self.rng.below(u64::from(set.len().max(1))) as u32;
                    let Some(first) = set.nth(nth) else {
                        subregion.due_us = now_us + BETWEEN_LOOKS_US;
                        continue;
                    };
                    let last = set
                        .iter()
                        .skip_while(|page| *page < first)
                        .take(pages as usize)
                        .enumerate()
                        .take_while(|(nth, page)| {
                            (*nth as u64) < BUSY_PAGES || page - first < MOST_SPAN
                        })
                        .last();
                    (first, last.map_or(first, |(_, last)| last) + 1)
                }
                None => {
                    if !subregion.unsure && subregion.range.pages() > pages {
                        let room = subregion.range.pages() - pages;
                        let start = subregion.range.start + self.rng.below(room + 1) * PAGE_SIZE;
                        let known = subregion.known;
                        subregion.place_probe(start, pages);
                        if known.intersect(&subregion.probe).is_some() {
                            subregion.known.start = subregion.known.start.min(known.start);
                            subregion.known.end = subregion.known.end.max(known.end);
                        }
                    }
                    (0, subregion.nr_pages())
                }
            };
            let chance = chance(rate, BETWEEN_LOOKS_US as f64 / 1e6);
            let set = Pages::range(from, to).without(&subregion.waiting);
            let price = self.budget.arming(&set, u64::from(to - from), chance);
            if self.places.len() >= most || !self.budget.reserve(price, kept) {
                self.note_left(key, now_us);
                break;
            }
            self.push_armed(Place { who: *who, from, to }, now_us);
        }
        self.due = due;
    }

    /// Arms whole page tables: those whose pages are not known one by one yet, then those
    /// whose pages in use were not armed for long.
    pub(super) fn arm_tables(&mut self, now_us: u64, kept: f64) {
        let mut due = std::mem::take(&mut self.due);
        due.clear();
        for (at, target) in self.targets.iter().enumerate() {
            for (index, subregion) in target.subregions.iter().enumerate() {
                let may = subregion.is_in_one_table()
                    && !(subregion.absent || subregion.huge || subregion.estimate.is_empty())
                    && u64::from(self.most_pages) >= subregion.range.pages()
                    && subregion.range.pages() > 1;
                let since = subregion.arm_all_us;
                let has_any = subregion.summary.used > 0 || since == 0;
                if may && has_any && since <= now_us {
                    let turn = match &subregion.table {
                        Some(_) => KNOWN + since,
                        None => first_turn(target, index),
                    };
                    due.push((turn, Place { who: Who::Subregion(at, index), from: 0, to: 0 }));
                }
            }
        }
        due.sort_unstable_by_key(|(turn, _)| *turn);
        let (new, known) = due.split_at(due.partition_point(|(turn, _)| *turn < KNOWN));
        self.is_learning = !new.is_empty();
        let for_known = if known.is_empty() { 0.0 } else { FOR_KNOWN };
        let there_is = (self.budget.fullness() - kept).max(0.0);
        self.arm_whole(new, kept + for_known * there_is, now_us);
        self.arm_whole(known, kept, now_us);
        self.due = due;
    }

    /// Arms these page tables as a whole, as far as it leaves `kept` of the budget.
    fn arm_whole(&mut self, due: &[(u64, Place)], kept: f64, now_us: u64) {
        for (_, Place { who, .. }) in due {
            let Who::Subregion(at, index) = *who else { continue };
            let subregion = &self.targets[at].subregions[index];
            let nr = subregion.range.pages();
            let price = match &subregion.table {
                None => {
                    // Of memory that nobody armed all bits are set.
                    self.budget.sampling(nr, chance(subregion.estimate.rate(), 1.0))
                }
                Some(table) => {
                    let set = Pages::range(0, nr as u32).without(&subregion.waiting);
                    let used = f64::from(table.used().len()) / f64::from(set.len().max(1));
                    self.budget.arming(&set, nr, used)
                }
            };
            if self.places.len() >= self.max_windows() || !self.budget.reserve(price, kept) {
                break;
            }
            if self.places.iter().any(|place| place.who == *who) {
                continue;
            }
            let subregion = &mut self.targets[at].subregions[index];
            if subregion.table.is_none() {
                subregion.make_table();
            }
            let place = Place { who: *who, from: 0, to: nr as u32 };
            self.push_armed(place, now_us);
            let subregion = &mut self.targets[at].subregions[index];
            if let Some(table) = &mut subregion.table {
                subregion.arm_all_us = table.armed_all(now_us, &mut self.rng);
            }
        }
    }

    /// Notes that a place is armed in this round, and when it is to be read.
    pub(super) fn push_armed(&mut self, place: Place, now_us: u64) {
        let sample_us = self.attrs.sample_us;
        let subregion = match place.who {
            Who::Subregion(at, index) => &mut self.targets[at].subregions[index],
            Who::Scout(at) => &mut self.scouts[at].place,
        };
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
        if wait_us < 4 * sample_us {
            subregion.due_us = now_us + sample_us;
            self.check_us = Some(now_us + sample_us);
        }
        self.places.push(place);
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

    /// Corrects when what was armed in the last tick was, and when it is read, now that the
    /// tick is over.
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
        for place in &self.places {
            let subregion = match place.who {
                Who::Subregion(at, index) => {
                    self.targets.get_mut(at).and_then(|t| t.subregions.get_mut(index))
                }
                Who::Scout(at) => self.scouts.get_mut(at).map(|scout| &mut scout.place),
            };
            if let Some(subregion) = subregion.filter(|s| s.armed.at_us == self.armed_us) {
                subregion.was_armed(over_us);
                subregion.due_us += took_us;
            }
        }
    }
}

/// When it is the turn of a page table that is not known yet: first those in which use begins
/// or ends, then others in use, as a whole or in part; last those that are idle, as far as a
/// probe can tell.
fn first_turn(target: &TargetSubregions, index: usize) -> u64 {
    let this = &target.subregions[index];
    if target.is_edge(index) || this.estimate.is_odd() {
        0
    } else if this.mean_rate() > 0.0 || this.is_probe_mixed() {
        1
    } else {
        2
    }
}
