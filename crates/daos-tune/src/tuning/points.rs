//! What was measured at each point of a sweep, over its repeats.

use super::sample::SampleRecord;
use crate::math::MeanSd;
use crate::score::{SampleScore, Scored};
use crate::search::by_point;
use crate::space::At;

/// A point and its samples.
#[derive(Debug, Clone, PartialEq)]
pub struct PointStats {
    /// Where.
    pub at: At,
    /// Number of samples with a score.
    pub count: usize,
    /// Performance gained, as a share.
    pub performance: MeanSd,
    /// Memory saved, as a share.
    pub memory: MeanSd,
    /// The score.
    pub score: MeanSd,
}

/// The points with a score: no scheme first, then by their values.
pub fn points(records: &[SampleRecord], scores: &[SampleScore]) -> Vec<PointStats> {
    let scored = records.iter().zip(scores);
    let scored = scored.filter_map(|(record, scored)| Some((&record.at, *scored.as_ref().ok()?)));
    let mut all = by_point(scored);
    all.sort_by(|(a, _), (b, _)| match (*a, *b) {
        (At::Point(a), At::Point(b)) => a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal),
        _ => (**a != At::NoScheme).cmp(&(**b != At::NoScheme)),
    });
    let of = |samples: &[Scored], value: fn(&Scored) -> f64| {
        MeanSd::of(&samples.iter().map(value).collect::<Vec<_>>())
    };
    let stats = |(at, samples): (&At, Vec<Scored>)| PointStats {
        at: at.clone(),
        count: samples.len(),
        performance: of(&samples, |sample| sample.performance),
        memory: of(&samples, |sample| sample.memory),
        score: of(&samples, |sample| sample.score),
    };
    all.into_iter().map(stats).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::Values;
    use crate::search::Why;

    #[test]
    fn repeats_are_put_together() {
        let record = |at: Option<f64>| SampleRecord {
            at: at.map_or(At::NoScheme, |value| At::Point(vec![value])),
            why: Why::Explore,
            metrics: Values::new(),
            beside: None,
            cut_short: false,
            cut_at_loss: None,
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
