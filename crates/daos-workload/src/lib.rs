//! Access patterns whose truth is known: the yardstick of every monitor.
//!
//! A configuration in the format of `masim` names regions of memory and, phase
//! by phase, how they are accessed. The same configuration runs here on real
//! memory, exactly counted, and in `daos-sim` without any memory: so both take
//! the placement of regions and the meaning of a pattern from this crate.
//!
//! | module | holds |
//! |---|---|
//! | [`config`] | regions, phases, patterns |
//! | [`parse`] | from text to a configuration, or to the place of a mistake |
//! | [`error`] | the mistakes |
//! | [`place`] | where the regions lie in the address space |
//! | [`rate`] | how likely a pattern touches a page |
//! | [`options`] | how to run it |
//! | [`run`] | the run on real memory |
//! | [`truth`] | what a run accessed, as JSON lines |

mod clock;
pub mod config;
pub mod error;
mod field;
mod memory;
pub mod options;
pub mod parse;
pub mod place;
pub mod rate;
pub mod run;
pub mod truth;
mod walk;
mod worker;

pub use config::{Config, Mode, Order, Pattern, Phase, Region};
pub use error::{ConfigError, Problem};
pub use options::{Backing, Fill, HugePages, Options};
pub use run::{PhaseSummary, RunError, Summary, Workload};
pub use truth::{PhaseTruth, RegionTruth, TruthError, TruthWriter};
