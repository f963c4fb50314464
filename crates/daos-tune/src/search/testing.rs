//! Searches of a single threshold, for tests.

use super::{Sample, Search};
use crate::space::{At, Param, SearchSpace, Threshold};

/// A space of one threshold whose value is the aggressiveness.
pub fn unit_space() -> SearchSpace {
    SearchSpace::new(vec![Param::new(Threshold::MaxFreq, 0.0, 1.0)]).unwrap()
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
        search.tell(Sample::of(ask.at, score));
    }
}
