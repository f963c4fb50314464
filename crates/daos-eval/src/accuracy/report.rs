//! The results of a comparison of monitors, for people and for programs.

use super::budget::Budget;
use super::scenario::Scenario;
use super::testbed::{AccuracyPlan, AccuracyResult, WorkloadSpec};
use crate::metrics::{MetricRow, MetricsJson, runs_in_words, write_json_line, write_table};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a table for each workload: a column for each monitor, a row for each metric, in it
/// the median and, of more runs than one, the range. `on` is the name of the testbed.
pub fn text(
    results: &[AccuracyResult],
    plan: &AccuracyPlan,
    on: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    for (at, results) in results.chunk_by(|a, b| a.workload == b.workload).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let (runs, seconds) = (runs_in_words(plan.runs as usize), plan.length_us as f64 / 1e6);
        writeln!(out, "{} on {on}, {runs} of {seconds} s", results[0].workload)?;
        if let Some(budget) = &results[0].budget {
            writeln!(out, "  {}", budget.line())?;
        }
        write_table(&table(results), out)?;
    }
    Ok(())
}

/// The monitors of one workload side by side.
fn table(results: &[AccuracyResult]) -> Vec<Vec<String>> {
    let columns: Vec<Vec<MetricRow>> = results.iter().map(AccuracyResult::rows).collect();
    let mut table = vec![vec![String::new()]];
    table[0].extend(results.iter().map(|result| result.monitor.name().to_owned()));
    table.extend(columns[0].iter().map(|row| vec![row.metric.name.to_owned()]));
    for column in columns {
        for (cells, row) in table[1..].iter_mut().zip(column) {
            cells.push(row.shown(""));
        }
    }
    table
}

/// Writes a list with an object for each workload and monitor.
pub fn json(
    results: &[AccuracyResult],
    plan: &AccuracyPlan,
    on: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct ResultJson<'a> {
        workload: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        scenario: Option<&'a Scenario>,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        monitor: &'static str,
        on: &'a str,
        length_us: u64,
        warmup_us: u64,
        figures: MetricsJson<'a>,
    }
    let rows: Vec<Vec<MetricRow>> = results.iter().map(AccuracyResult::rows).collect();
    let list: Vec<ResultJson<'_>> = results
        .iter()
        .zip(&rows)
        .map(|(result, rows)| ResultJson {
            workload: result.workload.to_string(),
            scenario: match &result.workload {
                WorkloadSpec::File(_) => None,
                WorkloadSpec::Scenario(scenario) => Some(scenario),
            },
            budget: result.budget,
            monitor: result.monitor.name(),
            on,
            length_us: plan.length_us,
            warmup_us: plan.warmup_us,
            figures: MetricsJson(rows),
        })
        .collect();
    write_json_line(&list, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::run_metrics::RunMetrics;
    use crate::monitors::ComparedKind;
    use daos_core::MonitorAttrs;
    use std::path::PathBuf;

    fn plan() -> AccuracyPlan {
        AccuracyPlan {
            workloads: Vec::new(),
            monitors: Vec::new(),
            runs: 2,
            length_us: 20_000_000,
            warmup_us: 5_000_000,
            attrs: MonitorAttrs::default(),
            options: Default::default(),
            seed: 1,
        }
    }

    fn results() -> Vec<AccuracyResult> {
        let run = |recall| RunMetrics {
            recall: Some(recall),
            cpu_percent: Some(1.5),
            peak_rss_bytes: Some(1.5 * 1024.0 * 1024.0),
            ..RunMetrics::default()
        };
        vec![AccuracyResult {
            workload: WorkloadSpec::File(PathBuf::from("block.cfg")),
            budget: None,
            monitor: ComparedKind::Product(daos_monitor::MonitorKind::Reference),
            runs: vec![run(0.9), run(1.0)],
        }]
    }

    #[test]
    fn a_table_has_a_row_for_each_metric() {
        let mut out = Vec::new();
        text(&results(), &plan(), "real memory", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "block.cfg on real memory, 2 runs of 20 s");
        assert_eq!(lines[1].trim(), "reference");
        assert_eq!(lines.len(), 2 + RunMetrics::default().measurements().len());
        let row = |name: &str| {
            let line = lines.iter().find_map(|line| line.trim().strip_prefix(name));
            line.map(str::trim).unwrap_or_else(|| panic!("no {name} in {text}"))
        };
        assert_eq!(row("recall"), "95.0 % (90.0 to 100.0)");
        assert_eq!(row("precision"), "-");
        assert_eq!(row("CPU"), "1.50 % (1.50 to 1.50)");
        assert_eq!(row("peak resident"), "1.5 MiB (1.5 to 1.5)");
    }

    #[test]
    fn json_has_every_run() {
        let mut out = Vec::new();
        json(&results(), &plan(), "real memory", &mut out).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(list[0]["monitor"], "reference");
        let recall = &list[0]["figures"]["recall"];
        assert_eq!(
            (recall["median"].as_f64(), recall["runs"][1].as_f64()),
            (Some(0.95), Some(1.0))
        );
        let precision = &list[0]["figures"]["precision"];
        assert!(precision["median"].is_null() && precision["runs"][0].is_null());
    }
}
