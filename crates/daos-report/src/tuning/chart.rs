//! What is measured along one threshold, as a chart of characters.

use super::legend::Sign;
use super::scale::Scale;
use super::{Expected, PointKind, TuningPanel};
use crate::terminal::{Cell, Style};

/// Shades of grey, for what is not the matter.
const GREY: u8 = 245;

/// What is drawn for a sign: in Unicode, in ASCII, and in which colour.
fn glyph(sign: Sign) -> (char, char, Option<u8>) {
    match sign {
        Sign::Point(PointKind::Explore) => ('○', 'o', None),
        Sign::Point(PointKind::Improve) => ('◆', 'x', Some(208)),
        Sign::Point(PointKind::Repeat) => ('■', '#', Some(133)),
        Sign::Point(PointKind::Mean) => ('●', '*', None),
        Sign::Spread => ('│', '|', Some(GREY)),
        Sign::Curve => ('•', '.', Some(33)),
        Sign::Band => ('░', ':', Some(153)),
        Sign::Baseline => ('╌', '-', Some(GREY)),
        Sign::Peak => ('★', '@', Some(160)),
        Sign::Below => ('↓', 'v', None),
    }
}

/// What is drawn for a sign on this terminal.
pub fn cell(sign: Sign, unicode: bool) -> Cell {
    let (character, ascii, color) = glyph(sign);
    Cell::new(if unicode { character } else { ascii }, color)
}

/// The cells of one panel.
#[derive(Debug)]
pub struct Chart<'a> {
    /// Line by line, the highest first.
    pub cells: Vec<Vec<Cell>>,
    /// How many there are.
    pub columns: usize,
    /// The scale of scores.
    pub scale: &'a Scale,
    unicode: bool,
}

impl<'a> Chart<'a> {
    /// Without anything in it.
    pub fn new(columns: usize, lines: usize, scale: &'a Scale, style: &Style) -> Self {
        let cells = vec![vec![Cell::BLANK; columns]; lines];
        Self { cells, columns, scale, unicode: style.unicode }
    }

    /// The column of a place.
    pub fn column(&self, place: f64) -> usize {
        (place * (self.columns - 1) as f64).round() as usize
    }

    fn place(&self, column: usize) -> f64 {
        column as f64 / (self.columns - 1) as f64
    }

    /// The line of a score; none if that is off the scale.
    pub fn line(&self, score: f64) -> Option<usize> {
        let share = self.scale.share(score);
        let line = (1.0 - share) * (self.cells.len() - 1) as f64;
        (0.0..=1.0).contains(&share).then_some(line.round() as usize)
    }

    fn put(&mut self, column: usize, score: f64, sign: Sign) {
        if let Some(line) = self.line(score) {
            self.cells[line][column] = cell(sign, self.unicode);
        }
    }

    /// Draws a panel; what is most important comes last.
    pub fn draw(&mut self, panel: &TuningPanel, baseline: Option<(f64, f64)>) {
        let zero = if self.unicode { '─' } else { '-' };
        self.bands(panel);
        if let Some(line) = self.line(0.0) {
            self.cells[line].fill(Cell::new(zero, Some(GREY)));
        }
        if let Some((mean, _)) = baseline {
            (0..self.columns).for_each(|column| self.put(column, mean, Sign::Baseline));
        }
        if let Some((place, ..)) = panel.peak {
            let upright = if self.unicode { '┊' } else { '!' };
            let (column, color) = (self.column(place), glyph(Sign::Peak).2);
            self.cells.iter_mut().for_each(|line| line[column] = Cell::new(upright, color));
        }
        for point in panel.points.iter().filter(|point| !self.scale.is_below(point.score)) {
            let sd = point.sd.unwrap_or(0.0);
            let column = self.column(point.place);
            self.bar(column, (point.score - sd, point.score + sd), Sign::Spread);
        }
        for column in 0..self.columns {
            if let Some(at) = between(panel, self.place(column)) {
                self.put(column, at.mean, Sign::Curve);
            }
        }
        for point in &panel.points {
            let column = self.column(point.place);
            match self.scale.is_below(point.score) {
                true => self.put(column, self.scale.ends.0, Sign::Below),
                false => self.put(column, point.score, Sign::Point(point.kind)),
            }
        }
        if let Some((place, at, _)) = &panel.peak {
            self.put(self.column(*place), at.mean, Sign::Peak);
        }
    }

    /// The confidence band, where it is higher than a line.
    fn bands(&mut self, panel: &TuningPanel) {
        for column in 0..self.columns {
            if let Some(at) = between(panel, self.place(column)).filter(|at| at.low < at.high) {
                self.bar(column, (at.low, at.high), Sign::Band);
            }
        }
    }

    /// From one score to another as much as is on the scale.
    fn bar(&mut self, column: usize, (from, to): (f64, f64), sign: Sign) {
        let (low, high) = self.scale.ends;
        if let (Some(bottom), Some(top)) = (self.line(from.max(low)), self.line(to.min(high))) {
            let cell = cell(sign, self.unicode);
            (top..=bottom).for_each(|line| self.cells[line][column] = cell);
        }
    }
}

/// The curve at a place between two of its points; none outside of them.
fn between(panel: &TuningPanel, place: f64) -> Option<Expected> {
    let next = panel.curve.partition_point(|(at, _)| *at < place);
    let (right, after) = panel.curve.get(next)?;
    if *right == place {
        return Some(*after);
    }
    let (left, before) = panel.curve.get(next.checked_sub(1)?)?;
    let share = (place - left) / (right - left);
    let mix = |before: f64, after: f64| before + share * (after - before);
    Some(Expected {
        mean: mix(before.mean, after.mean),
        low: mix(before.low, after.low),
        high: mix(before.high, after.high),
    })
}
