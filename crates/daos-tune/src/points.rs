//! What was measured at each point of a sweep, over its repeats.

use crate::record::Record;
use crate::scorer::{ScoreOf, Scored};
use crate::search::{At, by_point, mean_and_sd};
use serde::Serialize;

/// A point and its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct PointStats {
    /// Where.
    pub at: At,
    /// Number of samples with a score.
    pub count: usize,
    /// Performance gained, as a share.
    pub performance: Spread,
    /// Memory saved, as a share.
    pub memory: Spread,
    /// The score.
    pub score: Spread,
}

/// A mean and how far samples are from it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 of a single sample.
    pub sd: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mean, sd) = mean_and_sd(&values.collect::<Vec<_>>());
        Self { mean, sd }
    }
}

/// The points with a score: no scheme first, then by their values.
pub fn points(records: &[Record], scores: &[ScoreOf]) -> Vec<PointStats> {
    let scored = records.iter().zip(scores);
    let scored = scored.filter_map(|(record, scored)| Some((record.at(), *scored.as_ref().ok()?)));
    let mut all = by_point(scored);
    all.sort_by(|(a, _), (b, _)| match (a, b) {
        (At::Point(a), At::Point(b)) => a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal),
        _ => (*a != At::NoScheme).cmp(&(*b != At::NoScheme)),
    });
    let stats = |(at, samples): (At, Vec<Scored>)| PointStats {
        at,
        count: samples.len(),
        performance: Spread::of(samples.iter().map(|sample| sample.performance)),
        memory: Spread::of(samples.iter().map(|sample| sample.memory)),
        score: Spread::of(samples.iter().map(|sample| sample.score)),
    };
    all.into_iter().map(stats).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Values;

    #[test]
    fn repeats_are_put_together() {
        let record = |at: Option<f64>| Record {
            at: at.map(|value| vec![value]),
            why: "explore".to_owned(),
            metrics: Values::new(),
            cut_short: false,
            void: None,
            took_s: 1.0,
        };
        let scored = |score: f64| Ok(Scored { performance: -score, memory: 3.0 * score, score });
        let records = [Some(9.0), None, Some(2.0), Some(9.0), Some(5.0)].map(record);
        let scores = [scored(0.1), scored(0.0), scored(0.5), scored(0.3), Err(String::new())];
        let points = points(&records, &scores);
        let at = |value: f64| At::Point(vec![value]);
        let where_: Vec<&At> = points.iter().map(|point| &point.at).collect();
        assert_eq!(where_, [&At::NoScheme, &at(2.0), &at(9.0)]);
        let last = &points[2];
        assert_eq!((last.count, points[1].score.sd), (2, 0.0));
        assert!((last.score.mean - 0.2).abs() < 1e-12 && (last.memory.mean - 0.6).abs() < 1e-12);
        assert!((last.score.sd - 0.02f64.sqrt()).abs() < 1e-12);
    }
}
