//! Samples of the same point, put together.

use super::{At, ConfidenceInterval, Estimate, Sample};
use crate::math::MeanSd;

/// The scores that were measured at a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// Where.
    pub at: At,
    /// Number of scores.
    pub count: usize,
    /// Their mean and standard deviation.
    pub score: MeanSd,
}

/// A group for each point with a score, in the order in which they were first measured.
pub(super) fn groups(samples: &[Sample]) -> Vec<Group> {
    let scored = samples.iter().filter_map(|sample| Some((&sample.at, sample.score?)));
    let group = |(at, scores): (&At, Vec<f64>)| Group {
        at: at.clone(),
        count: scores.len(),
        score: MeanSd::of(&scores),
    };
    by_point(scored).into_iter().map(group).collect()
}

/// All that belongs to the same point, in the order in which the points come first.
pub(crate) fn by_point<P: PartialEq, T>(all: impl IntoIterator<Item = (P, T)>) -> Vec<(P, Vec<T>)> {
    let mut points: Vec<(P, Vec<T>)> = Vec::new();
    for (at, one) in all {
        match points.iter_mut().find(|(there, _)| *there == at) {
            Some((_, same)) => same.push(one),
            None => points.push((at, vec![one])),
        }
    }
    points
}

/// The standard deviation of a single score, and its degrees of freedom: from the groups
/// of more than one; from all that was measured if there are none, which is too much
/// rather than too little.
fn noise(groups: &[Group]) -> (f64, usize) {
    let free: usize = groups.iter().map(|group| group.count - 1).sum();
    if free > 0 {
        let squares = groups.iter().map(|group| group.score.sd.powi(2) * (group.count - 1) as f64);
        return ((squares.sum::<f64>() / free as f64).sqrt(), free);
    }
    let means: Vec<f64> = groups.iter().map(|group| group.score.mean).collect();
    (MeanSd::of(&means).sd, groups.len().saturating_sub(1))
}

/// The point with the highest mean; `None` without a point that was measured. The interval
/// is so wide that it holds though the point was picked for being the highest, and though
/// the noise may be known from few repeats.
pub(super) fn highest(told: &[Sample]) -> Option<Estimate> {
    let groups = groups(told);
    if groups.iter().all(|group| group.at == At::NoScheme) {
        return None;
    }
    let (noise, free) = noise(&groups);
    let best = groups.iter().max_by(|a, b| a.score.mean.total_cmp(&b.score.mean))?;
    let of =
        |group: &Group| MeanSd { mean: group.score.mean, sd: noise / (group.count as f64).sqrt() };
    let score = of(best);
    let gain = match groups.iter().find(|group| group.at == At::NoScheme).map(of) {
        Some(_) if best.at == At::NoScheme => MeanSd { mean: 0.0, sd: 0.0 },
        Some(none) => MeanSd { mean: score.mean - none.mean, sd: score.sd.hypot(none.sd) },
        None => score,
    };
    let interval = |of| ConfidenceInterval::student(of, free, groups.len());
    Some(Estimate { at: best.at.clone(), score: interval(score), gain: interval(gain) })
}
