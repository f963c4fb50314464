//! A plot of a metric: for each workload a bar for each configuration, the mean, and a dot for
//! each run.

use super::super::Plot;
use super::escaped;
use crate::suite::results::mean;

/// Width of the drawing, and of the names and the margin beside it.
const WIDTH: f64 = 900.0;
const NAMES: f64 = 170.0;
const MARGIN: f64 = 20.0;
/// Height of a bar, and of what is between two workloads.
const BAR: f64 = 11.0;
const GAP: f64 = 9.0;
/// Height of legend and of the scale's numbers.
const LEGEND: f64 = 26.0;
const SCALE: f64 = 22.0;
/// Colours that there are.
const COLOURS: usize = 8;
/// Steps on the scale, at most.
const STEPS: f64 = 8.0;

pub fn render(plot: &Plot) -> String {
    let Plot { metric, configurations, rows } = plot;
    let row_height = BAR * configurations.len() as f64 + GAP;
    let height = LEGEND + row_height * rows.len() as f64 + SCALE;
    let (low, high, step) = scale(plot);
    let x = |percent: f64| {
        NAMES + (WIDTH - NAMES - MARGIN) * (percent.clamp(low, high) - low) / (high - low)
    };
    let mut out = format!(
        "<figure>\n<figcaption>{}: {}, percent more (what is beyond 100 stands at the edge)</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">\n",
        metric.name(),
        escaped(metric.about()),
        metric.name()
    );
    let mut at = NAMES;
    for (number, name) in configurations.iter().enumerate() {
        let colour = number % COLOURS;
        out += &format!(
            "<rect class=\"c{colour}\" x=\"{at:.0}\" y=\"6\" width=\"10\" height=\"10\"/><text x=\"{:.0}\" y=\"15\">{}</text>\n",
            at + 14.0,
            escaped(name)
        );
        at += 34.0 + 7.5 * name.chars().count() as f64;
    }
    let bottom = height - SCALE;
    for (number, _) in rows.iter().enumerate().filter(|(number, _)| number % 2 == 1) {
        let top = LEGEND + row_height * number as f64;
        out += &format!(
            "<rect class=\"stripe\" x=\"0\" y=\"{top:.1}\" width=\"{WIDTH}\" height=\"{row_height:.1}\"/>\n"
        );
    }
    let mut tick = low;
    while tick <= high + step / 2.0 {
        let (class, place) = (if tick.abs() < step / 2.0 { "zero" } else { "grid" }, x(tick));
        out += &format!(
            "<line class=\"{class}\" x1=\"{place:.1}\" x2=\"{place:.1}\" y1=\"{LEGEND}\" y2=\"{bottom:.1}\"/><text class=\"quiet\" x=\"{place:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.0}</text>\n",
            bottom + 15.0,
            tick + 0.0
        );
        tick += step;
    }
    for (number, (workload, runs)) in rows.iter().enumerate() {
        let top = LEGEND + row_height * number as f64 + GAP / 2.0;
        out += &format!(
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            NAMES - 10.0,
            top + (row_height - GAP) / 2.0 + 4.0,
            escaped(workload)
        );
        for (place, (runs, name)) in runs.iter().zip(configurations).enumerate() {
            let (top, colour) = (top + BAR * place as f64, place % COLOURS);
            let Some(mean) = mean(runs) else { continue };
            let (from, to) = (x(0.0).min(x(mean)), x(0.0).max(x(mean)));
            out += &format!(
                "<rect class=\"bar c{colour}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}, {}: {mean:+.2} %</title></rect>\n",
                top + 1.0,
                (to - from).max(0.5),
                BAR - 2.0,
                escaped(workload),
                escaped(name)
            );
            for run in runs {
                out += &format!(
                    "<circle class=\"c{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.2\"/>",
                    x(*run),
                    top + BAR / 2.0
                );
            }
            out += "\n";
        }
    }
    out + "</svg>\n</figure>\n"
}

/// The lowest and highest percentage that are drawn, and a round step between them. What is
/// beyond a hundred is drawn at the edge.
fn scale(plot: &Plot) -> (f64, f64, f64) {
    let all = plot.rows.iter().flat_map(|(_, configs)| configs.iter().flatten().copied());
    let (low, high) =
        all.fold((0.0f64, 0.0f64), |(low, high), percent| (low.min(percent), high.max(percent)));
    let (low, high) = (low.max(-100.0), high.min(100.0));
    let span = (high - low).max(2.0);
    let magnitude = 10f64.powf((span / STEPS).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
    let step = steps.into_iter().find(|step| span / step <= STEPS).unwrap_or(magnitude * 10.0);
    let step = step.max(1.0);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    (low, if high > low { high } else { low + step }, step)
}
