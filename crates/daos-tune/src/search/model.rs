//! Gaussian processes over many kernels: what is known of the curve after the samples.
//!
//! Each kernel with each level of noise is a hypothesis. The height of the curve is
//! integrated out (its variance has an inverse gamma prior), and a hypothesis weighs what
//! its marginal likelihood is. Nothing is set to its likeliest value, which with few
//! samples would be too sure of itself. Hypotheses that weigh next to nothing are dropped.

use super::kernel::{Kernel, Place};
use crate::math::MeanSd;
use crate::math::linalg::{Cholesky, dot};

/// The noise's standard deviation, as a share of the curve's height. With the last ones
/// there is next to no curve: all that was measured is noise.
const NOISES: [f64; 8] = [0.01, 0.03, 0.06, 0.12, 0.25, 0.6, 1.5, 4.0];
/// The shape of the inverse gamma prior: it weighs as much as two samples.
const SHAPE: f64 = 1.0;
/// So many hypotheses are kept at most (chosen).
const KEPT: usize = 24;
/// No hypothesis is kept that weighs less than this share of the heaviest (chosen).
const LEAST: f64 = 1e-3;

/// What the samples say.
#[derive(Debug)]
pub(super) struct Model<'a> {
    places: &'a [Place],
    hypotheses: Vec<Hypothesis<'a>>,
}

#[derive(Debug)]
struct Hypothesis<'a> {
    kernel: &'a Kernel,
    cholesky: Cholesky,
    /// `L⁻¹ y`.
    reduced: Vec<f64>,
    /// The variance of the curve's height.
    height: f64,
    /// The noise's variance.
    noise: f64,
    /// First the logarithm of the likelihood; then the share of all.
    weight: f64,
}

impl<'a> Model<'a> {
    /// From scores at places.
    pub fn fit(kernels: &'a [Kernel], places: &'a [Place], scores: &[f64]) -> Self {
        let n = places.len();
        // The prior follows the scores, whatever their unit.
        let scale = SHAPE * (0.1 * dot(scores, scores) / n.max(1) as f64).max(1e-12);
        let shape = SHAPE + n as f64 / 2.0;
        let mut found: Vec<Hypothesis<'_>> = Vec::new();
        for kernel in kernels {
            let bare = lower(n, |i, j| kernel.covariance(&places[i], &places[j]));
            for noise in NOISES.map(|sd| sd * sd) {
                let mut all = bare.clone();
                (0..n).for_each(|i| all[i * n + i] += noise);
                let Some(cholesky) = Cholesky::of(all, n) else { continue };
                let mut reduced = scores.to_vec();
                cholesky.forward(&mut reduced);
                let scale = scale + dot(&reduced, &reduced) / 2.0;
                // Less than the shape by a bit: a heavy tail is wider than a normal one.
                let height = scale / (shape - 0.5);
                let weight = -cholesky.log_det() / 2.0 - shape * scale.ln();
                let noise = noise * height;
                found.push(Hypothesis { kernel, cholesky, reduced, height, noise, weight });
            }
            // Each has a matrix of all samples.
            found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            found.truncate(KEPT);
        }
        let heaviest = found.first().map_or(0.0, |first| first.weight);
        found.iter_mut().for_each(|one| one.weight = (one.weight - heaviest).exp());
        found.retain(|one| one.weight >= LEAST);
        let total: f64 = found.iter().map(|one| one.weight).sum();
        found.iter_mut().for_each(|one| one.weight /= total);
        Self { places, hypotheses: found }
    }

    /// What is known of the curve at these places.
    pub fn at(&'a self, places: &'a [Place]) -> Posterior<'a> {
        let known = |hypothesis: &'a Hypothesis<'a>| {
            let column = |place| {
                let with = |other| hypothesis.kernel.covariance(place, other);
                let mut column: Vec<f64> = self.places.iter().map(with).collect();
                hypothesis.cholesky.forward(&mut column);
                column
            };
            let reduced: Vec<Vec<f64>> = places.iter().map(column).collect();
            let mean = reduced.iter().map(|column| dot(column, &hypothesis.reduced)).collect();
            Known { hypothesis, reduced, mean }
        };
        Posterior { places, known: self.hypotheses.iter().map(known).collect() }
    }
}

/// The lower triangle of a matrix, row by row.
fn lower(n: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            matrix[i * n + j] = value(i, j);
        }
    }
    matrix
}

/// What is known of the curve at some places, numbered from 0.
#[derive(Debug)]
pub(super) struct Posterior<'a> {
    places: &'a [Place],
    known: Vec<Known<'a>>,
}

/// The same under one hypothesis.
#[derive(Debug)]
struct Known<'a> {
    hypothesis: &'a Hypothesis<'a>,
    /// `L⁻¹ k` of each place.
    reduced: Vec<Vec<f64>>,
    mean: Vec<f64>,
}

