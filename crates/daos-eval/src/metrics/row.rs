//! The values of a metric over the rounds: median and range, as a row of a table, as JSON.

use super::metric::{Goal, Measurement, Metric};
use daos_core::median;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The middle of several numbers, and both ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MedianRange {
    /// The middle one, or the mean of the two middle ones.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl MedianRange {
    /// Of the numbers that there are; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        Some(Self {
            median: median(values.iter().copied())?,
            min: values.iter().copied().min_by(f64::total_cmp)?,
            max: values.iter().copied().max_by(f64::total_cmp)?,
        })
    }
}

/// A metric and what it was in each round.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricRow {
    /// Which.
    pub metric: Metric,
    /// `None` for a round that did not show it.
    pub values: Vec<Option<f64>>,
}

impl MetricRow {
    /// Of rounds that have the same metrics.
    pub fn of_rounds(rounds: &[Vec<Measurement>]) -> Vec<Self> {
        let first = rounds.first().map_or(&[][..], Vec::as_slice);
        let rows = first.iter().enumerate().map(|(at, Measurement { metric, .. })| MetricRow {
            metric: *metric,
            values: rounds.iter().map(|round| round[at].value).collect(),
        });
        rows.collect()
    }

    /// Of a metric with one value for all rounds.
    pub fn of_all(measurement: Measurement) -> Self {
        Self { metric: measurement.metric, values: vec![measurement.value] }
    }

    /// Median and range of the rounds that showed it.
    pub fn median_range(&self) -> Option<MedianRange> {
        MedianRange::of(self.values.iter().copied())
    }

    /// `97.1 % (95.0 to 98.2)`: the median and, of more than one round, the range with `note`
    /// behind it; a dash where no round showed the metric.
    pub(crate) fn shown(&self, note: &str) -> String {
        let Some(MedianRange { median, min, max }) = self.median_range() else {
            return "-".to_owned();
        };
        let unit = self.metric.unit;
        let [median, min, max] = [median, min, max].map(|value| unit.number(value));
        let range = match self.values.len() {
            1 => String::new(),
            _ => format!(" ({min} to {max}{note})"),
        };
        format!("{median}{}{range}", unit.suffix())
    }

    /// Name, median with range, goal, and whether it was reached.
    pub(super) fn cells(&self) -> Vec<String> {
        let Self { metric, values } = self;
        let of = values.iter().flatten().count();
        // A run without a value did not reach the goal.
        let is_whole = of == values.len();
        let note = match is_whole {
            true => String::new(),
            false => format!("; in {of} of {} runs", values.len()),
        };
        let verdict = match (metric.goal, self.median_range()) {
            (None, _) => "",
            (Some(goal), Some(range)) if is_whole && goal.is_reached(range.median) => "reached",
            (Some(_), _) => "missed",
        };
        let goal = metric.goal.map(Goal::parts).map(|(sign, value)| {
            format!("{sign} {}{}", metric.unit.number(value), metric.unit.suffix())
        });
        let name = metric.name.to_owned();
        vec![name, self.shown(&note), goal.unwrap_or_default(), verdict.to_owned()]
    }
}

#[derive(Serialize)]
struct MetricJson<'a> {
    #[serde(flatten)]
    median_range: Option<MedianRange>,
    runs: &'a [Option<f64>],
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
}

/// Each metric under its key, with median, range and every value.
#[derive(Debug)]
pub(crate) struct MetricsJson<'a>(pub &'a [MetricRow]);

impl Serialize for MetricsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for row in self.0 {
            let (median_range, goal) = (row.median_range(), row.metric.goal);
            let json = MetricJson { median_range, runs: &row.values, goal };
            map.serialize_entry(row.metric.key, &json)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_both_ends() {
        let odd = MedianRange::of([Some(3.0), None, Some(1.0), Some(2.0)]).unwrap();
        assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
        assert_eq!(MedianRange::of([Some(1.0), Some(4.0)]).unwrap().median, 2.5);
        assert_eq!(MedianRange::of([None]), None);
    }
}
