//! How good the tuner is: how far from the best it ends where that is known, and what it
//! gains for real programs.
//!
//! | module | holds |
//! |---|---|
//! | [`simulated`] | curves whose best is known, with noise |
//! | [`programs`] | programs without a scheme, with it as it is, and tuned |

pub mod programs;
pub mod simulated;
