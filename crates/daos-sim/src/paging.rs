//! Which memory is not there, and how it comes back.
//!
//! An access brings back a page that is in swap, and makes one that was never touched. As
//! with accessed bits, no access is simulated: whether there was one is decided when
//! somebody asks, from what the workload did since the last time. Such a page has no
//! accessed bit, and once it is back it is not armed, so each page waits for its next access
//! in one place only: here, or among the armed ones.
//!
//! While all memory is present nothing is kept here; then 208 bytes for each 2 MiB.

use crate::bits::{BITS, Bits};
use crate::block::Blocks;
use crate::exposure::Exposure;
use crate::huge::Huge;
use crate::memory::{MemoryModel, MemoryUse, bytes};
use crate::world::World;
use daos_core::{AddrRange, PAGE_SIZE};

/// Pages of a block that wait for an access. The sets are disjoint.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    /// In swap.
    pub swapped: Bits,
    /// Nowhere: never accessed, or given back.
    pub untouched: Bits,
    /// Present, but never accessed: there because a huge page needed them.
    pub filled: Bits,
    /// What time that is the state of.
    as_of_us: u64,
}

impl Waiting {
    /// A block in which nothing of what is mapped was ever accessed.
    fn unpopulated(world: &World, number: u64) -> Self {
        let mut untouched = Bits::default();
        for segment in world.segments_of_block(number) {
            untouched.insert(segment.first, segment.pages);
        }
        Self { untouched, ..Self::default() }
    }

    /// The pages that are not in memory.
    pub fn absent(&self) -> Bits {
        self.swapped | self.untouched
    }

    /// Whether nothing was ever accessed in 2 MiB: there is no page table then.
    pub fn is_void(&self) -> bool {
        self.untouched == Bits::run(0, BITS)
    }

    /// What is to be done when these pages were accessed.
    fn wake(&mut self, accessed: Bits) {
        self.swapped = self.swapped - accessed;
        self.untouched = self.untouched - accessed;
        self.filled = self.filled - accessed;
    }
}

/// Pages that wait, in all blocks.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    swapped: u64,
    untouched: u64,
    filled: u64,
}

impl Sums {
    /// A block has changed.
    fn replace(&mut self, before: &Waiting, after: &Waiting) {
        let change = |sum: &mut u64, before: &Bits, after: &Bits| {
            *sum = *sum + u64::from(after.count()) - u64::from(before.count());
        };
        change(&mut self.swapped, &before.swapped, &after.swapped);
        change(&mut self.untouched, &before.untouched, &after.untouched);
        change(&mut self.filled, &before.filled, &after.filled);
    }
}

/// The state of memory beside accessed bits.
#[derive(Debug, Clone)]
pub(crate) struct Paging {
    /// `None` while no page waits.
    blocks: Option<Blocks<Waiting>>,
    books: Books,
    /// Whether the blocks of all regions that are ever accessed were made.
    all_made: bool,
}

/// What is summed up over all blocks.
#[derive(Debug, Clone)]
struct Books {
    model: MemoryModel,
    sums: Sums,
    huge: Huge,
    /// Pages that went to swap.
    swap_outs: u64,
    /// Pages that the target had to wait for.
    faults: u64,
    exposures: Vec<Exposure>,
}

impl Paging {
    /// Memory before anything is done to it.
    pub fn new(world: &World) -> Self {
        let mut sums = Sums::default();
        if !world.options.populate {
            sums.untouched = world.ranges.iter().map(AddrRange::pages).sum();
        }
        Self {
            blocks: (!world.options.populate).then(|| Blocks::new(world.whole())),
            books: Books {
                model: MemoryModel::ZRAM,
                sums,
                huge: Huge::new(world),
                swap_outs: 0,
                faults: 0,
                exposures: vec![Exposure::default(); world.ranges.len()],
            },
            all_made: world.options.populate,
        }
    }

    pub fn model(&self) -> &MemoryModel {
        &self.books.model
    }

    pub fn set_model(&mut self, model: MemoryModel) {
        self.books.model = model;
    }

    /// What waits in a block now; `None` if nothing ever did.
    #[inline]
    pub fn waiting(&mut self, world: &World, number: u64, now_us: u64) -> Option<&Waiting> {
        if self.blocks.is_none() { None } else { self.settled(world, number, now_us) }
    }

