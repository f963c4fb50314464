//! The state of accessed bits, kept only where somebody armed them.
//!
//! A page's bit is set before anybody armed it, since all memory was written
//! before monitoring began, and again from the moment it was accessed. What is
//! kept are the pages that were armed and not seen accessed since: a bit for each
//! in blocks of 512 pages (2 MiB, a page of page table), made when a page in them
//! is first armed. So the state is bounded by 44 KiB for each GiB, however long
//! and often it is monitored; where nobody looks it is 4 KiB.

use crate::bits::Bits;
use daos_core::AddrRange;

/// Bytes in a block.
pub(crate) const BLOCK_SIZE: u64 = 2 << 20;

/// Armed pages of 2 MiB.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Block {
    /// Pages armed, and not accessed up to `as_of_us`.
    pub armed: Bits,
    /// What time that is the state of. A block has one time for all its pages:
    /// bringing the others up to it when one is armed loses nothing, because
    /// random accesses have no memory, and strides are known exactly.
    pub as_of_us: u64,
}

/// The blocks of a space. Their number is address / [`BLOCK_SIZE`].
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    first: u64,
    blocks: Vec<Option<Box<Block>>>,
    made: usize,
}

impl Blocks {
    /// Blocks for the addresses of `whole`, with nothing armed.
    pub fn new(whole: AddrRange) -> Self {
        let first = whole.start / BLOCK_SIZE;
        let count = whole.end.div_ceil(BLOCK_SIZE) - first;
        Self { first, blocks: vec![None; count as usize], made: 0 }
    }

    /// The block with this number, if a page in it was ever armed.
    pub fn get(&mut self, number: u64) -> Option<&mut Block> {
        self.blocks[(number - self.first) as usize].as_deref_mut()
    }

    /// The block with this number.
    pub fn make(&mut self, number: u64) -> &mut Block {
        self.blocks[(number - self.first) as usize].get_or_insert_with(|| {
            self.made += 1;
            Box::default()
        })
    }

    /// The blocks in which a page was ever armed, with their numbers.
    pub fn made(&mut self) -> impl Iterator<Item = (u64, &mut Block)> {
        let made = self.blocks.iter_mut().zip(self.first..);
        made.filter_map(|(block, number)| Some((number, block.as_deref_mut()?)))
    }

    /// What the state takes, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.blocks[..]) + self.made * size_of::<Block>()
    }
}
