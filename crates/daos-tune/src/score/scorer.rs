//! From what was measured to scores.
//!
//! Everything is a share of what was measured without a scheme, so each baseline changes
//! every score: they are computed anew, from the first sample to the last.

use super::reference::Reference;
use super::sides::Sides;
use super::{ScoreFunction, Scoring, Values};
use crate::space::At;
use crate::tuning::{SampleRecord, ServiceLevel};
use daos_core::Side;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// The metric of performance unless the user names one: seconds that the work took.
pub const RUNTIME: &str = "runtime";
/// The metric of memory: bytes of the resident set, on average over the time.
pub const RSS: &str = "rss";

/// Why a sample has no score yet.
const NO_BASELINE: &str = "there is no baseline yet";

/// What a sample came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Performance gained, as a share.
    pub performance: f64,
    /// Memory saved, as a share.
    pub memory: f64,
    /// The score, more is better.
    pub score: f64,
}

/// A sample's score, or why it has none.
pub type SampleScore = Result<Scored, String>;

/// Gives the score of a sample by its metrics as JSON, or says why it can't.
pub type ScoreCommand = dyn FnMut(&str) -> CommandScore;

/// What the command said.
type CommandScore = Result<f64, String>;

/// Scores samples.
pub struct Scorer {
    scoring: Scoring,
    /// The user's own, instead of the function of `scoring`, and what it said before.
    command: Option<(Box<ScoreCommand>, HashMap<String, CommandScore>)>,
    /// Whether that is done exactly as in the paper.
    is_papers: bool,
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scorer").field("scoring", &self.scoring).finish_non_exhaustive()
    }
}

impl Scorer {
    /// By a function.
    pub fn new(scoring: Scoring) -> Self {
        Self { scoring, command: None, is_papers: false }
    }

    /// By something that reads the metrics as JSON: one object with a sample's metrics by
    /// their names, `orig` with those without a scheme, `p`, `m` and `worst`. It is asked
    /// once for each input.
    pub fn by(scoring: Scoring, command: Box<ScoreCommand>) -> Self {
        Self { command: Some((command, HashMap::new())), ..Self::new(scoring) }
    }

    /// Scores exactly as the paper does: baselines are left out of the worst score so far,
    /// so the first sample that violates the service level keeps its own score, and the
    /// level is a sharp one, however noisy the runs.
    pub fn as_in_the_paper(mut self) -> Self {
        self.is_papers = true;
        self
    }

    /// The share of performance that may be lost.
    pub fn max_loss(&self) -> f64 {
        self.scoring.max_loss
    }

    /// The name of the metric of performance.
    pub fn performance(&self) -> &str {
        &self.scoring.performance
    }

    /// The service level for a sample after these; `None` if there is none, or the
    /// sample's own score would count. Of a sample in a `pair`, on this side, it is a share of
    /// what is measured beside it.
    pub fn level(&self, records: &[SampleRecord], pair: Option<Side>) -> Option<ServiceLevel> {
        let reference = Reference::of(records)?;
        let noise = self.noise(records, &reference);
        let orig = reference.of_next(&self.scoring.performance, pair)?;
        let has_earlier = records.iter().any(|record| self.counts(record));
        let lost_at = self.scoring.lost_at(orig, noise)?;
        (self.command.is_none() && has_earlier).then_some(ServiceLevel { orig, lost_at })
    }

    /// What the performance is on the first side of these pairs, as a share of what it is on the
    /// other, less 1: what was taken off. `None` while it is not known, and without pairs.
    pub fn sides_differ(&self, records: &[SampleRecord]) -> Option<f64> {
        let share = Sides::of(records).share(&self.scoring.performance, Side::First)?;
        Some(share - 1.0)
    }

    /// The scores of all samples. Void ones have none, and nothing has while there is no
    /// baseline.
    pub fn scores(&mut self, records: &[SampleRecord]) -> Vec<SampleScore> {
        let Some(reference) = Reference::of(records) else {
            let why = |record: &SampleRecord| record.void.clone().unwrap_or(NO_BASELINE.to_owned());
            return records.iter().map(|record| Err(why(record))).collect();
        };
        let noise = self.noise(records, &reference);
        let mut worst: Option<f64> = None;
        let mut scores = Vec::new();
        for record in records {
            let scored = self.score(record, &reference.of_sample(record), worst, noise);
            if let Ok(Scored { score, .. }) = scored
                && self.counts(record)
            {
                worst = Some(worst.map_or(score, |worst| worst.min(score)));
            }
            scores.push(scored);
        }
        scores
    }

    /// How much the performance varies, as the score takes it.
    fn noise(&self, records: &[SampleRecord], reference: &Reference) -> f64 {
        if self.is_papers { 0.0 } else { reference.noise(records, &self.scoring.performance) }
    }

    fn score(
        &mut self,
        record: &SampleRecord,
        orig: &Values,
        worst: Option<f64>,
        noise: f64,
    ) -> SampleScore {
        if let Some(why) = &record.void {
            return Err(why.clone());
        }
        let metrics = &record.metrics;
        let [p, m] = [
            self.scoring.performance_gained(metrics, orig),
            self.scoring.memory_saved(metrics, orig),
        ]
        .map(|share| share.map_err(|err| err.to_string()));
        let has_level = self.command.is_none() && self.scoring.function == ScoreFunction::Listing2;
        let score = if record.cut_short && has_level {
            if record.cut_at_loss.is_some_and(|loss| loss < self.scoring.max_loss) {
                return Err("it was cut short for a stricter --max-loss".to_owned());
            }
            // Later baselines may be slower; it was lost when it was cut short.
            worst.map_or_else(|| Ok(0.5 * p.clone()? + 0.5 * m.clone()?), Ok::<_, String>)?
        } else if record.cut_short {
            return Err("it was cut short for another score".to_owned());
        } else if let Some((command, known)) = &mut self.command {
            let [p, m] = [p.as_ref().ok(), m.as_ref().ok()].map(Option::<&f64>::copied);
            let json = serde_json::to_string(&Input { metrics, orig, p, m, worst });
            let json = json.map_err(|err| err.to_string())?;
            match known.get(&json) {
                Some(said) => said.clone()?,
                None => known.entry(json.clone()).or_insert(command(&json)).clone()?,
            }
        } else {
            let score = self.scoring.score(metrics, orig, worst.as_slice(), noise);
            score.map_err(|err| err.to_string())?
        };
        // A share that the score does not need may be nothing.
        let [performance, memory] = [p, m].map(|share| share.unwrap_or(f64::NAN));
        Ok(Scored { performance, memory, score })
    }

    fn counts(&self, record: &SampleRecord) -> bool {
        record.void.is_none() && (!self.is_papers || record.at != At::NoScheme)
    }
}

/// What the command reads.
#[derive(Debug, Serialize)]
struct Input<'a> {
    #[serde(flatten)]
    metrics: &'a Values,
    orig: &'a Values,
    p: Option<f64>,
    m: Option<f64>,
    worst: Option<f64>,
}

#[cfg(test)]
#[path = "scorer_tests.rs"]
pub(crate) mod tests;
