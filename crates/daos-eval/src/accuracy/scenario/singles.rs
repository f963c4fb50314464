//! Hot pages singly among cold ones, and a store of many small objects.

use super::blocks::BUSY;
use super::layout::ScenarioLayout;
use super::layout::{ALWAYS_MS, LayoutOrder, LayoutPattern, LayoutPhase, LayoutRegion};

/// The share of a store's pages that its index takes, all of which is in use. Chosen: 32 bytes
/// for an object of a kilobyte.
const INDEX: f64 = 1.0 / 32.0;
/// Of so many pages of objects one is in use. Chosen: near to what a tenth of the keys comes to,
/// where three objects have room in a page.
const ONE_OF: u64 = 4;
/// The share of a store's pages that is in use.
pub(super) const STORE: f64 = INDEX + (1.0 - INDEX) / ONE_OF as f64;

/// About `hot` pages of `total`, each at a place that looks like chance.
pub(super) fn draw(total: u64, hot: u64) -> ScenarioLayout {
    let regions = LayoutRegion::adjacent([total]);
    let (pattern, pages) = singly(0, total, hot);
    let phases = vec![LayoutPhase { ms: ALWAYS_MS, patterns: vec![pattern] }];
    ScenarioLayout { regions, phases, accesses_a_sample: pages as f64 * BUSY }
}

/// An index in one block, and objects, of whose pages one of [`ONE_OF`] is in use.
pub(super) fn store(total: u64) -> ScenarioLayout {
    let index = ((total as f64 * INDEX) as u64).max(1);
    let regions = LayoutRegion::adjacent([index, total - index]);
    let (objects, pages) = singly(1, total - index, (total - index) / ONE_OF);
    let all = LayoutPattern { region: 0, weight: index, order: LayoutOrder::Random };
    let phases = vec![LayoutPhase { ms: ALWAYS_MS, patterns: vec![all, objects] }];
    ScenarioLayout { regions, phases, accesses_a_sample: (index + pages) as f64 * BUSY }
}

/// Accesses to about `hot` single pages of a region of `total`, and how many these are.
fn singly(region: usize, total: u64, hot: u64) -> (LayoutPattern, u64) {
    let every = ((total as f64 / hot as f64).round() as u64).clamp(2, total);
    let pages = total / every;
    (LayoutPattern { region, weight: pages, order: LayoutOrder::Singles(every) }, pages)
}
