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
use daos_workload::singles::Singles;

/// The accesses to one region in one interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalAccesses {
    from_us: u64,
    to_us: u64,
    /// Bytes in a page.
    page: u64,
    /// The chances that random accesses met a page: to all pages, or to some.
    chances: Vec<(Option<Singles>, f64)>,
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
            self.chances.clear();
            self.chances.extend(region.chances(from, to, page).filter(|(_, chance)| *chance > 0.0));
            region.stride_steps(timeline, from, to, &mut self.strides);
            self.key = mix(mix(seed) ^ from_us);
            (self.from_us, self.to_us, self.page) = (from_us, to_us, page);
        }
        self
    }

    /// Whether no page was accessed, for sure.
    pub fn is_idle(&self) -> bool {
        self.chances.is_empty() && self.strides.is_empty()
    }

    /// Whether the page at `offset` bytes in its region and at `address` was not
    /// accessed.
    pub fn is_page_idle(&self, offset: u64, address: u64) -> bool {
        unit(mix(self.key ^ address)) >= self.chance(offset)
            && !self.strides.iter().any(|w| w.touches(offset, offset + self.page))
    }

    /// The chance that random accesses met the page at `offset`.
    #[inline]
    fn chance(&self, offset: u64) -> f64 {
        match self.chances[..] {
            [] => 0.0,
            // Nearly all regions are accessed in one way.
            [(None, chance)] => chance,
            _ => {
                1.0 - self.chances.iter().map(|chance| self.missed(chance, offset)).product::<f64>()
            }
        }
    }

    /// The chance that accesses of one kind missed the page at `offset`.
    fn missed(&self, (singles, chance): &(Option<Singles>, f64), offset: u64) -> f64 {
        match singles {
            Some(singles) if !singles.meets(offset, self.page) => 1.0,
            _ => 1.0 - chance,
        }
    }

    /// Which pages of 4 KiB were accessed, `among` those of a block. All of them are in the
    /// region whose addresses are given.
    ///
    /// For many pages that are seldom accessed this is cheaper than to ask for each: a draw
    /// says which is the next one that was.
    pub fn accessed(&self, among: PageSet, block: u64, region: AddrRange) -> PageSet {
        let start = block * BLOCK_SIZE;
        let offset_of = |page: u32| start + u64::from(page) * PAGE_SIZE - region.start;
        let mut rng = Rng::new(self.key ^ start);
        let mut accessed = PageSet::default();
        for (singles, chance) in &self.chances {
            let mut met = among - accessed;
            if let Some(singles) = singles {
                met.retain_all(|page| singles.meets(offset_of(page), PAGE_SIZE));
            }
            let met = met.sample(*chance, &mut rng);
            accessed = among - (among - accessed - met);
        }
        // The part of the block in the region, as offsets in that.
        let from = start.saturating_sub(region.start);
        let to = (start + BLOCK_SIZE).min(region.end) - region.start;
        for stride in self.strides.iter().filter(|w| w.touches(from, to)) {
            let mut idle = among - accessed;
            idle.retain_all(|page| {
                let offset = offset_of(page);
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
