//! Monitors: who decides which pages to sample, and what the answers mean.
//!
//! There are two: [`windows`], which is ours, and [`reference`](mod@reference), the algorithm
//! of the paper.
//!
//! A monitor owns no time. Whoever drives it calls [`Monitor::tick`], waits as
//! long as it asks to ([`Monitor::wait_us`]), and tells it what that cost
//! ([`Monitor::charge`]). All state is in the value, so two monitors can't disturb
//! each other.
//!
//! To add a monitor: implement [`Monitor`] in a module here, and give it a line in
//! [`MonitorKind`] and [`AnyMonitor`].

#![forbid(unsafe_code)]

mod fitting;
pub mod projection;
pub mod reference;
pub mod windows;

pub use projection::Projection;
pub use reference::{Reference, Region};
pub use windows::Windows;

use daos_core::{AccessCheck, AttrsError, CpuCost, MonitorAttrs, Snapshot};

/// Monitors targets through an [`AccessCheck`] and aggregates what it saw into a
/// [`Snapshot`] every aggregation interval.
pub trait Monitor {
    /// The attributes in force, in whole ticks. They change when the monitor may
    /// choose its intervals.
    fn attrs(&self) -> &MonitorAttrs;

    /// Whether any target was still there at the last update.
    fn has_targets(&self) -> bool;

    /// One tick; `now_us` is the time since monitoring began. The first one reads
    /// the targets. Returns the snapshot of the interval that it closed.
    ///
    /// Fails only when `access` does. The monitor can go on with the next tick; a
    /// snapshot that was just made is lost.
    fn tick<A: AccessCheck + ?Sized>(
        &mut self,
        access: &mut A,
        now_us: u64,
    ) -> Result<Option<Snapshot>, A::Error>;

    /// Reads the targets' ranges at once, ahead of the next update: for a driver
    /// that knows that they changed.
    fn update<A: AccessCheck + ?Sized>(&mut self, access: &mut A) -> Result<(), A::Error>;

    /// Microseconds from when the last tick was due to when the next one is. To be asked once
    /// that tick is [charged](Self::charge).
    fn wait_us(&self) -> u64;

    /// Tells what the last tick cost, and when it was over: what it armed was armed by then,
    /// and its users could run on.
    fn charge(&mut self, spent: CpuCost, over_us: u64);

    /// Tells what was spent beside ticks on what it found. It counts as its own.
    fn charge_beside(&mut self, spent: CpuCost);
}

/// The monitors that there are to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MonitorKind {
    /// Ours: a page table at a time, within a bound on the overhead.
    #[default]
    Windows,
    /// The seeds' algorithm: a random page of each region a tick.
    Reference,
}

impl MonitorKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: &[Self] = &[Self::Windows, Self::Reference];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Windows => "windows",
            Self::Reference => "reference",
        }
    }

    /// Whether it heeds [`MonitorOptions`].
    pub fn heeds_options(self) -> bool {
        self != Self::Reference
    }
}

/// What only some monitors heed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MonitorOptions {
    /// Upper bound on what monitoring costs, as a share of one CPU, the targets' side
    /// included; `None` for the monitor's own.
    pub max_overhead: Option<f64>,
    /// Whether the monitor may choose its sampling and aggregation intervals.
    pub auto_intervals: bool,
}

/// A monitor of any kind, for those who choose it when they run.
#[derive(Debug, Clone)]
pub enum AnyMonitor {
    /// See [`MonitorKind::Windows`].
    Windows(Box<Windows>),
    /// See [`MonitorKind::Reference`].
    Reference(Box<Reference>),
}

/// Makes an enum of monitors a [`Monitor`]: each call goes to the one that it holds.
#[macro_export]
macro_rules! monitor_enum {
    ($name:ident: $($variant:ident),+) => {
        impl $crate::Monitor for $name {
            fn attrs(&self) -> &daos_core::MonitorAttrs {
                match self { $(Self::$variant(monitor) => monitor.attrs(),)+ }
            }

            fn has_targets(&self) -> bool {
                match self { $(Self::$variant(monitor) => monitor.has_targets(),)+ }
            }

            fn tick<A: daos_core::AccessCheck + ?Sized>(
                &mut self,
                access: &mut A,
                now_us: u64,
            ) -> Result<Option<daos_core::Snapshot>, A::Error> {
                match self { $(Self::$variant(monitor) => monitor.tick(access, now_us),)+ }
            }

            fn update<A: daos_core::AccessCheck + ?Sized>(
                &mut self,
                access: &mut A,
            ) -> Result<(), A::Error> {
                match self { $(Self::$variant(monitor) => monitor.update(access),)+ }
            }

            fn wait_us(&self) -> u64 {
                match self { $(Self::$variant(monitor) => monitor.wait_us(),)+ }
            }

            fn charge(&mut self, spent: daos_core::CpuCost, over_us: u64) {
                match self { $(Self::$variant(monitor) => monitor.charge(spent, over_us),)+ }
            }

            fn charge_beside(&mut self, spent: daos_core::CpuCost) {
                match self { $(Self::$variant(monitor) => monitor.charge_beside(spent),)+ }
            }
        }
    };
}

monitor_enum!(AnyMonitor: Windows, Reference);

impl AnyMonitor {
    /// A monitor that draws its pages from a stream given by `seed`.
    pub fn new(
        kind: MonitorKind,
        attrs: MonitorAttrs,
        options: MonitorOptions,
        seed: u64,
    ) -> Result<Self, AttrsError> {
        Ok(match kind {
            MonitorKind::Windows => Self::Windows(Box::new(Windows::new(attrs, options, seed)?)),
            MonitorKind::Reference => Self::Reference(Box::new(Reference::new(attrs, seed)?)),
        })
    }
}
