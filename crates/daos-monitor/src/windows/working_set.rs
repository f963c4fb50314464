//! The working sets of a target: how much of it is accessed within which time.
//!
//! What is known of each subregion is added up: what was seen and, where nobody looked for a while,
//! what is usual. Memory that was not looked at yet is taken to be used like memory that was. How
//! much was filled of late is known from resident sizes.

use super::curve::Curve;
use super::growth::KEPT_US;
use super::subregion::Subregion;
use super::target::TargetSubregions;
use daos_core::{WITHIN_US, WorkingSets};

/// CPU time to add up what is known of a subregion, in microseconds. Measured, with cold caches.
const ADDING_US: f64 = 0.2;
/// The share of the budget that adding up may take. Chosen.
const FOR_WORKING_SETS: f64 = 0.04;
/// The longest time from one adding up to the next, in microseconds, even if that exceeds the
/// share. Chosen: the shortest time for which working sets tell what happened, rather than what
/// usually does.
const MOST_BETWEEN_US: f64 = 1_000_000.0;
/// How long memory counts as new, in microseconds. Chosen: what is filled within so long is mostly
/// used alike.
const NEW_FOR_US: u64 = 30_000_000;
/// The fewest subregions that tell how others are used. Chosen: with eight, a share is known to a
/// sixth.
const SOME_LOOKED_AT: usize = 8;
/// The share of a probe's pages that are in memory from which on it tells how much of its subregion
/// is. Chosen.
const TELLS_HOW_MUCH: f32 = 0.5;
/// The share of resident memory that may be found nowhere without being told to be unseen. Chosen:
/// five programs of which all is found missed a tenth at most.
const FEW_MISSED: f64 = 0.25;
/// The share from which on all memory that was not found is told to be unseen; from [`FEW_MISSED`]
/// on, ever more of it is. Chosen.
const MUCH_MISSED: f64 = 0.5;

/// How much is in memory, as far as page tables and probes tell, in bytes.
#[derive(Debug, Default)]
struct InMemory {
    /// In all subregions.
    all: f64,
    /// Where pages are known one by one, or half of a probe and more is in memory.
    sure: f64,
    /// Where less of a probe is in memory, but some.
    thin: f64,
    /// The accessed part of that.
    thin_accessed: f64,
    /// The size of the subregions with such probes.
    thin_of: f64,
    /// The size of the subregions with probes of which nothing is in memory.
    empty_of: f64,
}

impl InMemory {
    /// Adds a subregion: `bytes` of it can be observed, and a share of them is accessed at any
    /// time.
    fn add(&mut self, subregion: &Subregion, bytes: f64, share_accessed: f32) {
        let there = bytes * f64::from(subregion.present);
        self.all += there;
        if subregion.table.is_some() || subregion.present >= TELLS_HOW_MUCH {
            self.sure += there;
        } else if subregion.present > 0.0 {
            self.thin += there;
            self.thin_accessed += bytes * f64::from(share_accessed);
            self.thin_of += bytes;
        } else {
            self.empty_of += bytes;
        }
    }

    /// How many bytes were found. Where most probes meet nothing, as in terabytes of reserved
    /// addresses in which pages lie singly, a probe that happens to meet some does not tell how
    /// many there are; but what is accessed was found.
    fn found(&self) -> f64 {
        self.sure + if self.thin_of >= self.empty_of { self.thin } else { self.thin_accessed }
    }
}

/// Bytes within each of [`WITHIN_US`].
type Sets = [f64; WITHIN_US.len()];

/// Sums over the subregions of a target, in bytes.
#[derive(Debug, Default)]
struct Sums {
    /// Accessed within each time, where scouts survey.
    surveyed: Sets,
    /// Accessed within each time, elsewhere.
    rest: Sets,
    /// The part of both that was filled within the time, or may have been.
    filled: Sets,
    /// The size of the subregions in which scouts survey.
    surveyed_of: f64,
    /// The size of the subregions that were never read.
    unseen: f64,
    /// Bytes of subregions not known to be absent that can't be observed.
    hidden: f64,
    in_memory: InMemory,
}

