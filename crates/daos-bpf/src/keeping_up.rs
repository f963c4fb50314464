//! Keeping up with targets: what they have mapped, the children that they start, and those
//! that are found among all processes.
//!
//! Each step of it, a part of a list of mappings or a child, is small, and the next is taken
//! when [`Upkeep`](crate::upkeep::Upkeep) allows.

use crate::BpfError;
use crate::vaddr::{Origin, Space, VirtualMemory};
use daos_linux::cpu;
use rustix::process::{Resource, getrlimit};
use std::collections::HashSet;

/// Open files for each target: its pidfd, the lock that claims it, and the two of
/// [`ClearRefs`](daos_linux::clear_refs::ClearRefs).
const FILES_OF_TARGET: u64 = 4;
/// Open files that children must leave for all else. Chosen: without targets there are some
/// forty.
const FILES_LEFT: u64 = 128;
/// How many times as often as otherwise the mappings of a target are read whose size has changed.
/// Chosen: programs map most of their memory in their first seconds; with the usual bound, a list
/// of a thousand mappings is then read every two seconds.
const SOONER: u64 = 5;
/// A target is large if it has this many times the mean resident set of all targets. Chosen.
const LARGE: u64 = 4;

impl VirtualMemory {
    /// Goes on with what is due: finding targets among all processes, looking at what targets
    /// have mapped, and taking on children that are not targets yet, and theirs. Large targets
    /// come first, as most changes there; their pauses leave enough for the others. With those it
    /// begins where it had to end the last time.
    pub(crate) fn keep_up(&mut self) -> Result<(), BpfError> {
        let now_us = cpu::monotonic_us();
        self.upkeep.allowance.fill(now_us);
        self.find_targets(now_us)?;
        let mut known: HashSet<u32> = HashSet::new();
        if self.with_children {
            known.extend(self.pids());
        }
        let large_bytes = self.large_bytes();
        for at in 0..self.spaces.len() {
            let is_large = self.spaces[at].seen.resident_bytes() > Some(large_bytes);
            if is_large && !self.keep_up_with(at, now_us, &mut known)? {
                return Ok(());
            }
        }
        let first = if self.keep_up_from < self.spaces.len() { self.keep_up_from } else { 0 };
        let mut at = first;
        // Those that are taken on meanwhile are looked at, too.
        while at < self.spaces.len() && self.keep_up_with(at, now_us, &mut known)? {
            at += 1;
        }
        if at == self.spaces.len() {
            at = 0;
            while at < first && self.keep_up_with(at, now_us, &mut known)? {
                at += 1;
            }
        }
        self.keep_up_from = at;
        Ok(())
    }

    /// Targets that have more resident come first.
    pub(crate) fn large_bytes(&self) -> u64 {
        let all: u64 = self.spaces.iter().filter_map(|space| space.seen.resident_bytes()).sum();
        LARGE * all / (self.spaces.len() as u64).max(1)
    }

    /// Whether upkeep allowed all of it.
    fn keep_up_with(
        &mut self,
        at: usize,
        now_us: u64,
        known: &mut HashSet<u32>,
    ) -> Result<bool, BpfError> {
        loop {
            let space = &self.spaces[at];
            let looks = space.seen.is_looking();
            if !looks && space.seen.next_us > now_us && !self.is_worth_looking(at, now_us) {
                return self.take_on_children(at, known);
            }
            if !self.upkeep.allowance.allows() {
                return Ok(false);
            }
            let begun_us = cpu::used_us();
            let space = &mut self.spaces[at];
            let took_us = if looks {
                space.seen.go_on_looking(&space.process, now_us)
            } else {
                space.seen.begin_look(&space.process, self.with_children, now_us);
                None
            };
            self.upkeep.allowance.spend(cpu::used_us() - begun_us);
            if let Some(took_us) = took_us {
                let pause_us = self.pause_us(at, took_us);
                let seen = &mut self.spaces[at].seen;
                (seen.next_us, seen.sooner_us) = (now_us + pause_us, now_us + pause_us / SOONER);
            }
        }
    }

    /// Whether a target is to be looked at before it is its turn. Those that were found among all
    /// processes are counted, and so it is known that they grew.
    fn is_worth_looking(&mut self, at: usize, now_us: u64) -> bool {
        let space = &mut self.spaces[at];
        let may_be = space.origin != Origin::Found && space.seen.sooner_us <= now_us;
        if !may_be || !self.upkeep.allowance.allows() {
            return false;
        }
        let begun_us = cpu::used_us();
        let is_worth_it = space.seen.has_other_size(&space.process);
        let took_us = cpu::used_us() - begun_us;
        self.upkeep.allowance.spend(took_us);
        let pause_us = self.pause_us(at, took_us);
        self.spaces[at].seen.sooner_us = now_us + pause_us;
        is_worth_it
    }

    /// How long not to look at a target again when that took so long.
    fn pause_us(&self, at: usize, took_us: u64) -> u64 {
        self.upkeep.pause_us(took_us, self.share_of_looking(at)).max(1)
    }

    /// Begins a look at what a target has mapped, unless one goes on. It is spent from what
    /// upkeep allows later.
    pub(crate) fn look_now(&mut self, at: usize) {
        if !self.spaces[at].seen.is_looking() {
            let begun_us = cpu::used_us();
            let space = &mut self.spaces[at];
            space.seen.begin_look(&space.process, false, cpu::monotonic_us());
            self.upkeep.allowance.spend(cpu::used_us() - begun_us);
        }
    }

