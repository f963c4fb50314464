//! Tests of values.

use super::*;
use proptest::prelude::*;

#[test]
fn bounds() {
    let ends = |text| (size_bound(text, Side::Min).ok(), size_bound(text, Side::Max).ok());
    assert_eq!(ends("min"), (Some(0), Some(0)));
    assert_eq!(ends("MAX"), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!(ends("null"), (Some(0), Some(u64::MAX)));
    assert_eq!(size_bound("mxa", Side::Min).unwrap_err().nearest, Some("max"));
    assert_eq!(size_bound("nul", Side::Min).unwrap_err().nearest, Some("null"));
    assert_eq!(size_bound("4K", Side::Min), Ok(4096));
    let too_large = size_bound("16777216T", Side::Max).unwrap_err();
    assert_eq!(too_large.expected, "less than 2^64 bytes");
}

#[test]
fn frequencies_are_percent() {
    for (text, wanted) in
        [("5", 0.05), ("5%", 0.05), ("80 %", 0.8), ("0.5%", 0.005), ("100", 1.0), ("5.3", 0.053)]
    {
        assert_eq!(rate_bound(text, Side::Min), Ok(Rate::Share(wanted)), "{text}");
    }
    for (text, wanted) in [("0.5/s", 0.5), ("2 /s", 2.0), (".1/s", 0.1)] {
        assert_eq!(rate_bound(text, Side::Min), Ok(Rate::PerSecond(wanted)), "{text}");
    }
    for bad in ["", "%", "-5", "5s", "5%%", "inf", "/s", "-1/s", "inf/s", "5/m", "5%/s"] {
        assert!(rate_bound(bad, Side::Min).is_err(), "{bad}");
    }
    assert!(rate_bound("100.1%", Side::Min).unwrap_err().expected.contains("at most 100"));
}

#[test]
fn ages_are_times_or_intervals() {
    for (text, wanted) in [
        ("5", Age::Intervals(5)),
        ("0", Age::Intervals(0)),
        ("0s", Age::MIN),
        ("7 s", Age::Time(7_000_000)),
        ("500ms", Age::Time(500_000)),
        ("10us", Age::Time(10)),
        ("1.5m", Age::Time(90_000_000)),
        ("5min", Age::Time(300_000_000)),
        ("1h", Age::Time(3_600_000_000)),
        ("2d", Age::Time(172_800_000_000)),
    ] {
        assert_eq!(age_bound(text, Side::Min), Ok(wanted), "{text}");
    }
    for bad in ["", "s", "5x", "5K", "5%", "-5s", "1.5", "+5", "0.1us"] {
        assert!(age_bound(bad, Side::Min).is_err(), "{bad}");
    }
    assert!(age_bound("999999999d", Side::Max).unwrap_err().expected.contains("less than"));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        size in any::<u64>(),
        shift in 0u32..64,
        rate in 0.0..=1.0f64,
        intervals in any::<bool>(),
    ) {
        let number = size >> shift;
        prop_assert_eq!(size_bound(&show_size_bound(number), Side::Min), Ok(number));
        for rate in [Rate::Share(rate), Rate::PerSecond(rate * 1e3)] {
            prop_assert_eq!(rate_bound(&show_rate_bound(rate), Side::Max), Ok(rate));
        }
        let age = if intervals { Age::Intervals(number) } else { Age::Time(number) };
        prop_assert_eq!(age_bound(&show_age_bound(age), Side::Max), Ok(age));
    }

    #[test]
    fn anything_is_read_without_a_panic(text in "\\PC{0,24}") {
        let _ = size_bound(&text, Side::Min);
        let _ = rate_bound(&text, Side::Max);
        let _ = age_bound(&text, Side::Min);
    }
}

#[test]
fn bounds_on_what_comes_back() {
    let bound = |share, per_us| RefaultBound { share, per_us };
    for (text, read, shown) in [
        ("0.2%/m", bound(0.002, 60_000_000), "0.2%/m"),
        ("1 % / 10 s", bound(0.01, 10_000_000), "1%/10s"),
        ("5%/1h", bound(0.05, 3_600_000_000), "5%/h"),
    ] {
        assert_eq!(refault_bound(text), Ok(read), "{text}");
        assert_eq!(show_refault_bound(read), shown);
    }
    for text in ["", "1%", "1%/", "/m", "1%/x", "x/m", "1%/0.1us", "-1%/m"] {
        let error = refault_bound(text).unwrap_err();
        assert!(error.expected.contains("0.2%/m"), "{text}: {error:?}");
    }
}