impl Sums {
    /// Adds a subregion that was read, if use is usually as this curve says.
    fn add(&mut self, subregion: &Subregion, usual: Curve, now_us: u64) {
        let bytes = observable_bytes(subregion);
        let is_surveyed = subregion.may_be_explored();
        self.surveyed_of += if is_surveyed { bytes } else { 0.0 };
        let sum = if is_surveyed { &mut self.surveyed } else { &mut self.rest };
        let mut longest = 0.0;
        for (at, (sum, share)) in sum.iter_mut().zip(subregion.shares_if(usual, now_us)).enumerate()
        {
            let accessed = bytes * f64::from(share);
            *sum += accessed;
            longest = share;
            if subregion.filled_us > 0 && subregion.filled_us + WITHIN_US[at] > now_us {
                self.filled[at] += accessed;
            }
        }
        if !subregion.absent {
            self.hidden += subregion.range.len() as f64 - bytes;
            self.in_memory.add(subregion, bytes, longest);
        }
    }
}

/// The bytes of a subregion that can be observed: shares are of these.
fn observable_bytes(subregion: &Subregion) -> f64 {
    subregion.range.len() as f64 * (1.0 - subregion.unobserved)
}

impl TargetSubregions {
    /// Adds up how much of it is accessed within which time, when that is due: this goes through
    /// all subregions. `per_second`: microseconds of CPU time that may be spent.
    pub fn add_up_working_sets(&mut self, per_second: f64, now_us: u64) {
        if now_us < self.working_sets_due_us {
            return;
        }
        let cost_us = self.subregions.len() as f64 * ADDING_US;
        let between_us = cost_us * 1e6 / (FOR_WORKING_SETS * per_second);
        self.working_sets_due_us = now_us + between_us.min(MOST_BETWEEN_US) as u64;
        let new = self.usual_of_new(now_us);
        let of_unseen = self.usual_of_unseen(now_us);
        let mut sums = Sums::default();
        for subregion in &self.subregions {
            if of_unseen.is_some() && subregion.is_unseen() {
                sums.unseen += observable_bytes(subregion);
                continue;
            }
            let of_others = new.filter(|_| subregion.is_only_filled());
            sums.add(subregion, of_others.unwrap_or(subregion.curve), now_us);
        }
        let Sums { surveyed: mut sum, rest, mut filled, in_memory, unseen, .. } = sums;
        for (sum, least) in sum.iter_mut().zip(self.survey.at_least(now_us)) {
            *sum = sum.max(least * sums.surveyed_of);
        }
        sum.iter_mut().zip(rest).for_each(|(sum, rest)| *sum += rest);
        // What a few pages tell of many may add up to more than there is.
        let most = self.resident_bytes.map_or(f64::MAX, |bytes| bytes as f64);
        let unknown = unseen.min((most - in_memory.all).max(0.0));
        for (at, share) in of_unseen.unwrap_or_default().shares.into_iter().enumerate() {
            sum[at] += unknown * f64::from(share);
            filled[at] += unknown * f64::from(share);
        }
        // What was filled so shortly before may not have been looked at.
        for (at, us) in WITHIN_US.into_iter().enumerate().filter(|(_, us)| *us <= KEPT_US) {
            sum[at] += (self.growth.within(us) as f64 - filled[at]).max(0.0);
        }
        let all = sums.hidden + in_memory.all + unknown;
        let hidden = sums.hidden * (most / all.max(1.0)).min(1.0);
        let known = hidden + in_memory.found() + unseen + self.growth.within(KEPT_US) as f64;
        let sets = WorkingSets::new(sum).beside_hidden(hidden + self.missed_bytes(known));
        self.working_sets = (self.subregions.len() > 1).then_some(sets);
    }

    /// Resident bytes beside `known` ones that are told to be unseen.
    fn missed_bytes(&self, known: f64) -> f64 {
        let Some(resident) = self.resident_bytes.map(|bytes| bytes as f64) else { return 0.0 };
        let missed = resident - known;
        let much = (missed / resident.max(1.0) - FEW_MISSED) / (MUCH_MISSED - FEW_MISSED);
        missed * much.clamp(0.0, 1.0)
    }

    /// The curve of memory that was not looked at yet, taken from what was looked at; `None` if
    /// that is little, or all was looked at.
    fn usual_of_unseen(&self, now_us: u64) -> Option<Curve> {
        if !self.subregions.iter().any(Subregion::is_unseen) {
            return None;
        }
        let tells = |s: &Subregion| !(s.absent || s.is_unseen() || s.is_new()) && s.present > 0.0;
        self.mean_shares(tells, now_us)
    }

    /// The curve of memory that was filled of late, taken from those subregions of it that were
    /// looked at since; `None` if these are few, or are all. Of the others it is only known that
    /// they were accessed once.
    fn usual_of_new(&self, now_us: u64) -> Option<Curve> {
        if !self.subregions.iter().any(Subregion::is_only_filled) {
            return None;
        }
        let tells = |s: &Subregion| !s.absent && s.was_looked_at_since_filled(NEW_FOR_US, now_us);
        self.mean_shares(tells, now_us)
    }

