//! One way to draw in a terminal: cells with colours, rows with a label, axes, bars.
//!
//! Why not `ratatui` (0.30): its widgets are for a screen that is drawn again and again, and
//! nothing in it prints a buffer as lines, with colours or without, so that would stay ours.
//! Its charts spread labels evenly, wherever the marks are, and have neither error bars nor a
//! band between two curves; a heat map is cells that one sets oneself. For that it would add
//! 27 crates to 109. A live view can lay a [`Cell`] into its buffer as it is: a character, its
//! colour and that behind it.

pub mod bars;

use crate::ticks;

/// What a text may use. Pictures and data look the same under every style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour, with the escape sequences of the 256-colour palette,
    /// which terminals without true colour know too.
    pub color: bool,
    /// Whether block and line characters can be shown; else ASCII alone.
    pub unicode: bool,
    /// Columns of the terminal. Reports need at least about 60 and take them.
    pub width: usize,
    /// Lines that a heat map should about fill.
    pub height: usize,
}

impl Default for Style {
    /// For a file or a pipe: 100 columns, 40 lines, no colour.
    fn default() -> Self {
        Self { color: false, unicode: true, width: 100, height: 40 }
    }
}

impl Style {
    /// Characters to give to something that may stretch, beside `used` ones.
    pub(crate) fn room(&self, used: usize) -> usize {
        self.width.saturating_sub(used).max(20)
    }
}

/// A character and its colours, of the palette of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// What is written.
    pub character: char,
    /// Its colour; none is the colour of text.
    pub fg: Option<u8>,
    /// The colour behind it; none is that of the terminal.
    pub bg: Option<u8>,
}

impl Cell {
    /// Nothing.
    pub const BLANK: Self = Self { character: ' ', fg: None, bg: None };

    /// A character on the colour of the terminal.
    pub fn new(character: char, fg: Option<u8>) -> Self {
        Self { character, fg, bg: None }
    }

    fn colors(&self) -> [Option<u8>; 2] {
        [self.fg, self.bg]
    }
}

/// Cells as text, without the blanks at their end.
pub fn painted(cells: &[Cell], style: &Style) -> String {
    let end = cells.iter().rposition(|&cell| cell != Cell::BLANK).map_or(0, |last| last + 1);
    let cells = &cells[..end];
    if !style.color {
        return cells.iter().map(|cell| cell.character).collect();
    }
    let mut line = String::new();
    let mut before = [None; 2];
    for run in cells.chunk_by(|a, b| a.colors() == b.colors()) {
        let colors = run[0].colors();
        if before.iter().zip(colors).any(|(before, now)| before.is_some() && now.is_none()) {
            line += RESET;
        }
        let codes = ["38;5", "48;5"].into_iter().zip(colors);
        let codes = codes.filter_map(|(code, color)| Some(format!("{code};{}", color?)));
        let codes: Vec<_> = codes.collect();
        if !codes.is_empty() {
            line += &format!("\x1b[{}m", codes.join(";"));
        }
        line.extend(run.iter().map(|cell| cell.character));
        before = colors;
    }
    if before != [None; 2] {
        line += RESET;
    }
    line
}

const RESET: &str = "\x1b[0m";

/// A line of a plot: a label that ends after `gutter` characters, the axis, and what is
/// `drawn` to the right of it.
pub fn row(label: &str, gutter: usize, drawn: &str, style: &Style) -> String {
    let edge = if style.unicode { '│' } else { '|' };
    format!("{label:>gutter$} {edge}{drawn}")
}

/// The axis below a plot, with a mark in the column of each label, and the labels below it,
/// as many as there is room for. Both begin below the upright axis. The labels rise.
pub fn axis(columns: usize, labels: &[(usize, &str)], style: &Style) -> (String, String) {
    let (corner, dash, mark) = if style.unicode { ('└', '─', '┬') } else { ('+', '-', '+') };
    let mut axis = vec![dash; columns];
    let mut text = String::new();
    let length = |label: &str| label.chars().count();
    let middles: Vec<_> =
        labels.iter().map(|&(column, label)| (column as f64, length(label) as f64)).collect();
    for &(column, label) in labels.iter().step_by(ticks::step(&middles, 2.0)) {
        axis[column.min(columns - 1)] = mark;
        let start = (column + 1).saturating_sub(length(label) / 2);
        text += &format!("{:1$}{label}", "", start.saturating_sub(length(&text)));
    }
    (corner.to_string() + &axis.into_iter().collect::<String>(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_where_they_differ() {
        let cell = |character, fg, bg| Cell { character, fg, bg };
        let cells = [
            cell('a', Some(1), None),
            cell('b', Some(1), None),
            cell('c', Some(2), Some(3)),
            cell(' ', None, Some(3)),
            cell('d', None, None),
            Cell::BLANK,
        ];
        let style = Style { color: true, ..Style::default() };
        let expected = "\x1b[38;5;1mab\x1b[38;5;2;48;5;3mc\x1b[0m\x1b[48;5;3m \x1b[0md";
        assert_eq!(painted(&cells, &style), expected);
        assert_eq!(painted(&cells, &Style::default()), "abc d");
        assert_eq!(painted(&cells[..4], &style), expected.strip_suffix('d').unwrap());
    }

    #[test]
    fn labels_stand_below_their_marks() {
        let labels = [(0, "0"), (5, "10"), (10, "20")];
        let (axis, text) = axis(11, &labels, &Style::default());
        assert_eq!((&axis[..], &text[..]), ("└┬────┬────┬", " 0   10   20"));
    }
}
