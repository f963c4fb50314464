//! Schemes in TOML: all that can be said of one.
//!
//! ```toml
//! [[scheme]]
//! name = "gentle"
//! size = ["4K", "max"]
//! frequency = ["min", "min"]
//! age = ["5s", "max"]
//! action = "pageout"
//!
//! [scheme.quota]
//! bytes = "64M"
//! per = "1s"
//! ```
//!
//! Values are spelt as in the [text](super::text). All keys are in `schemes/README.md`.
//!
//! | module | holds |
//! |---|---|
//! | `table` | the tables and keys there are |
//! | `read`, `write` | from tables to schemes, and back |

mod read;
mod table;
mod write;

use super::mistake::{Problem, TextError, place};
use super::nearest::nearest;
use crate::scheme::Scheme;
use serde::Serialize;
use table::SchemeFile;

/// Reads the schemes in `text`; `source` is its name in errors. There is at least one,
/// and all of them are [valid](Scheme::validate).
pub fn parse(text: &str, source: &str) -> Result<Vec<Scheme>, TextError> {
    let wrong = |offset, problem| {
        let (line, column) = place(text, offset);
        TextError { origin: source.to_owned(), line, column, problem }
    };
    let file: SchemeFile = ::toml::from_str(text)
        .map_err(|err| wrong(err.span().map_or(0, |span| span.start), problem(err.message())))?;
    if file.scheme.is_empty() {
        return Err(wrong(text.len(), Problem::EmptyToml));
    }
    let read = |scheme| read::read(scheme).map_err(|(at, problem)| wrong(at.start, problem));
    file.scheme.iter().map(read).collect()
}

/// Writes schemes, each in one way.
pub fn format(schemes: &[Scheme]) -> String {
    // Strings, numbers, lists and tables with text for keys: there is nothing to fail.
    ::toml::to_string(&write::write(schemes)).unwrap_or_default()
}

/// The same keys and values for any other format: `{"scheme":[{"size":["4K","max"],…}]}`.
pub fn tables(schemes: &[Scheme]) -> impl Serialize {
    write::write(schemes)
}

/// What serde says about keys has words in backticks: the one found, then the valid ones.
fn problem(message: &str) -> Problem {
    let mut message = message.trim_end().replace("a sequence", "a list");
    if message.ends_with("invalid type: map, expected a list") {
        message = "found a table, expected a list; are there two brackets, as in [[scheme]] and \
                   [[scheme.filter]]?"
            .to_owned();
    }
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let near = match words.split_first() {
        Some((found, valid)) if message.starts_with("unknown") => {
            nearest(found, valid.iter().copied()).map(str::to_owned)
        }
        _ => None,
    };
    Problem::Toml { message, nearest: near }
}

#[cfg(test)]
mod tests;
