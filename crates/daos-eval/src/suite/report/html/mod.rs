//! One page that needs nothing else: plots and tables, in light and in dark.

mod plot;
mod record;

use super::{Brackets, Report, cell_texts};
use crate::suite::results::{Row, Table};

const STYLE: &str = include_str!("style.css");

pub(super) fn render(report: &Report) -> String {
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
    out += "<meta charset=\"utf-8\">\n";
    out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    out += "<meta name=\"color-scheme\" content=\"light dark\">\n";
    out += &format!("<title>{}</title>\n<style>\n{STYLE}</style>\n", escaped(&report.title));
    out += "</head>\n<body>\n<main>\n";
    out += &format!("<h1>{}</h1>\n", escaped(&report.title));
    out += &list("facts", &report.facts);
    out += &section("What it comes to", &list("", &report.sentences));
    out += &section("What was tuned", &list("", &report.tuned));
    out += &section("What failed", &list("failed", &report.failures));
    let records: Vec<String> = report.records.iter().map(record::render).collect();
    out += &section("What was recorded", &records.concat());
    let plots: Vec<String> = report.plots.iter().map(plot::render).collect();
    let title = match report.brackets {
        Brackets::Beside => "Each pair: against the copy that ran alone",
        Brackets::First | Brackets::Left => "Each run against the mean of the first configuration",
    };
    out += &section(title, &plots.concat());
    let main: Vec<String> = report.main.iter().map(of_table).collect();
    if !main.is_empty() {
        let marks =
            format!("<p class=\"note\">{}</p>\n", escaped(&report.marks().replace('`', "")));
        out += &section("Tables", &(main.concat() + &marks));
    }
    let more: Vec<String> = report.more.iter().map(of_table).collect();
    if !more.is_empty() {
        out += &format!("<details>\n<summary>More tables</summary>\n{}</details>\n", more.concat());
    }
    out + "</main>\n</body>\n</html>\n"
}

fn section(title: &str, content: &str) -> String {
    match content {
        "" => String::new(),
        content => format!("<section>\n<h2>{title}</h2>\n{content}</section>\n"),
    }
}

fn list(class: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: Vec<String> =
        lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    format!("<ul class=\"{class}\">\n{}</ul>\n", lines.concat())
}

fn of_table(table: &Table) -> String {
    let mut out = format!(
        "<h3>{}</h3>\n<p class=\"note\">{}</p>\n<div class=\"wide\">\n<table>\n<thead><tr><th></th>",
        escaped(&table.title),
        escaped(table.metric.about())
    );
    for column in &table.columns {
        out += &format!("<th>{}</th>", escaped(column));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        out += &line(table, row, "");
    }
    for row in &table.sums {
        out += &line(table, row, " class=\"sum\"");
    }
    out += "</tbody>\n</table>\n</div>\n";
    if !table.sums.is_empty() && !table.left_out.is_empty() {
        let names = escaped(&table.left_out.join(", "));
        out += &format!("<p class=\"note\">Not in all totals and averages: {names}.</p>\n");
    }
    out
}

fn line(table: &Table, row: &Row, class: &str) -> String {
    let cell = |cell: &Option<_>| match cell.as_ref().map(|cell| cell_texts(table, cell)) {
        None => "<td>–</td>".to_owned(),
        Some((value, None)) => format!("<td>{value}</td>"),
        Some((value, Some(overhead))) => {
            format!("<td>{value} <span class=\"overhead\">({overhead})</span></td>")
        }
    };
    let cells: Vec<String> = row.cells.iter().map(cell).collect();
    format!("<tr{class}><th>{}</th>{}</tr>\n", escaped(&row.name), cells.concat())
}

/// What people and programs wrote, so that it changes no form.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
