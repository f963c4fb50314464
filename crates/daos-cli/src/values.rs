//! Sizes, durations, ranges and shares, as flags have them.

use daos_core::AddrRange;
use daos_core::units::{self, Fault, UnitsError};
use daos_linux::SwapOptions;
use daos_monitor::MonitorKind;
use daos_tune::Method;

/// What clap shows.
fn message(error: UnitsError) -> String {
    error.to_string()
}

/// A size of memory.
pub fn bytes(text: &str) -> Result<u64, String> {
    units::bytes(text).map_err(message)
}

/// A size that a swap device can have.
pub fn swap_bytes(text: &str) -> Result<u64, String> {
    let bytes = bytes(text)?;
    SwapOptions::check_size(bytes).map_err(|err| err.to_string())?;
    Ok(bytes)
}

/// A duration in microseconds, with a unit, of at most thirty years: far from where adding
/// two of them would overflow.
pub fn duration_us(text: &str) -> Result<u64, String> {
    match units::duration_us(text) {
        Ok(us) if us >= 1_000_000_000_000_000 => Err("longer than thirty years".to_owned()),
        Err(UnitsError { fault: Fault::NoUnit, .. }) => {
            Err(format!("no unit; write {text}us, {text}ms, {text}s, {text}m or {text}h"))
        }
        read => read.map_err(message),
    }
}

/// Seconds, or a duration with another unit, in microseconds.
pub fn seconds_us(text: &str) -> Result<u64, String> {
    match units::duration_us_or(text, "s") {
        Ok(us) if us <= 86_400_000_000 => Ok(us),
        Ok(_) => Err("expected at most a day of seconds, 86400".to_owned()),
        Err(error) if matches!(error.fault, Fault::TooLarge | Fault::TooSmall) => {
            Err(message(error))
        }
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
    match units::percent(text) {
        Ok(share) if share > 0.0 => Ok(share),
        Ok(_) | Err(UnitsError { fault: Fault::TooLarge, .. }) => {
            Err("expected more than 0 and at most 100 percent of one CPU".to_owned())
        }
        Err(_) => Err("expected percent of one CPU, such as 0.5 or 0.5%".to_owned()),
    }
}

/// A range of addresses: `START-END` or `START+SIZE`.
pub fn addresses(text: &str) -> Result<AddrRange, String> {
    units::addresses(text).map_err(message)
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
    let share = units::share(text).or_else(|error| match error.fault {
        Fault::NoUnit => text.trim().parse().map_err(|_| error),
        _ => Err(error),
    });
    match share {
        Ok(share) if share <= 1.0 => Ok(share),
        Ok(_) | Err(UnitsError { fault: Fault::TooLarge, .. }) => {
            Err("expected a share from 0 to 1, or 0% to 100%".to_owned())
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_schemes() {
        assert_eq!(bytes("1.5G"), Ok(3 << 29));
        assert!(bytes("big").unwrap_err().contains("such as 512M, 10G or 5T"));
    }

    #[test]
    fn durations_need_a_unit_and_seconds_none() {
        assert_eq!((duration_us("1.5s"), duration_us("0")), (Ok(1_500_000), Ok(0)));
        assert!(duration_us("5").unwrap_err().contains("5ms"));
        assert!(duration_us("1e9h").is_err() && duration_us("20000d").is_err());
        assert_eq!((seconds_us("20"), seconds_us("0.5")), (Ok(20_000_000), Ok(500_000)));
        assert_eq!(seconds_us("20s"), Ok(20_000_000));
        assert!(seconds_us("86401").is_err() && seconds_us("-1").is_err());
    }

    #[test]
    fn spans_of_time() {
        assert_eq!(time_span_us("2s-10s"), Ok((2_000_000, 10_000_000)));
        assert_eq!(time_span_us("2s-"), Ok((2_000_000, u64::MAX)));
        assert!(time_span_us("3s-2s").is_err());
    }

    #[test]
    fn shares_and_percentiles() {
        assert_eq!((share("25%"), share("0.25"), share("1")), (Ok(0.25), Ok(0.25), Ok(1.0)));
        assert_eq!((percent_of_cpu("0.5"), percent_of_cpu("0.5%")), (Ok(0.005), Ok(0.005)));
        assert!(share("101%").is_err() && share("-1").is_err() && share("x").is_err());
        assert!(share("1.1").is_err() && percent_of_cpu("0").is_err());
        assert_eq!(percentile("99.9"), Ok(99.9));
        assert!(percentile("101").is_err() && percentile("x").is_err());
    }
}
