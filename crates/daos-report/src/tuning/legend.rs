//! What the marks mean, and the rows that this takes.

use super::scale::Scale;
use super::{PointKind, TuningView};

/// What can be seen in a tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A measured point.
    Point(PointKind),
    /// The bar through a point.
    Spread,
    /// The fitted curve.
    Curve,
    /// Where the curve can be as well.
    Band,
    /// The line of no scheme.
    Baseline,
    /// The chosen peak.
    Peak,
    /// A point below the scale.
    Below,
}

/// The signs that a tuning has, and what each means.
pub fn entries(view: &TuningView, scale: &Scale) -> Vec<(Sign, String)> {
    let mut entries = Vec::new();
    for (kind, meaning) in [
        (PointKind::Explore, "measured to explore"),
        (PointKind::Improve, "near the best"),
        (PointKind::Repeat, "measured again"),
        (PointKind::Mean, "mean of the repeats"),
    ] {
        if view.points().any(|point| point.kind == kind && !scale.is_below(point.score)) {
            entries.push((Sign::Point(kind), meaning.to_owned()));
        }
    }
    if view.points().any(|point| point.sd.is_some()) {
        entries.push((Sign::Spread, "± standard deviation".to_owned()));
    }
    let curve = || view.panels.iter().flat_map(|panel| &panel.curve);
    if curve().next().is_some() {
        entries.push((Sign::Curve, "fitted curve".to_owned()));
    }
    if curve().any(|(_, at)| at.low < at.high) {
        entries.push((Sign::Band, "its confidence band".to_owned()));
    }
    if view.panels.iter().any(|panel| panel.peak.is_some()) {
        entries.push((Sign::Peak, "chosen peak".to_owned()));
    }
    if let Some((mean, sd)) = view.baseline() {
        let meaning = match scale.number(sd) {
            sd if sd == scale.number(0.0) => format!("no scheme: {}", scale.number(mean)),
            sd => format!("no scheme: {} ± {sd}", scale.number(mean)),
        };
        entries.push((Sign::Baseline, meaning));
    }
    match scale.below[..] {
        [] => {}
        [score] => entries.push((Sign::Below, format!("below the scale: {}", scale.number(score)))),
        [lowest, ..] => {
            let meaning =
                format!("{} below the scale, down to {}", scale.below.len(), scale.number(lowest));
            entries.push((Sign::Below, meaning));
        }
    }
    entries
}

/// Entries in rows of at most `room`, if each is as wide as `width` says.
pub fn rows<T>(entries: Vec<T>, room: f64, width: impl Fn(&T) -> f64) -> Vec<Vec<T>> {
    let mut rows: Vec<Vec<T>> = Vec::new();
    let mut used = 0.0;
    for entry in entries {
        used += width(&entry);
        match rows.last_mut() {
            Some(row) if used <= room => row.push(entry),
            _ => {
                used = width(&entry);
                rows.push(vec![entry]);
            }
        }
    }
    rows
}
