//! One panel of a tuning's picture.

use super::scale::Scale;
use super::{TuningPanel, marks};
use crate::canvas::{
    Anchor, BLUE, Canvas, GREY, INK, LIGHT_BLUE, Point, RED, Rect, fitting, text_width,
};
use crate::panel::{Axis, Panel};
use crate::{names, ticks};

/// From an end of the axis to the place that is drawn there, in dots.
const INSET: f64 = 16.0;

/// Height of text along the axis.
const SIZE: f64 = 12.0;

/// Points from which on they are drawn smaller.
const MANY: usize = 30;

/// Where a panel is drawn, and how scores are scaled in it.
#[derive(Debug)]
pub struct Plot<'a> {
    /// What lies inside the axes.
    pub area: Rect,
    /// The scale of scores.
    pub scale: &'a Scale,
    /// Whether scores are written beside it.
    pub labelled: bool,
}

impl Plot<'_> {
    /// Draws all of a panel. What is most important is on top.
    pub fn draw(&self, canvas: &mut Canvas, panel: &TuningPanel, baseline: Option<(f64, f64)>) {
        self.frame(canvas);
        self.axis(canvas, panel);
        canvas.clipped(self.area, |canvas| {
            self.bands(canvas, panel, baseline);
            self.lines(canvas, panel, baseline);
        });
        self.points(canvas, panel);
        self.peak(canvas, panel);
    }

    fn frame(&self, canvas: &mut Canvas) {
        let ends = self.scale.ends;
        let mut ticks = self.scale.ticks(((self.area.h / 30.0) as usize).clamp(2, 10));
        // Labels this long need the room of the axis' name.
        let is_long = ticks.iter().any(|tick| tick.label.len() > 7);
        let name = if self.labelled && !is_long { "score (higher is better)" } else { "" };
        if !self.labelled {
            ticks.iter_mut().for_each(|tick| tick.label.clear());
        }
        let x = Axis { name: "", ends: (0.0, 1.0), ticks: Vec::new() };
        let y = Axis { name, ends, ticks };
        Panel { area: self.area, title: "", x, y }.frame(canvas);
        if ends.0 < 0.0 && 0.0 < ends.1 {
            let (_, zero) = self.at(0.0, 0.0);
            canvas.line((self.area.x, zero), (self.area.right(), zero), GREY);
        }
    }

    /// Marks of the threshold's axis, as many labels as fit, and its name.
    fn axis(&self, canvas: &mut Canvas, panel: &TuningPanel) {
        let x = |place| self.at(place, 0.0).0;
        let widths = panel.ticks.iter().map(|(at, label)| (x(*at), text_width(label, SIZE)));
        let step = ticks::step(&widths.collect::<Vec<_>>(), 10.0);
        let floor = self.area.bottom();
        for (index, (place, label)) in panel.ticks.iter().enumerate() {
            let (x, written) = (x(*place), index % step == 0);
            let length = if written { 6.0 } else { 3.0 };
            canvas.line((x, floor), (x, floor + length), GREY);
            if written {
                canvas.text((x, floor + 20.0), SIZE, Anchor::Middle, INK, label);
            }
        }
        let below = (self.area.x + self.area.w / 2.0, floor + 42.0);
        canvas.text(below, 14.0, Anchor::Middle, INK, &panel.name);
    }

    fn bands(&self, canvas: &mut Canvas, panel: &TuningPanel, baseline: Option<(f64, f64)>) {
        let upper = panel.curve.iter().map(|(place, at)| self.at(*place, at.high));
        let lower = panel.curve.iter().rev().map(|(place, at)| self.at(*place, at.low));
        let band: Vec<_> = upper.chain(lower).collect();
        if !band.is_empty() {
            canvas.veil(&band, LIGHT_BLUE, marks::BAND);
        }
        if let Some((mean, sd)) = baseline.filter(|(_, sd)| *sd > 0.0) {
            let [(_, top), (_, bottom)] = [mean + sd, mean - sd].map(|score| self.at(0.0, score));
            let (left, right) = (self.area.x, self.area.right());
            let band = [(left, top), (right, top), (right, bottom), (left, bottom)];
            canvas.veil(&band, GREY, 0.16);
        }
    }

    fn lines(&self, canvas: &mut Canvas, panel: &TuningPanel, baseline: Option<(f64, f64)>) {
        if let Some((mean, _)) = baseline {
            let (_, y) = self.at(0.0, mean);
            canvas.dashed((self.area.x, y), (self.area.right(), y), GREY);
        }
        if let Some((place, ..)) = panel.peak {
            let (x, _) = self.at(place, 0.0);
            canvas.dashed((x, self.area.y), (x, self.area.bottom()), RED);
        }
        let spreads = panel.points.iter().filter(|point| !self.scale.is_below(point.score));
        for (point, sd) in spreads.filter_map(|point| Some((point, point.sd?))) {
            let (x, from) = self.at(point.place, point.score - sd);
            let (_, to) = self.at(point.place, point.score + sd);
            marks::spread(canvas, x, (from, to), GREY);
        }
        let curve: Vec<_> =
            panel.curve.iter().map(|(place, at)| self.at(*place, at.mean)).collect();
        if !curve.is_empty() {
            canvas.curve(&curve, BLUE);
        }
    }

    fn points(&self, canvas: &mut Canvas, panel: &TuningPanel) {
        let radius = if panel.points.len() < MANY { 5.0 } else { 3.6 };
        for point in &panel.points {
            let (x, y) = self.at(point.place, point.score);
            match self.scale.is_below(point.score) {
                true => marks::below(canvas, (x, self.area.bottom() - 2.0)),
                false => marks::point(canvas, (x, y), point.kind, radius),
            }
        }
    }

    /// The star, and above the panel what it is called and which score is expected.
    fn peak(&self, canvas: &mut Canvas, panel: &TuningPanel) {
        let Some((place, expected, label)) = &panel.peak else { return };
        let (x, y) = self.at(*place, expected.mean);
        marks::peak(canvas, (x, y), 11.0);
        let value = format!("score {}", self.scale.expected(expected));
        for (text, size, color, above) in [(label, 14.0, RED, 24.0), (&value, 12.0, GREY, 8.0)] {
            let text = names::printable_to(text, fitting(self.area.w, size));
            let half = text_width(&text, size) / 2.0;
            let (x, anchor) = match x {
                x if x - half < self.area.x => (self.area.x, Anchor::Start),
                x if x + half > self.area.right() => (self.area.right(), Anchor::End),
                x => (x, Anchor::Middle),
            };
            canvas.text((x, self.area.y - above), size, anchor, color, &text);
        }
    }

    fn at(&self, place: f64, score: f64) -> Point {
        let across = self.area.x + INSET + place * (self.area.w - 2.0 * INSET);
        (across, self.area.bottom() - self.scale.share(score) * self.area.h)
    }
}
