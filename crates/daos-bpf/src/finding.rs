//! Finding targets among all processes of the machine, as they come and go.
//!
//! The largest come first, as most is to be seen there, and there is a bound on how many are
//! targets: each takes a region at least. Of each, only its main ranges are watched: what many
//! processes map can't be observed, and a small process is a range or two.

use crate::BpfError;
use crate::everyone::Everyone;
use crate::page_cache::PageCacheLook;
use crate::vaddr::{Origin, VirtualMemory};
use daos_linux::census::{Census, Counted, Selection, Verdict};
use daos_linux::{Process, cpu};
use std::collections::HashMap;
use std::path::Path;

/// Processes that are looked at in one step. Chosen: a step takes some 100 µs at most.
const IN_A_STEP: usize = 8;
/// CPU time in microseconds that may go into finding targets before the first tick. Chosen:
/// some thousand processes are gone over, and some hundred taken on.
const AT_FIRST_US: u64 = 100_000;
/// The part of what upkeep allows that is left for looks at targets. Chosen: half.
const FOR_LOOKS: f64 = 0.5;
/// While so many targets wait for the first look at what they have mapped, no more are taken on,
/// but for large ones: before that look nothing is seen of them. Chosen: as many as in a step.
const MOST_UNSEEN: usize = IN_A_STEP;
/// What a target must have gained or lost to be looked at at once, in bytes. Chosen.
const GREW_BYTES: u64 = 4 << 20;

/// Where targets are, by process number.
type Known = HashMap<u32, usize>;

impl VirtualMemory {
    /// Watches all processes that `selection` means, up to `most` of them at a time, as they come
    /// and go; those that are there at once, as far as that takes no more than a tenth of a
    /// second.
    ///
    /// # Errors
    ///
    /// Those of looking up their tasks, but for what is one process's own trouble.
    pub fn watch_everyone(&mut self, selection: Selection, most: usize) -> Result<(), BpfError> {
        let mut everyone = Everyone::new(Census::new(Path::new("/"), selection), most);
        self.upkeep = self.upkeep.clone().of_everyone();
        let (begun_us, now_us) = (cpu::used_us(), cpu::monotonic_us());
        let at_first = |_: &mut Self, _| cpu::used_us() < begun_us + AT_FIRST_US;
        let found = self.find(&mut everyone, now_us, usize::MAX, at_first);
        self.everyone = Some(everyone);
        self.page_cache = Some(PageCacheLook::new(&mut self.reader)?);
        found
    }

    /// Processes that are never acted on, and so no targets, when all were last gone over.
    pub fn nr_protected(&self) -> usize {
        self.everyone.as_ref().map_or(0, |everyone| everyone.nr_protected)
    }

    /// Processes that are no targets since there may be no more targets, at least.
    pub fn nr_too_many(&self) -> usize {
        self.everyone.as_ref().map_or(0, |everyone| everyone.nr_too_many)
    }

    /// Processes that are no targets since another `daos` watches them, as far as they were met.
    pub fn nr_claimed(&self) -> usize {
        self.everyone.as_ref().map_or(0, |everyone| everyone.nr_claimed)
    }

    /// Goes on with finding targets, as far as upkeep allows.
    pub(crate) fn find_targets(&mut self, now_us: u64) -> Result<(), BpfError> {
        let Some(mut everyone) = self.everyone.take() else { return Ok(()) };
        // Those that were found are to be looked at, too.
        let kept_us = self.upkeep.allowance.left_us() * FOR_LOOKS;
        let found = self.find(&mut everyone, now_us, MOST_UNSEEN, |this, spent_us| {
            this.upkeep.allowance.spend(spent_us);
            this.upkeep.allowance.left_us() > kept_us.max(0.0)
        });
        self.everyone = Some(everyone);
        found
    }

