//! Hot memory that does not stay where it is.

use super::blocks::{BUSY, TURN_MS};
use super::drawing::{Drawing, Scene};

/// The share of the space that turns hot, and that turns cold.
pub(super) const TURNING: f64 = 0.1;
/// How long it stays, in milliseconds: no multiple of usual aggregation intervals, so
/// that it turns in the midst of one.
const STAY_MS: u64 = 5030;

/// A block of the share `hot` of `total` pages, which moves by its own length.
pub(super) fn draw(total: u64, hot: f64) -> Drawing {
    let count = ((1.0 / hot).round() as u64).clamp(2, total);
    let edge = |at: u64| (u128::from(total) * u128::from(at) / u128::from(count)) as u64;
    let pieces = Drawing::pieces((0..count).map(|at| edge(at + 1) - edge(at)));
    let scene = |at| Scene { ms: TURN_MS, uses: Drawing::evenly(&pieces, [at]) };
    let scenes = (0..count as usize).map(scene).collect();
    Drawing { pieces, scenes, accesses_a_sample: total as f64 / count as f64 * BUSY }
}

/// A tenth of `total` pages that turns hot when another tenth turns cold.
pub(super) fn turning(total: u64) -> Drawing {
    let tenth = total / 10;
    let pieces = Drawing::pieces([3 * tenth, tenth, 2 * tenth, tenth, total - 7 * tenth]);
    let scene = |at| Scene { ms: STAY_MS, uses: Drawing::evenly(&pieces, [at]) };
    let scenes = vec![scene(1), scene(3)];
    Drawing { pieces, scenes, accesses_a_sample: tenth as f64 * BUSY }
}
