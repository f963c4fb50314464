//! Single values as schemes spell them: sizes, frequencies, ages, durations, shares.
//!
//! Both forms of a scheme read and write them here, so a value means the same in each.
//! Decimals are never computed in binary: `5.3%` is the number closest to 0.053, and
//! each value is written so that reading it gives the same value again.

use crate::nearest::nearest;
use crate::pattern::Age;
use daos_core::addr::AddrRange;

/// Units of size. Memory comes in powers of 1024, whatever their spelling.
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
];
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
pub struct Unfit {
    /// What would have been one.
    pub expected: String,
    /// The valid word that is most like it.
    pub nearest: Option<&'static str>,
}

impl Unfit {
    fn new(expected: &str) -> Self {
        Self { expected: expected.to_owned(), nearest: None }
    }

    /// Not one of these words.
    pub fn none_of(text: &str, what: &str, words: &[&'static str]) -> Self {
        let expected = format!("{what}: {}", words.join(", "));
        Self { expected, nearest: nearest(text, words.iter().copied()) }
    }
}

/// Why a number is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Malformed,
    TooLarge,
    TooSmall,
}

/// A bound of sizes, in bytes.
pub fn size_bound(text: &str, side: Side) -> Result<u64, Unfit> {
    bound(text, side, (0, u64::MAX), "a size (4096, 4K, 2MiB), min, max or null", bytes)
}

/// A bound of frequencies, as a share of the checks, 0 to 1.
pub fn rate_bound(text: &str, side: Side) -> Result<f64, Unfit> {
    let expected = "a frequency in percent (5, 5%, 0.5%), min, max or null";
    bound(text, side, (0.0, 1.0), expected, |text| {
        percent(text.strip_suffix('%').unwrap_or(text)).map_err(|fault| match fault {
            Fault::TooLarge => Unfit::new("at most 100 %"),
            _ => Unfit::new(expected),
        })
    })
}

/// A bound of ages: a time, or a number of aggregation intervals.
pub fn age_bound(text: &str, side: Side) -> Result<Age, Unfit> {
    let expected = "an age (5s, 100ms; units us, ms, s, m, h, d; or, without a unit, a number \
                    of aggregation intervals), min, max or null";
    bound(text, side, (Age::MIN, Age::MAX), expected, |text| {
        let age = match text.parse() {
            Ok(count) if text.bytes().all(|b| b.is_ascii_digit()) => Ok(Age::Intervals(count)),
            _ => scaled(text, TIMES).map(Age::Time),
        };
        age.map_err(|fault| too(fault, "2^64 us", "a microsecond", expected))
    })
}

/// A size in bytes.
pub fn bytes(text: &str) -> Result<u64, Unfit> {
    let text = text.to_ascii_lowercase();
    let number = if text.bytes().all(|b| b.is_ascii_digit()) {
        decimal(&text, 1)
    } else {
        scaled(&text, SIZES)
    };
    number.map_err(|fault| {
        too(fault, "2^64 bytes", "a byte", "a size (4096, 4K, 2MiB; units B, K, M, G, T)")
    })
}

/// A duration in microseconds. Its unit may not be left out.
pub fn duration_us(text: &str) -> Result<u64, Unfit> {
    let expected = "a duration with a unit (5ms, 1.5s; units us, ms, s, m, h, d)";
    scaled(text, TIMES).map_err(|fault| too(fault, "2^64 us", "a microsecond", expected))
}

/// A share, 0 to 1, written as percent. The sign may not be left out: `0.5` could be
/// meant for either.
pub fn share(text: &str) -> Result<f64, Unfit> {
    let number = text.strip_suffix('%').ok_or(Fault::Malformed);
    number.and_then(percent).map_err(|fault| match fault {
        Fault::TooLarge => Unfit::new("at most 100%"),
        _ => Unfit::new("percent with its sign, such as 20% or 0.1%"),
    })
}

/// Addresses: `START-END` or `START+SIZE`, in hexadecimal with `0x` or decimal.
pub fn addresses(text: &str) -> Result<AddrRange, Unfit> {
    let unfit = || Unfit::new("START-END or START+SIZE, such as 0x7f0000000000+64M");
    let address = |text: &str| {
        let text = text.trim();
        match text.strip_prefix("0x") {
            Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
            _ => decimal(text, 1).ok(),
        }
    };
    let (start, end) = if let Some((start, size)) = text.split_once('+') {
        let start = address(start).ok_or_else(unfit)?;
        let size = address(size).or_else(|| bytes(size.trim()).ok()).ok_or_else(unfit)?;
        (start, start.checked_add(size).ok_or_else(|| Unfit::new("an end below 2^64"))?)
    } else {
        let (start, end) = text.split_once('-').ok_or_else(unfit)?;
        (address(start).ok_or_else(unfit)?, address(end).ok_or_else(unfit)?)
    };
    if start >= end {
        return Err(Unfit::new("an end above the start"));
    }
    Ok(AddrRange::new(start, end))
}

