//! Tables as the seeds have them: a row a workload, a column a configuration, the overhead in
//! percent beside it, a total and an average.

use super::metric::Metric;
use super::statistics::{Statistic, Summary, mean, paired_p, permutation_p};
use super::{Compared, Results};
use serde::Serialize;

/// A difference is beyond noise when chance alone would make one as large this rarely.
/// Chosen: the usual bound.
pub const RARE: f64 = 0.05;

/// A table of one statistic of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it is called.
    pub title: String,
    /// Of what.
    pub metric: Metric,
    /// What columns are called.
    pub columns: Vec<String>,
    /// A workload each.
    pub rows: Vec<Row>,
    /// Sums of the values of a column, and means, over the workloads that have them in it and in
    /// the column that it is compared with; the percentage of the mean is the mean of the
    /// workloads' percentages.
    pub sums: Vec<Row>,
    /// Workloads that are not in all sums, since a column of theirs is empty.
    pub left_out: Vec<String>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// `None` where nothing was measured.
    pub cells: Vec<Option<Cell>>,
}

/// A value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// In the unit of the metric.
    pub value: f64,
    /// The baseline's that it is compared with.
    pub before: Option<f64>,
    /// By how many percent it is more than the baseline's.
    pub overhead: Option<f64>,
    /// Whether that could be chance.
    pub verdict: Option<Verdict>,
}

/// Whether a difference could be chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Hardly.
    BeyondNoise,
    /// It could.
    WithinNoise,
    /// There are too few runs to say.
    TooFewRuns,
}

impl Verdict {
    /// Of the values of two sets of runs.
    pub fn of(a: &[f64], b: &[f64]) -> Self {
        Self::of_chance(permutation_p(a, b, RARE))
    }

    /// Of the differences of pairs.
    pub fn of_differences(differences: &[f64]) -> Self {
        Self::of_chance(paired_p(differences, RARE))
    }

    fn of_chance(p: Option<f64>) -> Self {
        match p {
            None => Self::TooFewRuns,
            Some(p) if p <= RARE => Self::BeyondNoise,
            Some(_) => Self::WithinNoise,
        }
    }

    /// What stands behind a percentage.
    pub fn mark(self) -> &'static str {
        match self {
            Self::BeyondNoise => "",
            Self::WithinNoise => " ~",
            Self::TooFewRuns => " ?",
        }
    }
}

impl Cell {
    /// A value with nothing to compare it with.
    pub fn plain(value: f64) -> Self {
        Self { value, before: None, overhead: None, verdict: None }
    }
}

impl Table {
    /// Of an evaluation. Only means are compared.
    pub fn of(results: &Results<'_>, metric: Metric, statistic: Statistic) -> Self {
        let baseline = results.baseline().unwrap_or_default();
        let is_compared = statistic == Statistic::Mean && metric.is_compared();
        let row = |workload: &&str| {
            let cell = |configuration: &&str| {
                let values = results.values(metric, workload, configuration);
                let value = Summary::of(&values)?.get(statistic);
                if !is_compared || *configuration == baseline {
                    return Some(Cell::plain(value));
                }
                let compared = Compared::of(results, metric, workload, configuration);
                let (overhead, verdict) = (compared.percent(), Some(compared.verdict()));
                Some(Cell { value, before: mean(&compared.before), overhead, verdict })
            };
            let cells = results.configurations.iter().map(cell).collect();
            Row { name: (*workload).to_owned(), cells }
        };
        let title = match statistic {
            Statistic::Mean => metric.name().to_owned(),
            other => format!("{}, {}", metric.name(), other.name()),
        };
        let columns = results.configurations.iter().map(|name| (*name).to_owned()).collect();
        let rows: Vec<Row> = results.workloads.iter().map(row).collect();
        let of = vec![0; results.configurations.len()];
        let sums = if statistic == Statistic::Mean { &of[..] } else { &[] };
        Self::with_sums(title, metric, columns, rows, sums)
    }

    /// A table of these rows. `compared_with` says for each column which column it is compared
    /// with; itself: it is not. Without it there are no sums.
    pub fn with_sums(
        title: String,
        metric: Metric,
        columns: Vec<String>,
        rows: Vec<Row>,
        compared_with: &[usize],
    ) -> Self {
        let is_part = |row: &&Row| row.cells.iter().any(Option::is_none);
        let left_out = rows.iter().filter(is_part).map(|row| row.name.clone()).collect();
        let mut sums = Vec::new();
        if !rows.is_empty() && !compared_with.is_empty() {
            // Of the workloads that were measured in both: the column's cells, and the other's.
            let pairs = |column: usize| {
                let other = compared_with[column];
                rows.iter().filter_map(move |row| row.cells[column].zip(row.cells[other]))
            };
            let total = |column: usize| {
                let value = pairs(column).map(|(cell, _)| cell.value).sum::<f64>();
                let before = pairs(column).filter_map(|(cell, _)| cell.before).sum::<f64>();
                let is_compared = column != compared_with[column] && metric.is_compared();
                let overhead = is_compared.then(|| percent(value, before)).flatten();
                pairs(column).next().map(|_| Cell { overhead, ..Cell::plain(value) })
            };
            let average = |column: usize| {
                let values: Vec<f64> = pairs(column).map(|(cell, _)| cell.value).collect();
                let overheads: Vec<f64> =
                    pairs(column).filter_map(|(cell, _)| cell.overhead).collect();
                let value = mean(&values)?;
                Some(Cell { overhead: mean(&overheads), ..Cell::plain(value) })
            };
            let cells = |of: &dyn Fn(usize) -> Option<Cell>| (0..columns.len()).map(of).collect();
            if metric.adds_up() {
                sums.push(Row { name: "total".to_owned(), cells: cells(&total) });
            }
            sums.push(Row { name: "average".to_owned(), cells: cells(&average) });
        }
        Self { title, metric, columns, rows, sums, left_out }
    }