    /// Goes on, step by step, while `may` says so; it is told what the step before took.
    /// `most_unseen`: of how many nothing may be known yet, but for large ones.
    fn find(
        &mut self,
        everyone: &mut Everyone,
        now_us: u64,
        most_unseen: usize,
        may: impl Fn(&mut Self, u64) -> bool,
    ) -> Result<(), BpfError> {
        if everyone.rests(now_us) {
            return Ok(());
        }
        let nr_unseen = self.spaces.iter().filter(|space| !space.seen.is_begun()).count();
        let mut room = most_unseen.saturating_sub(nr_unseen);
        let large_bytes = self.large_bytes();
        let mut known: Known = self.pids().zip(0..).collect();
        let mut spent_us = 0;
        while may(self, spent_us) {
            let begun_us = cpu::used_us();
            let fits = |next: &mut Counted| room > 0 || next.resident_bytes > large_bytes;
            let has_next = everyone.candidates.last_mut().is_some_and(fits);
            let counts = everyone.counts_next(has_next, now_us);
            let dropped = if counts {
                self.count_some(everyone, &known, now_us)
            } else if let Some(candidate) = everyone.candidates.pop_if(fits) {
                room = room.saturating_sub(1);
                self.take_on(everyone, candidate, &mut known)?
            } else {
                return Ok(());
            };
            if dropped {
                known = self.pids().zip(0..).collect();
            }
            spent_us = cpu::used_us() - begun_us;
            if counts {
                everyone.took_us += spent_us;
            }
        }
        Ok(())
    }

    /// A step of a census. Whether a target was dropped.
    fn count_some(&mut self, everyone: &mut Everyone, known: &Known, now_us: u64) -> bool {
        everyone.begin(now_us);
        for _ in 0..IN_A_STEP {
            let Some(counted) = everyone.count() else {
                let pause_us = self.upkeep.pause_of_census_us(everyone.took_us);
                everyone.end(pause_us, now_us);
                return false;
            };
            if let Some(&at) = known.get(&counted.pid) {
                if self.is_to_be_dropped(everyone, at, &counted) {
                    self.spaces.remove(at);
                    return true;
                }
            } else if counted.verdict == Verdict::Fits {
                everyone.note(counted);
            }
        }
        everyone.end_step();
        false
    }

    /// Whether a target is none any more. One that grew is looked at soon.
    fn is_to_be_dropped(&mut self, everyone: &Everyone, at: usize, counted: &Counted) -> bool {
        let space = &mut self.spaces[at];
        let resident_bytes = counted.resident_bytes;
        if space.seen.resident_bytes().is_some_and(|b| b.abs_diff(resident_bytes) >= GREW_BYTES) {
            space.seen.next_us = 0;
        }
        space.origin == Origin::Found
            && match counted.verdict {
                Verdict::Fits => false,
                // What is about as large as it must be does not come and go.
                Verdict::NotYet => resident_bytes < everyone.census.min_resident_bytes() / 2,
                Verdict::Other | Verdict::Protected => true,
            }
    }

    /// Makes a process that was found a target. Whether another was dropped for it.
    fn take_on(
        &mut self,
        everyone: &mut Everyone,
        candidate: Counted,
        known: &mut Known,
    ) -> Result<bool, BpfError> {
        let pid = candidate.pid;
        if known.contains_key(&pid) {
            return Ok(false);
        }
        // Those that are left are no larger.
        let left = everyone.candidates.len() + 1;
        if !self.has_files_for_one_more() {
            self.nr_left_out = self.nr_left_out.max(left);
            everyone.candidates.clear();
            return Ok(false);
        }
        let smallest =
            if self.spaces.len() >= everyone.most { self.smallest_found() } else { None };
        if self.spaces.len() >= everyone.most
            && smallest.is_none_or(|(_, bytes)| candidate.resident_bytes < bytes.saturating_mul(2))
        {
            everyone.nr_too_many = left;
            everyone.candidates.clear();
            return Ok(false);
        }
        // The verdict holds for who is held, if that is there until after.
        if let Ok(process) = Process::open(pid)
            && everyone.census.verdict_on(pid) == Verdict::Fits
            && process.is_alive()
        {
            let Ok(id) = self.add_as(Origin::Found, process) else {
                everyone.nr_claimed += 1;
                return Ok(false);
            };
            let Some(at) = self.place_of(id) else { return Ok(false) };
            known.insert(pid, at);
            self.spaces[at].seen.counted_bytes = Some(candidate.resident_bytes);
            self.task(at)?;
            if let Some((smallest, _)) = smallest {
                everyone.nr_too_many += 1;
                self.spaces.remove(smallest);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The target among those that were found that has least, and what of it is resident.
    fn smallest_found(&self) -> Option<(usize, u64)> {
        let found = self.spaces.iter().enumerate().filter(|(_, s)| s.origin == Origin::Found);
        let sizes = found.map(|(at, space)| (at, space.seen.resident_bytes().unwrap_or(0)));
        sizes.min_by_key(|(_, bytes)| *bytes)
    }
}
