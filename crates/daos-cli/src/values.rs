//! Durations, ranges and shares, as people type them.

use daos_core::AddrRange;
use daos_monitor::MonitorKind;
use daos_tune::Method;
use daos_workload::quantity;

/// A size of memory.
pub fn bytes(text: &str) -> Result<u64, String> {
    quantity::bytes(text).map_err(|_| "expected a size, such as 512M, 10G or 5T".to_owned())
}

/// A duration in microseconds: a number, which may have a fraction, and a unit.
pub fn duration_us(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor = match unit {
        "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" | "sec" => 1e6,
        "m" | "min" => 60e6,
        "h" => 3600e6,
        "d" => 86400e6,
        "" if number == "0" => 1.0,
        "" => {
            return Err(format!("no unit; write {text}us, {text}ms, {text}s, {text}m or {text}h"));
        }
        _ => return Err(format!("unknown unit {unit:?}; use us, ms, s, m, h or d")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a number and a unit, such as 5ms, 1.5s or 2m".to_owned())?;
    let us = (number * factor).round();
    if us > 0.0 && us < 1e15 {
        Ok(us as u64)
    } else if us == 0.0 && number == 0.0 {
        Ok(0)
    } else if us == 0.0 {
        Err("shorter than a microsecond".to_owned())
    } else {
        Err("longer than thirty years".to_owned())
    }
}

/// Seconds, which may have a fraction, in microseconds.
pub fn seconds_us(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86400.0).contains(&seconds) => Ok((seconds * 1e6).round() as u64),
        Ok(_) => Err("expected at most a day of seconds, 86400".to_owned()),
        Err(_) => Err("expected a number of seconds, such as 20 or 0.5".to_owned()),
    }
}

/// That one of `all` whose name this is; they are called `what`.
pub fn named<T: Copy>(
    text: &str,
    what: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, String> {
    all.iter().copied().find(|&one| name(one) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&one| name(one)).collect();
        format!("no such {what}; there are {}", names.join(", "))
    })
}

/// The name of a monitor.
pub fn monitor(text: &str) -> Result<MonitorKind, String> {
    named(text, "monitor", MonitorKind::ALL, MonitorKind::name)
}

/// The name of a method to tune.
pub fn method(text: &str) -> Result<Method, String> {
    named(text, "method", &Method::ALL, Method::name)
}

/// Percent of one CPU, with or without the sign, as a share of 1.
pub fn percent_of_cpu(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        Ok(_) => Err("expected more than 0 and at most 100 percent of one CPU".to_owned()),
        Err(_) => Err("expected percent of one CPU, such as 0.5 or 0.5%".to_owned()),
    }
}

/// A range of addresses: `START-END` or `START+SIZE`, in hexadecimal with `0x`, in
/// decimal, or, for a size, with K, M, G or T.
pub fn addresses(text: &str) -> Result<AddrRange, String> {
    let wanted = "expected START-END or START+SIZE, such as 0x7f0000000000+64M";
    let (start, end) = if let Some((start, size)) = text.split_once('+') {
        let start = number(start).ok_or(wanted)?;
        (start, start.checked_add(size_bytes(size).ok_or(wanted)?).ok_or("ends above 2^64")?)
    } else {
        let (start, end) = text.split_once('-').ok_or(wanted)?;
        (number(start).ok_or(wanted)?, number(end).ok_or(wanted)?)
    };
    if start >= end {
        return Err(format!("the range is empty: {start:#x} is not below {end:#x}"));
    }
    Ok(AddrRange::new(start, end))
}

/// A span of time in microseconds: `FROM-TO`, each a duration; either may be left out.
pub fn time_span_us(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').ok_or("expected FROM-TO, such as 2s-10s")?;
    let part = |part: &str, default| if part.is_empty() { Ok(default) } else { duration_us(part) };
    let (from, to) = (part(from, 0)?, part(to, u64::MAX)?);
    if from >= to {
        return Err("the span is empty: it ends before it begins".to_owned());
    }
    Ok((from, to))
}

/// A share: `25%` or `0.25`.
pub fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.parse::<f64>(),
    };
    match share {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(_) => Err("expected a share from 0 to 1, or 0% to 100%".to_owned()),
        Err(_) => Err("expected a share, such as 0.25 or 25%".to_owned()),
    }
}

/// A share that is not nothing.
pub fn share_above_0(text: &str) -> Result<f64, String> {
    match share(text)? {
        0.0 => Err("expected more than nothing, such as 2%".to_owned()),
        share => Ok(share),
    }
}

/// A percentile: a number from 0 to 100.
pub fn percentile(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "expected a number from 0 to 100".to_owned())
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..at], text[at..].trim())
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn size_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.starts_with("0x") { number(text) } else { quantity::bytes(text).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration_us("5ms"), Ok(5000));
        assert_eq!(duration_us("1.5s"), Ok(1_500_000));
        assert_eq!(duration_us("100 us"), Ok(100));
        assert_eq!(duration_us("2m"), Ok(120_000_000));
        assert_eq!(duration_us("0"), Ok(0));
        assert_eq!(duration_us("0ms"), Ok(0));
        assert!(duration_us("5").unwrap_err().contains("5ms"));
        assert_eq!((seconds_us("20"), seconds_us("0.5")), (Ok(20_000_000), Ok(500_000)));
        assert!(seconds_us("20s").is_err() && seconds_us("-1").is_err());
        for bad in ["", "s", "-1s", "1x", "1..2s", "0.1us", "1e9h"] {
            assert!(duration_us(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_and_spans() {
        assert_eq!(addresses("0x1000-0x2000"), Ok(AddrRange::new(0x1000, 0x2000)));
        assert_eq!(addresses("0x1000+4K"), Ok(AddrRange::new(0x1000, 0x2000)));
        assert_eq!(addresses("4096+1MiB"), Ok(AddrRange::new(4096, 4096 + (1 << 20))));
        for bad in ["", "5", "0x2000-0x1000", "1+", "0xffffffffffffffff+1"] {
            assert!(addresses(bad).is_err(), "{bad}");
        }
        assert_eq!(time_span_us("2s-10s"), Ok((2_000_000, 10_000_000)));
        assert_eq!(time_span_us("2s-"), Ok((2_000_000, u64::MAX)));
        assert!(time_span_us("3s-2s").is_err());
    }

    #[test]
    fn shares_and_percentiles() {
        assert_eq!(share("25%"), Ok(0.25));
        assert_eq!(share("1"), Ok(1.0));
        assert!(share("101%").is_err() && share("-1").is_err() && share("x").is_err());
        assert_eq!(percentile("99.9"), Ok(99.9));
        assert!(percentile("101").is_err() && percentile("x").is_err());
    }
}
