//! The order of samples: what is measured next, and when it ends.
//!
//! The number of samples is the limit divided by what a unit of work takes, as in the
//! paper; baselines are among them. No sample is begun for which there is not enough time
//! left, by how long those so far took. Nothing here starts a process or looks at a clock: a
//! [`Workload`] measures, and says how long that took.
//!
//! | module | holds |
//! |---|---|
//! | [`workload`] | the seam to what is measured |
//! | [`sample`] | what a sample was, as it is kept |
//! | [`store`] | the directory that all is kept in, to go on after an interruption |
//! | [`result`], [`points`] | what came out; of a sweep, at each of its points |
//! | [`view`](mod@view) | what came out, to be drawn |

pub mod points;
pub mod result;
pub mod sample;
pub mod store;
pub mod view;
pub mod workload;

pub use points::PointStats;
pub use result::TuningResult;
pub use sample::{Beside, SampleRecord};
pub use store::{Give, Store, StoreError, Subject};
pub use view::view;
pub use workload::{Measurement, RunBounds, ServiceLevel, Workload};

use crate::score::{SampleScore, Scorer, Values, orig};
use crate::search::{
    Ask, ConfidenceInterval, Estimate, Method, OneThreshold, Sample, Search, Sweep, Why,
};
use crate::space::{At, SearchSpace, SpaceError};
use daos_core::Side;
use daos_schemes::Scheme;
use thiserror::Error;

/// At least one sample in so many is a baseline, of the methods that ask for none (chosen;
/// the paper repeats none).
const BASELINE_EVERY: usize = 10;
/// So many void samples in a row end it (chosen).
const VOID_IN_A_ROW: usize = 3;
/// A unit of work may take so many times what it takes without a scheme (chosen).
const PATIENCE: f64 = 3.0;
/// How many seconds more it may take, for work of a moment (chosen).
const PATIENCE_MORE_S: f64 = 10.0;

/// What is wanted.
#[derive(Debug, Clone)]
pub enum Aim {
    /// The best point.
    Best(Method),
    /// Every point of a grid.
    Sweep(Sweep),
}

/// How long it may go on. One of them is needed, but for a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TuningLimits {
    /// Seconds, baselines included.
    pub time_s: Option<f64>,
    /// Number of samples, baselines included.
    pub samples: Option<usize>,
}

/// Why it can't begin or go on.
#[derive(Debug, Error)]
pub enum TuningError {
    /// More thresholds than the method can tune.
    #[error(transparent)]
    OneThreshold(#[from] OneThreshold),
    /// A scheme that some point would spoil.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Take this sample.
    Measure(Box<PlannedSample>),
    /// Nothing more.
    End(TuningEnd),
}

/// A sample to take.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSample {
    /// Where, and what for.
    pub ask: Ask,
    /// The scheme to measure with, if any.
    pub scheme: Option<Scheme>,
    /// When to end it early.
    pub bounds: RunBounds,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuningEnd {
    /// All samples were taken.
    Samples,
    /// There is no time for another one.
    Time,
    /// Three samples in a row were void.
    Void,
    /// The limit has no room for another sample beside the first baseline.
    TooShort,
    /// What was measured is no more.
    Gone,
    /// The user ended it.
    Interrupted,
}

impl TuningEnd {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Samples => "samples",
            Self::Time => "time",
            Self::Void => "void",
            Self::TooShort => "too-short",
            Self::Gone => "gone",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A tuning under way.
#[derive(Debug)]
pub struct Tuning {
    scheme: Scheme,
    space: SearchSpace,
    aim: Aim,
    limits: TuningLimits,
    seed: u64,
    scorer: Scorer,
    /// Whether each sample is one of a pair.
    in_pairs: bool,
    records: Vec<SampleRecord>,
    /// How many samples are of earlier parts.
    earlier: usize,
    /// When the last sample ended.
    ended_s: Option<f64>,
}

impl Tuning {
    /// Of `scheme`, whose regions are aggregated for `aggregation_us`.
    ///
    /// # Errors
    ///
    /// A space that does not suit the scheme or the method.
    pub fn new(
        (scheme, aggregation_us): (Scheme, u64),
        space: SearchSpace,
        aim: Aim,
        limits: TuningLimits,
        seed: u64,
        scorer: Scorer,
    ) -> Result<Self, TuningError> {
        space.check(&scheme, aggregation_us)?;
        // The paper's method knows no baselines beside the first.
        let scorer = match aim {
            Aim::Best(Method::Poly) => scorer.as_in_the_paper(),
            _ => scorer,
        };
        let (records, earlier, ended_s) = (Vec::new(), 0, None);
        let tuning = Self {
            scheme,
            space,
            aim,
            limits,
            seed,
            scorer,
            in_pairs: false,
            records,
            earlier,
            ended_s,
        };
        tuning.search(1)?;
        Ok(tuning)
    }

    /// With another copy beside each sample that runs without a scheme, with which it is
    /// compared. They change sides from sample to sample.
    pub fn in_pairs(self) -> Self {
        Self { in_pairs: true, ..self }
    }

