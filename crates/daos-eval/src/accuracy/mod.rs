//! How accurate monitors are and what they cost, against a truth that is known.
//!
//! Nobody has published how accurate a region-based monitor is. Here a workload says what it
//! truly accesses, a monitor says what it saw, and a pure function compares the two. Where
//! the workload runs, on real memory or in the simulator, is a [`Testbed`]; the comparison
//! does not know which.
//!
//! | module | holds | add here |
//! |---|---|---|
//! | [`testbed`] | what monitors are compared on, the two testbeds, the rounds | a testbed |
//! | [`scenario`] | memory of any size of which some is hot, in some shape | a shape |
//! | [`truth`] | what a workload truly accesses, phase by phase | |
//! | [`score`] | from snapshots and truth to accuracy | |
//! | [`detection_latency`] | how long a change takes to be seen | |
//! | [`cost`] | from snapshots to what they cost | |
//! | [`run_metrics`] | all that a run is judged by | a metric |
//! | [`scan_cost`] | what a full scan would cost | |
//! | [`budget`] | what a bound on the overhead buys | |
//! | [`mod@validate`] | the simulator against real memory | |
//! | [`report`] | tables and JSON | |
//! | [`programs`] | real programs, against a scan of all their pages | |

pub mod budget;
pub mod cost;
pub mod detection_latency;
mod idle_score;
pub mod programs;
pub mod report;
pub mod run_metrics;
pub mod scan_cost;
pub mod scenario;
pub mod score;
pub mod testbed;
pub mod truth;
pub mod validate;

pub use run_metrics::{RunMeter, RunMetrics};
pub use scenario::{PageSize, Scenario, Shape};
pub use score::{Score, Scorer};
pub use testbed::{
    AccuracyPlan, AccuracyProgress, AccuracyResult, PhysicalSpace, RealMemory, Simulator, Testbed,
    WorkloadSpec, compare,
};
pub use truth::{SomePages, TruePhase, TrueRange};
