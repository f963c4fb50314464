//! What monitors are compared on.

use crate::scenario::Scenario;
use std::fmt;
use std::path::PathBuf;

/// What is done to the memory that monitors watch.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A configuration in a file.
    File(PathBuf),
    /// A scenario, drawn anew with the seed of each round.
    Drawn(Scenario),
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::File(path) => path.display().fmt(f),
            Work::Drawn(scenario) => scenario.fmt(f),
        }
    }
}