    /// Goes on with the samples of an earlier part.
    pub fn after(mut self, records: Vec<SampleRecord>) -> Self {
        self.earlier = records.len();
        Self { records, ..self }
    }

    /// What is tuned.
    pub fn space(&self) -> &SearchSpace {
        &self.space
    }

    /// The space with the scales that it is searched by: the paper's method and sweeps know
    /// no ratios.
    pub fn axes(&self) -> SearchSpace {
        match self.aim {
            Aim::Best(Method::Poly) | Aim::Sweep(_) => self.space.clone().linear(),
            Aim::Best(_) => self.space.clone(),
        }
    }

    /// The scheme that is tuned.
    pub fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// Whether every point of a grid is measured.
    pub fn is_sweep(&self) -> bool {
        matches!(self.aim, Aim::Sweep(_))
    }

    /// Whether each sample is one of a pair.
    pub fn is_in_pairs(&self) -> bool {
        self.in_pairs
    }

    /// How samples are scored.
    pub fn scorer(&self) -> &Scorer {
        &self.scorer
    }

    /// All samples so far.
    pub fn records(&self) -> &[SampleRecord] {
        &self.records
    }

    /// What was measured without a scheme.
    pub fn orig(&self) -> Option<Values> {
        orig(&self.records)
    }

    /// The scores of all samples.
    pub fn scores(&mut self) -> Vec<SampleScore> {
        self.scorer.scores(&self.records)
    }

    /// Seconds that went into the samples so far.
    pub fn elapsed_s(&self) -> f64 {
        self.records.iter().map(|record| record.took_s).sum()
    }

    /// How many samples there will be in all; `None` until a unit of work was measured.
    pub fn count(&self) -> Option<usize> {
        if let Aim::Sweep(sweep) = &self.aim {
            return Some(sweep.count().min(self.limits.samples.unwrap_or(usize::MAX)));
        }
        let in_time = match self.limits.time_s {
            None => usize::MAX,
            // Division by 0 gives the largest number.
            Some(limit_s) => (limit_s / self.unit_s()?) as usize,
        };
        Some(in_time.min(self.limits.samples.unwrap_or(usize::MAX)))
    }

    /// What part of it is done, 0 to 1, as far as can be said, and how many seconds it
    /// will still take; `None` until a unit of work was measured.
    pub fn progress(&self) -> Option<(f64, f64)> {
        let (taken, count) = (self.records.len(), self.count()?);
        let each_s = self.elapsed_s() / taken.max(1) as f64;
        let left_s = count.saturating_sub(taken) as f64 * each_s;
        let left_s = match self.limits.time_s {
            Some(limit_s) => left_s.min((limit_s - self.elapsed_s()).max(0.0)),
            None => left_s,
        };
        let all_s = self.elapsed_s() + left_s;
        Some((if all_s > 0.0 { self.elapsed_s() / all_s } else { 1.0 }, left_s))
    }

    /// What to measure next.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn ask(&mut self) -> Result<Next, TuningError> {
        let here = self.records[self.earlier..].iter();
        let is_void = |record: &&SampleRecord| record.void.is_some();
        let with_scheme = here.clone().filter(|record| record.at != At::NoScheme);
        // With any scheme, however well the work does without.
        let all_fail = with_scheme.clone().all(|record| is_void(&record));
        let in_a_row = here.rev().take_while(is_void).count();
        if in_a_row >= VOID_IN_A_ROW || all_fail && with_scheme.count() >= VOID_IN_A_ROW {
            return Ok(Next::End(TuningEnd::Void));
        }
        let baseline = Ask { at: At::NoScheme, why: Why::Baseline };
        let Some(count) = self.count().filter(|_| self.unit_s().is_some()) else {
            return Ok(self.measure(baseline).unwrap_or(Next::End(TuningEnd::Time)));
        };
        let taken = self.records.len();
        if count < 2 && taken < 2 {
            return Ok(Next::End(TuningEnd::TooShort));
        }
        let asked = if self.is_sweep() && self.limits.samples.is_none_or(|most| taken < most) {
            self.told()?.ask()
        } else if taken >= count {
            None
        } else if self.is_baseline_due() {
            Some(baseline)
        } else {
            self.told()?.ask()
        };
        let Some(ask) = asked else { return Ok(Next::End(TuningEnd::Samples)) };
        Ok(self.measure(ask).unwrap_or(Next::End(TuningEnd::Time)))
    }

