//! The auto-tuning runtime's core: which thresholds are best for a workload (the paper's
//! §3.3 to §3.5).
//!
//! It knows no workload and no clock. A [`Search`] is asked for a point of a [`Space`]
//! and told the score that was measured there; in the end it says which point is best,
//! how sure that is, and whether it is better than no scheme.
//!
//! | module | holds |
//! |---|---|
//! | [`param`], [`space`] | what is tuned: thresholds, their ranges, their scale |
//! | [`score`], [`expr`] | from metrics to a score: the paper's Listing 2, or an expression |
//! | [`search`] | the seam to the methods |
//! | [`method`] | the methods by name |
//! | [`gp`] | Bayesian search, the default |
//! | `model`, `kernel`, `spread` | what that knows after some samples; how it begins |
//! | [`poly`], `polyfit` | the paper's method |
//! | [`plain`] | at random; every point of a grid |
//! | `group` | samples of the same point |
//! | [`shapes`] | the six shapes of scores, as curves with a known best |
//! | [`classify`](mod@classify) | which of them was measured |
//! | `linalg`, `student` | matrices; Student's t |

pub mod classify;
pub mod expr;
pub mod gp;
mod group;
mod kernel;
mod linalg;
pub mod method;
mod model;
pub mod param;
pub mod plain;
pub mod poly;
mod polyfit;
pub mod score;
pub mod search;
pub mod shapes;
pub mod space;
mod spread;
mod student;
#[cfg(test)]
mod testing;

pub use classify::{Likeness, classify};
pub use expr::{ExprError, Expression};
pub use gp::Gp;
pub use group::{by_point, mean_and_sd};
pub use method::Method;
pub use param::{Param, Scale, Threshold};
pub use plain::{Random, Sweep};
pub use poly::{OneThreshold, Poly};
pub use score::{Better, Function, ScoreError, Scoring, Values, last_number, listing_2};
pub use search::{Ask, At, CONFIDENCE, Estimate, Interval, Sample, Search, Why};
pub use shapes::{Curve, Shape};
pub use space::{Space, SpaceError};
