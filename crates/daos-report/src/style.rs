//! What the reader's terminal can show.

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
