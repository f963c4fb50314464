//! Hot memory that does not stay where it is.

use super::blocks::{BUSY, TURN_MS};
use super::layout::{LayoutPhase, LayoutRegion, ScenarioLayout};

/// The share of the space that turns hot, and that turns cold. Chosen.
pub(super) const TURNING: f64 = 0.1;
/// How long it stays, in milliseconds: no multiple of usual aggregation intervals, so
/// that it turns in the midst of one.
const STAY_MS: u64 = 5030;

/// A block of the share `hot` of `total` pages, which moves by its own length.
pub(super) fn draw(total: u64, hot: f64) -> ScenarioLayout {
    let count = ((1.0 / hot).round() as u64).clamp(2, total);
    let edge = |at: u64| (u128::from(total) * u128::from(at) / u128::from(count)) as u64;
    let regions = LayoutRegion::adjacent((0..count).map(|at| edge(at + 1) - edge(at)));
    let phase = |at| LayoutPhase::uniform(TURN_MS, &regions, [at]);
    let phases = (0..count as usize).map(phase).collect();
    ScenarioLayout { regions, phases, accesses_a_sample: total as f64 / count as f64 * BUSY }
}

/// A tenth of `total` pages that turns hot when another tenth turns cold.
pub(super) fn turning(total: u64) -> ScenarioLayout {
    let tenth = total / 10;
    let regions = LayoutRegion::adjacent([3 * tenth, tenth, 2 * tenth, tenth, total - 7 * tenth]);
    let phase = |at| LayoutPhase::uniform(STAY_MS, &regions, [at]);
    let phases = vec![phase(1), phase(3)];
    ScenarioLayout { regions, phases, accesses_a_sample: tenth as f64 * BUSY }
}
