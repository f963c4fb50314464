//! Numbers with units: sizes and durations as people write them.
//!
//! Units of size are powers of 1024 whatever their spelling, since memory comes
//! in no others.

/// Why a quantity could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is no whole number followed by a known unit.
    Malformed,
    /// It does not fit into 64 bits.
    TooLarge,
}

/// Bytes: `4096`, `4k`, `128 MiB`, `1gb`, `5T`; letters of either case.
pub fn bytes(text: &str) -> Result<u64, Fault> {
    scaled(text, |unit| match unit {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1 << 30),
        "t" | "tb" | "tib" => Some(1 << 40),
        _ => None,
    })
}

/// Milliseconds: `10000`, `500ms`, `10s`, `2m`, `1h`.
pub fn milliseconds(text: &str) -> Result<u64, Fault> {
    scaled(text, |unit| match unit {
        "" | "ms" => Some(1),
        "s" => Some(1000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    })
}

fn scaled(text: &str, factor: impl Fn(&str) -> Option<u64>) -> Result<u64, Fault> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = factor(&unit.trim_start().to_ascii_lowercase()).ok_or(Fault::Malformed)?;
    if number.is_empty() {
        return Err(Fault::Malformed);
    }
    // Only digits are left, so it can fail in one way.
    let number: u64 = number.parse().map_err(|_| Fault::TooLarge)?;
    number.checked_mul(factor).ok_or(Fault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_sizes() {
        assert_eq!(bytes("100000000"), Ok(100_000_000));
        assert_eq!(bytes("4k"), Ok(4096));
        assert_eq!(bytes("1GiB"), bytes("1024 mb"));
        assert_eq!(bytes("5T"), Ok(5 << 40));
        for bad in ["", "k", "-1", "1.5G", "1x", "0x10", "1 2"] {
            assert_eq!(bytes(bad), Err(Fault::Malformed), "{bad:?}");
        }
        for large in ["18446744073709551616", "18446744073709551615k", "99999999999T"] {
            assert_eq!(bytes(large), Err(Fault::TooLarge), "{large:?}");
        }
    }

    #[test]
    fn reads_durations() {
        assert_eq!(milliseconds("10000"), Ok(10_000));
        assert_eq!(milliseconds("10s"), Ok(10_000));
        assert_eq!(milliseconds("500ms"), Ok(500));
        assert_eq!(milliseconds("2m"), Ok(120_000));
        assert_eq!(milliseconds("2d"), Err(Fault::Malformed));
    }
}
