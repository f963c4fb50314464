//! Bayesian search: measure where one more sample is worth most.
//!
//! A first few samples fill the space evenly; no scheme is measured first, and again from
//! time to time, for how it does is what counts and how much it varies tells the noise.
//! After that the model says for each candidate how much the best expected score is
//! likely to gain by a sample there, and the best is asked for. A candidate may be one
//! that was measured before, or no scheme: where two are hard to tell apart, that is
//! worth most. The point with the highest expected score is the best.

use super::kernel::{Kernel, Place};
use super::model::Model;
use super::{Ask, At, ConfidenceInterval, Estimate, Sample, Search, Why};
use crate::math::{MeanSd, evenly_spread, gaussian};
use crate::space::SearchSpace;
use daos_core::Rng;
use daos_core::rng::mix;

/// At least one sample in so many is a baseline, but not the last: everything is compared with
/// these.
const BASELINE_EVERY: usize = 4;
/// So many samples in a row with which the work failed, and there is a baseline (chosen: one
/// more, and a tuning ends).
const VOID_TO_ASK: usize = 2;
/// Points no further apart than this share of each range are taken for one, where the work fails
/// (chosen).
const NEAR: f64 = 0.05;
/// Candidates for a sample (chosen).
const FEW: usize = 40;
/// Candidates for the best, which take less to compute (chosen).
const MANY: usize = 200;

/// Bayesian search.
#[derive(Debug, Clone)]
pub struct Gp {
    space: SearchSpace,
    count: usize,
    seed: u64,
    kernels: Vec<Kernel>,
    told: Vec<Sample>,
}

impl Gp {
    /// With this many samples, baselines among them.
    pub fn new(space: SearchSpace, samples: usize, seed: u64) -> Self {
        let kernels = Kernel::all(space.dims());
        Self { space, count: samples, seed, kernels, told: Vec::new() }
    }

    /// How many samples fill the space before the model is asked.
    fn first_samples(&self) -> usize {
        (self.count / 3).clamp(2, 3 + self.space.dims())
    }

    /// Where something was measured, the scores there, and what was taken from these: the
    /// mean score of no scheme, or that of all points without one. The model expects
    /// curves around 0. A scheme with which the work fails does as badly as the worst that was
    /// measured: nobody wants it, nor to try it again and again.
    fn measured(&self) -> (Vec<Place>, Vec<f64>, f64) {
        let lowest = self.told.iter().filter_map(|sample| sample.score).min_by(f64::total_cmp);
        let score_of =
            |sample: &Sample| sample.score.or(lowest.filter(|_| self.fails_at(&sample.at)));
        let scored = |sample: &Sample| Some((self.space.units(&sample.at), score_of(sample)?));
        let (places, mut scores): (Vec<Place>, Vec<f64>) =
            self.told.iter().filter_map(scored).unzip();
        let all = || places.iter().zip(&scores);
        let none = all().filter(|(place, _)| place.is_none()).map(|(_, score)| *score);
        let level = mean(none).or(mean(scores.iter().copied())).unwrap_or(0.0);
        scores.iter_mut().for_each(|score| *score -= level);
        (places, scores, level)
    }

    /// Whether the work fails with the scheme at a point: twice with some that are near it, and not
    /// once not. Once may be by chance.
    fn fails_at(&self, at: &At) -> bool {
        let Some(here) = self.space.units(at) else { return false };
        let is_near = |sample: &&Sample| {
            let there = self.space.units(&sample.at);
            there.is_some_and(|there| here.iter().zip(&there).all(|(a, b)| (a - b).abs() <= NEAR))
        };
        let near: Vec<_> = self.told.iter().filter(is_near).collect();
        near.iter().filter(|sample| sample.fails).count() >= 2
            && near.iter().all(|sample| sample.score.is_none())
    }

