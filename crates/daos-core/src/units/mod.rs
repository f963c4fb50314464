//! Sizes, times, shares and ranges of addresses as people write them: the one grammar of
//! flags, schemes and configurations.
//!
//! A quantity is a decimal number and a unit, which white space may separate: `4K`,
//! `1.5 GiB`, `500ms`, `20%`. Upper and lower case are the same. What a number without a
//! unit means is left to the context.
//!
//! What a `show_` function writes reads back as the same value. Decimals are never computed
//! in binary for it: `5.3%` is the number closest to 0.053. [`display`] rounds instead.

pub mod display;

use crate::addr::AddrRange;
use std::fmt;
use thiserror::Error;

/// Units of size, in bytes: powers of 1024 whatever their spelling, since memory comes in no
/// others.
const SIZES: &[(&str, u64)] = &[
    ("t", 1 << 40),
    ("g", 1 << 30),
    ("m", 1 << 20),
    ("k", 1 << 10),
    ("b", 1),
    ("tib", 1 << 40),
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("tb", 1 << 40),
    ("gb", 1 << 30),
    ("mb", 1 << 20),
    ("kb", 1 << 10),
];
/// Units of time, in microseconds.
const TIMES: &[(&str, u64)] = &[
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1000),
    ("us", 1),
    ("µs", 1),
    ("sec", 1_000_000),
    ("min", 60_000_000),
];

/// Why a text is no such quantity, and what would have been one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{fault}expected {expected}")]
pub struct UnitsError {
    /// What is wrong.
    pub fault: Fault,
    /// What belongs there, in words.
    pub expected: &'static str,
}

/// What can be wrong with a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It does not begin with a number, or is no range.
    Malformed,
    /// The number has no unit, and needs one.
    NoUnit,
    /// What follows the number is no unit of this quantity.
    UnknownUnit,
    /// More than fits: 2^64 bytes or microseconds, or more than 100%.
    TooLarge,
    /// Above zero, but less than half a byte or microsecond.
    TooSmall,
    /// A range that ends where it begins, or before.
    Empty,
}

impl fmt::Display for Fault {
    /// What the words of [`UnitsError::expected`] leave unsaid.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoUnit => "no unit, ",
            Self::UnknownUnit => "unknown unit, ",
            Self::Malformed | Self::TooLarge | Self::TooSmall | Self::Empty => "",
        })
    }
}

/// Reads a size in bytes: `4096`, `4K`, `1.5 GiB`, `5tb`. A whole number without a unit
/// counts bytes.
pub fn bytes(text: &str) -> Result<u64, UnitsError> {
    let (number, unit) = split(text);
    let unit = if unit.is_empty() && !number.contains('.') { "b" } else { unit };
    scaled(number, unit, SIZES).map_err(|fault| UnitsError {
        fault,
        expected: match fault {
            Fault::TooLarge => "less than 2^64 bytes",
            Fault::TooSmall => "0, or at least a byte",
            _ => "a size, such as 512M, 10G or 5T (units B, K, M, G, T; bytes without one)",
        },
    })
}

/// Reads a duration in microseconds: `5ms`, `1.5 s`, `2min`, `1h30m`. Only 0 needs no unit.
pub fn duration_us(text: &str) -> Result<u64, UnitsError> {
    let (number, unit) = split(text);
    let unit = if unit.is_empty() && number == "0" { "us" } else { unit };
    let us = match unit.find(|c: char| c.is_ascii_digit()) {
        Some(at) if is_number(number) => in_parts(number, unit, at),
        _ => scaled(number, unit, TIMES),
    };
    us.map_err(|fault| UnitsError {
        fault,
        expected: match fault {
            Fault::TooLarge => "less than 2^64 us",
            Fault::TooSmall => "0, or at least a microsecond",
            _ => "a duration with a unit, such as 5ms, 1.5s or 2m (units us, ms, s, m, h, d)",
        },
    })
}

/// Reads a duration in microseconds; a number without a unit counts `bare` ones, such as
/// `ms`.
pub fn duration_us_or(text: &str, bare: &str) -> Result<u64, UnitsError> {
    duration_us(text).or_else(|error| match error.fault {
        Fault::NoUnit => duration_us(&format!("{}{bare}", text.trim())),
        _ => Err(error),
    })
}

/// Reads a share, 0 to 1, written in percent: `20%`. The sign may not be left out: `0.5`
/// could be meant for either.
pub fn share(text: &str) -> Result<f64, UnitsError> {
    let (number, unit) = split(text);
    let share = match unit {
        _ if !is_number(number) => Err(Fault::Malformed),
        // Dividing by 100 could give a neighbour of the closest number.
        "%" => format!("{number}e-2").parse().map_err(|_| Fault::Malformed),
        "" => Err(Fault::NoUnit),
        _ => Err(Fault::UnknownUnit),
    };
    let share = share.and_then(|share| if share > 1.0 { Err(Fault::TooLarge) } else { Ok(share) });
    share.map_err(|fault| UnitsError {
        fault,
        expected: match fault {
            Fault::TooLarge => "at most 100%",
            _ => "percent with its sign, such as 20% or 0.1%",
        },
    })
}

/// Reads percent, whose sign may be left out, as a share, 0 to 1.
pub fn percent(text: &str) -> Result<f64, UnitsError> {
    share(text).or_else(|error| match error.fault {
        Fault::NoUnit => share(&format!("{text}%")),
        _ => Err(error),
    })
}

