//! Parts of which few are used much and many little.

use super::layout::ScenarioLayout;
use super::layout::{ALWAYS_MS, LayoutOrder, LayoutPattern, LayoutPhase, LayoutRegion};
use super::share_out::shuffled;
use daos_core::{HOT_RATE, Rng};

/// Parts of the space, of equal size. Chosen.
const PARTS: u64 = 512;
/// How fast use falls with the rank. Chosen: the default of the Yahoo! Cloud Serving Benchmark.
const EXPONENT: f64 = 0.99;
/// The weight of the first. Chosen: weights are whole numbers, and the last is still large.
const FIRST: f64 = 1e9;

/// So much used that about the share `hot` of `total` pages is hot, at least one part.
pub(super) fn draw(total: u64, hot: f64, rng: &mut Rng) -> ScenarioLayout {
    let parts = PARTS.min(total);
    let weight = |rank: f64| FIRST / rank.powf(EXPONENT);
    let edge = |at: u64| (u128::from(total) * u128::from(at) / u128::from(parts)) as u64;
    let regions = LayoutRegion::adjacent((0..parts).map(|at| edge(at + 1) - edge(at)));
    let order = shuffled(parts as usize, rng);
    let ranked = order.iter().enumerate().map(|(rank, region)| LayoutPattern {
        region: *region,
        weight: weight(rank as f64 + 1.0).round() as u64,
        order: LayoutOrder::Random,
    });
    let patterns: Vec<LayoutPattern> = ranked.collect();
    // The rate between the last hot and the first other part is just that of hot pages.
    let last_hot = (hot * parts as f64).round().max(1.0);
    let all: f64 = patterns.iter().map(|u| u.weight as f64).sum();
    let a_page = -(-HOT_RATE).ln_1p();
    let a_part = a_page * total as f64 / parts as f64;
    let accesses_a_sample = a_part * all / weight(last_hot + 0.5);
    ScenarioLayout {
        regions,
        phases: vec![LayoutPhase { ms: ALWAYS_MS, patterns }],
        accesses_a_sample,
    }
}
