//! How accurate monitors are and what they cost, against a truth that is known.
//!
//! Nobody has published how accurate a region-based monitor is. Here a workload
//! says what it truly accesses, a monitor says what it saw, and a pure function
//! compares the two. Where the workload runs, on real memory or in the
//! simulator, is a [`Ground`]; the comparison does not know which.
//!
//! | module | holds | add here |
//! |---|---|---|
//! | [`ground`] | the seam: one run, to its [`Figures`]; the rounds | |
//! | [`real`] | processes on real memory | |
//! | [`simulated`] | simulated address spaces | a space |
//! | [`figures`] | what a run is judged by | a figure |
//! | [`truth`] | what a workload truly accesses, phase by phase | |
//! | [`score`] | from snapshots and truth to accuracy | |
//! | [`cost`] | from snapshots to what they cost | |
//! | [`spread`] | median and range over the runs | |
//! | [`report`] | tables and JSON | |
//! | [`error`] | what can go wrong | |

#![forbid(unsafe_code)]

pub mod cost;
pub mod error;
pub mod figures;
pub mod ground;
mod process;
pub mod real;
pub mod report;
pub mod score;
pub mod simulated;
pub mod spread;
pub mod truth;

pub use error::BenchError;
pub use figures::{FIGURES, Figure, Figures, Unit};
pub use ground::{Ground, Outcome, Plan, Step, compare};
pub use real::RealMemory;
pub use score::{Score, Scorer};
pub use simulated::Simulator;
pub use spread::Spread;
pub use truth::{TruePhase, TrueRange};
