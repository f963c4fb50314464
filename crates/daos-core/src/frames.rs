//! The seam to where memory lies: in which page frames targets have their pages.

use crate::addr::AddrRange;
use crate::target::TargetId;

/// Pages of a target that follow each other, in page frames that do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedFrames {
    /// The addresses of the pages.
    pub pages: AddrRange,
    /// The physical address of the first of them.
    pub physical: u64,
}

impl MappedFrames {
    /// Their physical addresses.
    pub fn frames(&self) -> AddrRange {
        AddrRange::new(self.physical, self.physical + self.pages.len())
    }
}

/// Knows in which page frames targets have their memory.
pub trait PageFrames {
    /// What ends it for good.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Hands `each`, by rising address, what of `ranges` of `target` is in memory. `ranges` are
    /// page-aligned, sorted and disjoint. Of a target that has ended nothing is.
    fn frames(
        &mut self,
        target: TargetId,
        ranges: &[AddrRange],
        each: impl FnMut(MappedFrames),
    ) -> Result<(), Self::Error>;
}
