//! A block that is gone over from end to end, again and again.

use super::layout::ScenarioLayout;
use super::layout::{ALWAYS_MS, LayoutOrder, LayoutPattern, LayoutPhase, LayoutRegion};

/// More accesses than pages, so that each is passed in every sampling interval. Chosen.
const MARGIN: f64 = 1.1;

/// A block of `hot` pages in the middle of `total`.
pub(super) fn draw(total: u64, hot: u64) -> ScenarioLayout {
    let below = (total - hot) / 2;
    let regions = LayoutRegion::adjacent([below, hot, total - hot - below]);
    let over = LayoutPattern { region: 1, weight: 1, order: LayoutOrder::Stride(1) };
    let phases = vec![LayoutPhase { ms: ALWAYS_MS, patterns: vec![over] }];
    ScenarioLayout { regions, phases, accesses_a_sample: hot as f64 * MARGIN }
}