impl Known<'_> {
    fn covariance(&self, places: &[Place], i: usize, j: usize) -> f64 {
        let prior = self.hypothesis.kernel.covariance(&places[i], &places[j]);
        self.hypothesis.height * (prior - dot(&self.reduced[i], &self.reduced[j]))
    }
}

impl Posterior<'_> {
    /// The place with the highest expected score, and that score.
    pub fn best(&self) -> Option<usize> {
        let means = self.means().into_iter().enumerate();
        means.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    fn means(&self) -> Vec<f64> {
        let mut means = vec![0.0; self.places.len()];
        for known in &self.known {
            let weight = known.hypothesis.weight;
            means.iter_mut().zip(&known.mean).for_each(|(sum, mean)| *sum += weight * mean);
        }
        means
    }

    /// The score at a place.
    pub fn score(&self, i: usize) -> MeanSd {
        self.mixed(|known| (known.mean[i], known.covariance(self.places, i, i)))
    }

    /// How much better `i` is than `j`.
    pub fn gain(&self, i: usize, j: usize) -> MeanSd {
        self.mixed(|known| {
            let covariance = |i, j| known.covariance(self.places, i, j);
            let variance = covariance(i, i) + covariance(j, j) - 2.0 * covariance(i, j);
            (known.mean[i] - known.mean[j], variance)
        })
    }

    /// What has a mean and a variance under each hypothesis.
    fn mixed(&self, of: impl Fn(&Known<'_>) -> (f64, f64)) -> MeanSd {
        let parts: Vec<_> = self.known.iter().map(|k| (k.hypothesis.weight, of(k))).collect();
        let mean = parts.iter().map(|(weight, (mean, _))| weight * mean).sum::<f64>();
        let part = |(weight, (m, variance)): &(f64, (f64, f64))| {
            weight * ((m - mean).powi(2) + variance.max(0.0))
        };
        MeanSd { mean, sd: parts.iter().map(part).sum::<f64>().sqrt() }
    }

    /// For each place, how much higher the best expected score is likely to be after one
    /// more sample there (the knowledge gradient: Frazier, Powell and Dayanik, 2009). The
    /// sample also weighs the hypotheses anew.
    pub fn worths(&self) -> Vec<f64> {
        let best = highest(&self.means());
        let count = self.places.len();
        // Few kernels make many hypotheses, and are what takes long to compute.
        let mut priors: Vec<(&Kernel, Vec<f64>)> = Vec::new();
        for Known { hypothesis: Hypothesis { kernel, .. }, .. } in &self.known {
            if !priors.iter().any(|(other, _)| std::ptr::eq(*other, *kernel)) {
                let of = |i: usize, j: usize| kernel.covariance(&self.places[i], &self.places[j]);
                priors.push((*kernel, lower(count, of)));
            }
        }
        let full = |known: &Known<'_>| {
            let kernel = known.hypothesis.kernel;
            let prior = priors.iter().find(|(other, _)| std::ptr::eq(*other, kernel));
            let prior = prior.map_or(&[][..], |(_, prior)| prior);
            let mut matrix = vec![0.0; count * count];
            for i in 0..count {
                for j in 0..=i {
                    let known_by = dot(&known.reduced[i], &known.reduced[j]);
                    let left = known.hypothesis.height * (prior[i * count + j] - known_by);
                    matrix[i * count + j] = left;
                    matrix[j * count + i] = left;
                }
            }
            matrix
        };
        let covariances: Vec<_> = self.known.iter().map(full).collect();
        (0..count).map(|at| self.best_after(at, &covariances) - best).collect()
    }

    /// The best expected score to expect after one more sample at place `at`. Given are
    /// the covariances of all places under each hypothesis, row by row.
    fn best_after(&self, at: usize, covariances: &[Vec<f64>]) -> f64 {
        // What may be measured, in standard deviations from what is expected.
        const OUTCOMES: [f64; 7] = [-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4];
        let count = self.places.len();
        let rows = covariances.iter().map(|matrix| &matrix[at * count..(at + 1) * count]);
        let MeanSd { mean: center, sd } = self.mixed(|known| {
            let variance = known.covariance(self.places, at, at) + known.hypothesis.noise;
            (known.mean[at], variance)
        });
        let mut after = vec![vec![0.0; count]; OUTCOMES.len()];
        let mut likely = 0.0;
        for (known, covariance) in self.known.iter().zip(rows) {
            let variance = (covariance[at] + known.hypothesis.noise).max(f64::MIN_POSITIVE);
            for (after, z) in after.iter_mut().zip(OUTCOMES) {
                let surprise = center + z * sd - known.mean[at];
                let density = (-surprise * surprise / variance / 2.0).exp() / variance.sqrt();
                let weight = known.hypothesis.weight * density;
                likely += weight;
                let step = surprise / variance;
                for ((sum, mean), covariance) in after.iter_mut().zip(&known.mean).zip(covariance) {
                    *sum += weight * (mean + covariance * step);
                }
            }
        }
        // The means after each outcome are still multiplied by how likely that is.
        after.iter().map(|means| highest(means)).sum::<f64>() / likely
    }
}

fn highest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