    /// The share of what goes into looking at targets like this that is for this one: the same
    /// for each, and of those that were found half by what they have resident.
    fn share_of_looking(&self, at: usize) -> f64 {
        let space = &self.spaces[at];
        let alike = || self.spaces.iter().filter(|other| other.origin == space.origin);
        let even = 1.0 / alike().count() as f64;
        if space.origin != Origin::Found {
            return even;
        }
        let resident = |space: &Space| space.seen.resident_bytes().unwrap_or(0) as f64;
        let all: f64 = alike().map(resident).sum();
        (even + resident(space) / all.max(1.0)) / 2.0
    }

    /// Takes on the children of a target that are not targets yet. Whether upkeep allowed all.
    fn take_on_children(&mut self, at: usize, known: &mut HashSet<u32>) -> Result<bool, BpfError> {
        while let Some(&pid) = self.spaces[at].seen.children.last() {
            if known.contains(&pid) {
                self.spaces[at].seen.children.pop();
                continue;
            }
            if !self.upkeep.allowance.allows() {
                return Ok(false);
            }
            if !self.has_files_for_one_more() {
                // They are found again at the next look.
                self.nr_left_out = self.nr_left_out.max(self.spaces[at].seen.children.len());
                self.spaces[at].seen.children.clear();
                break;
            }
            self.spaces[at].seen.children.pop();
            known.insert(pid);
            let begun_us = cpu::used_us();
            // One that ended meanwhile is none to watch; of one that another daos watches,
            // that one will tell.
            if let Ok(child) = self.spaces[at].process.child(pid)
                && let Ok(id) = self.add_as(Origin::Child, child)
                && let Some(child) = self.place_of(id)
            {
                self.task(child)?;
            }
            self.upkeep.allowance.spend(cpu::used_us() - begun_us);
        }
        Ok(true)
    }

    /// Whether the limit on open files leaves what another target takes.
    pub(crate) fn has_files_for_one_more(&self) -> bool {
        let needed = FILES_OF_TARGET * (self.spaces.len() as u64 + 1) + FILES_LEFT;
        getrlimit(Resource::Nofile).current.is_none_or(|limit| needed <= limit)
    }

    /// How many processes, at least, are not watched because the limit on open files does not allow
    /// it: children of targets, or of all processes.
    pub fn nr_left_out(&self) -> usize {
        self.nr_left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Making, Target};
    use daos_core::{AccessCheck, KindsOfMemory};
    use daos_linux::allowance::Allowance;
    use std::thread;
    use std::time::Duration;
    use test_tag::tag;

    /// Whether a look, that is not due for long, is had when it may be had sooner.
    fn is_seen_soon(target: &Target, change: impl FnOnce()) -> bool {
        let mut memory = VirtualMemory::new().expect("the programs load").with_max_overhead(1.0);
        memory.add(target.process()).expect("nobody else watches it");
        memory.targets().expect("it runs");
        let before = memory.spaces[0].seen.ranges.clone();
        change();
        let seen = &mut memory.spaces[0].seen;
        (seen.next_us, seen.sooner_us) = (u64::MAX, u64::MAX);
        memory.targets().expect("it runs");
        let seen = &mut memory.spaces[0].seen;
        assert_eq!((&seen.ranges, seen.next_us), (&before, u64::MAX), "not yet");
        seen.sooner_us = 0;
        memory.targets().expect("it runs");
        memory.spaces[0].seen.next_us < u64::MAX && memory.spaces[0].seen.ranges != before
    }

    #[tag(root)]
    #[test]
    fn a_target_of_another_size_is_looked_at_sooner() {
        let target = Target::start(Making { fills: |page| page == 0, ..Making::pages(4 << 30) });
        assert!(!is_seen_soon(&target, || ()));
        assert!(is_seen_soon(&target, || target.give_back()));
    }

    #[tag(root)]
    #[test]
    fn the_largest_is_looked_at_first() {
        let mut memory = VirtualMemory::new().expect("the programs load").with_max_overhead(1.0);
        let targets: Vec<Target> = (0..9).map(|_| Target::start(Making::pages(4096))).collect();
        for target in &targets {
            memory.add(target.process()).expect("nobody else watches it");
        }
        // On a busy host not all of it at once.
        let is_new = |space: &Space| space.seen.is_looking() || space.seen.memory.is_none();
        for _ in 0..1000 {
            memory.targets().expect("they run");
            if !memory.spaces.iter().any(is_new) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!memory.spaces.iter().any(is_new), "not looked at in ten seconds");
        // They have what this process had when it was forked, which is whatever other tests make.
        for (at, space) in memory.spaces.iter_mut().enumerate() {
            let anonymous_bytes = if at == 8 { 512 << 20 } else { 1 << 20 };
            space.seen.memory = Some(KindsOfMemory { anonymous_bytes, ..Default::default() });
            space.seen.next_us = 0;
        }
        memory.keep_up_from = 0;
        // For one step.
        memory.upkeep.allowance = Allowance::new(1e-9);
        memory.upkeep.allowance.spend(memory.upkeep.allowance.left_us() as u64 - 1);
        memory.targets().expect("they run");
        let looks: Vec<bool> = memory.spaces.iter().map(|space| space.seen.is_looking()).collect();
        assert_eq!(looks, [[false; 8].as_slice(), &[true]].concat());
    }
}
