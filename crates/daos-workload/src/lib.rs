//! Access patterns whose truth is known: the yardstick of every monitor.
//!
//! A configuration in the format of `masim` names regions of memory and, phase
//! by phase, how they are accessed. The same configuration runs here on real
//! memory, exactly counted, and in `daos-sim` without any memory: so both take
//! the placement of regions and the meaning of a pattern from this crate.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | regions, phases, patterns, and where the regions lie in the address space |
//! | [`parse`] | from text to a configuration, or to the place of a mistake |
//! | [`rate`] | how likely a pattern touches a page |
//! | [`singles`] | single pages among others |
//! | [`run`] | the run on real memory, and its options |
//! | [`truth`] | what a run accessed, as JSON lines |

pub mod config;
pub mod parse;
pub mod rate;
pub mod run;
pub mod singles;
pub mod truth;

pub use config::{Config, Mode, Order, Pattern, Phase, Region, place};
pub use parse::{ConfigError, Problem};
pub use run::{Backing, Fill, HugePages, PhaseSummary, RunError, RunOptions, RunSummary, Workload};
pub use truth::{PhaseTruth, RegionTruth, TruthError, TruthWriter};
