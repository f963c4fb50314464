//! The results for programs: tables for people, JSON for other programs.

use super::gains::{self, Gains};
use super::plan::ProgramsPlan;
use super::rounds::ProgramResult;
use super::tuned::Tuned;
use crate::metrics::{MetricRow, MetricsJson, runs_in_words, write_json_line, write_metrics};
use serde::Serialize;
use std::io::{self, Write};

/// Writes a table for each program, and one for all when there are several.
pub fn text(results: &[ProgramResult], out: &mut impl Write) -> io::Result<()> {
    for (at, ProgramResult { program, tuned, runs, gains }) in results.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}: {}; {}", program.name, program.about, runs_in_words(*runs))?;
        let Tuned { samples, baselines, void, .. } = tuned;
        let took = tuned.took_s.map(|took_s| format!(" in {took_s:.0} s")).unwrap_or_default();
        writeln!(
            out,
            "  tuned to {}: {samples} samples{took}, {baselines} without a scheme, {void} void",
            tuned.thresholds()
        )?;
        tuned.notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))?;
        write_metrics(&gains.rows, out)?;
    }
    if results.len() > 1 {
        writeln!(out, "\nall programs")?;
        write_metrics(&of_all(results), out)?;
    }
    Ok(())
}

/// Writes an object: a list of the programs, and the metrics of all together.
pub fn json(
    results: &[ProgramResult],
    plan: &ProgramsPlan,
    out: &mut impl Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Json<'a> {
        scheme: &'a str,
        programs: Vec<ProgramJson<'a>>,
        all: MetricsJson<'a>,
    }
    #[derive(Serialize)]
    struct ProgramJson<'a> {
        program: &'a str,
        about: &'a str,
        command: &'a [String],
        tuned: &'a Tuned,
        runs: usize,
        figures: MetricsJson<'a>,
    }
    let programs =
        results.iter().map(|ProgramResult { program, tuned, runs, gains }| ProgramJson {
            program: &program.name,
            about: &program.about,
            command: &program.command,
            tuned,
            runs: *runs,
            figures: MetricsJson(&gains.rows),
        });
    let all = of_all(results);
    let json = Json { scheme: &plan.scheme, programs: programs.collect(), all: MetricsJson(&all) };
    write_json_line(&json, out)
}

fn of_all(results: &[ProgramResult]) -> Vec<MetricRow> {
    let gains: Vec<Gains> = results.iter().map(|result| result.gains.clone()).collect();
    gains::of_all(&gains)
}

#[cfg(test)]
mod tests {
    use super::super::gains::ProgramRound;
    use super::super::plan::Limit;
    use super::super::program::Program;
    use super::super::trial::ProgramTrial;
    use super::*;
    use std::path::PathBuf;

    fn plan() -> ProgramsPlan {
        ProgramsPlan {
            programs: Vec::new(),
            scheme: "prcl".into(),
            limit: Limit::Samples(10),
            max_loss: None,
            metric: None,
            settle_us: 0,
            params: Vec::new(),
            method: None,
            zram_bytes: None,
            children: false,
            pairs: false,
            user: None,
            runs: 2,
            out: None,
            daos: PathBuf::new(),
            stop: Default::default(),
        }
    }

    fn results() -> Vec<ProgramResult> {
        let ran = |work_s, resident_bytes| ProgramTrial {
            work_s,
            cpu_s: work_s,
            resident_bytes,
            zram_bytes: 0.0,
        };
        let rounds = [10.0, 10.0].map(|alone| ProgramRound {
            alone: ran(alone, 100.0),
            manual: ran(12.0, 50.0),
            tuned: ran(10.1, 60.0),
        });
        let command = ["sh".to_owned(), "a.sh".to_owned()];
        let tuned = Tuned {
            samples: 10,
            baselines: 2,
            scheme: Some("…".into()),
            at: serde_json::from_str(r#"{"min_age":"8 s"}"#).unwrap(),
            took_s: Some(200.0),
            notes: vec!["some memory does not count".into()],
            ..Tuned::default()
        };
        let program = Program::of_command(&command);
        let result = ProgramResult { program, tuned, runs: 2, gains: Gains::of(&rounds).unwrap() };
        vec![result.clone(), result]
    }

    #[test]
    fn a_table_for_each_and_one_for_all() {
        let mut out = Vec::new();
        text(&results(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[0], "sh: sh a.sh; 2 runs");
        let tuned = "tuned to min_age 8 s: 10 samples in 200 s, 2 without a scheme, 0 void";
        assert_eq!(lines[1], tuned);
        for line in [
            "note: some memory does not count",
            "time of its work, no scheme 10.0 s (10.0 to 10.0)",
            "slowdown, as it is 20.0 % (20.0 to 20.0)",
            "… removed by tuning 95.0 % ≥ 90.0 % reached",
            "score, as it is 0.0 %",
            "programs 2",
            "… tuned 19.5 %",
        ] {
            assert!(lines.iter().any(|shown| shown == line), "{line}: {text}");
        }
    }

    #[test]
    fn json_has_all_of_it() {
        let mut out = Vec::new();
        json(&results(), &plan(), &mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let one = &json["programs"][1];
        assert_eq!((&one["program"], &one["tuned"]["samples"]), (&"sh".into(), &10.into()));
        assert_eq!(one["figures"]["work_manual_s"]["runs"], serde_json::json!([12.0, 12.0]));
        assert_eq!(json["all"]["programs"]["median"], 2.0);
    }
}
