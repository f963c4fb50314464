//! Which pages of a region were accessed between two times.
//!
//! Neighbouring windows are armed and checked together, so what holds for the
//! interval as a whole is worked out once and kept until another one is asked for.

use crate::block::BLOCK_SIZE;
use crate::page_set::PageSet;
use crate::region_accesses::{RegionAccesses, StrideSteps};
use crate::timeline::Timeline;
use daos_core::rng::mix;
use daos_core::{AddrRange, PAGE_SIZE, Rng};

/// The accesses to one region in one interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalAccesses {
    from_us: u64,
    to_us: u64,
    /// Bytes in a page.
    page: u64,
    /// The chance that a random access met a page.
    chance: f64,
    /// Where strides went.
    strides: Vec<StrideSteps>,
    /// What draws of this interval are derived from.
    key: u64,
}

impl IntervalAccesses {
    /// Makes this the accesses that `region` gets in an interval, in pages of `page` bytes.
    pub fn of(
        &mut self,
        region: &RegionAccesses,
        timeline: &Timeline,
        seed: u64,
        (from_us, to_us): (u64, u64),
        page: u64,
    ) -> &Self {
        if (self.from_us, self.to_us, self.page) != (from_us, to_us, page) {
            let (from, to) = (timeline.at(from_us), timeline.at(to_us));
            let accesses_a_page = region.random(from, to) * page as f64 / region.len as f64;
            self.chance = -(-accesses_a_page).exp_m1();
            region.stride_steps(timeline, from, to, &mut self.strides);
            self.key = mix(mix(seed) ^ from_us);
            (self.from_us, self.to_us, self.page) = (from_us, to_us, page);
        }
        self
    }

    /// Whether no page was accessed, for sure.
    pub fn is_idle(&self) -> bool {
        self.chance == 0.0 && self.strides.is_empty()
    }

    /// Whether the page at `offset` bytes in its region and at `address` was not
    /// accessed.
    pub fn is_page_idle(&self, offset: u64, address: u64) -> bool {
        unit(mix(self.key ^ address)) >= self.chance
            && !self.strides.iter().any(|w| w.touches(offset, offset + self.page))
    }

    /// Which pages of 4 KiB were accessed, `among` those of a block. All of them are in the
    /// region whose addresses are given.
    ///
    /// For many pages that are seldom accessed this is cheaper than to ask for each: a draw
    /// says which is the next one that was.
    pub fn accessed(&self, among: PageSet, block: u64, region: AddrRange) -> PageSet {
        let start = block * BLOCK_SIZE;
        let mut accessed = among.sample(self.chance, &mut Rng::new(self.key ^ start));
        // The part of the block in the region, as offsets in that.
        let from = start.saturating_sub(region.start);
        let to = (start + BLOCK_SIZE).min(region.end) - region.start;
        for stride in self.strides.iter().filter(|w| w.touches(from, to)) {
            let mut idle = among - accessed;
            idle.retain_all(|page| {
                let offset = start + u64::from(page) * PAGE_SIZE - region.start;
                !stride.touches(offset, offset + PAGE_SIZE)
            });
            accessed = among - idle;
        }
        accessed
    }
}

/// A number in `0.0..1.0` from the upper bits of a hash.
fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