    /// Places that may be worth a sample, or be the best; no scheme is the first.
    fn candidates(&self, count: usize) -> Vec<Place> {
        let dims = self.space.dims();
        let mut places = vec![None];
        if dims == 1 {
            places.extend((0..=count).map(|at| Some(vec![at as f64 / count as f64])));
            return places;
        }
        // All over the space, where something was measured, and near the best of that.
        places.extend((0..count).map(|at| Some(evenly_spread(at, dims, self.seed))));
        let scored = self.told.iter().filter(|sample| sample.score.is_some());
        let scored = scored.filter_map(|s| Some((self.space.units(&s.at)?, s.score)));
        let mut known: Vec<_> = scored.collect();
        known.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(std::cmp::Ordering::Equal));
        let mut rng = Rng::new(mix(self.seed) ^ self.told.len() as u64);
        for at in 0..2 * count {
            let Some((center, _)) = known.get(at % 4).or(known.first()) else { break };
            let width = 0.02 * 10f64.powf(rng.unit());
            let near = |x: &f64| (x + width * gaussian(&mut rng)).clamp(0.0, 1.0);
            places.push(Some(center.iter().map(near).collect()));
        }
        places.extend(known.into_iter().map(|(units, _)| Some(units)));
        places
    }
}

impl Search for Gp {
    fn space(&self) -> &SearchSpace {
        &self.space
    }

    fn ask(&self) -> Option<Ask> {
        let taken = self.told.len();
        if taken >= self.count {
            return None;
        }
        let baselines = self.told.iter().filter(|sample| sample.at == At::NoScheme).count();
        let is_last = taken > 0 && taken + 1 == self.count;
        // Does the work fail by itself?
        let fails = |sample: &&Sample| sample.fails && sample.at != At::NoScheme;
        if self.told.iter().rev().take_while(fails).count() == VOID_TO_ASK && !is_last {
            return Some(Ask { at: At::NoScheme, why: Why::Baseline });
        }
        if baselines < 1 + taken / BASELINE_EVERY && !is_last {
            return Some(Ask { at: At::NoScheme, why: Why::Baseline });
        }
        let (measured, scores, _) = self.measured();
        let explored = taken - baselines;
        if explored < self.first_samples() || scores.len() < 2 {
            let units = evenly_spread(explored, self.space.dims(), self.seed);
            return Some(Ask { at: self.space.point(&units), why: Why::Explore });
        }
        let places = self.candidates(FEW);
        let model = Model::fit(&self.kernels, &measured, &scores);
        let worths = model.at(&places).worths().into_iter().enumerate();
        let (at, _) = worths.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let at = match &places[at] {
            None => At::NoScheme,
            Some(units) => self.space.point(units),
        };
        let is_known = self.told.iter().any(|sample| sample.at == at);
        let why = if is_known { Why::Repeat } else { Why::Improve };
        Some(Ask { at, why })
    }

    fn tell(&mut self, sample: Sample) {
        self.told.push(sample);
    }

    fn best(&self) -> Option<Estimate> {
        let (measured, scores, level) = self.measured();
        let is_known = |sample: &Sample| sample.score.is_some() && sample.at != At::NoScheme;
        if !self.told.iter().any(is_known) {
            return None;
        }
        let model = Model::fit(&self.kernels, &measured, &scores);
        let places = self.candidates(MANY);
        let known = model.at(&places);
        let best = known.best()?;
        Some(Estimate {
            at: places[best].as_ref().map_or(At::NoScheme, |units| self.space.point(units)),
            score: interval(above(level, known.score(best)), scores.len()),
            gain: interval(known.gain(best, 0), scores.len()),
        })
    }

    fn curve(&self, points: &[At]) -> Vec<ConfidenceInterval> {
        let (measured, scores, level) = self.measured();
        if scores.is_empty() {
            return Vec::new();
        }
        let model = Model::fit(&self.kernels, &measured, &scores);
        let places: Vec<Place> = points.iter().map(|at| self.space.units(at)).collect();
        let known = model.at(&places);
        (0..places.len()).map(|i| interval(above(level, known.score(i)), scores.len())).collect()
    }

    fn samples(&self) -> &[Sample] {
        &self.told
    }
}

/// `None` of nothing.
fn mean(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

/// The confidence interval of what the model says after so many samples. Two samples are used up by
/// the level of the scores and their spread, so they do not count as degrees of freedom.
fn interval(of: MeanSd, samples: usize) -> ConfidenceInterval {
    ConfidenceInterval::student(of, samples.saturating_sub(2), 1)
}

/// What the model said without the level.
fn above(level: f64, MeanSd { mean, sd }: MeanSd) -> MeanSd {
    MeanSd { mean: level + mean, sd }
}

#[cfg(test)]
#[path = "gp_tests.rs"]
mod tests;
