//! All that is planned: program by program, the tuning first, then the rounds.

use super::gains::{Gains, ProgramRound};
use super::plan::ProgramsPlan;
use super::program::Program;
use super::trial::{SchemeBeside, run_trial};
use super::tuned::{self, Tuned};
use crate::error::EvalError;

/// What is about to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramsProgress<'a> {
    /// What is done. A tuning counts as much as its rounds.
    pub done: u64,
    /// What there will be.
    pub total: u64,
    /// The name of the program.
    pub program: &'a str,
    /// What is done with it.
    pub doing: &'static str,
}

/// What the trials of a program showed.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramResult {
    /// Which.
    pub program: Program,
    /// What was tuned for it.
    pub tuned: Tuned,
    /// Rounds of runs.
    pub runs: usize,
    /// What came of it.
    pub gains: Gains,
}

/// A trial's configuration: one of the ways in which a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgramConfiguration {
    Alone,
    Manual,
    Tuned,
}

const CONFIGURATIONS: [(ProgramConfiguration, &str); 3] = [
    (ProgramConfiguration::Alone, "alone"),
    (ProgramConfiguration::Manual, "the scheme as it is"),
    (ProgramConfiguration::Tuned, "tuned"),
];

/// Runs it all, and leaves nothing running, and the host as it was, also on an error. What
/// is known until then is added to `results` as it comes.
pub fn run(
    plan: &ProgramsPlan,
    results: &mut Vec<ProgramResult>,
    mut tell: impl FnMut(ProgramsProgress<'_>),
) -> Result<(), EvalError> {
    let scratch = tempfile::tempdir().map_err(EvalError::Scratch)?;
    let of_one = u64::from(plan.runs) * CONFIGURATIONS.len() as u64;
    let total = 2 * of_one * plan.programs.len() as u64;
    let mut done = 0;
    for program in &plan.programs {
        let mut tell =
            |done, doing| tell(ProgramsProgress { done, total, program: &program.name, doing });
        tell(done, "tuning");
        let dir = plan.out.as_deref().unwrap_or(scratch.path()).join(&program.name);
        let tuned = tuned::tune(plan, program, &dir)?;
        done += of_one;
        let mut rounds = Vec::new();
        let mut ended = Ok(());
        for round in 0..plan.runs {
            let told = |configuration| {
                tell(done, configuration);
                done += 1;
            };
            match run_round(plan, program, &tuned, round, told) {
                Ok(ran) => rounds.push(ran),
                Err(error) => {
                    ended = Err(error);
                    break;
                }
            }
        }
        if let Some(gains) = Gains::of(&rounds) {
            let (program, runs) = (program.clone(), rounds.len());
            results.push(ProgramResult { program, tuned, runs, gains });
        }
        ended?;
    }
    Ok(())
}

/// All configurations once; each round begins with another.
fn run_round(
    plan: &ProgramsPlan,
    program: &Program,
    tuned: &Tuned,
    round: u32,
    mut tell: impl FnMut(&'static str),
) -> Result<ProgramRound, EvalError> {
    let mut ran = ProgramRound::default();
    for at in 0..CONFIGURATIONS.len() {
        let (configuration, name) = CONFIGURATIONS[(at + round as usize) % CONFIGURATIONS.len()];
        tell(name);
        let (scheme, place) = match configuration {
            ProgramConfiguration::Alone => (None, &mut ran.alone),
            ProgramConfiguration::Manual => (Some(plan.scheme.as_str()), &mut ran.manual),
            // Where no scheme is best, tuned is without one.
            ProgramConfiguration::Tuned => (tuned.scheme.as_deref(), &mut ran.tuned),
        };
        let seed = u64::from(round) + 1;
        let with = scheme.map(|scheme| SchemeBeside { scheme, zram_bytes: plan.zram_bytes, seed });
        *place = run_trial(program, with, plan.settings())?;
    }
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::super::plan::Limit;
    use super::*;
    use daos_tune::Method;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::Arc;

    /// In place of `daos`: it finds a scheme at once, applies it by starting the command, and
    /// writes down what it was asked for.
    const STUB: &str = r#"#!/bin/sh
echo "$*" >>"$0.log"
case $1 in
tune)
    echo "daos: this and that
daos: note: some memory does not count" >&2
    while [ "$1" != --out ]; do shift; done
    mkdir -p "$2" && echo '{"samples":10,"scheme":SCHEME,"at":{"min_age":"8 s"}}' >"$2/result.json"
    ;;
apply)
    while [ "$1" != -- ]; do shift; done
    shift
    "$@"
    ;;
esac
"#;

    fn stub(dir: &Path, scheme: &str) -> PathBuf {
        let path = dir.join("daos");
        let text = STUB.replace("SCHEME", scheme);
        // Not written by ourselves: a file can't be executed while anybody may write it, as
        // what another test starts at this moment could.
        let mut write = Command::new("sh");
        write.args(["-c", "printf %s \"$1\" >\"$0\" && chmod +x \"$0\""]).arg(&path).arg(text);
        assert!(write.status().unwrap().success());
        path
    }

    fn plan(daos: PathBuf, command: &[&str]) -> ProgramsPlan {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        ProgramsPlan {
            programs: vec![Program::of_command(&command)],
            scheme: "prcl".to_owned(),
            limit: Limit::Samples(10),
            params: vec!["min_age=1s..60s".to_owned()],
            max_loss: Some(0.02),
            metric: None,
            settle_us: 100_000,
            method: Some(Method::Gp),
            zram_bytes: Some(4 << 30),
            children: false,
            pairs: false,
            user: None,
            runs: 2,
            out: None,
            daos,
            stop: Arc::default(),
        }
    }

    #[test]
    fn each_program_is_tuned_for_and_run_in_each_way() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(stub(dir.path(), "\"the tuned one\""), &["sleep", "0.3"]);
        let mut steps = Vec::new();
        let mut results = Vec::new();
        run(&plan, &mut results, |step| steps.push((step.done, step.doing))).unwrap();
        let expected = [
            (0, "tuning"),
            (6, "alone"),
            (7, "the scheme as it is"),
            (8, "tuned"),
            (9, "the scheme as it is"),
            (10, "tuned"),
            (11, "alone"),
        ];
        assert_eq!(steps, expected);
        let log = fs::read_to_string(dir.path().join("daos.log")).unwrap();
        let lines: Vec<&str> = log.lines().collect();
        assert!(lines[0].starts_with("tune --quiet --scheme prcl --out "), "{log}");
        let options = "--samples=10 --zram=4294967296 --param=min_age=1s..60s --max-loss=0.02 --method=gp --settle=100000us -- sleep 0.3";
        assert!(lines[0].ends_with(options), "{log}");
        let apply = |scheme: &str, seed: u32| {
            format!("apply --quiet --scheme {scheme} --seed={seed} --zram=4294967296 -- sleep 0.3")
        };
        let schemes = [("prcl", 1), ("the tuned one", 1), ("prcl", 2), ("the tuned one", 2)];
        assert_eq!(lines[1..], schemes.map(|(scheme, seed)| apply(scheme, seed)));
        assert_eq!(results[0].tuned.notes, ["some memory does not count"]);
        let tuned = &results[0].gains.tuned;
        // How much slower it was is the host's business.
        assert!(tuned.slowdown.is_finite() && results[0].tuned.samples == 10, "{tuned:?}");
    }

    #[test]
    fn what_it_starts_counts_in_all_if_it_is_to() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(stub(dir.path(), "\"the tuned one\""), &["sleep", "0.2"]);
        let plan = ProgramsPlan { runs: 1, children: true, ..plan };
        run(&plan, &mut Vec::new(), |_| {}).unwrap();
        let log = fs::read_to_string(dir.path().join("daos.log")).unwrap();
        assert_eq!(log.lines().count(), 3, "{log}");
        assert!(log.lines().all(|line| line.contains(" --children ")), "{log}");
    }

    #[test]
    fn where_no_scheme_is_best_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let plan = ProgramsPlan { runs: 1, ..plan(stub(dir.path(), "null"), &["sleep", "0.2"]) };
        run(&plan, &mut Vec::new(), |_| {}).unwrap();
        let log = fs::read_to_string(dir.path().join("daos.log")).unwrap();
        assert_eq!(log.lines().count(), 2, "a tuning, and the scheme as it is: {log}");
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let command = ["sh", "-c", "sleep 0.2; echo no such luck >&2; exit 3"];
        let plan = plan(stub(dir.path(), "null"), &command);
        let error = run(&plan, &mut Vec::new(), |_| {}).unwrap_err();
        assert!(error.to_string().contains("no such luck"), "{error}");
    }

    #[test]
    fn it_can_be_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(stub(dir.path(), "null"), &["sleep", "30"]);
        plan.stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let ended = run(&plan, &mut Vec::new(), |_| {});
        assert!(matches!(ended, Err(EvalError::Interrupted)));
    }

    #[test]
    fn what_was_run_before_an_error_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(stub(dir.path(), "null"), &["sleep", "0.2"]);
        let (mut results, stop) = (Vec::new(), Arc::clone(&plan.stop));
        // In the second round.
        let ended = run(&plan, &mut results, |step| {
            stop.store(step.done > 9, std::sync::atomic::Ordering::Relaxed);
        });
        assert!(matches!(ended, Err(EvalError::Interrupted)));
        assert_eq!((results.len(), results[0].runs), (1, 1));
    }
}
