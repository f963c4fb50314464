//! A tuning as a picture: headline, legend, and a panel for each threshold.

use super::TuningView;
use super::legend::{self, Sign};
use super::marks::{self, SIGN};
use super::plot::Plot;
use super::scale::Scale;
use crate::canvas::{Anchor, Canvas, GREY, INK, Rect, fitting, text_width};
use crate::names;

/// Where text and the legend are.
const LEFT: f64 = 40.0;
const ROOM: f64 = 1120.0;

/// Where the panels are, from left to right and down to the axis of the lowest.
const PANELS: (f64, f64) = (110.0, 1160.0);
const FLOOR: f64 = 638.0;

/// What lies between panels side by side.
const BETWEEN: f64 = 36.0;

/// Height of a panel's labels below it, and of its peak's label above it.
const BELOW: f64 = 62.0;
const ABOVE: f64 = 48.0;

/// What is left free above panels without a peak.
const FREE: f64 = 16.0;

/// Draws all of it.
pub fn draw(view: &TuningView) -> Canvas {
    let mut canvas = Canvas::default();
    canvas.text((LEFT, 40.0), 18.0, Anchor::Start, INK, &view.title);
    let mut y = 64.0;
    for line in lines(view.subtitle.as_deref().unwrap_or_default()) {
        canvas.text((LEFT, y), 13.0, Anchor::Start, GREY, &line);
        y += 18.0;
    }
    if view.is_empty() {
        let middle = (LEFT + ROOM / 2.0, 350.0);
        canvas.text(middle, 15.0, Anchor::Middle, GREY, "nothing was measured");
        return canvas;
    }
    let scale = Scale::of(view);
    let top = draw_legend(&mut canvas, legend::entries(view, &scale), y + 8.0);
    let above = if view.panels.iter().any(|panel| panel.peak.is_some()) { ABOVE } else { FREE };
    for (index, area) in areas(view.panels.len(), top, above).into_iter().enumerate() {
        let plot = Plot { area, scale: &scale, labelled: area.x == PANELS.0 };
        plot.draw(&mut canvas, &view.panels[index], view.baseline());
    }
    canvas
}

/// A subtitle on one line, or on two.
fn lines(text: &str) -> Vec<String> {
    let most = fitting(ROOM, 13.0);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = &lines[lines.len() - 1];
        if lines.len() == 1 && line.chars().count() + 1 + word.chars().count() > most {
            lines.push(String::new());
        }
        let line = lines.len() - 1;
        lines[line] += word;
        lines[line] += " ";
    }
    lines.iter().map(|line| names::printable_to(line, most)).collect()
}

/// Draws the legend in as many rows as it takes, and returns where it ends.
fn draw_legend(canvas: &mut Canvas, entries: Vec<(Sign, String)>, top: f64) -> f64 {
    let width = |(_, text): &(Sign, String)| SIGN + 8.0 + text_width(text, 12.0) + 18.0;
    let mut y = top;
    for row in legend::rows(entries, ROOM, width) {
        let mut x = LEFT;
        for entry in row {
            marks::sign(canvas, (x, y), entry.0);
            canvas.text((x + SIGN + 8.0, y + 4.0), 12.0, Anchor::Start, INK, &entry.1);
            x += width(&entry);
        }
        y += 24.0;
    }
    y
}

/// Where each panel is: in rows of up to three, of four two by two.
fn areas(count: usize, top: f64, above: f64) -> Vec<Rect> {
    let columns = if count == 4 { 2 } else { count.clamp(1, 3) };
    let rows = count.div_ceil(columns);
    let w = (PANELS.1 - PANELS.0 - BETWEEN * (columns - 1) as f64) / columns as f64;
    let each = (FLOOR + BELOW - top) / rows as f64;
    let area = |index: usize| {
        let (row, column) = (index / columns, index % columns);
        let x = PANELS.0 + column as f64 * (w + BETWEEN);
        let y = top + above + row as f64 * each;
        Rect { x, y, w, h: each - above - BELOW }
    };
    (0..count).map(area).collect()
}