/// One of these words, in any case.
pub fn word<T: Clone>(text: &str, what: &str, words: &[(&'static str, T)]) -> Result<T, Unfit> {
    match words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            Err(Unfit::none_of(text, what, &words))
        }
    }
}

/// Whether this is a unit and nothing else, which may stand apart from its number.
pub fn is_unit(text: &str) -> bool {
    let is_size = || SIZES.iter().any(|(unit, _)| unit.eq_ignore_ascii_case(text));
    text == "%" || TIMES.iter().any(|&(unit, _)| unit == text) || is_size()
}

/// Whether this is a number and nothing else.
pub fn is_number(text: &str) -> bool {
    decimal(text, 1) != Err(Fault::Malformed)
}

/// Writes a bound of sizes.
pub fn show_size_bound(bytes: u64) -> String {
    match bytes {
        0 => "min".to_owned(),
        u64::MAX => "max".to_owned(),
        _ => show_bytes(bytes),
    }
}

/// Writes a bound of frequencies.
pub fn show_rate_bound(rate: f64) -> String {
    if rate == 0.0 {
        "min".to_owned()
    } else if rate == 1.0 {
        "max".to_owned()
    } else {
        show_share(rate)
    }
}

/// Writes a bound of ages.
pub fn show_age_bound(age: Age) -> String {
    match age {
        Age::MIN => "min".to_owned(),
        Age::MAX => "max".to_owned(),
        Age::Time(us) => show_duration(us),
        Age::Intervals(count) => count.to_string(),
    }
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
    let Some((unit, factor)) = TIMES.iter().find(fits) else { return format!("{us}us") };
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

/// Writes addresses.
pub fn show_addresses(range: &AddrRange) -> String {
    format!("{:#x}-{:#x}", range.start, range.end)
}

fn bound<T>(
    text: &str,
    side: Side,
    (least, most): (T, T),
    expected: &str,
    number: impl Fn(&str) -> Result<T, Unfit>,
) -> Result<T, Unfit> {
    let end = ENDS.iter().find(|end| end.eq_ignore_ascii_case(text));
    match (end.copied(), side) {
        (Some("min"), _) | (Some("null"), Side::Min) => Ok(least),
        (Some(_), _) => Ok(most),
        (None, _) if text.starts_with(|c: char| c.is_alphabetic()) => {
            Err(Unfit { expected: expected.to_owned(), nearest: nearest(text, ENDS) })
        }
        (None, _) => number(text),
    }
}

/// A number with a unit, in what the unit counts.
fn scaled(text: &str, units: &[(&str, u64)]) -> Result<u64, Fault> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = unit.trim_start();
    let known = units.iter().find(|(name, _)| *name == unit).ok_or(Fault::Malformed)?;
    decimal(number, known.1)
}

/// A decimal number times `factor`, rounded.
fn decimal(number: &str, factor: u64) -> Result<u64, Fault> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(Fault::Malformed);
    }
    // What further digits add is far below one.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10u128.pow(fraction.len() as u32);
    let fraction: u128 = fraction.parse().map_err(|_| Fault::Malformed)?;
    let fraction = (fraction * u128::from(factor) + scale / 2) / scale;
    let whole = whole.parse::<u64>().map_err(|_| Fault::TooLarge)?;
    let sum = u128::from(whole) * u128::from(factor) + fraction;
    if sum == 0 && number.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        return Err(Fault::TooSmall);
    }
    sum.try_into().map_err(|_| Fault::TooLarge)
}

/// Percent without their sign, as a share.
fn percent(number: &str) -> Result<f64, Fault> {
    let number = number.trim_end();
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_whole = number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.');
    match format!("{number}e-2").parse::<f64>() {
        Ok(share) if is_plain && is_whole && share <= 1.0 => Ok(share),
        Ok(_) if is_plain && is_whole => Err(Fault::TooLarge),
        _ => Err(Fault::Malformed),
    }
}

fn too(fault: Fault, limit: &str, least: &str, expected: &str) -> Unfit {
    match fault {
        Fault::TooLarge => Unfit { expected: format!("less than {limit}"), nearest: None },
        Fault::TooSmall => Unfit { expected: format!("0, or at least {least}"), nearest: None },
        Fault::Malformed => Unfit::new(expected),
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
