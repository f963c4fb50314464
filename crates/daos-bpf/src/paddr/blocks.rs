//! Which of the machine's RAM processes that are meant have mapped, in blocks of 2 MiB: only there
//! is anything to be watched. The rest is free, page cache that nobody maps, or the kernel's. Who has
//! how much of which block is known by the way.
//!
//! Of each block some frames are looked at, others each time. That is done again and again, as
//! far as a part of the bound allows.

use super::ALL;
use super::frames;
use super::owners::Owners;
use super::ownership::{self, Holder};
use crate::BpfError;
use crate::programs::Wanted;
use daos_core::ownership::{Shares, add_share};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Ownership, PAGE_SIZE, Window};
use daos_linux::allowance::Allowance;
use daos_linux::census::Verdict;
use daos_linux::{cpu, process};
use std::collections::HashMap;
use std::path::Path;

/// Frames of a block that are looked at in turn. Chosen: of a block of which an eighth is mapped
/// one is found nine times in ten.
const SAMPLES: u64 = 16;
const PAGES: u64 = HUGE_PAGE_SIZE / PAGE_SIZE;
/// Blocks that are looked at in one step. Chosen: a step takes some hundred microseconds.
const IN_A_STEP: usize = 256;
/// Looks after which a block in which nothing was found mapped is left out.
const LOOKS: u8 = 4;
/// The part of the bound that goes into it. Chosen: with the usual bound, 24 GiB that are mostly
/// used are gone over in half a minute.
const SHARE: f64 = 0.15;
/// Most ranges that are watched: beyond that, those with the smallest gaps between them are one.
/// Chosen: each takes a region at least.
const MOST_RANGES: usize = 750;

/// Microseconds between two accounts of who has what, at least. Chosen.
const BETWEEN_ACCOUNTS_US: u64 = 5_000_000;

/// One block.
#[derive(Debug, Clone)]
struct Block {
    range: AddrRange,
    /// Looks that it is still taken for mapped.
    looks: u8,
    /// Who had how much of it at the last look.
    shares: Shares<Holder>,
}

/// What is known of each block.
#[derive(Debug)]
pub(super) struct Blocks {
    /// By rising address.
    blocks: Vec<Block>,
    next: usize,
    /// Which frames of a block come next.
    round: u64,
    allowance: Allowance,
    /// Whether processes are meant, as far as that was asked in this round.
    meant: HashMap<u32, bool>,
    /// Who had how much when that was last told, and when that was.
    told: HashMap<Holder, u64>,
    told_us: u64,
    /// What processes are called, those that have ended since, too.
    names: HashMap<u32, String>,
}

impl Blocks {
    /// Looks at all blocks of `ram` twice.
    pub(super) fn find(
        owners: &mut Owners,
        own_pgd: u64,
        ram: &[AddrRange],
        max_overhead: f64,
    ) -> Result<Self, BpfError> {
        let blocks = ram.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
        let blocks: Vec<_> =
            blocks.map(|range| Block { range, looks: 0, shares: Shares::new() }).collect();
        let allowance = Allowance::new(SHARE * max_overhead);
        let mut all = Self {
            blocks,
            next: 0,
            round: 0,
            allowance,
            meant: HashMap::new(),
            told: HashMap::new(),
            told_us: 0,
            names: HashMap::new(),
        };
        // Each of its places once, as nothing is known yet.
        for _ in 0..2 * all.blocks.len().div_ceil(IN_A_STEP) {
            all.step(owners, own_pgd)?;
        }
        Ok(all)
    }

    /// Goes on as far as is allowed.
    pub(super) fn go_on(&mut self, owners: &mut Owners, own_pgd: u64) -> Result<(), BpfError> {
        self.allowance.fill(cpu::monotonic_us());
        let most = self.blocks.len().div_ceil(IN_A_STEP);
        for _ in 0..most {
            if !self.allowance.allows() {
                break;
            }
            let begun_us = cpu::used_us();
            self.step(owners, own_pgd)?;
            self.allowance.spend(cpu::used_us() - begun_us);
        }
        Ok(())
    }

    /// Where they have anything mapped: sorted, disjoint.
    pub(super) fn mapped(&self) -> Vec<AddrRange> {
        let mapped = self.blocks.iter().filter(|block| block.looks > 0);
        joined_to(AddrRange::joined(mapped.map(|block| block.range)), MOST_RANGES)
    }