    /// The overhead in a column: of `total` or `average`.
    pub fn sum_overhead(&self, row: &str, column: &str) -> Option<f64> {
        let at = self.columns.iter().position(|name| name == column)?;
        let row = self.sums.iter().find(|sum| sum.name == row)?;
        row.cells[at]?.overhead
    }
}

/// By how many percent `value` is more than `before`.
pub fn percent(value: f64, before: f64) -> Option<f64> {
    let percent = 100.0 * (value - before) / before.abs();
    percent.is_finite().then_some(percent)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{runtimes, store};
    use super::*;
    use crate::suite::store::Outcome;

    #[test]
    fn rows_total_and_average() {
        let store = store(&[
            ("a", "orig", &[10.0, 12.0]),
            ("a", "rec", &[11.0, 13.2]),
            ("b", "orig", &[100.0]),
            ("b", "rec", &[95.0]),
            ("c", "orig", &[7.0]),
        ]);
        let results = Results::of(&store);
        let table = Table::of(&results, Metric::Runtime, Statistic::Mean);
        assert_eq!(table.columns, ["orig", "rec"]);
        let shown = |row: &Row| -> Vec<Option<(String, Option<String>)>> {
            let cell = |cell: &Cell| {
                let overhead = cell.overhead.map(|percent| format!("{percent:.2}"));
                (format!("{:.3}", cell.value), overhead)
            };
            row.cells.iter().map(|one| one.as_ref().map(cell)).collect()
        };
        let cell = |value: &str, overhead: Option<&str>| {
            Some((value.to_owned(), overhead.map(str::to_owned)))
        };
        assert_eq!(shown(&table.rows[0]), [cell("11.000", None), cell("12.100", Some("10.00"))]);
        assert_eq!(shown(&table.rows[1]), [cell("100.000", None), cell("95.000", Some("-5.00"))]);
        assert_eq!(shown(&table.rows[2]), [cell("7.000", None), None]);
        // 107.1 of the 111 of the same two; the mean of 10 and -5 percent.
        assert_eq!(shown(&table.sums[0]), [cell("118.000", None), cell("107.100", Some("-3.51"))]);
        assert_eq!(shown(&table.sums[1]), [cell("39.333", None), cell("53.550", Some("2.50"))]);
        assert_eq!(table.left_out, ["c"]);
        assert_eq!(table.rows[0].cells[1].unwrap().verdict, Some(Verdict::TooFewRuns));
        assert!((table.sum_overhead("average", "rec").unwrap() - 2.5).abs() < 1e-9);
    }

    #[test]
    fn percentages_have_an_average_and_no_total() {
        let mut store = store(&[("a", "rec", &[10.0]), ("b", "rec", &[50.0])]);
        for run in &mut store.runs {
            let Outcome::Measured(measured) = &mut run.outcome else { continue };
            measured.daos_cpu_s = 0.1;
        }
        let table = Table::of(&Results::of(&store), Metric::DaosCpuPercent, Statistic::Mean);
        let shown: Vec<(&str, String)> = table
            .rows
            .iter()
            .chain(&table.sums)
            .map(|row| (&*row.name, table.metric.unit().number(row.cells[0].unwrap().value)))
            .collect();
        let expected = [("a", "1.00"), ("b", "0.20"), ("average", "0.60")];
        assert_eq!(shown, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn deviations_are_tables_of_their_own() {
        let store = store(&[("a", "orig", &[10.0, 12.0]), ("a", "rec", &[11.0, 13.0])]);
        let results = Results::of(&store);
        let value = |statistic| {
            let table = Table::of(&results, Metric::Runtime, statistic);
            assert!(table.sums.is_empty());
            table.rows[0].cells[0].unwrap()
        };
        assert_eq!(value(Statistic::Min), Cell::plain(10.0));
        assert_eq!(value(Statistic::Max), Cell::plain(12.0));
        assert!((value(Statistic::Stdev).value - 2f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn noise_is_marked() {
        let near = [10.0, 10.2, 9.9, 10.1];
        let store = store(&[
            ("a", "rec", &[10.05, 10.1, 9.95, 10.0]),
            ("a", "prcl", &[11.0, 11.1, 11.2, 10.9]),
            ("a", "orig", &near),
        ]);
        let results = Results::of(&store);
        let table = Table::of(&results, Metric::Runtime, Statistic::Mean);
        assert_eq!(table.columns, ["orig", "rec", "prcl"], "the baseline first");
        let verdicts: Vec<Option<Verdict>> =
            table.rows[0].cells.iter().map(|cell| cell.unwrap().verdict).collect();
        let expected = [None, Some(Verdict::WithinNoise), Some(Verdict::BeyondNoise)];
        assert_eq!(verdicts, expected);
        assert_eq!(runtimes(&store, "a", "orig"), near);
    }
}
