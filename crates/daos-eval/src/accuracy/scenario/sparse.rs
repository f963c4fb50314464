//! Thousands of mappings with holes between them, as of a large application: a case on
//! which region-based monitors were reported to fail had 8,522 in 36.7 GB.

use super::blocks::BUSY;
use super::layout::{ALWAYS_MS, LayoutPhase, LayoutRegion, ScenarioLayout};
use super::share_out::{share_out, shuffled, within_a_factor};
use daos_core::Rng;

/// Addresses from the first to the last mapping, in bytes. Half of them are mapped.
pub(super) const BYTES: u64 = 36_700_000_000;
/// Mappings of the case that was reported.
const MAPPINGS: u64 = 8522;
/// How much larger the largest mapping or hole can be than the smallest. Chosen.
const FACTOR: f64 = 1000.0;

/// `total` pages of addresses; of the mapped half the share `hot` in whole mappings, but
/// for one of which a part is.
pub(super) fn draw(total: u64, hot: f64, rng: &mut Rng) -> ScenarioLayout {
    let mapped = total / 2;
    let count = MAPPINGS.min(mapped / 2);
    let sizes = share_out(mapped, &within_a_factor(count, FACTOR, rng));
    let holes = share_out(total - mapped, &within_a_factor(count, FACTOR, rng));
    let hot = ((mapped as f64 * hot).round() as u64).max(1);

    let mut hot_pages = vec![0; sizes.len()];
    let mut left = hot;
    for mapping in shuffled(sizes.len(), rng) {
        hot_pages[mapping] = left.min(sizes[mapping]);
        left -= hot_pages[mapping];
    }
    let (mut regions, mut is_hot) = (Vec::new(), Vec::new());
    for ((size, hole), hot) in sizes.into_iter().zip(holes).zip(hot_pages) {
        // Its first region comes behind the hole; a second, the cold rest, touches it.
        let parts = [(hot, true), (size - hot, false)];
        for (at, (pages, hot)) in parts.into_iter().filter(|(pages, _)| *pages > 0).enumerate() {
            regions.push(LayoutRegion { pages, hole: if at == 0 { hole } else { 0 } });
            is_hot.push(hot);
        }
    }
    let places = is_hot.iter().enumerate().filter(|(_, hot)| **hot).map(|(at, _)| at);
    let phases = vec![LayoutPhase::uniform(ALWAYS_MS, &regions, places)];
    ScenarioLayout { regions, phases, accesses_a_sample: hot as f64 * BUSY }
}
