//! Tables of text for people, and lines of JSON for programs.

use super::row::MetricRow;
use serde::Serialize;
use std::io::{self, Write};

/// Writes a table: columns as wide as their widest cell, two spaces before each.
pub(crate) fn write_table(rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// Writes a line for each metric: its name, the median over the rounds and, of more than
/// one, the range, the goal, and whether the median reaches it.
pub(crate) fn write_metrics(rows: &[MetricRow], out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(MetricRow::cells).collect();
    write_table(&rows, out)
}

/// Writes a value as JSON, and ends the line.
pub(crate) fn write_json_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// `1 run`, `3 runs`.
pub(crate) fn runs_in_words(runs: usize) -> String {
    format!("{runs} run{}", if runs == 1 { "" } else { "s" })
}
