//! The monitors that are compared: those of the product, and two yardsticks that nobody
//! should use for anything else.

pub mod full_scan;

pub use full_scan::FullScan;

use daos_core::{AttrsError, MonitorAttrs};
use daos_monitor::{AnyMonitor, MonitorKind, MonitorOptions, Reference, monitor_enum};

/// The monitors that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedKind {
    /// One that `daos` has.
    Product(MonitorKind),
    /// The reference monitor with regions of equal size that never change.
    Static,
    /// Every page, every aggregation interval.
    FullScan,
}

impl ComparedKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: &[Self] = &[
        Self::Product(MonitorKind::Windows),
        Self::Product(MonitorKind::Reference),
        Self::Static,
        Self::FullScan,
    ];

    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Product(kind) => kind.name(),
            Self::Static => "static",
            Self::FullScan => "fullscan",
        }
    }

    /// Whether it heeds [`MonitorOptions`].
    pub fn heeds_options(self) -> bool {
        matches!(self, Self::Product(kind) if kind.heeds_options())
    }

    /// What is said to `daos record`, or `daos-eval record`, to record with it.
    pub(crate) fn words(
        self,
        attrs: &MonitorAttrs,
        options: &MonitorOptions,
        seed: u64,
    ) -> Vec<String> {
        let mut words = vec![
            format!("--sample={}us", attrs.sample_us),
            format!("--aggr={}us", attrs.aggregation_us),
            format!("--update={}us", attrs.update_us),
            format!("--min-regions={}", attrs.min_regions),
            format!("--max-regions={}", attrs.max_regions),
            format!("--seed={seed}"),
            format!("--monitor={}", self.name()),
        ];
        if self.heeds_options() {
            words.extend(options.max_overhead.map(|o| format!("--max-overhead={}", 100.0 * o)));
            words.extend(options.auto_intervals.then(|| "--auto-intervals".to_owned()));
        }
        if !self.is_yardstick() {
            words.push("--quiet".to_owned());
        }
        words
    }

    /// Whether it is there to compare others with, and not to be used.
    pub fn is_yardstick(self) -> bool {
        !matches!(self, Self::Product(_))
    }
}

/// A monitor of any of these kinds.
#[derive(Debug, Clone)]
pub enum ComparedMonitor {
    /// One that `daos` has, or its reference with regions that stay as they are.
    Product(AnyMonitor),
    /// See [`ComparedKind::FullScan`].
    FullScan(FullScan),
}

monitor_enum!(ComparedMonitor: Product, FullScan);

impl ComparedMonitor {
    /// A monitor that draws its pages from a stream given by `seed`.
    pub fn new(
        kind: ComparedKind,
        attrs: MonitorAttrs,
        options: MonitorOptions,
        seed: u64,
    ) -> Result<Self, AttrsError> {
        Ok(match kind {
            ComparedKind::Product(kind) => {
                Self::Product(AnyMonitor::new(kind, attrs, options, seed)?)
            }
            ComparedKind::Static => {
                let monitor = Reference::with_equal_regions(attrs, seed)?;
                Self::Product(AnyMonitor::Reference(Box::new(monitor)))
            }
            ComparedKind::FullScan => Self::FullScan(FullScan::new(attrs)?),
        })
    }
}
