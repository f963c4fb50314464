//! Numbers as people read them: at most three digits and a unit. They are rounded and not
//! to be read back: for that are the `show_` functions of [`units`](super).

/// A size: `0 B`, `4 KiB`, `1.5 MiB`, `23.1 TiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // What would be rounded up to 1024 belongs to the next unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), UNITS[unit])
}

/// A time span given in microseconds: `250 us`, `5 ms`, `1.2 s`, `340 s`.
pub fn duration(us: u64) -> String {
    match us {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{} ms", three_digits(us as f64 / 1e3)),
        _ => format!("{} s", three_digits(us as f64 / 1e6)),
    }
}

/// A moment given in microseconds, in seconds to the millisecond: `12.345`, `20`.
pub fn seconds(us: u64) -> String {
    without_zeros(&format!("{:.3}", us as f64 / 1e6)).to_owned()
}

/// A share, 0 to 1, in percent: `0 %`, `0.05 %`, `12.5 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A number with its three leading digits, without zeros at the end of a fraction.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let digits = format!("{value:.decimals$}");
    match decimals {
        0 => digits,
        _ => without_zeros(&digits).to_owned(),
    }
}

/// A number with a decimal point, without the zeros at the end of its fraction.
fn without_zeros(digits: &str) -> &str {
    digits.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_three_digits() {
        let shown = [0, 1023, 1024, 1536, 10_000, 1 << 20, 1_048_000, 123 << 30, u64::MAX];
        assert_eq!(
            shown.map(bytes),
            [
                "0 B", "1023 B", "1 KiB", "1.5 KiB", "9.77 KiB", "1 MiB", "1023 KiB", "123 GiB",
                "16 EiB"
            ]
        );
    }

    #[test]
    fn times_and_shares_keep_three_digits() {
        let shown = [0, 999, 5_000, 100_000, 1_234_567, 3_600_000_000];
        assert_eq!(shown.map(duration), ["0 s", "999 us", "5 ms", "100 ms", "1.23 s", "3600 s"]);
        assert_eq!([0, 12_345_000, 20_000_000].map(seconds), ["0", "12.345", "20"]);
        assert_eq!([0.0, 0.0005, 0.125, 1.0].map(percent), ["0 %", "0.05 %", "12.5 %", "100 %"]);
    }
}
