//! Where the pages of a space lie in physical memory, which begins at 0.

use daos_core::{AddrRange, MappedFrames};
use std::sync::Arc;

/// Where each piece of a space lies in physical memory, by rising virtual address.
#[derive(Debug, Clone)]
pub(crate) struct Frames(Arc<[MappedFrames]>);

impl Frames {
    /// Of these pieces, which are disjoint.
    pub fn new(mut pieces: Vec<MappedFrames>) -> Self {
        pieces.sort_unstable_by_key(|mapped| mapped.pages.start);
        Self(pieces.into())
    }

    /// Where the pages of `range` lie, by rising virtual address.
    pub fn of(&self, range: AddrRange) -> impl Iterator<Item = MappedFrames> + '_ {
        let first = self.0.partition_point(|mapped| mapped.pages.end <= range.start);
        self.0[first..].iter().map_while(move |mapped| {
            let pages = mapped.pages.intersect(&range)?;
            let physical = mapped.physical + (pages.start - mapped.pages.start);
            Some(MappedFrames { pages, physical })
        })
    }

    /// All physical memory that they lie in; `None` if there are none.
    pub fn whole(&self) -> Option<AddrRange> {
        let end = self.0.iter().map(|mapped| mapped.frames().end).max();
        end.map(|end| AddrRange::new(0, end))
    }
}
