//! How good the tuner is: how far from the best it ends where that is known, and what it
//! gains for real programs.
//!
//! | module | holds |
//! |---|---|
//! | [`curves`] | scores whose best is known |
//! | [`simulated`] | searches on them, with noise |
//! | [`programs`] | programs without a scheme, with it as it is, and tuned |

pub mod curves;
pub mod programs;
pub mod simulated;
