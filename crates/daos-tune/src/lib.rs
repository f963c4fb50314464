//! A tuning, from its first baseline to its result: what is measured next, whether there
//! is time for it, what it scores, and where it is kept.
//!
//! The searches themselves are in [`crate::search`]. Nothing here starts a process or
//! looks at a clock: a [`Workload`] measures, and says how long that took.
//!
//! | module | holds |
//! |---|---|
//! | [`workload`] | the seam to what is measured |
//! | [`record`] | what a sample was, as it is kept |
//! | [`repeats`] | what runs of the same come to: what is measured without a scheme, the noise |
//! | [`scorer`] | from metrics to scores, also by the user's own command |
//! | [`tuning`] | the order of samples, the limit, the end |
//! | [`points`] | the points of a sweep |
//! | [`outcome`] | what came out |
//! | [`store`] | the directory that all is kept in, to go on after an interruption |
//! | [`view`](mod@view) | what came out, to be drawn |

pub mod outcome;
pub mod points;
pub mod record;
pub mod repeats;
pub mod scorer;
pub mod search;
pub mod store;
pub mod tuning;
pub mod view;
pub mod workload;

pub use outcome::Outcome;
pub use points::{PointStats, Spread};
pub use record::{Record, Subject};
pub use scorer::{Judge, RSS, RUNTIME, ScoreOf, Scored, Scorer};
pub use store::{Store, StoreError};
pub use tuning::{Aim, End, Limits, Next, Step, Tuning, TuningError};
pub use view::view;
pub use workload::{Bounds, Level, Measured, Workload};
