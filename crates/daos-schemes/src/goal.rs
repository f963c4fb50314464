//! What a scheme is to reach: then its quota of bytes is set by feedback.

use daos_core::metrics::Metric;

/// "This metric at this value": the scheme does as much as it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// What is looked at.
    pub metric: Metric,
    /// Its value to be reached, on the metric's scale.
    pub target: f64,
}
