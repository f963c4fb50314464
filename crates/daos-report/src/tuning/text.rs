//! A tuning in a terminal: a chart of characters for each threshold.

use super::chart::{Chart, cell};
use super::legend::{self, Sign};
use super::scale::Scale;
use super::{TuningPanel, TuningView};
use crate::format::RenderError;
use crate::names;
use crate::terminal::{Style, axis, painted, row};
use std::io::Write;

/// Most columns of a chart.
const COLUMNS: usize = 72;

/// Lines of a chart, if there is one and if there are several.
const LINES: (usize, usize) = (18, 12);

/// Writes headline, charts and legend.
pub fn write(view: &TuningView, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "{}", view.title)?;
    if let Some(subtitle) = &view.subtitle {
        writeln!(out, "{subtitle}")?;
    }
    if view.is_empty() {
        writeln!(out, "nothing was measured")?;
        return Ok(());
    }
    let scale = Scale::of(view);
    let lines = if view.panels.len() == 1 { LINES.0 } else { LINES.1 };
    let ticks = scale.ticks(lines / 3);
    let gutter = ticks.iter().map(|tick| tick.label.len()).max().unwrap_or(0).max(5);
    let columns = style.room(gutter + 4).min(COLUMNS);
    for panel in &view.panels {
        let mut chart = Chart::new(columns, lines, &scale, style);
        chart.draw(panel, view.baseline());
        writeln!(out)?;
        if let Some(line) = peak_line(panel, &chart, gutter) {
            writeln!(out, "{line}")?;
        }
        let mut labels = vec![String::new(); lines];
        for tick in &ticks {
            if let Some(line) = chart.line(tick.value) {
                labels[line].clone_from(&tick.label);
            }
        }
        for (cells, label) in chart.cells.iter().zip(labels) {
            writeln!(out, "{}", row(&label, gutter, &painted(cells, style), style))?;
        }
        write_axis(panel, &chart, gutter, style, out)?;
    }
    write_legend(legend::entries(view, &scale), style, out)
}

/// What the peak is called, over its column.
fn peak_line(panel: &TuningPanel, chart: &Chart<'_>, gutter: usize) -> Option<String> {
    let (place, at, label) = panel.peak.as_ref()?;
    let text = format!("{label}: {}", chart.scale.expected(at));
    let text = names::printable_to(&text, chart.columns);
    let text = centred(&text, chart.column(*place), chart.columns);
    Some(format!("{:gutter$}  {text}", ""))
}

/// `text` with its middle at a column, moved if it would not fit into `columns`.
fn centred(text: &str, column: usize, columns: usize) -> String {
    let length = text.chars().count();
    let start = column.saturating_sub(length / 2).min(columns.saturating_sub(length));
    format!("{:start$}{text}", "")
}

/// The axis with as many labels as fit, and its name.
fn write_axis(
    panel: &TuningPanel,
    chart: &Chart<'_>,
    gutter: usize,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let labels = panel.ticks.iter().map(|(place, label)| (chart.column(*place), &label[..]));
    let (line, numbers) = axis(chart.columns, &labels.collect::<Vec<_>>(), style);
    writeln!(out, "{:gutter$} {line}", "")?;
    if !numbers.is_empty() {
        writeln!(out, "{:gutter$} {numbers}", "")?;
    }
    if !panel.name.is_empty() {
        writeln!(
            out,
            "{:gutter$}  {}",
            "",
            centred(&panel.name, chart.columns / 2, chart.columns)
        )?;
    }
    Ok(())
}

fn write_legend(
    entries: Vec<(Sign, String)>,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    writeln!(out)?;
    let width = |(_, text): &(Sign, String)| text.chars().count() as f64 + 5.0;
    for row in legend::rows(entries, style.room(2) as f64, width) {
        let entry = |(sign, text): &(Sign, String)| {
            let text = if style.unicode { text.clone() } else { text.replace('±', "+-") };
            format!("{} {text}", painted(&[cell(*sign, style.unicode)], style))
        };
        let row: Vec<_> = row.iter().map(entry).collect();
        writeln!(out, "  {}", row.join("   "))?;
    }
    Ok(())
}
