//! What is measured, whatever was run: metrics with their units and goals, their values over
//! the rounds, and how tables and JSON show them.
//!
//! Over the rounds a metric has a median and a range: with few rounds on a noisy machine a
//! mean says little, and a standard deviation less.

mod metric;
mod output;
mod row;

pub use metric::{Goal, Measurement, Metric, Unit};
pub(crate) use output::{runs_in_words, write_json_line, write_metrics, write_table};
pub(crate) use row::MetricsJson;
pub use row::{MedianRange, MetricRow};
