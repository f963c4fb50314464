//! The paper's method (§3.5): sample at random, fit a polynomial, take its highest peak.
//!
//! Of the samples, whose number is known from the start, 60 % are taken at random over
//! the range, the others at random within a tenth of the range of the best so far. The
//! polynomial has a third of the number of samples for its degree. Distances are those of
//! the values, not of their logarithms, and one threshold is tuned: both as in the paper.
//! Ended early, the degree is that of the samples that there are, lest the curve goes
//! through each of them.

use super::groups::groups;
use super::polynomial::Polynomial;
use super::{Ask, At, ConfidenceInterval, Estimate, Sample, Search, Why};
use crate::math::MeanSd;
use crate::space::SearchSpace;
use daos_core::Rng;
use daos_core::rng::mix;
use thiserror::Error;

/// Share of the samples that are taken over the whole range (the paper).
const GLOBAL_PERCENT: usize = 60;
/// How far from the best so far the others lie at most, as a share of the range (the
/// paper).
const NEAR: f64 = 0.1;
/// So many samples for each degree of the polynomial (the paper).
const SAMPLES_PER_DEGREE: usize = 3;

/// A space that the paper's method can't search.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the method poly tunes one threshold, not {0}: give one range, or use the method gp")]
pub struct OneThreshold(pub usize);

/// The paper's method.
#[derive(Debug, Clone)]
pub struct Poly {
    space: SearchSpace,
    count: usize,
    seed: u64,
    told: Vec<Sample>,
}

impl Poly {
    /// With this many samples.
    ///
    /// # Errors
    ///
    /// More thresholds than one.
    pub fn new(space: SearchSpace, samples: usize, seed: u64) -> Result<Self, OneThreshold> {
        match space.dims() {
            1 => Ok(Self { space: space.linear(), count: samples, seed, told: Vec::new() }),
            dims => Err(OneThreshold(dims)),
        }
    }

    /// How many samples are taken over the whole range.
    pub fn global_samples(&self) -> usize {
        self.count * GLOBAL_PERCENT / 100
    }

    /// The degree of the polynomial at most: by the points with a score so far.
    pub fn degree(&self) -> usize {
        self.count.min(self.points().len()) / SAMPLES_PER_DEGREE
    }

    /// The points with a score, in units.
    fn points(&self) -> Vec<(f64, f64)> {
        let point = |sample: &Sample| Some((self.space.units(&sample.at)?[0], sample.score?));
        self.told.iter().filter_map(point).collect()
    }

    fn fit(&self) -> Option<Polynomial> {
        Polynomial::fit(&self.points(), self.degree())
    }

    /// The score without a scheme, and its standard error. A single baseline has no spread of its
    /// own: its error is the noise of the points around the curve. Without a baseline the score is
    /// 0, by definition: scores are measured against it.
    fn none(&self, curve: &Polynomial) -> MeanSd {
        let groups = groups(&self.told);
        match groups.iter().find(|group| group.at == At::NoScheme) {
            None => MeanSd { mean: 0.0, sd: 0.0 },
            Some(none) if none.count == 1 => MeanSd { sd: curve.noise(), ..none.score },
            Some(none) => MeanSd { sd: none.score.sd / (none.count as f64).sqrt(), ..none.score },
        }
    }
}

impl Search for Poly {
    fn space(&self) -> &SearchSpace {
        &self.space
    }

    fn ask(&self) -> Option<Ask> {
        let taken = self.told.iter().filter(|sample| sample.at != At::NoScheme).count();
        if taken >= self.count {
            return None;
        }
        let random = Rng::new(mix(self.seed) ^ taken as u64).unit();
        let best = self.points().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let (unit, why) = match best {
            Some((best, _)) if taken >= self.global_samples() => {
                let (low, high) = ((best - NEAR).max(0.0), (best + NEAR).min(1.0));
                (low + random * (high - low), Why::Improve)
            }
            _ => (random, Why::Explore),
        };
        Some(Ask { at: self.space.point(&[unit]), why })
    }

    fn tell(&mut self, sample: Sample) {
        self.told.push(sample);
    }

    fn best(&self) -> Option<Estimate> {
        let curve = self.fit()?;
        let (peak, score) = curve.peaks().into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (none, sd) = (self.none(&curve), curve.sd(peak));
        let gain = MeanSd { mean: score - none.mean, sd: sd.hypot(none.sd) };
        let score = MeanSd { mean: score, sd };
        let interval = |of| ConfidenceInterval::student(of, curve.free(), 1);
        let at = self.space.point(&[peak]);
        Some(Estimate { at, score: interval(score), gain: interval(gain) })
    }

    fn curve(&self, points: &[At]) -> Vec<ConfidenceInterval> {
        let Some(curve) = self.fit() else { return Vec::new() };
        let unit = |at: &At| self.space.units(at).map_or(0.0, |units| units[0]);
        let interval = |x| {
            let of = MeanSd { mean: curve.at(x), sd: curve.sd(x) };
            ConfidenceInterval::student(of, curve.free(), 1)
        };
        points.iter().map(unit).map(interval).collect()
    }

    fn samples(&self) -> &[Sample] {
        &self.told
    }
}

#[cfg(test)]
#[path = "poly_tests.rs"]
mod tests;
