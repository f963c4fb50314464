//! Blocks: one, many, and two sets of many that take turns.

use super::layout::{ALWAYS_MS, LayoutPhase, LayoutRegion, ScenarioLayout};
use super::share_out::{as_between_points, share_out, shuffled, within_a_factor};
use daos_core::Rng;

/// Accesses to a page in a sampling interval of which at least one comes with a chance
/// of 0.9: ln 10.
pub(super) const BUSY: f64 = std::f64::consts::LN_10;
/// How much larger the largest block can be than the smallest. Chosen.
const FACTOR: f64 = 10.0;
/// How many times less often the other half is accessed, where there are two rates. Chosen.
pub(super) const SLOWER: u64 = 10;
/// How long a set of blocks is in use, in milliseconds. Chosen: 50 aggregation intervals of
/// 100 ms.
pub(super) const TURN_MS: u64 = 5000;

/// One block of `hot` pages in the middle of `total`.
pub(super) fn one(total: u64, hot: u64) -> ScenarioLayout {
    let below = (total - hot) / 2;
    let regions = LayoutRegion::adjacent([below, hot, total - hot - below]);
    let phases = vec![LayoutPhase::uniform(ALWAYS_MS, &regions, [1])];
    ScenarioLayout { regions, phases, accesses_a_sample: hot as f64 * BUSY }
}

/// `count` blocks that are `hot` pages together, anywhere.
pub(super) fn scattered(total: u64, hot: u64, count: u64, rng: &mut Rng) -> ScenarioLayout {
    let count = count.min(hot).min(total - hot - 1);
    let sizes = share_out(hot, &within_a_factor(count, FACTOR, rng));
    let regions = LayoutRegion::adjacent(apart(total, &sizes, rng));
    let phases = vec![LayoutPhase::uniform(ALWAYS_MS, &regions, odd(count))];
    ScenarioLayout { regions, phases, accesses_a_sample: hot as f64 * BUSY }
}

/// Blocks as above, and as many again, at [`SLOWER`] of their rate, mixed among them.
pub(super) fn two_rates(total: u64, hot: u64, count: u64, rng: &mut Rng) -> ScenarioLayout {
    let ScenarioLayout { regions, mut phases, accesses_a_sample } = phased(total, hot, count, rng);
    let slower = phases.swap_remove(1).patterns;
    let patterns = &mut phases[0].patterns;
    // Weights are whole numbers.
    patterns.iter_mut().for_each(|pattern| pattern.weight *= SLOWER);
    patterns.extend(slower);
    phases[0].ms = ALWAYS_MS;
    let all = 1.0 + 1.0 / SLOWER as f64;
    ScenarioLayout { regions, phases, accesses_a_sample: accesses_a_sample * all }
}

/// Two sets of `count` blocks each, of `hot` pages a set, mixed among each other.
pub(super) fn phased(total: u64, hot: u64, count: u64, rng: &mut Rng) -> ScenarioLayout {
    let count = count.min(hot).min((total - 2 * hot - 1) / 2);
    let mut sizes = share_out(hot, &within_a_factor(count, FACTOR, rng));
    sizes.extend(share_out(hot, &within_a_factor(count, FACTOR, rng)));
    let order = shuffled(sizes.len(), rng);
    let mixed: Vec<u64> = order.iter().map(|block| sizes[*block]).collect();
    let regions = LayoutRegion::adjacent(apart(total, &mixed, rng));
    let phase = |first: bool| {
        let blocks = odd(2 * count).zip(&order);
        let of_set = blocks.filter(|(_, block)| ((**block as u64) < count) == first);
        LayoutPhase::uniform(TURN_MS, &regions, of_set.map(|(region, _)| region))
    };
    let phases = vec![phase(true), phase(false)];
    ScenarioLayout { regions, phases, accesses_a_sample: hot as f64 * BUSY }
}

/// The blocks with the memory before, between and behind them.
fn apart(total: u64, blocks: &[u64], rng: &mut Rng) -> Vec<u64> {
    let rest = total - blocks.iter().sum::<u64>();
    let mut between = share_out(rest, &as_between_points(blocks.len() as u64 + 1, rng)).into_iter();
    let pairs = blocks.iter().zip(&mut between).flat_map(|(block, before)| [before, *block]);
    let mut sizes: Vec<u64> = pairs.collect();
    sizes.push(total - sizes.iter().sum::<u64>());
    sizes
}

/// The places of blocks in what [`apart`] gives.
fn odd(blocks: u64) -> impl Iterator<Item = usize> {
    (0..blocks as usize).map(|block| 2 * block + 1)
}
