//! A tuning in which every number can be drawn and every text written.

use super::{Expected, MOST_PANELS, Measured, TuningPanel, TuningView};
use crate::names;

/// Longest subtitle, in characters.
const LONGEST: usize = 280;

/// A copy without what can't be drawn: numbers that are none or are huge, places outside 0 to 1,
/// control characters, panels for which there is no room.
pub fn cleaned(view: &TuningView) -> TuningView {
    let shown = view.panels.len().min(MOST_PANELS);
    let mut subtitle = view.subtitle.as_ref().map(|text| names::printable_to(text, LONGEST));
    if shown < view.panels.len() {
        let note = format!("the first {shown} of {} thresholds are shown", view.panels.len());
        subtitle = Some(subtitle.map_or(note.clone(), |text| format!("{text}; {note}")));
    }
    TuningView {
        title: names::printable_to(&view.title, 100),
        subtitle,
        panels: view.panels[..shown].iter().map(panel).collect(),
        baselines: view.baselines.iter().copied().filter(|&score| is_score(score)).collect(),
    }
}

fn panel(panel: &TuningPanel) -> TuningPanel {
    let ticks = panel.ticks.iter().filter(|(place, _)| is_place(*place));
    let mut ticks: Vec<_> =
        ticks.map(|(place, label)| (*place, names::printable_to(label, 20))).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let points = panel.points.iter().filter(|p| is_place(p.place) && is_score(p.score));
    let mut points: Vec<_> = points.copied().map(with_spread).collect();
    points.sort_by_key(|point| point.kind);
    let curve = panel.curve.iter().filter(|(place, at)| is_place(*place) && is_known(at));
    let mut curve: Vec<_> = curve.copied().collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let peak = panel.peak.as_ref().filter(|(place, at, _)| is_place(*place) && is_known(at));
    TuningPanel {
        name: names::printable(&panel.name),
        ticks,
        points,
        curve,
        peak: peak.map(|(place, at, label)| (*place, *at, names::printable(label))),
    }
}

/// A point that has a standard deviation only if it can be drawn.
fn with_spread(point: Measured) -> Measured {
    Measured { sd: point.sd.filter(|&sd| is_score(sd) && sd > 0.0), ..point }
}

/// Not beyond what can be written beside an axis; not a number is none either.
fn is_score(score: f64) -> bool {
    score.abs() <= 1e15
}

fn is_place(place: f64) -> bool {
    (0.0..=1.0).contains(&place)
}

fn is_known(at: &Expected) -> bool {
    [at.mean, at.low, at.high].iter().all(|&score| is_score(score))
}
