//! What a run is judged by.
//!
//! A figure is a field of [`Figures`] and a line in [`FIGURES`], from which the
//! tables and the JSON follow.

use crate::cost::Costs;
use crate::notice::Noticed;
use crate::score::Score;

/// What one run showed. A figure that it could not show is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Of the hot memory the share that was reported hot, 0 to 1.
    pub recall: Option<f64>,
    /// Of the memory reported hot the share that was hot, 0 to 1.
    pub precision: Option<f64>,
    /// By how much the working set was reported too large, as a share of the true one:
    /// medians over the snapshots.
    pub wss_error: Option<f64>,
    /// The same of the 75th percentiles.
    pub wss_error_p75: Option<f64>,
    /// Mean distance of the reported access rate of a page from the true one, 0 to 1.
    pub rate_error: Option<f64>,
    /// The same as a share of the mean true rate.
    pub rate_error_relative: Option<f64>,
    /// Milliseconds until half of what turned hot is reported hot.
    pub hot_half_ms: Option<f64>,
    /// Milliseconds until 95 % of it is.
    pub hot_most_ms: Option<f64>,
    /// Milliseconds until half of what turned cold is no longer reported hot.
    pub cold_half_ms: Option<f64>,
    /// Milliseconds until 95 % of it is not.
    pub cold_most_ms: Option<f64>,
    /// Mean windows checked in a tick.
    pub checks_per_tick: Option<f64>,
    /// Mean pages read in a tick.
    pub pages_per_tick: Option<f64>,
    /// CPU time of the monitor in percent of one CPU, from its first tick on.
    pub cpu_percent: Option<f64>,
    /// Accesses that the target made fewer in the same time, in percent.
    pub slowdown_percent: Option<f64>,
    /// CPU time of the monitor and what it took from the target, as the monitor knew it, in
    /// percent of one CPU.
    pub cost_percent: Option<f64>,
    /// The same in the ten seconds in which it was highest.
    pub worst_cost_percent: Option<f64>,
    /// How often a scan of all pages in every sampling interval would cost as much.
    pub times_cheaper: Option<f64>,
    /// Peak resident set of the monitor in bytes.
    pub peak_rss_bytes: Option<f64>,
    /// Accesses that the target made in a second, while it was watched.
    pub accesses_per_sec: Option<f64>,
}

impl Figures {
    /// The figures of accuracy.
    pub fn of_score(score: &Score, noticed: &Noticed) -> Self {
        let ms = |us: Option<u64>| us.map(|us| us as f64 / 1e3);
        Self {
            recall: score.recall,
            precision: score.precision,
            wss_error: score.wss_error,
            wss_error_p75: score.wss_error_p75,
            rate_error: score.rate_error,
            rate_error_relative: score.rate_error_relative,
            hot_half_ms: ms(noticed.hot_half_us),
            hot_most_ms: ms(noticed.hot_most_us),
            cold_half_ms: ms(noticed.cold_half_us),
            cold_most_ms: ms(noticed.cold_most_us),
            ..Self::default()
        }
    }

    /// The same with what the snapshots say of their cost.
    pub fn with_costs(self, costs: &Costs) -> Self {
        Self {
            checks_per_tick: costs.checks_per_tick(),
            pages_per_tick: costs.pages_per_tick(),
            cpu_percent: costs.cpu_percent(),
            cost_percent: costs.both_percent(),
            worst_cost_percent: costs.worst_percent(),
            ..self
        }
    }
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
    Figure::new("recall", "recall", Unit::Share, |f| f.recall),
    Figure::new("precision", "precision", Unit::Share, |f| f.precision),
    Figure::new("wss_error", "working set error", Unit::Share, |f| f.wss_error),
    Figure::new("wss_error_p75", "same, 75th percentile", Unit::Share, |f| f.wss_error_p75),
    Figure::new("rate_error", "rate error, by page", Unit::Share, |f| f.rate_error),
    Figure::new("rate_error_relative", "same, of the mean rate", Unit::Share, |f| {
        f.rate_error_relative
    }),
    Figure::new("hot_half_ms", "half seen hot after", Unit::Milliseconds, |f| f.hot_half_ms),
    Figure::new("hot_most_ms", "95 % seen hot after", Unit::Milliseconds, |f| f.hot_most_ms),
    Figure::new("cold_half_ms", "half seen cold after", Unit::Milliseconds, |f| f.cold_half_ms),
    Figure::new("cold_most_ms", "95 % seen cold after", Unit::Milliseconds, |f| f.cold_most_ms),
    Figure::new("checks_per_tick", "checks a tick", Unit::Number, |f| f.checks_per_tick),
    Figure::new("pages_per_tick", "pages a tick", Unit::Number, |f| f.pages_per_tick),
    Figure::new("cpu_percent", "CPU", Unit::Percent, |f| f.cpu_percent),
    Figure::new("slowdown_percent", "slowdown", Unit::Percent, |f| f.slowdown_percent),
    Figure::new("cost_percent", "cost, both sides", Unit::Percent, |f| f.cost_percent),
    Figure::new("worst_cost_percent", "same, worst 10 s", Unit::Percent, |f| f.worst_cost_percent),
    Figure::new("times_cheaper", "full scan, times dearer", Unit::Number, |f| f.times_cheaper),
    Figure::new("peak_rss_bytes", "peak resident", Unit::Bytes, |f| f.peak_rss_bytes),
    Figure::new("accesses_per_sec", "accesses a second", Unit::Millions, |f| f.accesses_per_sec),
];

impl Figure {
    const fn new(
        key: &'static str,
        name: &'static str,
        unit: Unit,
        of: fn(&Figures) -> Option<f64>,
    ) -> Self {
        Self { key, name, unit, of }
    }
}

/// What the number of a figure counts.
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
    fn numbers_are_rounded_by_unit() {
        assert_eq!(Unit::Share.number(0.9749), "97.5");
        assert_eq!(Unit::Share.number(-0.0001), "0.0");
        assert_eq!(Unit::Percent.number(-1.234), "-1.23");
        assert_eq!(Unit::Number.number(12.6), "13");
        assert_eq!(Unit::Millions.number(12_345_678.0), "12.3");
        assert_eq!(Unit::Bytes.number(1.5 * 1024.0 * 1024.0), "1.5");
    }
}
