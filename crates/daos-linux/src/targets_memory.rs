//! What all targets together have in memory and in swap, at a bounded cost.
//!
//! To ask the kernel for one of them takes some 20 µs, so of thousands not all are asked each
//! time: what was known of the others is as it was.

use crate::allowance::Allowance;
use crate::cpu;
use crate::memory::ProcessMemory;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::path::Path;

/// The part of the bound on the whole that goes into it. Chosen: a target or two can be asked
/// each tenth of a second.
const ASKING: f64 = 0.1;

/// What is known of each target.
#[derive(Debug)]
pub(crate) struct TargetsMemory {
    /// By process number; `None`: was not asked yet. Of one that has ended there is nothing.
    known: BTreeMap<u32, Option<ProcessMemory>>,
    /// The last that was asked.
    last: u32,
    allowance: Allowance,
}

impl TargetsMemory {
    /// `max_overhead`: the bound on the whole, as a share of one CPU.
    pub(crate) fn new(max_overhead: f64) -> Self {
        let allowance = Allowance::new(ASKING * max_overhead);
        Self { known: BTreeMap::new(), last: 0, allowance }
    }

    /// Who counts from now on.
    pub(crate) fn set(&mut self, pids: impl IntoIterator<Item = u32>) {
        let mut before = std::mem::take(&mut self.known);
        let known = |pid| (pid, before.remove(&pid).flatten());
        self.known = pids.into_iter().map(known).collect();
    }

    /// Asks as many as it may, and says what all of them have; `None` until each was asked,
    /// and while none has anything.
    pub(crate) fn read(&mut self, proc: &Path) -> Option<ProcessMemory> {
        self.allowance.fill(cpu::monotonic_us());
        for _ in 0..self.known.len() {
            if !self.allowance.allows() {
                break;
            }
            let begun_us = cpu::used_us();
            let mut next = self.known.range_mut((Excluded(self.last), Unbounded)).next();
            if next.is_none() {
                next = self.known.iter_mut().next();
            }
            let Some((&pid, known)) = next else { break };
            self.last = pid;
            *known = Some(ProcessMemory::read(proc, pid).unwrap_or_default());
            self.allowance.spend(cpu::used_us() - begun_us);
        }
        let sum: ProcessMemory = self.known.values().copied().sum::<Option<_>>()?;
        (sum != ProcessMemory::default()).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn those_who_are_too_many_are_asked_in_turn() {
        let proc = tempfile::tempdir().unwrap();
        for pid in 1..=3000 {
            let dir = proc.path().join(pid.to_string());
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("status"), "VmRSS: 4 kB\nVmSwap: 8 kB\n").unwrap();
        }
        // Next to nothing is earned meanwhile.
        let mut memory = TargetsMemory::new(1e-9);
        memory.set(1..=3000);
        assert_eq!(memory.read(proc.path()), None, "not all of them were asked");
        let asked = |memory: &TargetsMemory| memory.known.values().flatten().count();
        let first = asked(&memory);
        assert!((1..3000).contains(&first), "{first}");
        memory.allowance = Allowance::new(1e-9);
        memory.read(proc.path());
        assert!(asked(&memory) > first, "others are next");
        memory.allowance = Allowance::new(1.0);
        let all = ProcessMemory { resident_bytes: 3000 << 12, swap_bytes: 3000 << 13 };
        assert_eq!(memory.read(proc.path()), Some(all));
        memory.set([7, 5000]);
        assert_eq!(memory.read(proc.path()).unwrap().resident_bytes, 4096, "one has ended");
        memory.set([5000]);
        assert_eq!(memory.read(proc.path()), None);
    }
}
