//! What page tables tell of others that were armed with them and accessed as they were.
//!
//! Once all of a target was armed at once, each page table is read twice, and then not again for some seconds: that
//! took what there is. Where all pages of a table came by the same reading, that hardly tells how often they are
//! accessed: thirty times a second or five hundred. But of some tables more is known, since they were read
//! sooner, or before; and those near by that came by the same reading are most likely used in the same way.

use super::estimate::Estimate;
use super::subregion::{IDLE_RATE, Subregion};
use super::target::TargetSubregions;

/// Accesses that a table's rate rests on from which on it tells of others, and below which it is told. Chosen: where
/// all came by one reading it rests on two.
const ENOUGH: f64 = 4.0;
/// What came in one part in so many of the time of the first reading was read sooner: that is known better than of others,
/// though it also is the least only. Chosen.
const SOON_PART: u64 = 16;
/// How many of the nearest are asked. Chosen: the one in the middle of them is hardly one of which a few odd looks tell.
const NEAREST: usize = 5;

impl TargetSubregions {
    /// Lets page tables of which all had been armed at `armed_us` learn from each other. What came within
    /// `first_us` microseconds came by the first reading, the rest by the second.
    pub fn learn_from_peers(&mut self, armed_us: u64, first_us: u64) {
        for by_first in [true, false] {
            let came_so = |subregion: &Subregion| {
                let counts = &subregion.counts;
                let is_used = subregion.table.is_some() && subregion.estimate.rate() >= IDLE_RATE;
                is_used
                    && counts.are_since(armed_us)
                    && counts.all_came_by(first_us) == Some(by_first)
            };
            let knows = |subregion: &Subregion| {
                let came_soon = subregion.counts.all_came_by(first_us / SOON_PART) == Some(true);
                came_soon || subregion.estimate.rests_on(ENOUGH)
            };
            let all = self.subregions.iter_mut().enumerate().filter(|(_, s)| came_so(s));
            let (peers, others): (Vec<_>, Vec<_>) = all.partition(|(_, s)| knows(s));
            let peers: Vec<_> = peers.iter().map(|(at, s)| (*at, s.estimate)).collect();
            for (at, subregion) in others {
                if let Some(estimate) = middle_of_nearest(&peers, at) {
                    subregion.learn(estimate);
                }
            }
        }
    }
}

/// Of those nearest to an index, by rising ones, the one with as many of a higher rate as of a lower.
fn middle_of_nearest(peers: &[(usize, Estimate)], to: usize) -> Option<Estimate> {
    let next = peers.partition_point(|(at, _)| *at < to);
    let from = next.saturating_sub(NEAREST.div_ceil(2)).min(peers.len().saturating_sub(NEAREST));
    let nearest = &peers[from..peers.len().min(from + NEAREST)];
    let mut nearest: Vec<Estimate> = nearest.iter().map(|(_, estimate)| *estimate).collect();
    nearest.sort_unstable_by(|one, other| one.rate().total_cmp(&other.rate()));
    nearest.get(nearest.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::estimate::Look;

    #[test]
    fn the_middle_one_of_the_nearest_tells() {
        let of_rate = |rate: f64| {
            let mut estimate = Estimate::of(Look { waiting: 8.0, accessed: 8.0, exposure: 1.0 });
            estimate.set_rate(rate, 8.0);
            estimate
        };
        // Low rates below, high ones above, and an odd one on each side.
        let rates = [1.0, 1.2, 1.1, 900.0, 1.0, 100.0, 110.0, 0.1, 120.0, 110.0];
        let peers: Vec<_> = (0..).step_by(3).zip(rates.map(of_rate)).collect();
        let told = |at: usize| middle_of_nearest(&peers, at).unwrap().rate();
        assert!((told(0) - 1.1).abs() < 0.01, "{}", told(0));
        assert!((told(8) - 1.1).abs() < 0.01, "{}", told(8));
        assert!((told(28) - 110.0).abs() < 0.1, "{}", told(28));
        assert!(middle_of_nearest(&[], 3).is_none());
        assert!((middle_of_nearest(&peers[..1], 30).unwrap().rate() - 1.0).abs() < 0.01);
    }
}
