//! What came out of a tuning, to be drawn.

use super::{PointStats, SampleRecord, Tuning, TuningError, TuningResult};
use crate::score::SampleScore;
use crate::search::{ConfidenceInterval, Why};
use crate::space::{At, Param};
use daos_report::tuning::{Expected, Measured, PointKind, TuningPanel, TuningView};

/// Points that a fitted curve is drawn through.
const CURVE_POINTS: usize = 100;

/// What there is to see under a title: a panel for each threshold. The curve along a
/// threshold is that where the others are as at the best point.
///
/// # Errors
///
/// More thresholds than the method can tune.
pub fn view(
    tuning: &mut Tuning,
    result: &TuningResult,
    title: String,
    subtitle: Option<String>,
) -> Result<TuningView, TuningError> {
    let scores = tuning.scores();
    let baselines = tuning.records().iter().zip(scores).filter(|(record, _)| record.is_baseline());
    let baselines = baselines.filter_map(|(_, scored)| Some(scored.ok()?.score)).collect();
    // The paper's method knows no ratios.
    let space = tuning.axes();
    let panels = (0..space.dims()).map(|at| panel(tuning, result, at, &space.params()[at]));
    let panels = panels.collect::<Result<_, _>>()?;
    Ok(TuningView { title, subtitle, panels, baselines })
}

fn panel(
    tuning: &mut Tuning,
    result: &TuningResult,
    at: usize,
    param: &Param,
) -> Result<TuningPanel, TuningError> {
    let best = result.best.as_ref().filter(|_| result.scheme.is_some());
    let peak = best.and_then(|best| {
        let value = best.at.values()?[at];
        Some((param.place(value), expected(best.score), param.show(value)))
    });
    Ok(TuningPanel {
        name: param.threshold.name().to_owned(),
        ticks: param.marks().iter().map(|&m| (param.place(m), param.threshold.show(m))).collect(),
        points: points(tuning, result, at, param)?,
        curve: curve(tuning, result, at, param)?,
        peak,
    })
}

fn points(
    tuning: &mut Tuning,
    result: &TuningResult,
    at: usize,
    param: &Param,
) -> Result<Vec<Measured>, TuningError> {
    let place = |point: &At| point.values().map(|values| param.place(values[at]));
    if tuning.is_sweep() {
        let point = |point: &PointStats| {
            let sd = (point.count > 1).then_some(point.score.sd);
            let (place, score) = (place(&point.at)?, point.score.mean);
            Some(Measured { place, score, sd, kind: PointKind::Mean })
        };
        return Ok(result.points.iter().filter_map(point).collect());
    }
    let scores = tuning.scores();
    let point = |(record, scored): (&SampleRecord, SampleScore)| {
        let kind = match record.why {
            Why::Improve => PointKind::Improve,
            Why::Repeat => PointKind::Repeat,
            Why::Explore | Why::Baseline => PointKind::Explore,
        };
        Some(Measured { place: place(&record.at)?, score: scored.ok()?.score, sd: None, kind })
    };
    Ok(tuning.records().iter().zip(scores).filter_map(point).collect())
}

fn curve(
    tuning: &mut Tuning,
    result: &TuningResult,
    at: usize,
    param: &Param,
) -> Result<Vec<(f64, Expected)>, TuningError> {
    if let Some(classification) = &result.classification {
        // From the gentlest to the most aggressive value.
        let last = classification.curve.len().saturating_sub(1).max(1) as f64;
        let value = |i: usize| param.value(i as f64 / last);
        let all = classification.curve.iter().enumerate();
        let mut curve: Vec<_> = all
            .map(|(i, &mean)| (param.place(value(i)), Expected { mean, low: mean, high: mean }))
            .collect();
        curve.sort_by(|a, b| a.0.total_cmp(&b.0));
        return Ok(curve);
    }
    let units = match result.best.as_ref().and_then(|best| tuning.space().units(&best.at)) {
        Some(units) => units,
        None => vec![0.5; tuning.space().dims()],
    };
    let At::Point(values) = tuning.space().point(&units) else { return Ok(Vec::new()) };
    let along: Vec<At> = (0..=CURVE_POINTS)
        .map(|i| {
            let mut values = values.clone();
            values[at] = param.value(i as f64 / CURVE_POINTS as f64);
            At::Point(values)
        })
        .collect();
    let expectations = tuning.curve(&along)?;
    let place = |point: &At| point.values().map_or(0.0, |values| param.place(values[at]));
    let mut curve: Vec<_> =
        along.iter().map(place).zip(expectations.into_iter().map(expected)).collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(curve)
}

