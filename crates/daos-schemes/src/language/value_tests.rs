//! Tests of values.

use super::*;
use proptest::prelude::*;

#[test]
fn sizes() {
    for (text, wanted) in [
        ("0", 0),
        ("4096", 4096),
        ("4k", 4096),
        ("4KiB", 4096),
        ("4 KB", 4096),
        ("100b", 100),
        ("1.5G", 3 << 29),
        ("2T", 2 << 40),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(bytes(text), Ok(wanted), "{text}");
    }
    for bad in ["", "K", "-1", "+1", "1.K", ".5K", "1..5K", "0x10", "1e3", "5%", "5s", "1 2"] {
        assert!(bytes(bad).unwrap_err().expected.contains("4K"), "{bad}");
    }
    assert!(bytes("16777216T").unwrap_err().expected.contains("2^64"));
    assert!(bytes("18446744073709551616").unwrap_err().expected.contains("2^64"));
    assert!(bytes("0.0001K").unwrap_err().expected.contains("at least a byte"));
}

#[test]
fn bounds() {
    let ends = |text| (size_bound(text, Side::Min).ok(), size_bound(text, Side::Max).ok());
    assert_eq!(ends("min"), (Some(0), Some(0)));
    assert_eq!(ends("MAX"), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!(ends("null"), (Some(0), Some(u64::MAX)));
    assert_eq!(size_bound("mxa", Side::Min).unwrap_err().nearest, Some("max"));
    assert_eq!(size_bound("nul", Side::Min).unwrap_err().nearest, Some("null"));
}

#[test]
fn frequencies_are_percent() {
    for (text, wanted) in
        [("5", 0.05), ("5%", 0.05), ("80 %", 0.8), ("0.5%", 0.005), ("100", 1.0), ("5.3", 0.053)]
    {
        assert_eq!(rate_bound(text, Side::Min), Ok(wanted), "{text}");
    }
    for bad in ["", "%", "-5", "5s", "5%%", "1e1", ".5", "5.", "1.2.3", "inf", "NaN"] {
        assert!(rate_bound(bad, Side::Min).is_err(), "{bad}");
    }
    assert!(rate_bound("100.1%", Side::Min).unwrap_err().expected.contains("at most 100"));
    assert_eq!(share("0.1%"), Ok(0.001));
    assert!(share("0.1").unwrap_err().expected.contains("sign"));
}

#[test]
fn ages_and_durations() {
    for (text, wanted) in [
        ("5", Age::Intervals(5)),
        ("0", Age::Intervals(0)),
        ("0s", Age::MIN),
        ("7 s", Age::Time(7_000_000)),
        ("500ms", Age::Time(500_000)),
        ("10us", Age::Time(10)),
        ("1.5m", Age::Time(90_000_000)),
        ("1h", Age::Time(3_600_000_000)),
        ("2d", Age::Time(172_800_000_000)),
    ] {
        assert_eq!(age_bound(text, Side::Min), Ok(wanted), "{text}");
    }
    for bad in ["", "s", "5x", "5K", "5%", "-5s", "1.5", "5sec", "+5"] {
        assert!(age_bound(bad, Side::Min).is_err(), "{bad}");
    }
    assert!(age_bound("999999999d", Side::Max).unwrap_err().expected.contains("less than"));
    assert!(duration_us("5").unwrap_err().expected.contains("unit"));
}

#[test]
fn ranges_of_addresses() {
    assert_eq!(addresses("0x1000-0x2000"), Ok(AddrRange::new(0x1000, 0x2000)));
    assert_eq!(addresses("4096+4K"), Ok(AddrRange::new(0x1000, 0x2000)));
    for bad in ["", "5", "0x2000-0x1000", "1-1", "1+", "0xffffffffffffffff+1", "0x+5-9"] {
        assert!(addresses(bad).is_err(), "{bad}");
    }
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
        prop_assert_eq!(bytes(&show_bytes(number)), Ok(number));
        prop_assert_eq!(size_bound(&show_size_bound(number), Side::Min), Ok(number));
        prop_assert_eq!(duration_us(&show_duration(number)), Ok(number));
        prop_assert_eq!(share(&show_share(rate)), Ok(rate));
        prop_assert_eq!(rate_bound(&show_rate_bound(rate), Side::Max), Ok(rate));
        let age = if intervals { Age::Intervals(number) } else { Age::Time(number) };
        prop_assert_eq!(age_bound(&show_age_bound(age), Side::Max), Ok(age));
    }

    #[test]
    fn anything_is_read_without_a_panic(text in "\\PC{0,24}") {
        let _ = size_bound(&text, Side::Min);
        let _ = rate_bound(&text, Side::Max);
        let _ = age_bound(&text, Side::Min);
        let _ = addresses(&text);
        let _ = (duration_us(&text), share(&text), bytes(&text));
    }
}

#[test]
fn writes_what_people_write() {
    assert_eq!(show_bytes(4096), "4K");
    assert_eq!(show_bytes(0), "0");
    assert_eq!(show_bytes(3 << 29), "1536M");
    assert_eq!(show_duration(120_000_000), "2m");
    assert_eq!(show_duration(0), "0us");
    for (share, wanted) in
        [(0.05, "5%"), (0.001, "0.1%"), (0.8, "80%"), (1.0, "100%"), (0.053, "5.3%"), (0.0, "0%")]
    {
        assert_eq!(show_share(share), wanted);
    }
}
