//! The monitors that can be compared, and how to get each of them.

use daos_core::{AttrsError, Monitor, MonitorAttrs};

/// A way to monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonitorKind {
    /// The seeds' algorithm.
    Reference,
}

impl MonitorKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: &[Self] = &[Self::Reference];

    /// Its name, as records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
        }
    }

    /// One to be driven over a simulated space.
    pub fn build(self, attrs: MonitorAttrs, seed: u64) -> Result<Monitor, AttrsError> {
        match self {
            Self::Reference => Monitor::new(attrs, seed),
        }
    }

    /// What chooses it on the command line of `daos record`.
    pub fn record_args(self) -> &'static [&'static str] {
        match self {
            Self::Reference => &[],
        }
    }
}
