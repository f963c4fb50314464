//! For a terminal, as the seeds have it: columns as wide as they need, overheads in a column of
//! their own.

use super::{Report, cell_texts};
use crate::suite::results::{Row, Table};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    for line in &report.facts {
        out += &format!("{line}\n");
    }
    for table in &report.main {
        out += &format!("\n{}\n", table.metric.about());
        out += &of_table(table);
        if !table.sums.is_empty() && !table.left_out.is_empty() {
            out += &format!("not in all totals and averages: {}\n", table.left_out.join(", "));
        }
    }
    if !report.main.is_empty() {
        out += &format!("\n{}\n", report.marks());
    }
    let lists = [
        ("", &report.sentences),
        ("Tuned:\n", &report.tuned),
        ("Recorded:\n", &report.recorded()),
        ("Failed:\n", &report.failures),
    ];
    for (title, lines) in lists {
        if !lines.is_empty() {
            out += &format!("\n{title}");
        }
        for line in lines {
            out += &format!("{line}\n");
        }
    }
    out
}

/// A table; a dash where there is nothing.
fn of_table(table: &Table) -> String {
    let has_overhead = |column: usize| {
        let rows = table.rows.iter().chain(&table.sums);
        rows.filter_map(|row| row.cells[column]).any(|cell| cell.overhead.is_some())
    };
    let mut lines = vec![vec![table.title.clone()]];
    for (at, column) in table.columns.iter().enumerate() {
        lines[0].push(column.clone());
        if has_overhead(at) {
            lines[0].push("(overhead)".to_owned());
        }
    }
    let line = |row: &Row| {
        let mut cells = vec![row.name.clone()];
        for (at, cell) in row.cells.iter().enumerate() {
            let texts = cell.map(|cell| cell_texts(table, &cell));
            let (value, overhead) = texts.unwrap_or(("-".to_owned(), None));
            cells.push(value);
            if has_overhead(at) {
                cells.push(overhead.map_or(String::new(), |overhead| format!("({overhead})")));
            }
        }
        cells
    };
    lines.extend(table.rows.iter().chain(&table.sums).map(line));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).filter_map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        out += cells.collect::<Vec<_>>().join("  ").trim_end();
        out += "\n";
    }
    out
}
