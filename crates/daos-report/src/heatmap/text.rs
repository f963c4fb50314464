//! The heat map in a terminal.
//!
//! With colour, a character shows two cells one above the other: the upper half
//! block in one colour on a background of another. Without, a character is a cell.
//! Where schemes acted, every second character is the initial of what they did: what lies
//! between shows the heat. Where memory is shared, the letter at the end of a line says which
//! process has most of it, a capital one if that is more than half.

use super::owned::{self, Shares};
use super::scale::Ramp;
use super::{Break, Heatmap, Segment};
use crate::colors;
use crate::format::RenderError;
use crate::terminal::{Cell, Style, axis, painted, row};
use crate::ticks;
use daos_core::Action;
use daos_core::units::display;
use std::io::Write;

/// Characters to the left of the cells: an address, a blank and the axis.
const GUTTER: usize = 16;

/// Characters to the left of the axis and a blank.
const AXIS: usize = GUTTER - 2;

/// Lines that are not cells: two of headline, two breaks, three of axis and
/// legend, and one for the prompt.
const OTHER_LINES: usize = 8;

/// Owners that have a letter. Chosen: they fit into a few lines below the map.
const MOST_OWNERS: usize = 8;
/// Characters of an owner's name in the legend.
const LONGEST_NAME: usize = 32;
/// Characters behind the cells that say whose they are, and lines of their legend.
const OWNER: usize = 2;
const OWNER_LINES: usize = 4;

/// Lines of cells between two labels of the address axis, at least.
const LABEL_EVERY: usize = 3;

/// Columns and rows of cells that fit, beside owners or without.
pub fn cells(style: &Style, has_owners: bool) -> (usize, usize) {
    let (lines, columns) = if has_owners { (OWNER_LINES, OWNER) } else { (0, 0) };
    let lines = style.height.saturating_sub(OTHER_LINES + lines).max(8);
    (style.room(GUTTER + 1 + columns), lines * cells_per_character(style))
}

fn cells_per_character(style: &Style) -> usize {
    if style.color && style.unicode { 2 } else { 1 }
}

/// Writes headline, cells from the highest address down, time axis and legend.
pub fn write(heatmap: &Heatmap, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(out, "{}\n{}", heatmap.headline(), heatmap.summary())?;
    let Some(time) = heatmap.time() else { return Ok(()) };
    let columns = heatmap.times.len() - 1;
    for (index, segment) in heatmap.segments.iter().enumerate().rev() {
        let gap = heatmap.break_above(index);
        if let Some(Break::Gap(bytes)) = gap {
            writeln!(out, "{}", gap_line(bytes, columns, style))?;
        } else if heatmap.has_many_targets() {
            writeln!(out, "{:GUTTER$}{}", "", segment.name)?;
        }
        write_segment(heatmap, segment, style, out)?;
    }
    write_time_axis(time, columns, style, out)?;
    write_legend(heatmap.ramp(), style, out)?;
    write_actions(heatmap, style, out)?;
    write_owners(heatmap, style, out)
}

fn write_segment(
    heatmap: &Heatmap,
    segment: &Segment,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let ramp = heatmap.ramp();
    let lines: Vec<_> = segment.rates.chunks(cells_per_character(style)).collect();
    let labels = labels(segment, lines.len(), cells_per_character(style));
    for (index, (cells, label)) in lines.iter().zip(labels).enumerate().rev() {
        let first = index * cells_per_character(style);
        let marks = marks(segment, first..first + cells.len());
        let mut drawn = line(cells, &marks, ramp, style);
        if let Some(shares) = segment.owned.get(first..first + cells.len()) {
            drawn.extend([
                Cell::BLANK,
                Cell::new(owner(heatmap, shares, &segment.addresses[first..]), None),
            ]);
        }
        writeln!(out, "{}", row(&label, AXIS, &painted(&drawn, style), style))?;
    }
    Ok(())
}

