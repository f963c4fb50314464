//! Outcomes for people and for programs.

use crate::budget::Budget;
use crate::figures::{FIGURES, Figure, Figures};
use crate::ground::{Outcome, Plan};
use crate::scenario::Scenario;
use crate::spread::Spread;
use crate::work::Work;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Writes a table for each work: a column for each monitor, a row for each
/// figure, in it the median and, of more runs than one, the range. `on` is the
/// name of the ground.
pub fn text(outcomes: &[Outcome], plan: &Plan, on: &str, out: &mut impl Write) -> io::Result<()> {
    for (at, outcomes) in outcomes.chunk_by(|a, b| a.work == b.work).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let (runs, seconds) = (plan.runs, plan.length_us as f64 / 1e6);
        let plural = if runs == 1 { "" } else { "s" };
        let work = &outcomes[0].work;
        writeln!(out, "{work} on {on}, {runs} run{plural} of {seconds} s")?;
        if let Some(budget) = &outcomes[0].budget {
            writeln!(out, "  {}", budget.line())?;
        }
        table(outcomes, out)?;
    }
    Ok(())
}

fn table(outcomes: &[Outcome], out: &mut impl Write) -> io::Result<()> {
    let mut rows = vec![vec![String::new()]];
    rows[0].extend(outcomes.iter().map(|outcome| outcome.monitor.name().to_owned()));
    for figure in FIGURES {
        let mut row = vec![figure.name.to_owned()];
        row.extend(outcomes.iter().map(|outcome| cell(figure, &outcome.runs)));
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..rows[0].len()).filter_map(width).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// `97.1 % (95.0 to 98.2)`, or a dash where no run showed it.
fn cell(figure: &Figure, runs: &[Figures]) -> String {
    let Some(spread) = Spread::of(runs.iter().map(figure.of)) else { return "-".to_owned() };
    let [median, min, max] =
        [spread.median, spread.min, spread.max].map(|value| figure.unit.number(value));
    let unit = figure.unit.suffix();
    if runs.len() == 1 {
        format!("{median}{unit}")
    } else {
        format!("{median}{unit} ({min} to {max})")
    }
}

/// Writes a list with an object for each work and monitor.
pub fn json(outcomes: &[Outcome], plan: &Plan, on: &str, out: &mut impl Write) -> io::Result<()> {
    let outcome = |outcome| OutcomeJson::new(outcome, plan, on);
    let list: Vec<OutcomeJson<'_>> = outcomes.iter().map(outcome).collect();
    serde_json::to_writer(&mut *out, &list)?;
    writeln!(out)
}

#[derive(Serialize)]
struct OutcomeJson<'a> {
    workload: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    scenario: Option<&'a Scenario>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<Budget>,
    monitor: &'static str,
    on: &'a str,
    length_us: u64,
    warmup_us: u64,
    figures: FiguresJson<'a>,
}

impl<'a> OutcomeJson<'a> {
    fn new(outcome: &'a Outcome, plan: &Plan, on: &'a str) -> Self {
        Self {
            workload: outcome.work.to_string(),
            scenario: match &outcome.work {
                Work::File(_) => None,
                Work::Drawn(scenario) => Some(scenario),
            },
            budget: outcome.budget,
            monitor: outcome.monitor.name(),
            on,
            length_us: plan.length_us,
            warmup_us: plan.warmup_us,
            figures: FiguresJson(&outcome.runs),
        }
    }
}

/// Each figure under its key.
struct FiguresJson<'a>(&'a [Figures]);

#[derive(Serialize)]
struct FigureJson {
    #[serde(flatten)]
    spread: Option<Spread>,
    runs: Vec<Option<f64>>,
}

impl Serialize for FiguresJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(FIGURES.len()))?;
        for figure in FIGURES {
            let runs: Vec<Option<f64>> = self.0.iter().map(figure.of).collect();
            let spread = Spread::of(runs.iter().copied());
            map.serialize_entry(figure.key, &FigureJson { spread, runs })?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::MonitorKind;
    use daos_core::MonitorAttrs;
    use std::path::PathBuf;

    fn plan() -> Plan {
        Plan {
            works: Vec::new(),
            monitors: Vec::new(),
            runs: 2,
            length_us: 20_000_000,
            warmup_us: 5_000_000,
            attrs: MonitorAttrs::default(),
            options: Default::default(),
            seed: 1,
        }
    }

    fn outcomes() -> Vec<Outcome> {
        let run = |recall| Figures {
            recall: Some(recall),
            cpu_percent: Some(1.5),
            peak_rss_bytes: Some(1.5 * 1024.0 * 1024.0),
            ..Figures::default()
        };
        vec![Outcome {
            work: Work::File(PathBuf::from("block.cfg")),
            budget: None,
            monitor: MonitorKind::Reference,
            runs: vec![run(0.9), run(1.0)],
        }]
    }

    #[test]
    fn a_table_has_a_row_for_each_figure() {
        let mut out = Vec::new();
        text(&outcomes(), &plan(), "real memory", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "block.cfg on real memory, 2 runs of 20 s");
        assert_eq!(lines[1].trim(), "reference");
        assert_eq!(lines.len(), 2 + FIGURES.len());
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
        json(&outcomes(), &plan(), "real memory", &mut out).unwrap();
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
