//! One plot in a picture: a frame, two axes, and what is drawn between them.

use crate::canvas::{Anchor, BLUE, Canvas, GREY, INK, LIGHT_BLUE, PALE, Point, RED, Rect};
use crate::series::Series;
use crate::ticks::{self, Tick};

/// Points that a curve has at most: more than this a picture can't show.
const FINEST: usize = 400;

/// An axis from one number to a larger one.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, and in which unit.
    pub name: &'static str,
    /// Its ends.
    pub ends: (f64, f64),
    /// Its marks.
    pub ticks: Vec<Tick>,
}

impl Axis {
    /// An axis of numbers.
    pub fn numbers(name: &'static str, ends: (f64, f64), most_ticks: usize) -> Self {
        Self { name, ends, ticks: ticks::decimal(ends.0, ends.1, most_ticks) }
    }

    /// An axis of time, in microseconds, marked in seconds.
    pub fn time(time: (u64, u64), most_ticks: usize) -> Self {
        let ends = (time.0 as f64, time.1 as f64);
        let mut ticks = ticks::decimal(ends.0 / 1e6, ends.1 / 1e6, most_ticks);
        ticks.iter_mut().for_each(|tick| tick.value *= 1e6);
        Self { name: "time since the record began (s)", ends, ticks }
    }

    /// An axis of bytes, from zero to a little over `largest`.
    pub fn bytes(name: &'static str, largest: f64, most_ticks: usize) -> Self {
        let end = headroom(largest);
        Self { name, ends: (0.0, end), ticks: ticks::bytes(end, most_ticks) }
    }

    /// Where a number lies along the axis, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let (from, to) = self.ends;
        if to > from { ((value - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The end of an axis that shows numbers up to `largest`.
pub fn headroom(largest: f64) -> f64 {
    if largest > 0.0 { largest * 1.06 } else { 1.0 }
}

/// One plot.
#[derive(Debug)]
pub struct Panel {
    /// What lies inside the axes.
    pub area: Rect,
    /// Its headline.
    pub title: &'static str,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
}

impl Panel {
    /// Draws the headline, the grid and the axes.
    pub fn frame(&self, canvas: &mut Canvas) {
        let area = self.area;
        canvas.text((area.x, area.y - 12.0), 15.0, Anchor::Start, INK, self.title);
        for tick in &self.y.ticks {
            let y = self.at(0.0, tick.value).1;
            canvas.line((area.x, y), (area.right(), y), PALE);
            canvas.text((area.x - 8.0, y + 4.0), 12.0, Anchor::End, INK, &tick.label);
        }
        for tick in &self.x.ticks {
            let x = self.at(tick.value, 0.0).0;
            canvas.line((x, area.bottom()), (x, area.bottom() + 5.0), GREY);
            canvas.text((x, area.bottom() + 20.0), 12.0, Anchor::Middle, INK, &tick.label);
        }
        let below = (area.x + area.w / 2.0, area.bottom() + 42.0);
        canvas.text(below, 13.0, Anchor::Middle, GREY, self.x.name);
        let beside = (area.x - 72.0, area.y + area.h / 2.0);
        canvas.text(beside, 13.0, Anchor::Upwards, GREY, self.y.name);
        canvas.line((area.x, area.y), (area.x, area.bottom()), GREY);
        canvas.line((area.x, area.bottom()), (area.right(), area.bottom()), GREY);
    }

    /// Draws a series over an axis of time: a line through its mean, and where
    /// several numbers share a dot the range that they span.
    pub fn series(&self, canvas: &mut Canvas, series: &Series) {
        let time = (self.x.ends.0 as u64, self.x.ends.1 as u64);
        let bins: Vec<_> = series.bins(time, FINEST).into_iter().flatten().collect();
        let upper = bins.iter().map(|bin| self.at(bin.at, bin.max));
        let lower = bins.iter().rev().map(|bin| self.at(bin.at, bin.min));
        canvas.shape(&upper.chain(lower).collect::<Vec<_>>(), LIGHT_BLUE);
        let mean: Vec<_> = bins.iter().map(|bin| self.at(bin.at, bin.mean)).collect();
        canvas.curve(&mean, BLUE);
    }

    /// Draws a line through points, and fills what is under it.
    pub fn filled(&self, canvas: &mut Canvas, points: &[Point]) {
        let line: Vec<_> = points.iter().map(|&(x, y)| self.at(x, y)).collect();
        let (Some(first), Some(last)) = (line.first(), line.last()) else { return };
        let floor = self.area.bottom();
        let around = [(last.0, floor), (first.0, floor)];
        canvas.shape(&[&line[..], &around].concat(), LIGHT_BLUE);
        canvas.curve(&line, BLUE);
    }

    /// Draws a bar over `from..to` of the x axis.
    pub fn bar(&self, canvas: &mut Canvas, (from, to): (f64, f64), height: f64) {
        let ((left, top), (right, floor)) = (self.at(from, height), self.at(to, 0.0));
        let w = (right - left - 2.0).max(1.0);
        canvas.rect(Rect { x: left + 1.0, y: top, w, h: floor - top }, BLUE);
    }

    /// Draws bars side by side: where each begins and ends on the x axis, and its height.
    pub fn bars(&self, canvas: &mut Canvas, bars: &[((f64, f64), f64)], color: &str) {
        let rect = |&((from, to), height): &((f64, f64), f64)| {
            let ((left, top), (right, floor)) = (self.at(from, height), self.at(to, 0.0));
            Rect { x: left, y: top, w: right - left, h: floor - top }
        };
        let rects: Vec<_> = bars.iter().map(rect).filter(|rect| rect.h > 0.0).collect();
        canvas.rects(&rects, color);
    }

    /// Marks a height with a dashed line and says what it is.
    pub fn mark_y(&self, canvas: &mut Canvas, y: f64, label: &str) {
        let (_, y) = self.at(0.0, y);
        canvas.dashed((self.area.x, y), (self.area.right(), y), RED);
        canvas.text((self.area.right(), y - 6.0), 12.0, Anchor::End, RED, label);
    }

    /// Marks a place along the x axis with a dashed line and says what it is.
    pub fn mark_x(&self, canvas: &mut Canvas, x: f64, label: &str) {
        let (x, _) = self.at(x, 0.0);
        canvas.dashed((x, self.area.y), (x, self.area.bottom()), RED);
        canvas.text((x - 6.0, self.area.y + 12.0), 12.0, Anchor::End, RED, label);
    }

    fn at(&self, x: f64, y: f64) -> Point {
        let across = self.area.x + self.x.share(x) * self.area.w;
        (across, self.area.bottom() - self.y.share(y) * self.area.h)
    }
}