/// A label for each line from the bottom: the address where the segment begins,
/// and above it round distances from there; in a small segment, the addresses where
/// lines begin.
fn labels(segment: &Segment, lines: usize, rows_per_line: usize) -> Vec<String> {
    let mut labels = vec![String::new(); lines];
    let start = segment.range().start;
    let line_of = |address| {
        let row = segment.addresses.partition_point(|&edge| edge <= address) - 1;
        Some(row / rows_per_line).filter(|line| (LABEL_EVERY..lines).contains(line))
    };
    let most = lines / (LABEL_EVERY + 1);
    if segment.is_close() {
        for line in ticks::pages(segment.range(), most).into_iter().filter_map(line_of) {
            labels[line] = format!("{:#x}", segment.addresses[line * rows_per_line]);
        }
    } else {
        for tick in ticks::bytes(segment.range().len() as f64, most).iter().skip(1) {
            if let Some(line) = line_of(start.saturating_add(tick.value as u64)) {
                labels[line] = format!("+{}", tick.label);
            }
        }
    }
    labels[0] = format!("{start:#x}");
    labels
}

/// What schemes did, for each character of a line of these rows that says so: to most
/// bytes, where they did more. Of neighbours that did the same, every second one says so.
fn marks(segment: &Segment, rows: std::ops::Range<usize>) -> Vec<Option<Action>> {
    let columns = segment.rates[0].len();
    let most = |column: usize| {
        let bytes = |cells: &[Vec<u64>]| {
            cells[rows.clone()].iter().map(|row| row[column]).fold(0, u64::saturating_add)
        };
        let all = segment.acted.iter().map(|(&action, cells)| (action, bytes(cells)));
        all.filter(|&(_, bytes): &(_, u64)| bytes > 0).max_by_key(|&(_, bytes)| bytes)
    };
    let mut marks: Vec<Option<Action>> = Vec::with_capacity(columns);
    for action in (0..columns).map(most) {
        let action = action.map(|(action, _)| action);
        let said = marks.last().is_some_and(|&before| before == action);
        marks.push(action.filter(|_| !said));
    }
    marks
}

/// The letter of an action: no two have the same.
fn letter(action: Action) -> char {
    action.name().chars().next().unwrap_or('?')
}

/// One line of cells: one row, or two of which the first is the lower.
fn line(
    rows: &[Vec<Option<f64>>],
    marks: &[Option<Action>],
    ramp: Ramp,
    style: &Style,
) -> Vec<Cell> {
    let shown = |rate: Option<f64>| rate.map(|rate| ramp.shown(rate));
    let cell = |(column, &rate): (usize, &Option<f64>)| match marks[column] {
        Some(action) => marked(action, shown(rate)),
        None if !style.color => Cell::new(colors::character(shown(rate), style.unicode), None),
        None => {
            // Where there is no upper one, the lower one fills the character.
            let upper = rows.get(1).map_or(rate, |row| row[column]);
            let character = if style.unicode { '▀' } else { ' ' };
            Cell { character, fg: Some(color(shown(upper))), bg: Some(color(shown(rate))) }
        }
    };
    rows[0].iter().enumerate().map(cell).collect()
}

/// The letter of an action on a cell: blue, or white on what is dark.
fn marked(action: Action, rate: Option<f64>) -> Cell {
    let fg = if rate > Some(0.3) { 231 } else { 21 };
    Cell { character: letter(action), fg: Some(fg), bg: Some(color(rate)) }
}

fn color(rate: Option<f64>) -> u8 {
    colors::palette(rate.map_or(colors::UNMONITORED, colors::color))
}

fn gap_line(bytes: u64, columns: usize, style: &Style) -> String {
    let dash = if style.unicode { "┄" } else { "~" };
    let note = format!(" {} not shown ", display::bytes(bytes));
    let left = columns.saturating_sub(note.len()) / 2;
    let right = columns.saturating_sub(note.len() + left);
    format!("{:GUTTER$}{}{note}{}", "", dash.repeat(left), dash.repeat(right))
}

