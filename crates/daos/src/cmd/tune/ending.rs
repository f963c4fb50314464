//! What came out: kept in the directory, and told.

use super::table::span;
use crate::cli::{Color, When};
use crate::cmd::report::output;
use anyhow::{Context, Result};
use daos_core::text::safe;
use daos_report::tuning::{TuningView, render};
use daos_report::{Format, Style};
use daos_schemes::{self, text};
use daos_tune::{
    At, ConfidenceInterval, MeanSd, PointStats, SearchSpace, Store, Tuning, TuningEnd, TuningResult,
};
use std::io::Write;

/// Writes the result, the scheme and the pictures.
pub fn keep(
    tuning: &Tuning,
    result: &TuningResult,
    picture: &TuningView,
    store: &Store,
) -> Result<()> {
    store.write_result(result)?;
    for (name, format) in [("plot.svg", Format::Svg), ("plot.png", Format::Png)] {
        let mut file = Vec::new();
        render(picture, format, &Style::default(), &mut file)?;
        store.write(name, &file)?;
    }
    match &result.scheme {
        None => SCHEMES.iter().try_for_each(|name| store.remove(name))?,
        Some(scheme) => {
            let head = comment(tuning, result)?;
            let [plain, table] = SCHEMES;
            let is_plain = text::says_all(scheme);
            let (name, other) = if is_plain { (plain, table) } else { (table, plain) };
            let body = daos_schemes::format(scheme);
            store.write(name, format!("{head}{}\n", body.trim_end()).as_bytes())?;
            store.remove(other)?;
        }
    }
    Ok(())
}

/// The scheme as text, or as TOML if it has more than text has room for.
const SCHEMES: [&str; 2] = ["best.scheme", "best.toml"];

/// Less than this share that sides differ by is not worth a line.
const TOLD: f64 = 0.001;

/// What a reader of the scheme file would like to know.
fn comment(tuning: &Tuning, result: &TuningResult) -> Result<String> {
    let best = result.best.as_ref().context("a scheme is the best of something")?;
    let at = tuning.space().show(&best.at);
    let (from, samples) = (tuning.scheme().label(), result.samples);
    let score = interval(best.score);
    Ok(format!("# Tuned by daos from {from}:\n# {at}, by {samples} samples.\n# Score {score}.\n"))
}

/// What is drawn.
pub fn picture(tuning: &mut Tuning, result: &TuningResult, title: String) -> Result<TuningView> {
    let subtitle = headline(tuning, result);
    Ok(daos_tune::view(tuning, result, title, Some(subtitle))?)
}

/// Says it to `out`.
pub fn tell(
    tuning: &Tuning,
    result: &TuningResult,
    picture: &TuningView,
    store: &Store,
    out: &mut impl Write,
) -> Result<()> {
    let style = output::style_of_stdout(&Color { color: When::Auto });
    let took = span(result.took_s as u64);
    let why = match result.end {
        TuningEnd::Samples => "all samples are taken",
        TuningEnd::Time => "there is no time for another sample",
        TuningEnd::Void => void(tuning),
        TuningEnd::TooShort => "the limit has no time for another sample: one run takes most of it",
        TuningEnd::Gone => "the service has ended",
        TuningEnd::Interrupted => "interrupted",
    };
    writeln!(out)?;
    writeln!(out, "{why}: {} in {took}, {} void", result.samples, result.void)?;
    if let Some(more) = result.sides.filter(|more| more.abs() >= TOLD) {
        let (metric, share) = (tuning.scorer().performance(), 100.0 * more.abs());
        let which = if more > 0.0 { "more" } else { "less" };
        writeln!(
            out,
            "{metric} is {share:.1} % {which} on the first half of the CPUs, which is taken off"
        )?;
    }
    if !result.points.is_empty() {
        points(tuning.space(), &result.points, out)?;
    }
    if result.best.is_some() {
        writeln!(out)?;
        let view = TuningView { subtitle: None, ..picture.clone() };
        render(&view, Format::Text, &style, out)?;
        writeln!(out)?;
    }
    if let Some(headline) = &picture.subtitle {
        writeln!(out, "{}", safe(headline))?;
    }
    if let Some(measured) = &result.measured {
        let at = tuning.space().show(&measured.at);
        writeln!(out, "{}", near_best(&at, measured, tuning.scorer().max_loss()))?;
    }
    let dir = safe(&store.dir().display().to_string());
    if result.scheme.is_some() {
        let name = SCHEMES.into_iter().find(|name| store.path(name).exists());
        let name = name.unwrap_or(SCHEMES[0]);
        writeln!(out, "apply it with: daos apply --scheme {dir}/{name} …")?;
    }
    writeln!(out, "kept in {dir}: samples.jsonl, result.json")?;
    if result.end == TuningEnd::Interrupted {
        writeln!(out, "the same command with --out {dir} goes on with it")?;
    }
    Ok(())
}

