//! What schemes gain and what they cost, on real memory.
//!
//! A case is a program that a scheme is for, or one that it must leave alone. It is run
//! in a few *configurations*: without the scheme, with it, with what it competes with.
//! All configurations of a case are run in turn, round by round, and compared within a round;
//! which comes first changes from round to round. So what the machine does beside it
//! spoils a round at most, and medians over the rounds not at all.
//!
//! | module | holds | add here |
//! |---|---|---|
//! | [`case`] | the cases, by name | a case, in a file of its own |
//! | `prcl`, `busy`, `ethp`, `lock` | each: its configurations, and from their trials its measurements | |
//! | [`sizes`] | how large and how long these are | |
//! | [`trial`] | a configuration, and what came of a trial of it | |
//! | `run` | runs a trial | |
//! | `counters` | what the schemes counted | |
//! | [`rounds`] | all that is planned | |
//! | [`table`] | tables and JSON | |

mod busy;
pub mod case;
mod counters;
mod ethp;
mod lock;
mod prcl;
pub mod rounds;
mod run;
pub mod sizes;
pub mod table;
pub mod trial;

pub use case::Case;
pub use rounds::{CaseResult, SchemesPlan, SchemesProgress, run};
pub use sizes::Sizes;
