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
//! | [`stats`] | what was done |
//! | [`sink`], [`metrics`] | the seams: who acts, and who measures |
//! | [`engine`] | a pass over a snapshot, scheme by scheme |
//! | `pieces`, `rule`, `job` | memory that is alike; what fits a scheme; acting on it |
//! | `priority`, `charge`, `spans` | what comes first, what a quota has left, what was when |
//! | [`dry_run`] | counts instead of acting |

pub mod action;
mod charge;
pub mod dry_run;
pub mod engine;
pub mod filter;
pub mod goal;
mod job;
pub mod metrics;
pub mod pattern;
mod pieces;
mod priority;
pub mod quota;
mod rule;
pub mod scheme;
pub mod sink;
mod spans;
pub mod stats;
#[cfg(test)]
mod tests;
pub mod watermarks;

pub use action::Action;
pub use dry_run::DryRun;
pub use engine::Engine;
pub use filter::{Filter, Matter};
pub use goal::Goal;
pub use metrics::{Metric, Metrics};
pub use pattern::{Age, Bounds, Pattern};
pub use quota::{Quota, Weights};
pub use scheme::Scheme;
pub use sink::{ActionSink, BATCH_BYTES, Outcome, Refusal};
pub use stats::{Done, Stats};
pub use watermarks::Watermarks;
