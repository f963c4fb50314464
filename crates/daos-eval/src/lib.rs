//! What measures `daos`: how accurate monitors are and what they cost, what schemes gain and
//! cost, and what tuning them gains.
//!
//! | module | holds |
//! |---|---|
//! | [`accuracy`] | monitors against a known truth, on real and on simulated memory |
//! | [`schemes`] | programs with schemes and without, in turn |
//! | [`suite`] | real programs under several configurations, in turn, and the seeds' tables |
//! | [`tuning`] | how far from the best the tuner ends, and what it gains for programs |
//! | [`monitors`] | the monitors that are compared, with two yardsticks |
//! | [`under_test`] | programs under test, and their time series, sampled from outside |
//! | [`metrics`] | metrics over rounds: medians, ranges, goals, tables and JSON |
//! | [`error`] | what can go wrong |

#![forbid(unsafe_code)]

pub mod accuracy;
pub mod error;
pub mod metrics;
pub mod monitors;
pub mod schemes;
pub mod suite;
pub mod tuning;
pub mod under_test;

pub use accuracy::{Score, Scorer, TruePhase};
pub use error::EvalError;
