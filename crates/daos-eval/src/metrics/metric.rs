//! A metric, its unit and its goal, and what one round measured of it.

use serde::Serialize;

/// What is asked of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Not to be more than this.
    AtMost(f64),
    /// Not to be less than this.
    AtLeast(f64),
}

/// Something to know of what was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in a table.
    pub name: &'static str,
    /// How to show it.
    pub unit: Unit,
    /// What is asked of it, in its unit.
    pub goal: Option<Goal>,
}

/// What one round showed of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// What was measured.
    pub metric: Metric,
    /// `None` if the round did not show it.
    pub value: Option<f64>,
}

impl Goal {
    /// Whether `value` reaches it.
    pub fn is_reached(self, value: f64) -> bool {
        match self {
            Goal::AtMost(most) => value <= most,
            Goal::AtLeast(least) => value >= least,
        }
    }

    /// The number, and the sign before it.
    pub fn parts(self) -> (&'static str, f64) {
        match self {
            Goal::AtMost(most) => ("≤", most),
            Goal::AtLeast(least) => ("≥", least),
        }
    }
}

impl Measurement {
    /// Of a metric that nothing is asked of.
    pub(crate) fn new(
        key: &'static str,
        name: &'static str,
        unit: Unit,
        value: Option<f64>,
    ) -> Self {
        Self { metric: Metric { key, name, unit, goal: None }, value }
    }

    /// The same with a goal.
    pub(crate) fn with_goal(mut self, goal: Goal) -> Self {
        self.metric.goal = Some(goal);
        self
    }
}

/// What the number of a metric counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of 1, shown in percent.
    Share,
    /// Percent.
    Percent,
    /// A plain number.
    Number,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// A large number, shown in millions.
    Millions,
    /// Bytes, shown in MiB.
    Bytes,
}

impl Unit {
    /// The number without its unit.
    pub fn number(self, value: f64) -> String {
        let (shown, decimals) = match self {
            Unit::Share => (100.0 * value, 1),
            Unit::Percent => (value, 2),
            Unit::Number | Unit::Milliseconds => (value, 0),
            Unit::Seconds => (value, 1),
            Unit::Millions => (value / 1e6, 1),
            Unit::Bytes => (value / f64::from(1 << 20), 1),
        };
        // What is rounded to zero has no sign.
        let unit = 10f64.powi(decimals);
        let rounded = (shown * unit).round() / unit + 0.0;
        format!("{rounded:.*}", decimals as usize)
    }

    /// The unit behind a number, with a space where there is one.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Share | Unit::Percent => " %",
            Unit::Number => "",
            Unit::Milliseconds => " ms",
            Unit::Seconds => " s",
            Unit::Millions => " M",
            Unit::Bytes => " MiB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_bounds() {
        assert!(Goal::AtMost(150.0).is_reached(150.0) && !Goal::AtMost(150.0).is_reached(150.1));
        assert!(Goal::AtLeast(0.8).is_reached(0.8) && !Goal::AtLeast(0.8).is_reached(0.79));
        assert!(!Goal::AtLeast(0.8).is_reached(f64::NAN));
    }

    #[test]
    fn numbers_are_rounded_by_unit() {
        assert_eq!(Unit::Share.number(0.9749), "97.5");
        assert_eq!(Unit::Share.number(-0.0001), "0.0");
        assert_eq!(Unit::Percent.number(-1.234), "-1.23");
        assert_eq!(Unit::Number.number(12.6), "13");
        assert_eq!(Unit::Millions.number(12_345_678.0), "12.3");
        assert_eq!(Unit::Bytes.number(1.5 * 1024.0 * 1024.0), "1.5");
    }
}
