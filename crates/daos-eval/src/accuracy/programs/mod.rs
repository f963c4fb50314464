//! Accuracy on real programs, whose truth nobody knows beforehand: a full scan of all their pages
//! finds it.
//!
//! A program is run under the scan, then under each monitor, round by round. It is laid out in the
//! same way each time ([`daos_linux::layout`]), so that pages can be compared where it does the
//! same; what it has in use, and what is idle, is compared as a function of time.
//!
//! | module | holds |
//! |---|---|
//! | [`page_scan`] | the yardstick: every page, again and again |
//! | [`scan`] | what it found |
//! | [`comparison`] | that against what a monitor says |
//! | [`plan`] | what is planned |
//! | `run` | one run of a program, under either |
//! | `beside` | the scan beside a program, for what it costs |
//! | [`rounds`] | all of them, round by round |
//! | [`program_metrics`] | what a run is judged by |
//! | [`report`] | tables and JSON |

mod beside;
pub mod comparison;
pub mod page_scan;
pub mod plan;
pub mod program_metrics;
pub mod report;
pub mod rounds;
mod run;
pub mod scan;

pub use beside::scan_beside;
pub use comparison::{Comparison, Moment, Pairs, compare};
pub use page_scan::PageScan;
pub use plan::ProgramPlan;
pub use program_metrics::ProgramMetrics;
pub use rounds::{ProgramEvent, ProgramResult, measure};
pub use scan::{Scan, ScanLog};
