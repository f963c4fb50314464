//! Schemes: manage memory by what is seen.
//!
//! "Regions of this size, this access rate and this age: do that to them" (the paper's
//! §3.2). An [`Engine`] is handed each snapshot, finds what fits the schemes, and has an
//! [`ActionSink`](daos_core::ActionSink) act on it, within quotas, what matters most first.
//!
//! | module | holds |
//! |---|---|
//! | [`scheme`] | [`Scheme`]: all that can be said of one |
//! | [`language`] | schemes as text and as TOML, and those that come with the program |
//! | [`engine`] | [`Engine`]: a pass over a snapshot, scheme by scheme |

#![forbid(unsafe_code)]

pub mod engine;
pub mod language;
pub mod scheme;

pub use engine::{DryRun, Engine};
pub use language::{Invalid, Problem, TextError, builtin, format, nearest, parse, text, toml};
pub use scheme::{
    Age, Bounds, Filter, FilterType, Goal, Pattern, Quota, Rate, RefaultBound, Scheme, Watermarks,
    Weights,
};