    /// Takes the sample that comes next; says why it ends, if it does. `clock_s` tells
    /// seconds.
    ///
    /// # Errors
    ///
    /// As [`Workload::measure`].
    pub fn take<W: Workload>(
        &mut self,
        planned: &PlannedSample,
        workload: &mut W,
        clock_s: impl Fn() -> f64,
    ) -> Result<Option<TuningEnd>, W::Error> {
        // What it took to choose it is part of it.
        let begin_s = self.ended_s.unwrap_or_else(&clock_s);
        let PlannedSample { scheme, bounds, .. } = planned;
        let (mut beside, mut void) = (None, None);
        let (metrics, cut_short) = match workload.measure(scheme.as_ref(), bounds)? {
            Measurement::Whole(metrics) => (metrics, false),
            Measurement::CutShort(metrics) => (metrics, true),
            Measurement::Pair { metrics, beside: other, cut_short } => {
                let of = |side: Side| Beside { side: side.other(), metrics: other };
                beside = bounds.pair.map(of);
                (metrics, cut_short)
            }
            Measurement::Void(why) => {
                void = Some(why);
                (Values::new(), false)
            }
            Measurement::Gone => return Ok(Some(TuningEnd::Gone)),
            Measurement::Interrupted => return Ok(Some(TuningEnd::Interrupted)),
        };
        let Ask { at, why } = planned.ask.clone();
        let end_s = clock_s();
        self.ended_s = Some(end_s);
        let took_s = end_s - begin_s;
        let cut_at_loss = cut_short.then(|| self.scorer.max_loss());
        self.records.push(SampleRecord {
            at,
            why,
            metrics,
            beside,
            cut_short,
            cut_at_loss,
            void,
            took_s,
        });
        Ok(None)
    }

    /// The best, as far as is known.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn best(&mut self) -> Result<Option<Estimate>, TuningError> {
        Ok(self.told()?.best().filter(|_| self.orig().is_some()))
    }

    /// What the search expects at these points.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn curve(&mut self, points: &[At]) -> Result<Vec<ConfidenceInterval>, TuningError> {
        Ok(self.told()?.curve(points))
    }

    /// A sample to take, if there is time for it.
    fn measure(&self, ask: Ask) -> Option<Next> {
        let left_s = self.limits.time_s.map(|limit_s| limit_s - self.elapsed_s());
        // By those so far; void ones may have ended at once, or hung.
        let well = || self.records.iter().filter(|record| record.void.is_none());
        let each_s = well().map(|r| r.took_s).sum::<f64>() / well().count().max(1) as f64;
        if left_s.is_some_and(|left_s| left_s <= 0.0 || left_s < each_s) {
            return None;
        }
        let longest_s = self.records.iter().filter(|record| record.is_baseline());
        let longest_s = longest_s.map(|record| record.took_s).reduce(f64::max);
        let left_s = left_s.unwrap_or(f64::INFINITY) + longest_s.unwrap_or(0.0);
        let patience_s = longest_s.map_or(left_s, |s| (PATIENCE * s + PATIENCE_MORE_S).min(left_s));
        let pair = self.in_pairs.then(|| Side::of_round(self.records.len() as u32));
        let level = match self.aim {
            // A sweep shows how bad it gets.
            Aim::Sweep(_) => None,
            Aim::Best(_) if ask.at == At::NoScheme => None,
            Aim::Best(_) => self.scorer.level(&self.records, pair),
        };
        let scheme = self.space.apply(&self.scheme, &ask.at);
        let bounds = RunBounds { pair, level, patience_s, left_s };
        Some(Next::Measure(Box::new(PlannedSample { ask, scheme, bounds })))
    }

    /// Seconds that a unit of work takes.
    fn unit_s(&self) -> Option<f64> {
        let baselines = || self.records.iter().filter(|record| record.is_baseline());
        let count = baselines().count();
        (count > 0).then(|| baselines().map(|record| record.took_s).sum::<f64>() / count as f64)
    }

    /// Whether it is time for a baseline that the search does not ask for.
    fn is_baseline_due(&self) -> bool {
        let baselines = self.records.iter().filter(|record| record.at == At::NoScheme).count();
        !self.asks_for_baselines() && baselines < baselines_of(self.records.len() + 1)
    }

    fn asks_for_baselines(&self) -> bool {
        matches!(self.aim, Aim::Sweep(_) | Aim::Best(Method::Gp))
    }

    /// A search that was told nothing yet, for so many samples.
    fn search(&self, count: usize) -> Result<Box<dyn Search>, OneThreshold> {
        match &self.aim {
            Aim::Sweep(sweep) => Ok(Box::new(sweep.clone())),
            Aim::Best(method) => {
                let beside = if self.asks_for_baselines() { 0 } else { baselines_of(count) };
                let count = count.saturating_sub(beside);
                method.search(self.space.clone(), count, self.seed)
            }
        }
    }

    /// A search that was told all there is.
    fn told(&mut self) -> Result<Box<dyn Search>, TuningError> {
        let count = self.count().unwrap_or(1).max(self.records.len());
        let mut search = self.search(count)?;
        for sample in self.samples() {
            search.tell(sample);
        }
        Ok(search)
    }

    fn samples(&mut self) -> Vec<Sample> {
        let scores = self.scores();
        let sample = |(record, scored): (&SampleRecord, SampleScore)| Sample {
            at: record.at.clone(),
            score: scored.ok().map(|scored| scored.score),
            fails: record.void.is_some(),
        };
        self.records.iter().zip(scores).map(sample).collect()
    }
}

/// How many of so many samples are baselines, at least.
fn baselines_of(samples: usize) -> usize {
    samples.div_ceil(BASELINE_EVERY)
}

#[cfg(test)]
mod tests;
