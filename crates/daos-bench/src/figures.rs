//! What a run is judged by.
//!
//! A figure is a field of [`Figures`] and a line in [`FIGURES`], from which the
//! tables and the JSON follow.

/// What one run showed. A figure that it could not show is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Of the hot memory the share that was reported hot, 0 to 1.
    pub recall: Option<f64>,
    /// Of the memory reported hot the share that was hot, 0 to 1.
    pub precision: Option<f64>,
    /// By how much the working set was reported too large, as a share of the true one.
    pub wss_error: Option<f64>,
    /// Mean pages checked in a tick.
    pub checks_per_tick: Option<f64>,
    /// CPU time of the monitor in percent of one CPU, from its first tick on.
    pub cpu_percent: Option<f64>,
    /// Accesses that the target made fewer in the same time, in percent.
    pub slowdown_percent: Option<f64>,
    /// Peak resident set of the monitor in bytes.
    pub peak_rss_bytes: Option<f64>,
}

/// One thing that runs are judged by.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in a table.
    pub name: &'static str,
    /// How to show it.
    pub unit: Unit,
    /// Where it is.
    pub of: fn(&Figures) -> Option<f64>,
}

/// All figures, in the order in which they are shown.
pub const FIGURES: &[Figure] = &[
    Figure { key: "recall", name: "recall", unit: Unit::Share, of: |f| f.recall },
    Figure { key: "precision", name: "precision", unit: Unit::Share, of: |f| f.precision },
    Figure { key: "wss_error", name: "working set error", unit: Unit::Share, of: |f| f.wss_error },
    Figure {
        key: "checks_per_tick",
        name: "checks a tick",
        unit: Unit::Number,
        of: |f| f.checks_per_tick,
    },
    Figure { key: "cpu_percent", name: "CPU", unit: Unit::Percent, of: |f| f.cpu_percent },
    Figure {
        key: "slowdown_percent",
        name: "slowdown",
        unit: Unit::Percent,
        of: |f| f.slowdown_percent,
    },
    Figure {
        key: "peak_rss_bytes",
        name: "peak resident",
        unit: Unit::Bytes,
        of: |f| f.peak_rss_bytes,
    },
];

/// What the number of a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of 1, shown in percent.
    Share,
    /// Percent.
    Percent,
    /// A plain number.
    Number,
    /// Bytes, shown in MiB.
    Bytes,
}

impl Unit {
    /// The number without its unit.
    pub fn number(self, value: f64) -> String {
        let (shown, decimals) = match self {
            Unit::Share => (100.0 * value, 1),
            Unit::Percent => (value, 2),
            Unit::Number => (value, 0),
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
            Unit::Bytes => " MiB",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_by_unit() {
        assert_eq!(Unit::Share.number(0.9749), "97.5");
        assert_eq!(Unit::Share.number(-0.0001), "0.0");
        assert_eq!(Unit::Percent.number(-1.234), "-1.23");
        assert_eq!(Unit::Number.number(12.6), "13");
        assert_eq!(Unit::Bytes.number(1.5 * 1024.0 * 1024.0), "1.5");
    }
}
