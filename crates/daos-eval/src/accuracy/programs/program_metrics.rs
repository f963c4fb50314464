//! What a run of a real program is judged by.

use super::comparison::{Comparison, Pages, share};
use crate::accuracy::cost::Costs;
use crate::metrics::{Measurement, Unit};

/// What one run under a monitor showed, against one under a scan of all pages. What the run does
/// not show is `None`; bytes are means over time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgramMetrics {
    /// In memory, by the scan.
    pub resident: Option<f64>,
    /// Accessed since the scan before, by the scan.
    pub accessed: Option<f64>,
    /// Accessed within that time, as told.
    pub accessed_told: Option<f64>,
    /// By how much that is too much, as a share of what it should be; negative: too little.
    pub accessed_error: Option<f64>,
    /// How far it is from it at a time, on average, as a share of it.
    pub accessed_apart: Option<f64>,
    /// Idle, by the scan.
    pub idle: Option<f64>,
    /// Idle, as told.
    pub idle_told: Option<f64>,
    /// By how much that is too much, as a share of what is in memory; negative: too little.
    pub idle_error: Option<f64>,
    /// How far it is from it at a time, on average, as a share of what is in memory.
    pub idle_apart: Option<f64>,
    /// Told to be idle without a doubt: what schemes take.
    pub idle_proven: Option<f64>,
    /// Of the memory of the scan the share that lies where the monitor saw memory, 0 to 1.
    pub same: Option<f64>,
    /// Of the pages told to be accessed the share that was, 0 to 1.
    pub accessed_precision: Option<f64>,
    /// Of the pages accessed the share that was told to be, 0 to 1.
    pub accessed_recall: Option<f64>,
    /// Of the pages told to be idle without a doubt the share that was, 0 to 1.
    pub idle_precision: Option<f64>,
    /// Of the idle pages the share that was told to be, 0 to 1.
    pub idle_recall: Option<f64>,
    /// Of the idle pages the share that was told to be not accessed, but younger, 0 to 1. The rest
    /// was told to be accessed, or nothing was told of it.
    pub idle_younger: Option<f64>,
    /// CPU time of the monitor, and what it took from the program as it knew, in percent of one
    /// CPU.
    pub cost_percent: Option<f64>,
    /// The same in the ten seconds in which it was highest.
    pub worst_cost_percent: Option<f64>,
    /// Scans that were compared.
    pub scans: Option<f64>,
}

impl ProgramMetrics {
    /// Of a comparison, and of what the monitor cost.
    pub fn of(all: &Comparison, costs: &Costs) -> Self {
        let pages = all.same_pages();
        let of_pages = |of: fn(&Pages) -> (f64, f64)| {
            let (part, whole) = of(pages?);
            share(part, whole)
        };
        // What was accessed is the same whether pages were compared or not.
        let (accessed, idle) = (all.accessed, all.idle);
        let recall = |right: fn(&Pages) -> f64, whole| share(right(pages?), whole);
        Self {
            resident: all.mean(all.resident),
            accessed: all.mean(accessed),
            accessed_told: all.mean(all.accessed_told),
            accessed_error: share(all.accessed_told - accessed, accessed),
            accessed_apart: share(all.accessed_apart, accessed),
            idle: all.mean(idle),
            idle_told: all.mean(all.idle_told),
            idle_error: share(all.idle_told - idle, all.resident),
            idle_apart: share(all.idle_apart, all.resident),
            idle_proven: pages.and_then(|pages| all.mean(pages.idle_told)),
            same: all.same(),
            accessed_precision: of_pages(|pages| (pages.accessed_right, pages.accessed_told)),
            accessed_recall: recall(|pages| pages.accessed_right, accessed),
            idle_precision: of_pages(|pages| (pages.idle_right, pages.idle_told)),
            idle_recall: recall(|pages| pages.idle_right, idle),
            idle_younger: recall(|pages| pages.idle_younger, idle),
            cost_percent: costs.both_percent(),
            worst_cost_percent: costs.worst_percent(),
            scans: (all.scans() > 0).then_some(all.scans() as f64),
        }
    }

    /// All of them, in the order in which they are shown.
    pub fn measurements(&self) -> Vec<Measurement> {
        use Unit::{Bytes, Number, Percent, Share};
        let new = Measurement::new;
        vec![
            new("resident_bytes", "resident", Bytes, self.resident),
            new("accessed_bytes", "accessed, in truth", Bytes, self.accessed),
            new("accessed_told_bytes", "accessed, as told", Bytes, self.accessed_told),
            new("accessed_error", "error", Share, self.accessed_error),
            new("accessed_apart", "apart at a time", Share, self.accessed_apart),
            new("accessed_precision", "of pages told, accessed", Share, self.accessed_precision),
            new("accessed_recall", "of pages accessed, told", Share, self.accessed_recall),
            new("idle_bytes", "idle, in truth", Bytes, self.idle),
            new("idle_told_bytes", "idle, as told", Bytes, self.idle_told),
            new("idle_error", "error, of resident", Share, self.idle_error),
            new("idle_apart", "apart at a time, of resident", Share, self.idle_apart),
            new("idle_proven_bytes", "idle without a doubt", Bytes, self.idle_proven),
            new("idle_precision", "of pages told, idle", Share, self.idle_precision),
            new("idle_recall", "of idle pages, told", Share, self.idle_recall),
            new("idle_younger", "of idle pages, told younger", Share, self.idle_younger),
            new("same_addresses", "at the same addresses", Share, self.same),
            new("cost_percent", "cost, both sides", Percent, self.cost_percent),
            new("worst_cost_percent", "same, worst 10 s", Percent, self.worst_cost_percent),
            new("scans", "scans compared", Number, self.scans),
        ]
    }
}
