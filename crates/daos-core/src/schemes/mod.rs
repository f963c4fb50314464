//! Schemes: manage memory by what is seen.
//!
//! "Regions of this size, this access rate and this age: do that to them" (the paper's
//! §3.2). An [`Engine`] is handed each snapshot, finds what fits the schemes, and has an
//! [`ActionSink`] act on it, within quotas, what matters most first.
//!
//! | module | holds |
//! |---|---|
//! | [`scheme`] | [`Scheme`]: all that can be said of one |
//! | [`pattern`], [`action`] | which memory, and what is done to it |
//! | [`quota`], [`watermarks`], [`filter`], [`goal`] | how much, when, what not, and what for |
//! | [`forms`] | schemes as text and as TOML, and those that come with the program |
//! | [`engine`] | a pass over a snapshot, scheme by scheme |
//! | [`sink`], [`metrics`] | the seams: who acts, and who measures |
//! | [`stats`] | what was done |

pub mod action;
pub mod engine;
pub mod filter;
pub mod forms;
pub mod goal;
pub mod metrics;
pub mod pattern;
pub mod quota;
pub mod scheme;
pub mod sink;
pub mod stats;
pub mod watermarks;

pub use action::Action;
pub use engine::{DryRun, Engine};
pub use filter::{Filter, Matter};
pub use forms::{Invalid, Problem, TextError, builtin, format, parse, text, toml};
pub use goal::Goal;
pub use metrics::{Metric, Metrics};
pub use pattern::{Age, Bounds, Pattern};
pub use quota::{Quota, Weights};
pub use scheme::Scheme;
pub use sink::{ActionSink, BATCH_BYTES, Outcome, Refusal};
pub use stats::{Done, Stats};
pub use watermarks::Watermarks;
