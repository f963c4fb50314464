//! How samples are scored: by the paper's function, an expression, or a command.

use super::metric::{input, run};
use crate::cli::{self, Good};
use anyhow::{Context, Result, bail};
use daos_cli::{Usage, is_program};
use daos_linux::User;
use daos_tune::{Better, Expression, RSS, RUNTIME, ScoreFunction, Scorer, Scoring, last_number};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of the user's own metric.
pub const METRIC: &str = "metric";
/// What is measured of every workload.
const OF_ALL: [&str; 3] = [RSS, "rss_max", "swap"];
/// What is also measured of a command.
const OF_COMMAND: [&str; 3] = [RUNTIME, "user", "system"];
/// How many seconds a command may take to score a sample.
const PATIENCE_S: f64 = 60.0;

/// How samples are scored; by a command that runs as `user`, if it is one.
pub fn scorer(args: &cli::Tune, user: Option<User>, stop: &Arc<AtomicBool>) -> Result<Scorer> {
    let measuring = &args.measuring;
    let has_metric = measuring.metric.is_some();
    let less = !has_metric || measuring.metric_is == Good::Less;
    let scoring = Scoring {
        performance: if has_metric { METRIC } else { RUNTIME }.to_owned(),
        better: if less { Better::Less } else { Better::More },
        memory: RSS.to_owned(),
        function: ScoreFunction::default(),
        max_loss: measuring.max_loss,
    };
    let Some(text) = &measuring.score else {
        let is_sweep = !args.search.sweep.is_empty();
        // A sweep shows how bad it gets: nothing depends on what came before.
        let mean = ScoreFunction::Expression(Expression::parse("0.5*p + 0.5*m")?);
        let function = if is_sweep { mean } else { ScoreFunction::default() };
        return Ok(Scorer::new(Scoring { function, ..scoring }));
    };
    let forms = &args.target.forms;
    let mut metrics = OF_ALL.to_vec();
    if !forms.command.is_empty() {
        metrics.extend(OF_COMMAND);
    }
    // The model knows no compression.
    metrics.push(if forms.sim.is_some() { RUNTIME } else { "zram" });
    if has_metric {
        metrics.push(METRIC);
    }
    let orig: Vec<String> = metrics.iter().map(|name| format!("orig_{name}")).collect();
    let known: Vec<&str> = ["p", "m", "worst"]
        .into_iter()
        .chain(metrics.iter().copied())
        .chain(orig.iter().map(String::as_str))
        .collect();
    let read = Expression::parse(text).and_then(|expression| {
        expression.check(&known)?;
        Ok(expression)
    });
    match read {
        Ok(expression) => {
            let function = ScoreFunction::Expression(expression);
            Ok(Scorer::new(Scoring { function, ..scoring }))
        }
        Err(_) if is_command(text) => {
            Ok(Scorer::by(scoring, Box::new(score_command(text.clone(), user, Arc::clone(stop)))))
        }
        Err(err) => {
            let word = text.split_whitespace().next().unwrap_or_default();
            bail!(Usage(format!("--score: {err}; and there is no command {word:?}")))
        }
    }
}

/// A command of the shell that reads the metrics and prints a score.
fn score_command(
    text: String,
    user: Option<User>,
    stop: Arc<AtomicBool>,
) -> impl FnMut(&str) -> Result<f64, String> {
    move |json| {
        let stop = || stop.load(Ordering::Relaxed);
        let asked = input(&format!("{json}\n"));
        let user = user.as_ref();
        let printed = asked.and_then(|asked| run(&text, user, Some(&asked), PATIENCE_S, &stop));
        let score = printed.and_then(|printed| {
            last_number(&printed).with_context(|| {
                format!("has to print a number as its last word, not {:?}", printed.trim())
            })
        });
        score.map_err(|err| format!("the score command `{text}` {err:#}"))
    }
}

/// Whether the first word of a text is a program.
fn is_command(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(is_program)
}
