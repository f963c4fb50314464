//! Searches on known curves.

use super::param::{Param, Threshold};
use super::search::{At, Sample, Search};
use super::shapes::Curve;
use super::space::Space;
use daos_core::rng::Rng;

/// A space of one threshold whose value is the aggressiveness.
pub fn unit_space() -> Space {
    Space::new(vec![Param::new(Threshold::MaxFreq, 0.0, 1.0)]).unwrap()
}

/// The aggressiveness; no scheme is the gentlest.
pub fn unit(at: &At) -> f64 {
    match at {
        At::NoScheme => 0.0,
        At::Point(values) => values[0],
    }
}

/// Asks and tells until the search has enough.
pub fn run(search: &mut dyn Search, mut score: impl FnMut(&At) -> f64) {
    while let Some(ask) = search.ask() {
        let score = Some(score(&ask.at));
        search.tell(Sample { at: ask.at, score });
    }
}

/// The same on a curve, with noise.
pub fn run_on(search: &mut dyn Search, curve: &Curve, noise: f64, seed: u64) {
    let mut rng = Rng::new(daos_core::rng::mix(!seed));
    run(search, |at| curve.measured(unit(at), noise, &mut rng));
}
