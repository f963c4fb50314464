//! Bars and columns of characters.

use super::{Style, row};
use crate::series::{self, Series};
use daos_core::units::display;

const ACROSS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const UPWARDS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many of eight parts of `length` characters a share of 0 to 1 fills. What
/// is more than nothing fills at least one.
fn eighths(share: f64, length: usize) -> usize {
    let all = length * 8;
    match share {
        share if share > 0.0 => ((share * all as f64).round() as usize).clamp(1, all),
        _ => 0,
    }
}

/// The character that stands `index` characters along a bar that fills `filled`
/// eighths.
fn part(filled: usize, index: usize, parts: &[char; 8], unicode: bool) -> char {
    match filled.saturating_sub(index * 8) {
        0 => ' ',
        n if unicode => parts[n.min(8) - 1],
        n => {
            if n >= 4 {
                '#'
            } else {
                '.'
            }
        }
    }
}

/// A bar that fills a share of 0 to 1 of `length` characters, without the blank
/// behind it.
pub fn bar(share: f64, length: usize, unicode: bool) -> String {
    let filled = eighths(share, length);
    (0..filled.div_ceil(8)).map(|index| part(filled, index, &ACROSS, unicode)).collect()
}

/// Columns side by side, `lines` high, the top line first. Shares are 0 to 1;
/// where there is none, there is a blank.
pub fn columns(shares: &[Option<f64>], lines: usize, unicode: bool) -> Vec<String> {
    let line = |line: usize| {
        let column = |share: &Option<f64>| match share {
            Some(share) => part(eighths(*share, lines), line, &UPWARDS, unicode),
            None => ' ',
        };
        shares.iter().map(column).collect()
    };
    (0..lines).rev().map(line).collect()
}

/// How a number changed over time, as text: its name, four lines of columns with
/// what the highest stands for, and when it began and ended.
pub fn over_time(
    name: &str,
    series: &Series,
    time: (u64, u64),
    unit: impl Fn(f64) -> String,
    style: &Style,
) -> String {
    let highest = series.max();
    let (top, bottom) = (unit(highest), unit(0.0));
    let gutter = top.len().max(bottom.len()).max(GUTTER);
    let bins = series.bins(time, width(gutter, style));
    let scale = if highest > 0.0 { highest } else { 1.0 };
    let shares: Vec<_> = bins.iter().map(|bin| bin.map(|bin| bin.mean / scale)).collect();
    drawn(name, &shares, (&top, &bottom), gutter, time, style)
}

/// What happened in each of equal spans of time, in bytes, as text: its name and the length
/// of the spans, and lines as [`over_time`] has them.
pub fn bytes_by_time(name: &str, events: &[(u64, u64)], time: (u64, u64), style: &Style) -> String {
    let width = width(GUTTER, style);
    let sums = series::sums(events, time, width);
    let highest = sums.iter().copied().max().unwrap_or(0);
    let share = |&sum: &u64| Some(sum as f64 / highest.max(1) as f64);
    let shares: Vec<_> = sums.iter().map(share).collect();
    let span = display::duration((time.1 - time.0) / width as u64);
    let name = format!("{name}, bytes in each {span}");
    drawn(&name, &shares, (&display::bytes(highest), &display::bytes(0)), GUTTER, time, style)
}

/// Characters of a label to the left of columns, at least.
const GUTTER: usize = 8;

/// How many columns fit beside labels.
fn width(gutter: usize, style: &Style) -> usize {
    style.room(gutter + 4).min(120)
}

fn drawn(
    name: &str,
    shares: &[Option<f64>],
    (top, bottom): (&str, &str),
    gutter: usize,
    time: (u64, u64),
    style: &Style,
) -> String {
    const LINES: usize = 4;
    let mut text = format!("{name}\n");
    for (index, line) in columns(shares, LINES, style.unicode).into_iter().enumerate() {
        let label = match index {
            0 => top,
            i if i + 1 == LINES => bottom,
            _ => "",
        };
        text += row(label, gutter, &line, style).trim_end();
        text += "\n";
    }
    let (from, to) = (display::duration(time.0), display::duration(time.1));
    text + &format!("{:gutter$}  {from}{to:>1$}\n", "", shares.len().saturating_sub(from.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_eighths() {
        assert_eq!(bar(0.0, 4, true), "");
        assert_eq!(bar(0.0001, 4, true), "▏");
        assert_eq!(bar(0.5, 4, true), "██");
        assert_eq!(bar(0.4, 4, true), "█▋");
        assert_eq!(bar(7.0, 4, true), "████");
        assert_eq!(bar(0.4, 4, false), "##");
        assert_eq!(bar(f64::NAN, 4, true), "");
    }

    #[test]
    fn columns_grow_upwards() {
        let shares = [Some(0.0), Some(0.25), Some(0.75), None, Some(1.0)];
        assert_eq!(columns(&shares, 2, true), ["  ▄ █", " ▄█ █"]);
    }
}
