//! What is wrong with a scheme, where, and what belongs there.

use super::fields::FIELDS;
use super::value::ValueError;
use thiserror::Error;

/// Schemes that can't be read. Shown as `SOURCE:LINE:COLUMN: what is wrong`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{origin}:{line}:{column}: {problem}")]
pub struct TextError {
    /// Where the text came from: the name of a file, mostly.
    pub origin: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: Problem,
}

/// What can be wrong with a scheme.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// Something else belongs there.
    #[error("found {found}, expected {expected}{}", meant(.nearest))]
    Unexpected {
        /// What is there, in quotes; or where the text ends.
        found: String,
        /// What may be there.
        expected: String,
        /// The valid word that is most like it.
        nearest: Option<String>,
    },
    /// A line with more or fewer than seven fields.
    #[error("{count} {} instead of 7 ({}): found {found}, expected {expected}{}",
            if *.count == 1 { "field" } else { "fields" },
            FIELDS.join(" "), meant(.nearest))]
    Count {
        /// So many fields are there.
        count: usize,
        /// What is where it first does not fit.
        found: String,
        /// What may be there.
        expected: String,
        /// The valid word that is most like it.
        nearest: Option<String>,
    },
    /// Its parts don't go together.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It is no TOML, or not that of schemes.
    #[error("{message}{}", meant(.nearest))]
    Toml {
        /// What the TOML reader says.
        message: String,
        /// The valid word that is most like the one that is not.
        nearest: Option<String>,
    },
    /// There is nothing in it.
    #[error("no scheme found, expected a line such as `4K max min min 5s max pageout`")]
    Empty,
    /// There is nothing in it, as TOML.
    #[error("no scheme found, expected a table that begins with [[scheme]]")]
    EmptyToml,
}

impl Problem {
    /// A value that is none.
    pub(super) fn of_value(found: &str, error: ValueError) -> Self {
        let ValueError { expected, nearest } = error;
        Self::Unexpected { found: quoted(found), expected, nearest: nearest.map(str::to_owned) }
    }
}

/// Part of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemePart {
    /// Its name.
    Name,
    /// The bounds of sizes.
    Size,
    /// The bounds of frequencies.
    Frequency,
    /// The bounds of ages.
    Age,
    /// The apply interval.
    ApplyInterval,
    /// How much may come back.
    MaxRefault,
    /// The quota.
    Quota,
    /// The watermarks.
    Watermarks,
    /// The filter at this place, from 0.
    Filter(usize),
    /// The goal.
    Goal,
}

/// A scheme that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct Invalid {
    /// The part that is wrong.
    pub part: SchemePart,
    /// Why, in words, with the values.
    pub why: String,
}

/// Puts what was found into quotes, shortened where it is long.
pub(super) fn quoted(text: &str) -> String {
    /// Chosen: what is longer would hide the rest of the message.
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(MOST).collect();
    format!("{:?}", start + "…")
}

/// Line and column of a place in a text, both from 1.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, line.chars().count() + 1)
}

fn meant(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|word| format!("; did you mean {word}?")).unwrap_or_default()
}
