//! Every so many pages one, over the whole space.

use super::drawing::{ALWAYS_MS, Drawing, Scene, Use};

/// More accesses than pages to pass, so that each is passed in every sampling interval.
const MARGIN: f64 = 1.1;

/// About `hot` pages of `total`, evenly spread.
pub(super) fn draw(total: u64, hot: u64) -> Drawing {
    let every = (total as f64 / hot as f64).round().max(2.0) as u64;
    let stripes = Use { piece: 0, weight: 1, stride: Some(every) };
    Drawing {
        pieces: Drawing::pieces([total]),
        scenes: vec![Scene { ms: ALWAYS_MS, uses: vec![stripes] }],
        accesses_a_sample: total.div_ceil(every) as f64 * MARGIN,
    }
}
