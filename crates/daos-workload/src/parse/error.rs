//! What can be wrong with a configuration.
//!
//! An error names the file, the line and the column, what is there and what
//! belongs there: whoever wrote the file can mend it without reading anything else.

use thiserror::Error;

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file could not be read, or is not text.
    #[error("cannot read {file}")]
    Read {
        /// Its path.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is wrong at one place.
    #[error("{file}:{line}:{column}: {problem}")]
    Syntax {
        /// The name of the file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The character in the line, counted from 1.
        column: usize,
        /// What is wrong there.
        problem: Problem,
    },
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// Something else belongs there.
    #[error("found {found}, expected {expected}")]
    Unexpected {
        /// What is there.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A pattern names a region that the first paragraph does not list.
    #[error("no region is called {name:?}; expected one of {known}{}", hint(.near))]
    UnknownRegion {
        /// The name.
        name: String,
        /// The regions that there are, as a list to read.
        known: String,
        /// A region of a similar name.
        near: Option<String>,
    },
    /// Two regions of one name.
    #[error("a second region called {name:?}; the first is on line {first}")]
    DuplicateRegion {
        /// The name.
        name: String,
        /// The line of the first.
        first: usize,
    },
    /// A quantity of zero.
    #[error("{what} is zero, expected at least 1")]
    Zero {
        /// Which quantity.
        what: &'static str,
    },
    /// More than can be.
    #[error("{what}: expected at most {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there can be.
        limit: &'static str,
    },
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map(|n| format!(" (did you mean {n:?}?)")).unwrap_or_default()
}
