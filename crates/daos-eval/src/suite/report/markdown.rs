//! For people who read files, and for places that show Markdown.

use super::{Report, cell_texts};
use crate::suite::results::{Row, Table};

pub(super) fn render(report: &Report) -> String {
    let mut out = format!("# {}\n", report.title);
    out += &list("", &report.facts);
    out += &list("\n## What it comes to\n", &report.sentences);
    out += &list("\n## What was tuned\n", &report.tuned);
    out += &list("\n## What was recorded\n", &report.recorded());
    out += &list("\n## What failed\n", &report.failures);
    out += "\n## Tables\n";
    for table in &report.main {
        out += &of_table(table);
    }
    if !report.main.is_empty() {
        out += &format!("\n{}\n", report.marks());
    }
    if !report.more.is_empty() {
        out += "\n## More tables\n";
    }
    for table in &report.more {
        out += &of_table(table);
    }
    out
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("- {}\n", escaped(line))).collect();
    format!("{title}\n{}", lines.concat())
}

fn of_table(table: &Table) -> String {
    let mut out = format!("\n### {}\n\n{}\n\n", escaped(&table.title), table.metric.about());
    let columns: Vec<String> = table.columns.iter().map(|name| escaped(name)).collect();
    out += &format!("| workload | {} |\n", columns.join(" | "));
    out += &format!("|---|{}\n", "---:|".repeat(table.columns.len()));
    for row in &table.rows {
        out += &line(table, row, "");
    }
    for row in &table.sums {
        out += &line(table, row, "**");
    }
    if !table.sums.is_empty() && !table.left_out.is_empty() {
        out += &format!(
            "\nNot in all totals and averages: {}.\n",
            escaped(&table.left_out.join(", "))
        );
    }
    out
}

fn line(table: &Table, row: &Row, bold: &str) -> String {
    let cell = |cell: &Option<_>| match cell.as_ref().map(|cell| cell_texts(table, cell)) {
        None => "-".to_owned(),
        Some((value, None)) => value,
        Some((value, Some(overhead))) => format!("{value} ({overhead})"),
    };
    let cells: Vec<String> = row.cells.iter().map(cell).collect();
    format!("| {bold}{}{bold} | {} |\n", escaped(&row.name), cells.join(" | "))
}

/// What people and programs wrote, so that it changes no form.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => out.push(' '),
            '|' | '<' | '>' | '*' | '`' | '[' | ']' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}
