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
    let mut all: Vec<(&At, Vec<f64>)> = Vec::new();
    for sample in samples {
        let Some(score) = sample.score else { continue };
        match all.iter_mut().find(|(at, _)| **at == sample.at) {
            Some((_, scores)) => scores.push(score),
            None => all.push((&sample.at, vec![score])),
        }
    }
    let group = |(at, scores): (&At, Vec<f64>)| {
        let count = scores.len();
        let mean = scores.iter().sum::<f64>() / count as f64;
        let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
        let sd = (squares / (count.max(2) - 1) as f64).sqrt();
        Group { at: at.clone(), count, mean, sd }
    };
    all.into_iter().map(group).collect()
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