/// Reads addresses, `START-END` or `START+SIZE`, in hexadecimal with `0x` or decimal. There
/// is at least one.
pub fn addresses(text: &str) -> Result<AddrRange, UnitsError> {
    let malformed = UnitsError {
        fault: Fault::Malformed,
        expected: "START-END or START+SIZE, such as 0x7f0000000000+64M",
    };
    let address = |text: &str| {
        let text = text.trim();
        let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |hex| (hex, 16));
        // A sign would be read too.
        let is_plain = !digits.starts_with('+');
        is_plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().ok_or(malformed)
    };
    let (start, end) = if let Some((start, size)) = text.split_once('+') {
        let (start, size) = (address(start)?, address(size).or_else(|_| bytes(size))?);
        let too_large = UnitsError { fault: Fault::TooLarge, expected: "an end below 2^64" };
        (start, start.checked_add(size).ok_or(too_large)?)
    } else {
        let (start, end) = text.split_once('-').ok_or(malformed)?;
        (address(start)?, address(end)?)
    };
    if start >= end {
        return Err(UnitsError { fault: Fault::Empty, expected: "an end above the start" });
    }
    Ok(AddrRange::new(start, end))
}

/// Whether this is a decimal number and nothing else: `5`, `0.5`, `.5`.
pub fn is_number(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole) && is_digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// Whether this is a unit and nothing else.
pub fn is_unit(text: &str) -> bool {
    text == "%" || SIZES.iter().chain(TIMES).any(|(unit, _)| unit.eq_ignore_ascii_case(text))
}

/// Writes a size: `4K`, `2M`, `1000`.
pub fn show_bytes(bytes: u64) -> String {
    match SIZES[..4].iter().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{}", bytes / factor, unit.to_uppercase()),
        None => bytes.to_string(),
    }
}

/// Writes a duration, exactly: `5s`, `1.5s`, `85.7ms`, `2m`.
pub fn show_duration(us: u64) -> String {
    // Longer units only for whole numbers: nobody reads 2.216m.
    let whole = |factor: &u64| us.is_multiple_of(*factor);
    let fits =
        |(_, factor): &&(&str, u64)| us >= *factor && (*factor <= 1_000_000 || whole(factor));
    let Some((unit, factor)) = TIMES.iter().find(fits) else { return format!("{us}s") };
    let digits = factor.ilog10() as usize;
    let (number, rest) = (us / factor, us % factor);
    if rest == 0 {
        return format!("{number}{unit}");
    }
    let fraction = format!("{rest:0digits$}");
    format!("{number}.{}{unit}", fraction.trim_end_matches('0'))
}

/// Writes a share as percent: `5%`, `0.1%`.
pub fn show_share(share: f64) -> String {
    // The shortest digits that make this very number, with the point moved by two.
    let text = format!("{:e}", share.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.replace('.', "");
    let point = exponent.parse::<isize>().unwrap_or(0) + 3;
    let count = digits.len() as isize;
    let number = if share == 0.0 {
        digits
    } else if point <= 0 {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else if point >= count {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{whole}.{fraction}")
    };
    format!("{number}%")
}

/// Writes addresses: `0x1000-0x2000`.
pub fn show_addresses(range: &AddrRange) -> String {
    format!("{:#x}-{:#x}", range.start, range.end)
}

/// The number that a quantity begins with, and its unit. Either may be empty.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..at], text[at..].trim_start())
}

/// A duration of several parts, each of smaller units than the one before: `number` of the unit
/// that `rest` begins with, and what comes from `at` on.
fn in_parts(number: &str, rest: &str, at: usize) -> Result<u64, Fault> {
    let (mut number, mut unit, mut rest) = (number, rest[..at].trim_end(), &rest[at..]);
    let (mut sum, mut larger) = (0u64, u64::MAX);
    loop {
        let one = scaled("1", unit, TIMES)?;
        if one >= larger {
            return Err(Fault::Malformed);
        }
        larger = one;
        sum = sum.checked_add(scaled(number, unit, TIMES)?).ok_or(Fault::TooLarge)?;
        if rest.is_empty() {
            return Ok(sum);
        }
        let behind;
        (number, behind) = split(rest);
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        (unit, rest) = (behind[..end].trim_end(), &behind[end..]);
    }
}

/// A number of these units, in what their factors count.
fn scaled(number: &str, unit: &str, units: &[(&str, u64)]) -> Result<u64, Fault> {
    let known = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    match known {
        _ if !is_number(number) => Err(Fault::Malformed),
        Some((_, factor)) => decimal(number, *factor),
        None if unit.is_empty() => Err(Fault::NoUnit),
        None => Err(Fault::UnknownUnit),
    }
}

/// A decimal number times `factor`, rounded.
fn decimal(number: &str, factor: u64) -> Result<u64, Fault> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| match part {
        "" => Ok(0),
        _ => part.parse::<u64>().map_err(|_| Fault::TooLarge),
    };
    let whole = u128::from(digits(whole)?);
    // What further digits add is far below one.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10u128.pow(fraction.len() as u32);
    let fraction = (u128::from(digits(fraction)?) * u128::from(factor) + scale / 2) / scale;
    let sum = whole * u128::from(factor) + fraction;
    if sum == 0 && number.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        return Err(Fault::TooSmall);
    }
    sum.try_into().map_err(|_| Fault::TooLarge)
}

#[cfg(test)]
mod tests;
