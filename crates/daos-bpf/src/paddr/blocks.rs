//! Who has how much of which block of 2 MiB of the machine's RAM: processes, page cache that nobody
//! maps, the kernel.
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
use daos_core::{AddrRange, HUGE_PAGE_SIZE, Ownership, PAGE_SIZE, Window, evenly};
use daos_linux::allowance::Allowance;
use daos_linux::{cpu, process};
use std::collections::HashMap;
use std::path::Path;

/// Frames of a block that are looked at in turn. Chosen: of a block of which an eighth is mapped
/// one is found nine times in ten.
const SAMPLES: u64 = 16;
const PAGES: u64 = HUGE_PAGE_SIZE / PAGE_SIZE;
/// Blocks that are looked at in one step. Chosen: a step takes some hundred microseconds.
const IN_A_STEP: usize = 256;
/// The part of the bound that goes into it. Chosen: with the usual bound, 24 GiB that are mostly
/// used are gone over in a minute and a half.
const SHARE: f64 = 0.05;

/// Microseconds between two accounts of who has what, at least. Chosen.
const BETWEEN_ACCOUNTS_US: u64 = 5_000_000;

/// One block.
#[derive(Debug, Clone)]
struct Block {
    range: AddrRange,
    /// Who had how much of it at the last look.
    shares: Shares<Holder>,
    /// When that was, in clock ticks since the machine was started.
    looked_ticks: u64,
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
            blocks.map(|range| Block { range, shares: Shares::new(), looked_ticks: 0 }).collect();
        let allowance = Allowance::new(SHARE * max_overhead);
        let mut all = Self {
            blocks,
            next: 0,
            round: 0,
            allowance,
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
        let since = self.held_since();
        let names = &mut self.names;
        let mut name = |pid| {
            let known = names.entry(pid).or_default();
            // Of one whose number is another's by now, what was known before stays.
            let name = process::name_at(Path::new("/proc"), pid, since[&pid]);
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                *known = name;
            }
            known.clone()
        };
        let blocks = self.blocks.iter().map(|block| (block.range, &block.shares));
        Some(Ownership::of_blocks(blocks, |holder: Holder| holder.owner(&mut name)))
    }

    /// Since when, at least, each process has what it was last seen to have, in clock ticks.
    fn held_since(&self) -> HashMap<u32, u64> {
        let mut since = HashMap::new();
        for block in &self.blocks {
            for (holder, _) in &block.shares {
                if let Holder::Process(pid) = *holder {
                    let first = since.entry(pid).or_insert(u64::MAX);
                    *first = block.looked_ticks.min(*first);
                }
            }
        }
        since
    }

    fn step(&mut self, owners: &mut Owners, own_pgd: u64) -> Result<(), BpfError> {
        let reader = &mut owners.processes.reader;
        let end = (self.next + IN_A_STEP).min(self.blocks.len());
        let these = &mut self.blocks[self.next..end];
        let first = evenly::place(self.round) % (PAGES / SAMPLES);
        let mut windows = Vec::new();
        let mut of = Vec::new();
        let mut is_free = vec![false; these.len()];
        let now_ticks = process::ticks_now();
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
            block.shares.clear();
            block.looked_ticks = now_ticks;
            if is_free[at] {
                continue;
            }
            let places = (first..block.range.pages()).step_by((PAGES / SAMPLES) as usize);
            for page in places {
                windows.push(window(block.range.start + page * PAGE_SIZE));
                of.push(at);
            }
        }
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
            },
        )?;
        self.next = end;
        if end == self.blocks.len() {
            self.next = 0;
            self.round += 1;
        }
        Ok(())
    }
}

fn window(start: u64) -> Window {
    Window { target: ALL, start, pages: 1 }
}