/// What was measured `at` a point near the best, and whether more was lost there than was asked
/// for: the score weighs that, and does not rule it out.
fn near_best(at: &str, measured: &PointStats, max_loss: f64) -> String {
    let change = |share: f64, more: &str, less: &str| {
        let which = if share < 0.0 { less } else { more };
        format!("{:.1} % {which}", 100.0 * share.abs())
    };
    let performance = change(measured.performance.mean, "faster", "slower");
    let memory = change(measured.memory.mean, "less memory", "more memory");
    let of = match measured.count {
        1 => "one sample".to_owned(),
        count => format!("mean of {count} samples"),
    };
    let line = format!("measured at {at}: {performance}, {memory} ({of})");
    if -measured.performance.mean <= max_loss {
        return line;
    }
    let asked = 100.0 * max_loss;
    format!("{line}; that is more than --max-loss {asked}%")
}

/// Which failures ended it: with the scheme alone, if it went well without between them, or all.
fn void(tuning: &Tuning) -> &'static str {
    let mut last = tuning.records().iter().rev().take(3);
    match last.any(|record| record.is_baseline() && record.void.is_none()) {
        true => "it fails with the scheme, whatever its thresholds, and not without",
        false => "three samples in a row were void",
    }
}

/// Why it is no success, if it is none.
pub fn failure(tuning: &mut Tuning, result: &TuningResult) -> Option<String> {
    let last = tuning.scores().pop().and_then(Result::err).unwrap_or_default();
    match result.end {
        TuningEnd::Void => Some(format!("{}; the last: {last}", void(tuning))),
        TuningEnd::Gone => Some("the service has ended, and with it the tuning".to_owned()),
        TuningEnd::TooShort => {
            let (run, enough) = (result.took_s, (11.0 * result.took_s).ceil());
            Some(format!(
                "one run took {run:.1} s, so the limit leaves no time for another: give \
                 --limit {enough}s or more"
            ))
        }
        _ if result.best.is_none() && !last.is_empty() => {
            Some(format!("nothing has a score; the last sample: {last}"))
        }
        _ if result.best.is_none() => Some("nothing was measured beside baselines".to_owned()),
        _ => None,
    }
}

/// Every point of a sweep, with mean and standard deviation.
fn points(space: &SearchSpace, points: &[PointStats], out: &mut impl Write) -> Result<()> {
    let names: Vec<String> = points.iter().map(|point| space.show(&point.at)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let head = ["faster, % ± sd", "saved, % ± sd", "score ± sd"]
        .map(|what| format!("{what:>18}"))
        .concat();
    writeln!(out, "\n  {:width$}  samples{head}", "")?;
    for (name, point) in names.iter().zip(points) {
        let share = |MeanSd { mean, sd }| format!("{:>+10.1} ± {:<5.1}", 100.0 * mean, 100.0 * sd);
        let (p, m) = (share(point.performance), share(point.memory));
        let MeanSd { mean, sd } = point.score;
        writeln!(out, "  {name:width$}  {:>7}{p}{m}{mean:>+10.3} ± {sd:<5.3}", point.count)?;
    }
    Ok(())
}

/// What came out, in a line.
fn headline(tuning: &Tuning, result: &TuningResult) -> String {
    let Some(best) = &result.best else {
        let missing = if result.baselines == 0 { "without a scheme" } else { "with a scheme" };
        return format!("nothing is known yet: no sample {missing} went well");
    };
    let at = tuning.space().show(&best.at);
    let mut line = match (&best.at, &result.scheme) {
        (At::NoScheme, _) => {
            "it runs best without a scheme: all are expected to score less".to_owned()
        }
        (At::Point(_), None) => format!(
            "it runs best without a scheme, as far as is known: {at}, the best of them, gains {}",
            interval(best.gain)
        ),
        (At::Point(_), Some(_)) => {
            format!("best: {at}, better than no scheme by {}", interval(best.gain))
        }
    };
    let too_few = !result.points.is_empty() && result.classification.is_none();
    if too_few && tuning.space().dims() == 1 {
        line += "; too few samples to name a shape";
    }
    if let Some(found) = &result.classification {
        let explained = 100.0 * found.explained;
        line += &match found.shape {
            Some(shape) => format!(
                "; shape {}: {}, the more aggressive the scheme ({explained:.0} % explained)",
                shape.number(),
                shape.description()
            ),
            None => "; no shape: most of what was measured is noise".to_owned(),
        };
    }
    line
}

/// `0.215 (0.190 to 0.240 with 90 % confidence)`.
fn interval(of: ConfidenceInterval) -> String {
    if !of.low.is_finite() || !of.high.is_finite() {
        return format!("{:.3} (how sure that is can't be said)", of.mean);
    }
    let confidence = 100.0 * daos_tune::CONFIDENCE;
    format!("{:.3} ({:.3} to {:.3} with {confidence:.0} % confidence)", of.mean, of.low, of.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_near_the_best_point_is_told() {
        let mean = |mean| MeanSd { mean, sd: 0.0 };
        let near_best = |performance, count| {
            let (performance, memory) = (mean(performance), mean(0.5));
            let at = At::Point(vec![5.0]);
            let point = PointStats { at, count, performance, memory, score: mean(0.2) };
            near_best("min_age=5s", &point, 0.01)
        };
        let told = "measured at min_age=5s: 0.8 % slower, 50.0 % less memory (mean of 3 samples)";
        assert_eq!(near_best(-0.008, 3), told);
        assert!(near_best(0.02, 1).starts_with("measured at min_age=5s: 2.0 % faster"));
        let told = near_best(-0.03, 1);
        assert!(told.ends_with("(one sample); that is more than --max-loss 1%"), "{told}");
    }
}