    /// Apart, so that where all memory is present monitoring is as fast as without this.
    #[inline(never)]
    fn settled(&mut self, world: &World, number: u64, now_us: u64) -> Option<&Waiting> {
        let blocks = self.blocks.as_mut()?;
        let waiting = if world.options.populate {
            blocks.get(number)?
        } else {
            blocks.make_with(number, || Waiting::unpopulated(world, number))
        };
        self.books.settle(world, number, waiting, now_us);
        Some(waiting)
    }

    /// Changes what waits in a block, which was brought up to now.
    pub fn set(&mut self, world: &World, number: u64, waiting: Waiting, now_us: u64) {
        let blocks = self.blocks.get_or_insert_with(|| Blocks::new(world.whole()));
        let block = blocks.make(number);
        let (out, back) = (waiting.swapped - block.swapped, block.swapped - waiting.swapped);
        debug_assert!(out.is_empty() || back.is_empty());
        self.books.swap_outs += u64::from(out.count());
        self.books.sums.replace(block, &waiting);
        *block = Waiting { as_of_us: now_us, ..waiting };
    }

    /// A huge page was made in a region.
    pub fn huge_made(&mut self, world: &World, region: usize, now_us: u64) {
        self.books.huge.add(region, world, &self.books.model, now_us);
    }

    /// A huge page was split in a region.
    pub fn huge_split(&mut self, world: &World, region: usize, now_us: u64) {
        self.books.huge.remove(region, world, &self.books.model, now_us);
    }

    /// Pages for which there is room in swap.
    pub fn room(&self) -> u64 {
        (self.books.model.swap_bytes / PAGE_SIZE).saturating_sub(self.books.sums.swapped)
    }

    /// Brings all blocks up to now, and sums up.
    pub fn memory(&mut self, world: &World, now_us: u64) -> MemoryUse {
        self.settle(world, now_us);
        let Books { model, sums, huge, swap_outs, faults, .. } = &mut self.books;
        let mapped: u64 = world.ranges.iter().map(AddrRange::pages).sum();
        MemoryUse {
            elapsed_us: now_us,
            resident_bytes: bytes(mapped - sums.swapped - sums.untouched),
            swapped_bytes: bytes(sums.swapped),
            untouched_bytes: bytes(sums.untouched),
            huge_bytes: huge.bytes(),
            bloat_bytes: bytes(sums.filled),
            // What went there and no longer is there.
            swap_ins: *swap_outs - sums.swapped,
            swap_outs: *swap_outs,
            stall_us: model.swap_in_us * *faults as f64,
            gain_us: huge.gained_us(world, model, now_us),
        }
    }

    /// What the state takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.blocks.as_ref().map_or(0, Blocks::bytes)
    }

    /// Nothing waits while `blocks` is `None`, and nothing ever changes where a region is
    /// never accessed.
    fn settle(&mut self, world: &World, now_us: u64) {
        let Some(blocks) = &mut self.blocks else { return };
        if !std::mem::replace(&mut self.all_made, true) {
            for (region, range) in world.ranges.iter().enumerate() {
                if !world.is_idle(region) {
                    for segment in world.segments_of(*range) {
                        let number = segment.block;
                        blocks.make_with(number, || Waiting::unpopulated(world, number));
                    }
                }
            }
        }
        for (number, waiting) in blocks.made() {
            self.books.settle(world, number, waiting, now_us);
        }
    }
}

impl Books {
    /// Brings a block up to now: what was accessed in between no longer waits.
    fn settle(&mut self, world: &World, number: u64, waiting: &mut Waiting, now_us: u64) {
        let since_us = std::mem::replace(&mut waiting.as_of_us, now_us);
        let all = waiting.absent() | waiting.filled;
        if since_us == now_us || all.is_empty() {
            return;
        }
        let (before, mut changed) = (*waiting, false);
        for segment in world.segments_of_block(number) {
            let accessed = world.touched(&segment, all, (since_us, now_us), &mut self.exposures);
            if accessed.is_empty() {
                continue;
            }
            waiting.wake(accessed);
            // The first access to a huge page brings all of it.
            if segment.huge && !before.untouched.is_empty() {
                waiting.filled = std::mem::take(&mut waiting.untouched);
                self.huge.add(segment.region, world, &self.model, now_us);
            }
            self.faults += u64::from((before.swapped & accessed).count());
            changed = true;
        }
        if changed {
            self.sums.replace(&before, waiting);
        }
    }
}
