//! Cells of a picture that are marked: outlined, and hatched with thin lines, so that the
//! heat under them can be seen.

use crate::canvas::{Canvas, Hatch, Point, Rect};

/// Cells of some rows, of which some are marked. Edges are in dots, from the left and from
/// the bottom up.
#[derive(Debug)]
pub struct Mask<'a> {
    /// Edges of columns: one more than there are columns.
    pub x: &'a [f64],
    /// Edges of rows: one more than there are rows.
    pub y: &'a [f64],
    /// Row by row, the lowest first.
    pub marked: Vec<Vec<bool>>,
}

impl Mask<'_> {
    /// Draws it.
    pub fn draw(&self, canvas: &mut Canvas, hatch: &Hatch) {
        canvas.hatched(&self.rects(), hatch);
        canvas.outline(&self.outline(), hatch.color);
    }

    fn is_marked(&self, row: Option<usize>, column: Option<usize>) -> bool {
        let cell = || self.marked.get(row?)?.get(column?).copied();
        cell().unwrap_or(false)
    }

    /// Marked cells of one row that touch are one rectangle.
    fn rects(&self) -> Vec<Rect> {
        let mut rects = Vec::new();
        for (row, cells) in self.marked.iter().enumerate() {
            let mut column = 0;
            for run in cells.chunk_by(|a, b| a == b) {
                let (left, right) = (self.x[column], self.x[column + run.len()]);
                column += run.len();
                let (bottom, top) = (self.y[row], self.y[row + 1]);
                if run[0] {
                    rects.push(Rect { x: left, y: top, w: right - left, h: bottom - top });
                }
            }
        }
        rects
    }

    /// The lines between marked cells and others, as few as there can be.
    fn outline(&self) -> Vec<(Point, Point)> {
        let (columns, rows) = (self.x.len() - 1, self.y.len() - 1);
        let mut lines = Vec::new();
        for row in 0..=rows {
            let differs = |column: usize| {
                let of = |row| self.is_marked(row, Some(column));
                of(row.checked_sub(1)) != of(Some(row))
            };
            let y = self.y[row];
            lines.extend(runs(columns, differs).map(|(a, b)| ((self.x[a], y), (self.x[b], y))));
        }
        for column in 0..=columns {
            let differs = |row: usize| {
                let of = |column| self.is_marked(Some(row), column);
                of(column.checked_sub(1)) != of(Some(column))
            };
            let x = self.x[column];
            lines.extend(runs(rows, differs).map(|(a, b)| ((x, self.y[a]), (x, self.y[b]))));
        }
        lines
    }
}

/// Where runs of numbers below `count` for which `holds` is true begin and end.
fn runs(count: usize, holds: impl Fn(usize) -> bool) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = (at..count).find(|&number| holds(number))?;
        let end = (start..count).find(|&number| !holds(number)).unwrap_or(count);
        at = end;
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_cells_have_one_outline() {
        let (x, y) = ([0.0, 10.0, 20.0, 30.0], [60.0, 40.0, 20.0]);
        let marked = vec![vec![true, true, false], vec![true, false, false]];
        let mask = Mask { x: &x, y: &y, marked };
        let mut lines = mask.outline();
        lines.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let expected = [
            ((0.0, 20.0), (10.0, 20.0)),
            ((0.0, 60.0), (0.0, 20.0)),
            ((0.0, 60.0), (20.0, 60.0)),
            ((10.0, 40.0), (10.0, 20.0)),
            ((10.0, 40.0), (20.0, 40.0)),
            ((20.0, 60.0), (20.0, 40.0)),
        ];
        assert_eq!(lines, expected);
        assert_eq!(mask.rects().len(), 2);
    }
}
