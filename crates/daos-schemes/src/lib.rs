//! Schemes: manage memory by what is seen.
//!
//! "Regions of this size, this access rate and this age: do that to them" (the paper's
//! §3.2). An [`Engine`] is handed each snapshot, finds what fits the schemes, and has an
//! [`ActionSink`](daos_core::ActionSink) act on it, within quotas, what matters most first.
//!
//! | module | holds |
//! |---|---|
//! | [`scheme`] | [`Scheme`]: all that can be said of one |
//! | [`pattern`] | which memory |
//! | [`quota`], [`watermarks`], [`filter`], [`goal`] | how much, when, what not, and what for |
//! | [`language`] | schemes as text and as TOML, and those that come with the program |
//! | [`engine`] | a pass over a snapshot, scheme by scheme |
//! | [`nearest`] | what someone who mistyped a word meant |

#![forbid(unsafe_code)]

pub mod engine;
pub mod filter;
pub mod goal;
pub mod language;
pub mod nearest;
pub mod pattern;
pub mod quota;
pub mod scheme;
pub mod watermarks;

pub use engine::{DryRun, Engine};
pub use filter::{Filter, Matter};
pub use goal::Goal;
pub use language::{Invalid, Problem, TextError, builtin, format, parse, text, toml};
pub use pattern::{Age, Bounds, Pattern};
pub use quota::{Quota, Weights};
pub use scheme::Scheme;
pub use watermarks::Watermarks;
