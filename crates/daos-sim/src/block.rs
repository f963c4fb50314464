//! The state of accessed bits, kept only where somebody armed them.
//!
//! A page's bit is set before anybody armed it, since all memory was written
//! before monitoring began, and again from the moment it was accessed. What is
//! kept are the pages that were armed and not seen accessed since: a bit for each
//! in blocks of 512 pages (2 MiB, a page of page table), made when a page in them
//! is first armed. So the state is bounded by 44 KiB for each GiB, however long
//! and often it is monitored; where nobody looks it is 4 KiB.

use crate::page_set::PageSet;
use daos_core::{AddrRange, HUGE_PAGE_SIZE};

/// Bytes in a block: a huge page.
pub(crate) const BLOCK_SIZE: u64 = HUGE_PAGE_SIZE;

/// The armed pages of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ArmedBlock {
    /// Pages armed, and not accessed up to `as_of_us`.
    pub armed: PageSet,
    /// What time that is the state of. A block has one time for all its pages:
    /// bringing the others up to it when one is armed loses nothing, because
    /// random accesses have no memory, and strides are known exactly.
    pub as_of_us: u64,
}

/// What is kept of the blocks of a space. Their number is address / [`BLOCK_SIZE`].
#[derive(Debug, Clone)]
pub(crate) struct Blocks<T = ArmedBlock> {
    first: u64,
    blocks: Vec<Option<Box<T>>>,
    made: usize,
}

impl<T: Default + Clone> Blocks<T> {
    /// Blocks for the addresses of `whole`, of which nothing is kept yet.
    pub fn new(whole: AddrRange) -> Self {
        let first = whole.start / BLOCK_SIZE;
        let count = whole.end.div_ceil(BLOCK_SIZE) - first;
        Self { first, blocks: vec![None; count as usize], made: 0 }
    }

    /// The block with this number, if it was ever made.
    pub fn get(&mut self, number: u64) -> Option<&mut T> {
        self.blocks[(number - self.first) as usize].as_deref_mut()
    }

    /// The block with this number.
    pub fn make(&mut self, number: u64) -> &mut T {
        self.make_with(number, T::default)
    }

    /// The block with this number; made like that if it wasn't there.
    pub fn make_with(&mut self, number: u64, new: impl FnOnce() -> T) -> &mut T {
        self.blocks[(number - self.first) as usize].get_or_insert_with(|| {
            self.made += 1;
            Box::new(new())
        })
    }

    /// The blocks that were ever made, with their numbers.
    pub fn made(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        let made = self.blocks.iter_mut().zip(self.first..);
        made.filter_map(|(block, number)| Some((number, block.as_deref_mut()?)))
    }

    /// What the state takes, in bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..]) + self.made * size_of::<T>()
    }
}

/// A set of blocks: nothing until one is put in, then a bit for each 2 MiB.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockSet {
    first: u64,
    words: Vec<u64>,
}

impl BlockSet {
    /// Blocks from number `first` on.
    pub fn new(first: u64) -> Self {
        Self { first, words: Vec::new() }
    }

    /// Whether the block with this number is in it.
    #[inline]
    pub fn has(&self, number: u64) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let at = number - self.first;
        self.words.get(at as usize / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Takes the block out if it is in, and puts it in if not.
    pub fn toggle(&mut self, number: u64) {
        let at = number - self.first;
        let words = at as usize / 64 + 1;
        self.words.resize(self.words.len().max(words), 0);
        self.words[at as usize / 64] ^= 1 << (at % 64);
    }
}
