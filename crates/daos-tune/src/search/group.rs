//! Samples of the same point, put together.

use super::search::{At, Sample};

/// What was measured at a point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    /// Where.
    pub at: At,
    /// Number of scores.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for a single one.
    pub sd: f64,
}

/// A group for each point with a score, in the order in which they were first measured.
pub(super) fn groups(samples: &[Sample]) -> Vec<Group> {
    let scored = samples.iter().filter_map(|sample| Some((&sample.at, sample.score?)));
    let group = |(at, scores): (&At, Vec<f64>)| {
        let (mean, sd) = mean_and_sd(&scores);
        Group { at: at.clone(), count: scores.len(), mean, sd }
    };
    by_point(scored).into_iter().map(group).collect()
}

/// All that belongs to the same point, in the order in which the points come first.
pub fn by_point<P: PartialEq, T>(all: impl IntoIterator<Item = (P, T)>) -> Vec<(P, Vec<T>)> {
    let mut points: Vec<(P, Vec<T>)> = Vec::new();
    for (at, one) in all {
        match points.iter_mut().find(|(there, _)| *there == at) {
            Some((_, same)) => same.push(one),
            None => points.push((at, vec![one])),
        }
    }
    points
}

/// The mean, and the standard deviation of a single value from it; 0 of a single one.
pub fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count.max(2) - 1) as f64).sqrt())
}

/// The standard deviation of a single score, and its degrees of freedom: from the groups
/// of more than one; from all that was measured if there are none, which is too much
/// rather than too little.
pub(super) fn noise(groups: &[Group]) -> (f64, usize) {
    let free: usize = groups.iter().map(|group| group.count - 1).sum();
    if free > 0 {
        let squares = groups.iter().map(|group| group.sd.powi(2) * (group.count - 1) as f64);
        return ((squares.sum::<f64>() / free as f64).sqrt(), free);
    }
    let free = groups.len().saturating_sub(1);
    let mean = groups.iter().map(|group| group.mean).sum::<f64>() / groups.len().max(1) as f64;
    let squares: f64 = groups.iter().map(|group| (group.mean - mean).powi(2)).sum();
    ((squares / free.max(1) as f64).sqrt(), free)
}
