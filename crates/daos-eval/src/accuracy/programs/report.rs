//! What was found of real programs, for people and for programs.

use super::comparison::Moment;
use super::plan::ProgramPlan;
use super::program_metrics::ProgramMetrics;
use super::rounds::ProgramResult;
use crate::metrics::{MetricRow, MetricsJson, runs_in_words, write_json_line, write_table};
use daos_core::units::display;
use serde::Serialize;
use std::io::{self, Write};

/// Of many programs, what stands in the table of all, by key, and what heads it there.
const OVERVIEW: [(&str, &str); 11] = [
    ("resident_bytes", "resident"),
    ("accessed_bytes", "accessed"),
    ("accessed_told_bytes", "told"),
    ("accessed_error", "error"),
    ("idle_bytes", "idle"),
    ("idle_told_bytes", "told"),
    ("idle_error", "of resident"),
    ("idle_proven_bytes", "no doubt"),
    ("idle_precision", "right"),
    ("idle_recall", "found"),
    ("cost_percent", "cost"),
];

/// Writes for each program a table, a column for each monitor; of more programs than one, a
/// table of all first, a row for each program and monitor.
pub fn text(results: &[ProgramResult], plan: &ProgramPlan, out: &mut impl Write) -> io::Result<()> {
    let [scan, idle, warmup] = [plan.scan_us, plan.idle_us, plan.warmup_us].map(display::duration);
    let attached = match plan.attach_us {
        0 => String::new(),
        time_us => format!(" (monitors are attached after {})", display::duration(time_us)),
    };
    writeln!(
        out,
        "Accessed within {scan}, and idle for {idle} and more, from {warmup} after the start on{attached}; \
         {} of at most {}. Truth: a scan of all pages every {scan}, in another run.",
        runs_in_words(plan.runs as usize),
        display::duration(plan.length_us),
    )?;
    if plan.suite.workloads.len() > 1 {
        writeln!(out)?;
        write_table(&overview(results), out)?;
    }
    for results in results.chunk_by(|a, b| a.program == b.program) {
        writeln!(out, "\n{}", results[0].program)?;
        write_table(&details(results), out)?;
    }
    Ok(())
}

fn overview(results: &[ProgramResult]) -> Vec<Vec<String>> {
    let heads = ["program", "monitor"].into_iter().chain(OVERVIEW.map(|(_, head)| head));
    let mut table = vec![heads.map(str::to_owned).collect()];
    for result in results {
        let rows = result.rows();
        let mut cells = vec![result.program.clone(), result.monitor.name().to_owned()];
        let median = |key| {
            let row: Option<&MetricRow> = rows.iter().find(|row| row.metric.key == key);
            let range = row.and_then(MetricRow::median_range);
            let unit = row.map(|row| row.metric.unit);
            let shown = range.zip(unit);
            shown.map_or("-".to_owned(), |(r, unit)| unit.number(r.median) + unit.suffix())
        };
        cells.extend(OVERVIEW.map(|(key, _)| median(key)));
        table.push(cells);
    }
    table
}

/// The monitors of one program side by side.
fn details(results: &[ProgramResult]) -> Vec<Vec<String>> {
    let mut table = vec![vec![String::new()]];
    table[0].extend(results.iter().map(|result| result.monitor.name().to_owned()));
    let measured = ProgramMetrics::default().measurements();
    table.extend(measured.iter().map(|one| vec![one.metric.name.to_owned()]));
    for result in results {
        for (cells, row) in table[1..].iter_mut().zip(result.rows()) {
            cells.push(row.shown(""));
        }
    }
    table
}

/// Writes a list with an object for each program and monitor, with all that was compared.
pub fn json(results: &[ProgramResult], plan: &ProgramPlan, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct ResultJson<'a> {
        program: &'a str,
        monitor: &'static str,
        scan_us: u64,
        idle_us: u64,
        length_us: u64,
        warmup_us: u64,
        attach_us: u64,
        figures: MetricsJson<'a>,
        timelines: &'a [Vec<Moment>],
    }
    let rows: Vec<Vec<MetricRow>> = results.iter().map(ProgramResult::rows).collect();
    let list = results.iter().zip(&rows).map(|(result, rows)| ResultJson {
        program: &result.program,
        monitor: result.monitor.name(),
        scan_us: plan.scan_us,
        idle_us: plan.idle_us,
        length_us: plan.length_us,
        warmup_us: plan.warmup_us,
        attach_us: plan.attach_us,
        figures: MetricsJson(rows),
        timelines: &result.timelines,
    });
    write_json_line(&list.collect::<Vec<_>>(), out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::ComparedKind;
    use crate::suite::Suite;
    use daos_core::MonitorAttrs;

    fn plan(programs: &[&str]) -> ProgramPlan {
        let names: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
        ProgramPlan {
            suite: Suite::built_in().unwrap().only(&names).unwrap(),
            monitors: Vec::new(),
            runs: 2,
            length_us: 30_000_000,
            warmup_us: 6_000_000,
            attach_us: 0,
            scan_us: 1_000_000,
            idle_us: 5_000_000,
            attrs: MonitorAttrs::default(),
            options: Default::default(),
            seed: 1,
        }
    }

    fn results(programs: &[&str]) -> Vec<ProgramResult> {
        let mib = |mib: f64| Some(mib * 1024.0 * 1024.0);
        let run = |told| ProgramMetrics {
            resident: mib(200.0),
            accessed: mib(50.0),
            accessed_told: mib(told),
            accessed_error: Some(told / 50.0 - 1.0),
            ..ProgramMetrics::default()
        };
        let result = |program: &&str| ProgramResult {
            program: (*program).to_owned(),
            monitor: ComparedKind::FullScan,
            runs: vec![run(40.0), run(50.0)],
            timelines: vec![vec![Moment { at_us: 7, idle: 9, ..Moment::default() }], vec![]],
        };
        programs.iter().map(result).collect()
    }

    #[test]
    fn many_programs_have_a_row_each_and_a_table_each() {
        let shown = |programs: &[&str]| {
            let mut out = Vec::new();
            text(&results(programs), &plan(programs), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let one = shown(&["xz"]);
        assert!(one.contains("from 6 s after") && one.contains("2 runs of at most 30 s"), "{one}");
        assert!(one.contains("45.0 MiB (40.0 to 50.0)") && !one.contains("no doubt"), "{one}");
        let two = shown(&["xz", "sort"]);
        let row = two.lines().find(|line| line.contains("sort  ")).unwrap();
        let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|c| !c.is_empty()).collect();
        assert_eq!(
            cells[..6],
            ["sort", "fullscan", "200.0 MiB", "50.0 MiB", "45.0 MiB", "-10.0 %"]
        );
        assert_eq!(cells[6..], ["-"; 7]);
    }

    #[test]
    fn json_has_every_run() {
        let mut out = Vec::new();
        json(&results(&["xz"]), &plan(&["xz"]), &mut out).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            (list[0]["program"].as_str(), list[0]["idle_us"].as_u64()),
            (Some("xz"), Some(5_000_000))
        );
        let told = &list[0]["figures"]["accessed_told_bytes"]["runs"];
        assert_eq!(list[0]["timelines"][0][0]["idle"], 9);
        assert_eq!(told[1].as_f64(), Some(50.0 * 1024.0 * 1024.0));
    }
}
