//! The pieces of a line, each of which knows its place.
//!
//! What is read from a piece fails with the place of that piece, so the parser
//! never has to think of lines and columns.

use super::error::Problem;
use daos_core::units::{self, Fault, UnitsError};

/// Most characters in the name of a region or a phase. Chosen.
const MAX_NAME: usize = 100;
/// The longest phase, in microseconds. Chosen: a year.
const YEAR_US: u64 = 365 * 24 * 3_600_000_000;

/// A problem and its place.
pub(super) struct ProblemAt {
    pub line: usize,
    pub column: usize,
    pub problem: Problem,
}

pub(super) type Parsed<T> = Result<T, ProblemAt>;

pub(super) fn clipped(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A piece of a line, and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub line: usize,
    pub column: usize,
    pub text: &'a str,
}

impl<'a> Field<'a> {
    pub fn trimmed(self) -> Self {
        let blank = self.text.chars().take_while(|c| c.is_whitespace()).count();
        Self { column: self.column + blank, text: self.text.trim(), ..self }
    }

    /// The empty field right behind this one.
    pub fn behind(&self) -> Field<'static> {
        Field { line: self.line, column: self.column + self.text.chars().count(), text: "" }
    }

    pub fn wrong(&self, problem: Problem) -> ProblemAt {
        ProblemAt { line: self.line, column: self.column, problem }
    }

    pub fn unexpected(&self, expected: &'static str) -> ProblemAt {
        let found = match self.text {
            "" => "nothing".to_owned(),
            text => format!("{:?}", clipped(text)),
        };
        self.wrong(Problem::Unexpected { found, expected })
    }

    pub fn name(&self) -> Parsed<String> {
        if self.text.chars().count() > MAX_NAME {
            let what = "a name is too long";
            return Err(self.wrong(Problem::TooLarge { what, limit: "100 characters" }));
        }
        // Names are shown on terminals.
        if self.text.chars().any(char::is_control) {
            return Err(self.unexpected("a name without control characters"));
        }
        Ok(self.text.to_owned())
    }

    /// A size, which may be zero.
    pub fn size(&self, expected: &'static str) -> Parsed<u64> {
        units::bytes(self.text).map_err(|error| match error.fault {
            Fault::TooLarge => self.wrong(Problem::TooLarge {
                what: "the number is too large",
                limit: "18446744073709551615",
            }),
            _ => self.unexpected(expected),
        })
    }

    pub fn above_zero(&self, value: u64, what: &'static str) -> Parsed<u64> {
        if value == 0 { Err(self.wrong(Problem::Zero { what })) } else { Ok(value) }
    }

    pub fn bytes(&self, what: &'static str) -> Parsed<u64> {
        let value = self.size("a size in bytes, such as 4096, 64K or 1GiB")?;
        self.above_zero(value, what)
    }

    /// A phase's length, up to the next millisecond; a bare number counts milliseconds.
    pub fn milliseconds(&self) -> Parsed<u64> {
        let us = match units::duration_us_or(self.text, "ms") {
            Ok(us) if us <= YEAR_US => us,
            Ok(_) | Err(UnitsError { fault: Fault::TooLarge, .. }) => {
                let what = "the phase is too long";
                return Err(self.wrong(Problem::TooLarge { what, limit: "a year" }));
            }
            Err(_) => {
                let expected = "the phase's length, such as 10000 (in ms), 500ms, 10s or 2m";
                return Err(self.unexpected(expected));
            }
        };
        self.above_zero(us.div_ceil(1000), "the phase's length")
    }

    pub fn weight(&self) -> Parsed<u32> {
        if self.text.is_empty() || !self.text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.unexpected("a weight: a whole number of at least 1"));
        }
        let weight: u32 = self.text.parse().map_err(|_| {
            self.wrong(Problem::TooLarge { what: "the weight is too large", limit: "4294967295" })
        })?;
        self.above_zero(weight.into(), "the weight")?;
        Ok(weight)
    }
}

/// The fields of a line, one after the other.
pub(super) struct Fields<'a> {
    rest: Option<Field<'a>>,
    end: Field<'static>,
}

impl<'a> Fields<'a> {
    pub fn of(line: &Field<'a>) -> Self {
        Self { rest: Some(*line), end: line.behind() }
    }

    pub fn optional(&mut self) -> Option<Field<'a>> {
        let rest = self.rest.take()?;
        let Some((text, behind)) = rest.text.split_once(',') else {
            return Some(rest.trimmed());
        };
        let column = rest.column + text.chars().count() + 1;
        self.rest = Some(Field { column, text: behind, ..rest });
        Some(Field { text, ..rest }.trimmed())
    }

    /// The next field, which must be there and hold something.
    pub fn next(&mut self, expected: &'static str) -> Parsed<Field<'a>> {
        let field = self.optional().unwrap_or(self.end);
        if field.text.is_empty() { Err(field.unexpected(expected)) } else { Ok(field) }
    }

    pub fn finish(&mut self) -> Parsed<()> {
        self.optional().map_or(Ok(()), |field| Err(field.unexpected("the end of the line")))
    }
}
