//! The monitors that are compared: those of the product, and two yardsticks that nobody
//! should use for anything else.

pub mod full_scan;

pub use full_scan::FullScan;

use daos_core::{AttrsError, MonitorAttrs};
use daos_monitor::{AnyMonitor, MonitorOptions, Reference, monitor_enum};

/// The monitors there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MonitorKind {
    /// Ours: a page table at a time, within a bound on the overhead.
    #[default]
    Windows,
    /// The seeds' algorithm: a random page of each region a tick.
    Reference,
    /// The same with regions of equal size that never change.
    Static,
    /// Every page, every aggregation interval.
    FullScan,
}

impl MonitorKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: &[Self] = &[Self::Windows, Self::Reference, Self::Static, Self::FullScan];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows => daos_monitor::MonitorKind::Windows.name(),
            Self::Reference => daos_monitor::MonitorKind::Reference.name(),
            Self::Static => "static",
            Self::FullScan => "fullscan",
        }
    }

    /// Whether it heeds [`MonitorOptions`].
    pub fn heeds_options(self) -> bool {
        self == Self::Windows
    }

    /// Whether it is there to compare others with, and not to be used.
    pub fn is_yardstick(self) -> bool {
        matches!(self, Self::Static | Self::FullScan)
    }
}

/// A monitor of any of these kinds.
#[derive(Debug, Clone)]
pub enum Compared {
    /// One of the product's, or its reference with regions that stay as they are.
    Product(AnyMonitor),
    /// See [`MonitorKind::FullScan`].
    FullScan(FullScan),
}

monitor_enum!(Compared: Product, FullScan);

impl Compared {
    /// A monitor that draws its pages from a stream given by `seed`.
    pub fn new(
        kind: MonitorKind,
        attrs: MonitorAttrs,
        options: MonitorOptions,
        seed: u64,
    ) -> Result<Self, AttrsError> {
        let product = |kind| AnyMonitor::new(kind, attrs, options, seed);
        Ok(match kind {
            MonitorKind::Windows => Self::Product(product(daos_monitor::MonitorKind::Windows)?),
            MonitorKind::Reference => Self::Product(product(daos_monitor::MonitorKind::Reference)?),
            MonitorKind::Static => {
                let monitor = Reference::with_equal_regions(attrs, seed)?;
                Self::Product(AnyMonitor::Reference(Box::new(monitor)))
            }
            MonitorKind::FullScan => Self::FullScan(FullScan::new(attrs)?),
        })
    }
}
