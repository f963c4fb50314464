//! Single values of schemes: the bounds of sizes, frequencies and ages, and words.
//!
//! Both forms of a scheme read and write them here, so a value means the same in each.
//! Each is written so that reading it gives the same value again.

use super::nearest::nearest;
use crate::scheme::{Age, Rate, RefaultBound};
use daos_core::units::{self, Fault, UnitsError};

/// What frequencies end with that are not in percent.
const PER_SECOND: &str = "/s";

/// Words for the ends of what a field can take.
const ENDS: [&str; 3] = ["min", "max", "null"];

/// Which bound of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The least.
    Min,
    /// The most.
    Max,
}

/// Why a value is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// What would have been one.
    pub expected: String,
    /// The valid word that is most like it.
    pub nearest: Option<&'static str>,
}

impl ValueError {
    /// Not one of these words.
    pub fn none_of(text: &str, what: &str, words: &[&'static str]) -> Self {
        let expected = format!("{what}: {}", words.join(", "));
        Self { expected, nearest: nearest(text, words.iter().copied()) }
    }
}

impl From<UnitsError> for ValueError {
    fn from(error: UnitsError) -> Self {
        Self { expected: error.expected.to_owned(), nearest: None }
    }
}

/// A bound of sizes, in bytes.
pub fn size_bound(text: &str, side: Side) -> Result<u64, ValueError> {
    let expected = "a size (4096, 4K, 2MiB; units B, K, M, G, T), min, max or null";
    bound(text, side, (0, u64::MAX), expected, units::bytes)
}

/// A bound of frequencies: a share of the sampling intervals, or accesses a second.
pub fn rate_bound(text: &str, side: Side) -> Result<Rate, ValueError> {
    let expected = "a frequency in percent (5, 5%, 0.5%) or in accesses a second (0.5/s), min, \
                    max or null";
    bound(text, side, (Rate::MIN, Rate::MAX), expected, |text| {
        match text.strip_suffix(PER_SECOND) {
            Some(number) => per_second(number.trim_end()).map(Rate::PerSecond),
            None => units::percent(text).map(Rate::Share),
        }
    })
}

/// So many a second.
fn per_second(text: &str) -> Result<f64, UnitsError> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(rate) if is_number && rate.is_finite() => Ok(rate),
        _ => Err(UnitsError { expected: "accesses a second (0.5/s)", fault: Fault::Malformed }),
    }
}

/// A bound of ages: a time, or a number of aggregation intervals.
pub fn age_bound(text: &str, side: Side) -> Result<Age, ValueError> {
    let expected = "an age (5s, 100ms; units us, ms, s, m, h, d; or, without a unit, a number \
                    of aggregation intervals), min, max or null";
    bound(text, side, (Age::MIN, Age::MAX), expected, |text| match text.parse() {
        Ok(count) if !text.starts_with('+') => Ok(Age::Intervals(count)),
        _ => units::duration_us(text).map(Age::Time),
    })
}

/// A bound on what comes back: a share in a time.
pub fn refault_bound(text: &str) -> Result<RefaultBound, ValueError> {
    let wrong = || ValueError {
        expected: "a share of the working set in a time (0.2%/m, 1%/10s)".to_owned(),
        nearest: None,
    };
    let (share, time) = text.split_once('/').ok_or_else(wrong)?;
    let time = time.trim();
    let time = if units::is_unit(time) { format!("1{time}") } else { time.to_owned() };
    let share = units::share(share.trim()).map_err(|_| wrong())?;
    Ok(RefaultBound { share, per_us: units::duration_us(&time).map_err(|_| wrong())? })
}

/// One of these words, in any case.
pub fn word<T: Clone>(
    text: &str,
    what: &str,
    words: &[(&'static str, T)],
) -> Result<T, ValueError> {
    match words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Err(ValueError::none_of(text, what, &words))
        }
    }
}

/// Whether this is a unit and nothing else, which may stand apart from its number. `min`
/// may not: it is a bound.
pub fn is_unit(text: &str) -> bool {
    units::is_unit(text) && !ENDS.iter().any(|end| end.eq_ignore_ascii_case(text))
}

/// Writes a bound of sizes.
pub fn show_size_bound(bytes: u64) -> String {
    match bytes {
        0 => "min".to_owned(),
        u64::MAX => "max".to_owned(),
        _ => units::show_bytes(bytes),
    }
}

/// Writes a bound of frequencies.
pub fn show_rate_bound(rate: Rate) -> String {
    match rate {
        Rate::MIN => "min".to_owned(),
        Rate::MAX => "max".to_owned(),
        Rate::Share(share) => units::show_share(share),
        Rate::PerSecond(rate) => format!("{rate}{PER_SECOND}"),
    }
}

/// Writes a bound on what comes back.
pub fn show_refault_bound(bound: RefaultBound) -> String {
    let time = units::show_duration(bound.per_us);
    let unit = time.strip_prefix('1').filter(|unit| units::is_unit(unit));
    format!("{}/{}", units::show_share(bound.share), unit.unwrap_or(&time))
}

/// Writes a bound of ages.
pub fn show_age_bound(age: Age) -> String {
    match age {
        Age::MIN => "min".to_owned(),
        Age::MAX => "max".to_owned(),
        Age::Time(us) => units::show_duration(us),
        Age::Intervals(count) => count.to_string(),
    }
}

fn bound<T>(
    text: &str,
    side: Side,
    (least, most): (T, T),
    expected: &str,
    read: impl Fn(&str) -> Result<T, UnitsError>,
) -> Result<T, ValueError> {
    let end = ENDS.iter().find(|end| end.eq_ignore_ascii_case(text));
    match (end.copied(), side) {
        (Some("min"), _) | (Some("null"), Side::Min) => Ok(least),
        (Some(_), _) => Ok(most),
        (None, _) if text.starts_with(|c: char| c.is_alphabetic()) => {
            Err(ValueError { expected: expected.to_owned(), nearest: nearest(text, ENDS) })
        }
        (None, _) => read(text).map_err(|error| match error.fault {
            Fault::TooLarge | Fault::TooSmall => error.into(),
            _ => ValueError { expected: expected.to_owned(), nearest: None },
        }),
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
