//! When a scheme sleeps: by the state of the system.

use super::metrics::Metric;

/// The scheme sleeps while the metric is above `high` or below `low`, and until it has
/// come back to `mid` or below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watermarks {
    /// What is looked at.
    pub metric: Metric,
    /// How often, in microseconds.
    pub interval_us: u64,
    /// Above: nothing to be done.
    pub high: f64,
    /// At or below: begin.
    pub mid: f64,
    /// Below: too late for this, leave it to others.
    pub low: f64,
}
