//! The results of cases, for people and for programs.

use super::rounds::{CaseResult, SchemesPlan};
use crate::metrics::{MetricRow, MetricsJson, runs_in_words, write_json_line, write_metrics};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a table for each case: a row for each metric, in it the goal, the median over
/// the runs and, of more than one, the range. Goals are for the size as it is by default.
pub fn text(results: &[CaseResult], plan: &SchemesPlan, out: &mut impl Write) -> io::Result<()> {
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let (name, runs) = (result.case.name(), runs_in_words(plan.runs as usize));
        writeln!(out, "{name}: {}; {runs}", result.about)?;
        write_metrics(&MetricRow::of_rounds(&result.rounds), out)?;
    }
    Ok(())
}

/// Writes an object for each case, in a list.
pub fn json(results: &[CaseResult], plan: &SchemesPlan, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct CaseJson<'a> {
        case: &'static str,
        about: &'a str,
        scale: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        scheme: Option<&'a str>,
        figures: MetricsJson<'a>,
    }
    let rows: Vec<Vec<MetricRow>> =
        results.iter().map(|result| MetricRow::of_rounds(&result.rounds)).collect();
    let list: Vec<CaseJson<'_>> = results
        .iter()
        .zip(&rows)
        .map(|(CaseResult { case, about, .. }, rows)| CaseJson {
            case: case.name(),
            about,
            scale: plan.sizes.scale.unwrap_or(1.0),
            scheme: plan.sizes.scheme.as_deref(),
            figures: MetricsJson(rows),
        })
        .collect();
    write_json_line(&list, out)
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::super::sizes::Sizes;
    use super::*;
    use crate::metrics::{Goal, Measurement, Unit};
    use crate::under_test::Commands;

    fn plan(runs: u32) -> SchemesPlan {
        SchemesPlan {
            cases: vec![Case::Prcl],
            runs,
            sizes: Sizes::default(),
            commands: Commands::default(),
            stop: Default::default(),
        }
    }

    fn result(rounds: &[[Option<f64>; 3]]) -> Vec<CaseResult> {
        let round = |[done, saved, swap]: &[Option<f64>; 3]| {
            vec![
                Measurement::new("done_s", "done after", Unit::Seconds, *done)
                    .with_goal(Goal::AtMost(15.0)),
                Measurement::new("saved", "saved", Unit::Share, *saved)
                    .with_goal(Goal::AtLeast(0.8)),
                Measurement::new("swap", "in swap", Unit::Bytes, *swap),
            ]
        };
        let rounds = rounds.iter().map(round).collect();
        vec![CaseResult { case: Case::Prcl, about: "a program".into(), rounds }]
    }

    fn shown(rounds: &[[Option<f64>; 3]]) -> Vec<String> {
        let mut out = Vec::new();
        text(&result(rounds), &plan(rounds.len() as u32), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines().map(words).collect()
    }

    #[test]
    fn a_row_has_the_median_the_range_and_the_goal() {
        let rounds = [
            [Some(9.0), Some(0.7), Some(1048576.0)],
            [Some(7.04), Some(0.9), None],
            [Some(20.0), Some(0.75), None],
        ];
        let expected = [
            "prcl: a program; 3 runs",
            "done after 9.0 s (7.0 to 20.0) ≤ 15.0 s reached",
            "saved 75.0 % (70.0 to 90.0) ≥ 80.0 % missed",
            "in swap 1.0 MiB (1.0 to 1.0; in 1 of 3 runs)",
        ];
        assert_eq!(shown(&rounds), expected);
    }

    #[test]
    fn what_was_not_shown_was_not_reached() {
        let lines = shown(&[[None, Some(0.8), Some(0.0)]]);
        let expected = [
            "prcl: a program; 1 run",
            "done after - ≤ 15.0 s missed",
            "saved 80.0 % ≥ 80.0 % reached",
            "in swap 0.0 MiB",
        ];
        assert_eq!(lines, expected);
        let lines = shown(&[[None, None, None], [Some(1.0), None, None]]);
        assert_eq!(lines[1], "done after 1.0 s (1.0 to 1.0; in 1 of 2 runs) ≤ 15.0 s missed");
    }

    #[test]
    fn json_has_every_run_and_the_goal() {
        let mut out = Vec::new();
        let rounds = [[Some(9.0), Some(0.7), None], [None, Some(0.9), None]];
        json(&result(&rounds), &plan(2), &mut out).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&list[0]["case"], &list[0]["scale"]), (&"prcl".into(), &1.0.into()));
        let done = &list[0]["figures"]["done_s"];
        assert_eq!(done["runs"], serde_json::json!([9.0, null]));
        assert_eq!(done["goal"], serde_json::json!({"at_most": 15.0}));
        assert_eq!(list[0]["figures"]["saved"]["median"], 0.8);
        assert!(list[0]["figures"]["swap"]["median"].is_null());
        assert!(list[0]["figures"]["swap"].get("goal").is_none());
    }
}