fn write_time_axis(
    (from, to): (u64, u64),
    columns: usize,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let (from, to) = (from as f64 / 1e6, to as f64 / 1e6);
    let ticks = ticks::decimal(from, to, (columns / 10).max(2));
    let column = |at: f64| ((at - from) / (to - from) * columns as f64) as usize;
    let labels = ticks.iter().map(|tick| (column(tick.value), &tick.label[..]));
    let (line, numbers) = axis(columns, &labels.collect::<Vec<_>>(), style);
    writeln!(out, "{:AXIS$} {line}", "")?;
    writeln!(out, "{:>AXIS$} {numbers}", "time (s)")?;
    Ok(())
}

fn write_legend(ramp: Ramp, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    let swatch = |rate: Option<f64>| match style.color {
        true => painted(&[Cell { bg: Some(color(rate)), ..Cell::BLANK }; 2], style),
        false => colors::character(rate, style.unicode).to_string(),
    };
    let bound = |(mark, name): (f64, String)| match style.color || mark == 0.0 {
        true => format!("{} {name}", swatch(Some(mark))),
        false => format!("{} to {name}", swatch(Some(mark))),
    };
    let marks = ramp.marks().map(bound);
    let none = if style.color { swatch(None) } else { "blank".to_owned() };
    writeln!(out, "{:>AXIS$}  {}   {none} not monitored", ramp.name(), marks.join("  "))?;
    Ok(())
}

/// The letters of the actions that are marked.
fn write_actions(
    heatmap: &Heatmap,
    style: &Style,
    out: &mut impl Write,
) -> Result<(), RenderError> {
    let swatch = |action| painted(&[marked(action, Some(0.0))], style);
    let all = heatmap.actions().into_iter();
    let all: Vec<_> = all.map(|action| format!("{} {action}", swatch(action))).collect();
    if !all.is_empty() {
        writeln!(out, "{:>AXIS$}  {}", "schemes did", all.join("  "))?;
    }
    Ok(())
}

/// The letter of the process that has most of these rows, where `addresses` are their edges and
/// those above: a capital one for more than half of it, and a mark for one without a letter.
fn owner(heatmap: &Heatmap, rows: &[Shares], addresses: &[u64]) -> char {
    let size = addresses.get(rows.len()).map_or(0, |end| end - addresses[0]);
    match heatmap.owner_of(&owned::together(rows)) {
        Some((place, _)) if place >= MOST_OWNERS => OTHER_OWNER,
        Some((place, bytes)) if bytes > size / 2 => letter_of_owner(place),
        Some((place, _)) => letter_of_owner(place).to_ascii_lowercase(),
        None => ' ',
    }
}

/// Who has no letter.
const OTHER_OWNER: char = '+';

fn letter_of_owner(place: usize) -> char {
    (b'A'..=b'Z').nth(place).map_or(OTHER_OWNER, char::from)
}

/// The letters of owners, who they are and what they have, as many on a line as fit.
fn write_owners(heatmap: &Heatmap, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    let legend = heatmap.legend_of_owners(MOST_OWNERS, LONGEST_NAME);
    let room = style.room(GUTTER);
    let mut lines: Vec<String> = Vec::new();
    for (place, said) in legend.into_iter().enumerate() {
        let letter = if place < MOST_OWNERS { letter_of_owner(place) } else { OTHER_OWNER };
        let said = format!("{letter} {said}");
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + said.chars().count() <= room => {
                *line += &format!("  {said}");
            }
            _ => lines.push(said),
        }
    }
    for (line, said) in lines.iter().enumerate() {
        let name = if line == 0 { "memory of" } else { "" };
        writeln!(out, "{name:>AXIS$}  {said}")?;
    }
    Ok(())
}