/// Without a band where nothing is known of how sure it is.
fn expected(ConfidenceInterval { mean, low, high }: ConfidenceInterval) -> Expected {
    let known = |bound: f64| if bound.is_finite() { bound } else { mean };
    Expected { mean, low: known(low), high: known(high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{RSS, RUNTIME, Scorer, Scoring, Values};
    use crate::search::{Method, Sweep};
    use crate::space::SearchSpace;
    use crate::tuning::{Aim, TuningEnd, TuningLimits};
    use daos_schemes::text;

    fn record(age_s: Option<f64>, saved: f64) -> SampleRecord {
        SampleRecord {
            at: age_s.map_or(At::NoScheme, |age| At::Point(vec![age * 1e6])),
            why: Why::Improve,
            metrics: Values::from([(RUNTIME.into(), 10.0), (RSS.into(), 100.0 * (1.0 - saved))]),
            beside: None,
            cut_short: false,
            cut_at_loss: None,
            void: None,
            took_s: 10.0,
        }
    }

    fn seen(aim: Aim, records: Vec<SampleRecord>) -> TuningView {
        let scheme = text::parse("4K max min min 5s max pageout", "test").unwrap().remove(0);
        let (limits, scorer) = (TuningLimits::default(), Scorer::new(Scoring::default()));
        let space = match &aim {
            Aim::Best(_) => SearchSpace::default(),
            Aim::Sweep(sweep) => crate::search::Search::space(sweep).clone(),
        };
        let tuning = Tuning::new((scheme, 100_000), space, aim, limits, 1, scorer).unwrap();
        let mut tuning = tuning.after(records);
        let result = TuningResult::of(&mut tuning, TuningEnd::Samples).unwrap();
        view(&mut tuning, &result, "title".to_owned(), None).unwrap()
    }

    #[test]
    fn a_tuning_has_its_points_curve_and_peak() {
        let ages = [0.0, 5.0, 10.0, 20.0, 40.0, 60.0];
        let records = std::iter::once(record(None, 0.0))
            .chain(ages.map(|age| record(Some(age), 0.5 - age / 120.0)));
        let view = seen(Aim::Best(Method::Gp), records.collect());
        assert_eq!(view.baselines, [0.0]);
        let [panel] = &view.panels[..] else { panic!("{view:?}") };
        assert_eq!(panel.points.len(), 6);
        assert!(panel.points.iter().all(|point| point.kind == PointKind::Improve));
        // Older is to the right, and scores less.
        assert_eq!((panel.points[0].place, panel.points[5].place), (0.0, 1.0));
        let scores = (panel.points[0].score, panel.points[5].score);
        assert!((scores.0 - 0.25).abs() < 1e-3 && scores.1.abs() < 1e-3, "{scores:?}");
        assert_eq!(panel.curve.len(), 101);
        assert!(panel.curve[0].1.mean > panel.curve[100].1.mean);
        let (place, _, label) = panel.peak.as_ref().unwrap();
        assert!(*place < 0.2 && label.starts_with("min_age="), "{place} {label}");
    }

    #[test]
    fn a_sweep_has_means_and_a_fitted_shape() {
        let sweep = Sweep::parse(["min_age=0s..60s/5s"], 2, 1).unwrap();
        let ages = || (0..=12).map(|at| f64::from(at) * 5.0);
        let at = |more: f64| ages().map(move |age| record(Some(age), 0.5 - age / 120.0 + more));
        let records = std::iter::once(record(None, 0.0)).chain(at(0.0)).chain(at(0.02));
        let view = seen(Aim::Sweep(sweep), records.collect());
        let panel = &view.panels[0];
        assert_eq!((panel.points.len(), panel.curve.len()), (13, 201));
        assert!(panel.points.iter().all(|p| p.kind == PointKind::Mean && p.sd > Some(0.0)));
        let (first, last) = (panel.curve[0], panel.curve[200]);
        assert!(first.0 == 0.0 && last.0 == 1.0 && first.1.mean > last.1.mean + 0.2);
    }
}
