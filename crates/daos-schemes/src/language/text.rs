//! Schemes as text: seven fields a line (the paper's Listing 1).
//!
//! ```text
//! # min_size max_size  min_freq max_freq  min_age max_age  action
//! 4K max  min min  5s max  pageout
//! ```
//!
//! Fields are separated by white space, which may also stand between a number and its
//! unit; a `#` starts a comment. What a field may hold is in `schemes/README.md`.

use super::fields::{FIELDS, Field, fields};
use super::mistake::{Problem, SchemePart, TextError, quoted};
use super::value::{self, Side, ValueError};
use crate::scheme::{Bounds, Pattern, Scheme};
use daos_core::Action;

/// Reads the schemes in `text`; `source` is its name in errors. There is at least one,
/// and all of them are [valid](Scheme::validate).
pub fn parse(text: &str, source: &str) -> Result<Vec<Scheme>, TextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut schemes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fields = fields(line);
        if fields.is_empty() {
            continue;
        }
        schemes.push(scheme(&fields).map_err(|(column, problem)| TextError {
            origin: source.to_owned(),
            line: at + 1,
            column,
            problem,
        })?);
    }
    if schemes.is_empty() {
        let (line, column) = (text.lines().count().max(1), 1);
        return Err(TextError { origin: source.to_owned(), line, column, problem: Problem::Empty });
    }
    Ok(schemes)
}

/// Writes the seven fields of a scheme, in one way for each scheme. The text has no room
/// for anything else: see [`says_all`].
pub fn format(scheme: &Scheme) -> String {
    let Pattern { size, rate, age } = &scheme.pattern;
    [
        value::show_size_bound(size.min),
        value::show_size_bound(size.max),
        value::show_rate_bound(rate.min),
        value::show_rate_bound(rate.max),
        value::show_age_bound(age.min),
        value::show_age_bound(age.max),
        scheme.action.name().to_owned(),
    ]
    .join(" ")
}

/// Whether the text says all that the scheme has.
pub fn says_all(scheme: &Scheme) -> bool {
    *scheme == Scheme::new(scheme.pattern, scheme.action)
}

fn scheme(fields: &[Field<'_>]) -> Result<Scheme, (usize, Problem)> {
    let size = |at, side| read(fields, at, |text| value::size_bound(text, side));
    let rate = |at, side| read(fields, at, |text| value::rate_bound(text, side));
    let age = |at, side| read(fields, at, |text| value::age_bound(text, side));
    let pattern = Pattern {
        size: Bounds { min: size(0, Side::Min)?, max: size(1, Side::Max)? },
        rate: Bounds { min: rate(2, Side::Min)?, max: rate(3, Side::Max)? },
        age: Bounds { min: age(4, Side::Min)?, max: age(5, Side::Max)? },
    };
    let action = read(fields, 6, action)?;
    if let Some(extra) = fields.get(FIELDS.len()) {
        let expected = "nothing after the action".to_owned();
        let (found, count) = (quoted(extra.text), fields.len());
        return Err((extra.column, Problem::Count { count, found, expected, nearest: None }));
    }
    let scheme = Scheme::new(pattern, action);
    scheme.validate().map_err(|invalid| {
        let at = match invalid.part {
            SchemePart::Size => 1,
            SchemePart::Frequency => 3,
            SchemePart::Age => 5,
            _ => 0,
        };
        (fields[at].column, Problem::Invalid(invalid))
    })?;
    Ok(scheme)
}

/// Reads the field at this place, or says what belongs there.
fn read<T>(
    fields: &[Field<'_>],
    at: usize,
    value: impl Fn(&str) -> Result<T, ValueError>,
) -> Result<T, (usize, Problem)> {
    let end = fields.last().map_or(1, |last| last.column + last.text.chars().count());
    let (column, text) = fields.get(at).map_or((end, ""), |field| (field.column, field.text));
    let error = match value(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let found = if text.is_empty() { "the end of the line".to_owned() } else { quoted(text) };
    let nearest = error.nearest.map(str::to_owned);
    let expected = match FIELDS[at] {
        "action" => error.expected,
        name => format!("{name}, {}", error.expected),
    };
    let count = fields.len();
    Err((
        column,
        if count == FIELDS.len() {
            Problem::Unexpected { found, expected, nearest }
        } else {
            Problem::Count { count, found, expected, nearest }
        },
    ))
}

/// An action by its name or another name of it, in any case.
pub(super) fn action(text: &str) -> Result<Action, ValueError> {
    Action::named(text).ok_or_else(|| {
        let names: Vec<_> = Action::ALL.iter().map(|action| action.name()).collect();
        ValueError::none_of(text, "an action", &names)
    })
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
