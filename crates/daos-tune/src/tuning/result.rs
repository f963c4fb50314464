//! What came out of a tuning.

use super::points::{PointStats, points};
use super::sample::SampleRecord;
use super::{Tuning, TuningEnd, TuningError};
use crate::classify::{Classification, classify};
use crate::math::MeanSd;
use crate::score::{SampleScore, Values};
use crate::search::{ConfidenceInterval, Estimate};
use crate::space::{At, Param, SearchSpace};
use daos_schemes::{self, Scheme};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// What is known at the end, or so far.
#[derive(Debug, Clone)]
pub struct TuningResult {
    /// Why it ended.
    pub end: TuningEnd,
    /// How many samples were taken, void ones and baselines included.
    pub samples: usize,
    /// How many of them were void.
    pub void: usize,
    /// How many were baselines.
    pub baselines: usize,
    /// Seconds that all took.
    pub took_s: f64,
    /// What was measured without a scheme.
    pub orig: Option<Values>,
    /// In pairs, how much more the metric of performance is on the first side than on the other,
    /// as a share; `None` while it is not known.
    pub sides: Option<f64>,
    /// The best point, and what to expect of it.
    pub best: Option<Estimate>,
    /// What was measured at the nearest point with a score: at that itself, if it was sampled.
    pub measured: Option<PointStats>,
    /// The scheme with its thresholds; `None` if that is not better than no scheme for
    /// sure.
    pub scheme: Option<Scheme>,
    /// Of a sweep, every point that was measured, no scheme first.
    pub points: Vec<PointStats>,
    /// Which shape the scores of a sweep over one threshold have.
    pub classification: Option<Classification>,
    space: SearchSpace,
}

/// A point by the names of its thresholds, with units.
type Point = BTreeMap<&'static str, String>;

impl TuningResult {
    /// Of what was measured so far.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn of(tuning: &mut Tuning, end: TuningEnd) -> Result<Self, TuningError> {
        let best = tuning.best()?;
        let scores = tuning.scores();
        let (space, records) = (tuning.space(), tuning.records());
        let better = best.as_ref().filter(|best| best.is_better_than_none());
        let points = points(records, &scores);
        let measured = best.as_ref().and_then(|best| nearest(space, &best.at, &points)).cloned();
        Ok(Self {
            end,
            samples: records.len(),
            void: records.iter().filter(|record| record.void.is_some()).count(),
            baselines: records.iter().filter(|record| record.is_baseline()).count(),
            took_s: tuning.elapsed_s(),
            orig: tuning.orig(),
            sides: tuning.scorer().sides_differ(records),
            scheme: better.and_then(|best| space.apply(tuning.scheme(), &best.at)),
            measured,
            best,
            space: space.clone(),
            points: if tuning.is_sweep() { points } else { Vec::new() },
            classification: classification(tuning, &scores),
        })
    }

    /// The thresholds of a point; `None` of no scheme.
    fn named(&self, at: &At) -> Option<Point> {
        let shown =
            |(param, value): (&Param, &f64)| (param.threshold.name(), param.threshold.show(*value));
        Some(self.space.params().iter().zip(at.values()?).map(shown).collect())
    }
}

/// The one of these points that is nearest to another, as the search measures distances.
fn nearest<'a>(space: &SearchSpace, at: &At, points: &'a [PointStats]) -> Option<&'a PointStats> {
    let at = space.units(at)?;
    let distance = |point: &PointStats| -> Option<f64> {
        let each = space.units(&point.at)?.into_iter().zip(&at).map(|(a, b)| (a - b).powi(2));
        Some(each.sum())
    };
    let points = points.iter().filter_map(|point| Some((distance(point)?, point)));
    points.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, point)| point)
}

/// The shape of a sweep's scores.
fn classification(tuning: &Tuning, scores: &[SampleScore]) -> Option<Classification> {
    let space = tuning.space();
    if !tuning.is_sweep() || space.dims() != 1 {
        return None;
    }
    let points = tuning.records().iter().zip(scores);
    let point = |(record, scored): (&SampleRecord, &SampleScore)| {
        Some((space.units(&record.at)?[0], scored.as_ref().ok()?.score))
    };
    classify(&points.filter_map(point).collect::<Vec<_>>())
}

impl Serialize for TuningResult {
    /// As `result.json` has it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Json<'a> {
            end: &'static str,
            samples: usize,
            void: usize,
            baselines: usize,
            took_s: f64,
            orig: &'a Option<Values>,
            #[serde(skip_serializing_if = "Option::is_none")]
            sides: Option<f64>,
            scheme: Option<String>,
            at: Option<Point>,
            point: Option<&'a [f64]>,
            score: Option<ConfidenceInterval>,
            gain: Option<ConfidenceInterval>,
            better_than_none: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            measured: Option<PointJson>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            points: Vec<PointJson>,
            shape: Option<usize>,
            explained: Option<f64>,
        }
        #[derive(Serialize)]
        struct PointJson {
            at: Option<Point>,
            count: usize,
            performance: MeanSd,
            memory: MeanSd,
            score: MeanSd,
        }
        let best = self.best.as_ref();
        let json = |point: &PointStats| PointJson {
            at: self.named(&point.at),
            count: point.count,
            performance: point.performance,
            memory: point.memory,
            score: point.score,
        };
        Json {
            end: self.end.name(),
            samples: self.samples,
            void: self.void,
            baselines: self.baselines,
            took_s: self.took_s,
            orig: &self.orig,
            sides: self.sides,
            scheme: self.scheme.as_ref().map(daos_schemes::format),
            at: best.and_then(|best| self.named(&best.at)),
            point: best.and_then(|best| best.at.values()),
            score: best.map(|best| best.score),
            gain: best.map(|best| best.gain),
            better_than_none: self.scheme.is_some(),
            measured: self.measured.as_ref().map(json),
            points: self.points.iter().map(json).collect(),
            shape: self.classification.as_ref().and_then(|like| Some(like.shape?.number())),
            explained: self.classification.as_ref().map(|like| like.explained),
        }
        .serialize(serializer)
    }
}