    /// Who has which part of all RAM, the first time and where that is news.
    pub(super) fn ownership(&mut self) -> Option<Ownership> {
        let now_us = cpu::monotonic_us();
        let is_first = self.told_us == 0;
        if !is_first && now_us < self.told_us + BETWEEN_ACCOUNTS_US {
            return None;
        }
        self.told_us = now_us;
        let mut held: HashMap<Holder, u64> = HashMap::new();
        for &(holder, bytes) in self.blocks.iter().flat_map(|block| &block.shares) {
            *held.entry(holder).or_default() += bytes;
        }
        if !is_first && !ownership::differs(&self.told, &held) {
            return None;
        }
        self.names.retain(|&pid, _| held.contains_key(&Holder::Process(pid)));
        self.told = held;
        let names = &mut self.names;
        let mut name = |pid| {
            let known = names.entry(pid).or_default();
            let name = process::name(Path::new("/proc"), pid);
            if !name.is_empty() {
                *known = name;
            }
            known.clone()
        };
        let blocks = self.blocks.iter().map(|block| (block.range, &block.shares));
        Some(Ownership::of_blocks(blocks, |holder: Holder| holder.owner(&mut name)))
    }

    fn step(&mut self, owners: &mut Owners, own_pgd: u64) -> Result<(), BpfError> {
        let Owners { processes, census, .. } = owners;
        let reader = &mut processes.reader;
        let end = (self.next + IN_A_STEP).min(self.blocks.len());
        let these = &mut self.blocks[self.next..end];
        // The golden ratio spreads the places of many rounds evenly.
        let first = self.round.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (PAGES / SAMPLES);
        let mut windows = Vec::new();
        let mut of = Vec::new();
        let mut is_free = vec![false; these.len()];
        let starts: Vec<_> = these.iter().map(|block| window(block.range.start)).collect();
        frames::read(
            reader,
            own_pgd,
            &starts,
            Wanted::WANT_NO_OWNER,
            |at, bytes| {
                is_free[at] = bytes >= HUGE_PAGE_SIZE;
            },
            |_| {},
        )?;
        for (at, block) in these.iter_mut().enumerate() {
            block.looks = block.looks.saturating_sub(1);
            block.shares.clear();
            if is_free[at] {
                continue;
            }
            let places = (first..block.range.pages()).step_by((PAGES / SAMPLES) as usize);
            for page in places {
                windows.push(window(block.range.start + page * PAGE_SIZE));
                of.push(at);
            }
        }
        let is_meant = |pid| census.verdict_on(pid) == Verdict::Fits;
        frames::read(
            reader,
            own_pgd,
            &windows,
            Wanted::WANT_OWNER,
            |_, _| {},
            |run| {
                let block = &mut these[of[run.window]];
                if let Some(holder) = Holder::of(run.found) {
                    let bytes = block.range.len() / SAMPLES * u64::from(run.found.nr);
                    add_share(&mut block.shares, holder, bytes);
                }
                let pid = run.found.tgid;
                if run.is_mapped() && *self.meant.entry(pid).or_insert_with(|| is_meant(pid)) {
                    block.looks = LOOKS;
                }
            },
        )?;
        self.next = end;
        if end == self.blocks.len() {
            self.next = 0;
            self.round += 1;
            self.meant.clear();
        }
        Ok(())
    }
}

fn window(start: u64) -> Window {
    Window { target: ALL, start, pages: 1 }
}

/// Sorted `ranges`, no more than `most` of them: with the smallest gaps between them filled.
fn joined_to(ranges: Vec<AddrRange>, most: usize) -> Vec<AddrRange> {
    if ranges.len() <= most {
        return ranges;
    }
    let mut gaps: Vec<u64> = ranges.windows(2).map(|pair| pair[1].start - pair[0].end).collect();
    let at = gaps.len() - most;
    let widest = *gaps.select_nth_unstable(at).1;
    let mut joined: Vec<AddrRange> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start - last.end <= widest => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_over_the_smallest_gaps() {
        let ranges = |ends: &[(u64, u64)]| -> Vec<_> {
            ends.iter().map(|&(start, end)| AddrRange::new(start, end)).collect()
        };
        let all = ranges(&[(0, 1), (2, 3), (9, 10), (12, 13), (20, 21)]);
        assert_eq!(joined_to(all.clone(), 5), all);
        assert_eq!(joined_to(all.clone(), 3), ranges(&[(0, 3), (9, 13), (20, 21)]));
        assert_eq!(joined_to(all, 1), ranges(&[(0, 21)]));
    }
}
