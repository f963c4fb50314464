//! What tuning a scheme gains for programs, on real memory.
//!
//! `daos tune` chooses the scheme's thresholds for a program. Then the program is run in
//! three *configurations*: alone, with the scheme as somebody wrote it, and tuned. They are
//! run in turn, round by round, and each round begins with another; medians over the rounds
//! are compared. A program does the same work in each run, so its run time is what counts.
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | a program, and where they come from |
//! | `tuned` | has `daos` tune for it; what that found |
//! | `trial` | runs it once, and samples it |
//! | [`plan`] | what is planned |
//! | [`rounds`] | all of it, program by program and round by round |
//! | [`gains`] | what the runs of a program show, and those of all |
//! | [`table`] | tables and JSON |

pub mod gains;
pub mod plan;
pub mod program;
pub mod rounds;
pub mod table;
mod trial;
mod tuned;

pub use plan::{Limit, ProgramsPlan};
pub use program::Program;
pub use rounds::{ProgramResult, ProgramsProgress, run};
pub use trial::ProgramTrial;
pub use tuned::Tuned;
pub(crate) use tuned::tune;
