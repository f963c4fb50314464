//! Has `daos` tune a scheme for a program: `daos tune`, a process of its own, as a user
//! would start it.

use super::plan::{Limit, ProgramsPlan};
use super::program::Program;
use crate::error::EvalError;
use crate::under_test::Running;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long to wait at once.
const TURN: Duration = Duration::from_secs(1);
/// How long it may take to end once it is done.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a tuning found: of what `daos tune` writes only what is of use here.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, Serialize)]
pub struct Tuned {
    /// Samples that were taken, baselines and void ones included.
    pub samples: u64,
    /// How many of them had to be thrown away.
    #[serde(default)]
    pub void: u64,
    /// How many of them were without a scheme.
    #[serde(default)]
    pub baselines: u64,
    /// The tuned scheme; `None` when none is better than no scheme.
    pub scheme: Option<String>,
    /// Its thresholds by name.
    #[serde(default)]
    pub at: Option<serde_json::Map<String, serde_json::Value>>,
    /// Seconds that it took.
    #[serde(default)]
    pub took_s: Option<f64>,
    /// What `daos tune` noted, such as memory that did not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Tuned {
    /// The thresholds in words.
    pub fn thresholds(&self) -> String {
        let Some(_) = &self.scheme else { return "no scheme: none is better for sure".to_owned() };
        let shown = |(name, value): (&String, &serde_json::Value)| {
            format!("{name} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        self.at.iter().flatten().map(shown).collect::<Vec<_>>().join(", ")
    }

    /// From `result.json`.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let failed = |why| EvalError::Tuned { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(failed)?;
        serde_json::from_str(&text).map_err(|err| failed(err.into()))
    }
}

/// Tunes the plan's scheme for a program; what is found stays in `dir`, and what was found
/// there before counts.
pub fn tune(plan: &ProgramsPlan, program: &Program, dir: &Path) -> Result<Tuned, EvalError> {
    let mut command = Command::new(&plan.daos);
    command.args(["tune", "--quiet", "--scheme", &plan.scheme]);
    command.arg("--out").arg(dir);
    command.arg(match plan.limit {
        Limit::Samples(samples) => format!("--samples={samples}"),
        Limit::TimeUs(us) => format!("--limit={us}us"),
    });
    command.args(plan.zram_bytes.map(|bytes| format!("--zram={bytes}")));
    command.args(plan.children.then_some("--children"));
    command.args(plan.pairs.then_some("--pairs"));
    command.args(plan.user.iter().map(|user| format!("--user={user}")));
    command.args(plan.params.iter().map(|param| format!("--param={param}")));
    command.args(plan.max_loss.map(|share| format!("--max-loss={share}")));
    command.args(plan.method.map(|method| format!("--method={}", method.name())));
    command.args((plan.settle_us > 0).then(|| format!("--settle={}us", plan.settle_us)));
    if let Some(metric) = &plan.metric {
        command.args(["--metric", metric, "--metric-is", "less"]);
    }
    command.arg("--").args(&program.command);
    let mut running = Running::start_talkative(command, "daos tune", Stdio::null())?;
    while running.wait_until(Instant::now() + TURN, &plan.stop)?.is_none() {}
    let said = running.finish_with_words(PATIENCE, &plan.stop)?;
    let notes = said.lines().filter_map(|line| line.strip_prefix("daos: note: "));
    let notes = notes.map(str::to_owned).collect();
    Ok(Tuned { notes, ..Tuned::read(&dir.join("result.json"))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tuned {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        std::fs::write(&path, text).unwrap();
        Tuned::read(&path).unwrap()
    }

    #[test]
    fn more_fields_do_no_harm() {
        let tuned = read(
            r#"{"end":"samples","samples":10,"void":1,"baselines":3,"took_s":200.5,
                "scheme":"4K max min min 8s max pageout","at":{"min_age":"8 s"},"point":[8.0],
                "score":{"mean":0.1,"low":0.0,"high":0.2},"better_than_none":true}"#,
        );
        assert_eq!((tuned.samples, tuned.baselines, tuned.void), (10, 3, 1));
        assert_eq!(tuned.thresholds(), "min_age 8 s");
    }

    #[test]
    fn there_may_be_no_scheme() {
        let tuned = read(r#"{"samples":10,"scheme":null,"at":null}"#);
        assert_eq!((tuned.scheme.clone(), tuned.baselines), (None, 0));
        assert!(tuned.thresholds().starts_with("no scheme"));
        let error = Tuned::read(Path::new("/none")).unwrap_err();
        assert!(error.to_string().contains("/none"), "{error}");
    }
}