    /// The mean curve of the subregions that tell; `None` if they are few.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_core::{AddrRange, HUGE_PAGE_SIZE, Observation, PAGE_SIZE, TargetId};

    const S: u64 = 1_000_000;

    #[test]
    fn what_was_filled_is_used_as_those_parts_of_it_are_that_were_looked_at_since() {
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(0, HUGE_PAGE_SIZE)], true, S);
        target.fit(vec![AddrRange::new(0, 65 * HUGE_PAGE_SIZE)], true, 2 * S);
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
    fn what_came_into_memory_was_accessed_before_anybody_looks() {
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(HUGE_PAGE_SIZE, 2 * HUGE_PAGE_SIZE)], true, S);
        target.fit(vec![AddrRange::new(HUGE_PAGE_SIZE, 65 * HUGE_PAGE_SIZE)], true, 2 * S);
        target.split_at_tables(64, 2 * S);
        let empty = Observation { empty_bytes: HUGE_PAGE_SIZE, ..Observation::default() };
        for subregion in &mut target.subregions {
            subregion.take((0, 8), &empty, 3 * S);
        }
        let told = |target: &mut TargetSubregions, tables: u64, now_us| {
            target.set_resident(Some(tables * HUGE_PAGE_SIZE), now_us);
            target.add_up_working_sets(1e9, now_us);
            target.working_sets.expect("counted").within(S) / HUGE_PAGE_SIZE as f64
        };
        assert_eq!(told(&mut target, 4, 4 * S), 0.0, "since when it is there nobody knows");
        assert_eq!(told(&mut target, 12, 5 * S), 8.0);
        // Of which half was seen to be filled, and those before had not come.
        let seen = Observation { present: 8, accessed: 8, ..Observation::default() };
        for subregion in &mut target.subregions[4..8] {
            subregion.take((0, 8), &seen, 6 * S);
            // That it is armed at once makes it no other memory.
            subregion.arm(0, 8, 6 * S);
        }
        assert_eq!(told(&mut target, 20, 6 * S), 8.0);
        assert!(told(&mut target, 20, 8 * S) <= 4.0, "nothing came since");
    }

    #[test]
    fn what_nobody_looked_at_yet_is_used_as_what_somebody_did_look_at() {
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![AddrRange::new(HUGE_PAGE_SIZE, 65 * HUGE_PAGE_SIZE)], true, S);
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
    fn what_is_resident_and_was_not_found_is_hidden() {
        let hidden = |eighths: fn(usize) -> u32, resident: u64| {
            let mut target = TargetSubregions::new(TargetId(0));
            target.fit(vec![AddrRange::new(HUGE_PAGE_SIZE, 65 * HUGE_PAGE_SIZE)], true, S);
            target.split_at_tables(64, S);
            target.set_resident(Some(resident * HUGE_PAGE_SIZE), S);
            for (at, subregion) in target.subregions.iter_mut().enumerate() {
                let nr = subregion.nr_pages();
                subregion.arm(0, nr, S);
                let present = nr * eighths(at) / 8;
                let seen = Observation { present, empty_bytes: PAGE_SIZE, ..Default::default() };
                subregion.take((0, nr), &seen, 2 * S);
            }
            target.add_up_working_sets(1e9, 4 * S);
            target.working_sets.expect("counted").hidden() / HUGE_PAGE_SIZE as f64
        };
        assert_eq!(hidden(|_| 0, 4), 4.0);
        let one_in_eight_met_some = |at| if at % 8 == 0 { 1 } else { 0 };
        assert_eq!(hidden(one_in_eight_met_some, 4), 4.0, "by chance");
        assert_eq!(hidden(|_| 8, 64), 0.0);
        assert_eq!(hidden(|_| 7, 64), 0.0, "an eighth was missed by chance");
        assert_eq!(hidden(|_| 2, 16), 0.0, "a quarter is there everywhere");
        assert_eq!(hidden(|at| if at < 16 { 8 } else { 0 }, 64), 48.0);
    }

    #[test]
    fn a_survey_tells_of_what_it_was_drawn_from() {
        let all = AddrRange::new(HUGE_PAGE_SIZE, 513 * HUGE_PAGE_SIZE);
        let mut target = TargetSubregions::new(TargetId(0));
        target.fit(vec![all], true, 0);
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
        target.fit(vec![AddrRange::new(all.start, all.start + all.len() / 2)], true, 3 * S);
        assert_eq!(told(&mut target, 3 * S), 0.0, "what it was drawn from is gone");
    }
}
