//! A tuning: what was measured, the curve fitted through it, and the peak that was chosen.
//!
//! The pictures are the paper's Figure 5 (a tuning) and Figure 4 (a sweep: a mean and a
//! standard deviation at every point). What is drawn is a plain value: no tuner is known
//! here, and the caller decides what a place from 0 to 1 along an axis stands for and what
//! is written there.

mod chart;
mod clean;
mod legend;
mod marks;
mod picture;
mod plot;
mod scale;
mod text;

use crate::format::Format;
use crate::format::RenderError;
use crate::png;
use crate::terminal::Style;
use std::io::Write;

/// The formats of a tuning. Its data is what the tuner keeps anyway.
pub const FORMATS: &[Format] = &[Format::Text, Format::Svg, Format::Png];

/// Panels that are drawn; of more, the first ones are.
pub const MOST_PANELS: usize = 6;

/// A tuning, as it is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuningView {
    /// What was tuned: `prcl tuned for ./benchmark`.
    pub title: String,
    /// What came of it: the best and its score, or the shape of a sweep.
    pub subtitle: Option<String>,
    /// One for each threshold. All have the same scale of scores.
    pub panels: Vec<TuningPanel>,
    /// Scores of no scheme: their mean is drawn as a line, with a band of a standard
    /// deviation to either side.
    pub baselines: Vec<f64>,
}

/// What is known along one threshold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuningPanel {
    /// The name of the threshold: `min_age`.
    pub name: String,
    /// Marks of its axis: a place, 0 to 1 from left to right, and what is written there. When
    /// there is no room for all, every second, third and so on is written.
    pub ticks: Vec<(f64, String)>,
    /// What was measured.
    pub points: Vec<Measured>,
    /// The fitted curve: a place, 0 to 1, and the score expected there. May be empty.
    pub curve: Vec<(f64, Expected)>,
    /// The peak: its place, 0 to 1, the score expected there, and what it is called:
    /// `min_age=5.3s`.
    pub peak: Option<(f64, Expected, String)>,
}

/// A measured point. One whose score is not a number, or is beyond 1e15, is not drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Where, 0 to 1 from left to right.
    pub place: f64,
    /// Its score; higher is better.
    pub score: f64,
    /// The standard deviation of the score, where it is known: an error bar.
    pub sd: Option<f64>,
    /// Why it was measured.
    pub kind: PointKind,
}

/// Why a point was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PointKind {
    /// To see all of the range.
    Explore,
    /// Near what was best so far.
    Improve,
    /// Again, to tell candidates apart.
    Repeat,
    /// The mean of all repeats of a sweep's point.
    Mean,
}

/// The score that is expected at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Most likely.
    pub mean: f64,
    /// The lower end of its confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl TuningView {
    /// All measured points, whichever panel they are in.
    fn points(&self) -> impl Iterator<Item = &Measured> {
        self.panels.iter().flat_map(|panel| &panel.points)
    }

    /// Mean and standard deviation of the scores of no scheme; the latter is 0 of one.
    fn baseline(&self) -> Option<(f64, f64)> {
        let n = self.baselines.len() as f64;
        let mean = self.baselines.iter().sum::<f64>() / n;
        let squares: f64 = self.baselines.iter().map(|score| (score - mean).powi(2)).sum();
        (n > 0.0).then(|| (mean, (squares / (n - 1.0).max(1.0)).sqrt()))
    }

    /// Whether there is nothing to draw.
    fn is_empty(&self) -> bool {
        self.panels.iter().all(|panel| panel.points.is_empty() && panel.curve.is_empty())
    }
}

/// Writes a tuning.
///
/// # Errors
///
/// [`RenderError::Unsupported`] for another format than [`FORMATS`], [`RenderError::Write`] if
/// `out` fails, [`RenderError::Picture`] if a PNG can't be made.
pub fn render(
    view: &TuningView,
    format: Format,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let view = clean::cleaned(view);
    match format {
        Format::Text => text::write(&view, style, out),
        Format::Svg | Format::Png => png::write(picture::draw(&view), format, out),
        Format::Json | Format::Csv => Err(format.refused("a tuning", FORMATS)),
    }
}

#[cfg(test)]
mod tests;
