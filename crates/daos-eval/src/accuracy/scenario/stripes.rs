//! Every so many pages one, over the whole space.

use super::layout::ScenarioLayout;
use super::layout::{ALWAYS_MS, LayoutOrder, LayoutPattern, LayoutPhase, LayoutRegion};

/// More accesses than pages to pass, so that each is passed in every sampling interval.
/// Chosen.
const MARGIN: f64 = 1.1;

/// About `hot` pages of `total`, evenly spread.
pub(super) fn draw(total: u64, hot: u64) -> ScenarioLayout {
    let every = (total as f64 / hot as f64).round().max(2.0) as u64;
    let stripes = LayoutPattern { region: 0, weight: 1, order: LayoutOrder::Stride(every) };
    ScenarioLayout {
        regions: LayoutRegion::adjacent([total]),
        phases: vec![LayoutPhase { ms: ALWAYS_MS, patterns: vec![stripes] }],
        accesses_a_sample: total.div_ceil(every) as f64 * MARGIN,
    }
}
