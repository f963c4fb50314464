//! Two evaluations side by side.

use super::Results;
use super::metric::Metric;
use super::statistics::mean;
use super::table::{Cell, Row, Table, Verdict, percent};

/// For each of the main metrics a table in which each configuration that both have is twice,
/// as it was in `a` and, compared with that, as it was in `b`. `names` are those of the two.
pub fn compare(a: &Results<'_>, b: &Results<'_>, names: [&str; 2]) -> Vec<Table> {
    let common = |of_a: &[&str], of_b: &[&str]| -> Vec<String> {
        of_a.iter().filter(|name| of_b.contains(name)).map(|name| (*name).to_owned()).collect()
    };
    let workloads = common(&a.workloads, &b.workloads);
    let configurations = common(&a.configurations, &b.configurations);
    let column = |config: &String| names.map(|name| format!("{config}, {name}"));
    let columns: Vec<String> = configurations.iter().flat_map(column).collect();
    let compared_with: Vec<usize> = (0..columns.len()).map(|at| at / 2 * 2).collect();
    let table = |metric: Metric| {
        let cells = |workload: &str, config: &str| {
            let [before, after] = [a, b].map(|of| of.values(metric, workload, config));
            let means = mean(&before).zip(mean(&after));
            let compared = means.map(|(first, second)| Cell {
                value: second,
                before: Some(first),
                overhead: percent(second, first),
                verdict: Some(Verdict::of(&before, &after)),
            });
            [mean(&before).map(Cell::plain), compared.or(mean(&after).map(Cell::plain))]
        };
        let row = |workload: &String| {
            let cells = configurations.iter().flat_map(|config| cells(workload, config));
            Row { name: workload.clone(), cells: cells.collect() }
        };
        let rows = workloads.iter().map(row).collect();
        let title = metric.name().to_owned();
        Table::with_sums(title, metric, columns.clone(), rows, &compared_with)
    };
    let metrics = a.metrics(&b.metrics(Metric::MAIN));
    metrics.into_iter().map(table).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::store;
    use super::*;

    #[test]
    fn what_both_have_stands_side_by_side() {
        let before = store(&[
            ("a", "orig", &[10.0, 10.1, 9.9, 10.0]),
            ("a", "prcl", &[12.0, 12.1, 11.9, 12.0]),
            ("b", "orig", &[5.0]),
        ]);
        let after = store(&[
            ("a", "orig", &[10.1, 10.0, 10.0, 9.9]),
            ("a", "prcl", &[11.0, 11.1, 10.9, 11.0]),
            ("a", "rec", &[10.0]),
        ]);
        let tables = compare(&Results::of(&before), &Results::of(&after), ["old", "new"]);
        assert_eq!(tables.len(), 3);
        let table = &tables[0];
        assert_eq!(table.columns, ["orig, old", "orig, new", "prcl, old", "prcl, new"]);
        assert_eq!(table.rows.len(), 1);
        let cell = |at: usize| table.rows[0].cells[at].unwrap();
        assert_eq!(cell(0), Cell::plain(cell(0).value));
        assert_eq!(cell(1).verdict, Some(Verdict::WithinNoise));
        assert_eq!(cell(3).verdict, Some(Verdict::BeyondNoise));
        assert!((cell(3).overhead.unwrap() + 100.0 / 12.0).abs() < 1e-6);
        assert!((table.sums[0].cells[3].unwrap().overhead.unwrap() + 100.0 / 12.0).abs() < 1e-6);
    }
}
