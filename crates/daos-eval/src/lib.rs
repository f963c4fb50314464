//! How accurate monitors are and what they cost, against a truth that is known; what
//! schemes gain and cost; and what tuning them gains.
//!
//! Nobody has published how accurate a region-based monitor is. Here a workload
//! says what it truly accesses, a monitor says what it saw, and a pure function
//! compares the two. Where the workload runs, on real memory or in the
//! simulator, is a [`Ground`]; the comparison does not know which.
//!
//! | module | holds | add here |
//! |---|---|---|
//! | [`work`] | what they are compared on | |
//! | [`scenario`] | spaces of any size, with hot memory of some shape | a shape |
//! | [`ground`] | the seam: one run, to its [`Figures`]; the rounds | |
//! | [`real`] | processes on real memory | |
//! | [`simulated`] | simulated address spaces | a space |
//! | [`figures`] | what a run is judged by | a figure |
//! | [`truth`] | what a workload truly accesses, phase by phase | |
//! | [`score`] | from snapshots and truth to accuracy | |
//! | [`notice`] | how long it takes to notice a change | |
//! | [`cost`] | from snapshots to what they cost | |
//! | [`scan`] | what a full scan would cost | |
//! | [`budget`] | what a bound on the overhead buys | |
//! | [`spread`] | median and range over the runs | |
//! | [`mod@validate`] | the simulator against real memory | |
//! | [`report`] | tables and JSON | |
//! | [`schemes`] | what schemes gain and cost | a case |
//! | [`tuning`] | how far from the best the tuner ends, and what it gains | |
//! | [`finding`], [`rows`] | a figure, its goal, its value; over the rounds, as a table | |
//! | [`course`], `looker`, `pagemap` | what was sampled of a program, from outside | a thing to sample |
//! | [`error`] | what can go wrong | |

#![forbid(unsafe_code)]

pub mod budget;
pub mod cost;
pub mod course;
pub mod error;
pub mod figures;
pub mod finding;
pub mod ground;
mod looker;
mod memory;
pub mod monitors;
pub mod notice;
mod pagemap;
mod process;
pub mod real;
pub mod report;
pub mod rows;
pub mod scan;
pub mod scenario;
pub mod schemes;
pub mod score;
pub mod simulated;
pub mod spread;
pub mod truth;
pub mod tuning;
pub mod validate;
pub mod work;

pub use budget::Budget;
pub use error::BenchError;
pub use figures::{FIGURES, Figure, Figures, Unit};
pub use ground::{Ground, Outcome, Plan, Step, compare};
pub use notice::{Noticed, Watch};
pub use process::Commands;
pub use real::RealMemory;
pub use scenario::{PageSize, Scenario, Shape};
pub use score::{Score, Scorer};
pub use simulated::Simulator;
pub use spread::Spread;
pub use truth::{Comb, TruePhase, TrueRange};
pub use work::Work;
