use super::*;
use proptest::prelude::*;

fn fault<T: std::fmt::Debug>(read: Result<T, UnitsError>) -> Fault {
    read.unwrap_err().fault
}

#[test]
fn sizes() {
    for (text, wanted) in [
        ("0", 0),
        ("4096", 4096),
        ("100000000", 100_000_000),
        ("4k", 4096),
        ("4KiB", 4096),
        (" 4 KB ", 4096),
        ("100b", 100),
        ("1024 mb", 1 << 30),
        ("1.5G", 3 << 29),
        (".5K", 512),
        ("2T", 2 << 40),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(bytes(text), Ok(wanted), "{text}");
    }
    for bad in ["", "K", "-1", "+1", ".", ".K", "1..5K", "x"] {
        assert_eq!(fault(bytes(bad)), Fault::Malformed, "{bad:?}");
    }
    for bad in ["1x", "0x10", "1e3", "5%", "5s", "1 2"] {
        assert_eq!(fault(bytes(bad)), Fault::UnknownUnit, "{bad:?}");
    }
    for large in ["18446744073709551616", "18446744073709551615k", "16777216T"] {
        assert_eq!(fault(bytes(large)), Fault::TooLarge, "{large:?}");
    }
    assert_eq!(fault(bytes("0.0001K")), Fault::TooSmall);
    assert_eq!(fault(bytes("1.5")), Fault::NoUnit);
}

#[test]
fn durations() {
    for (text, wanted) in [
        ("0", 0),
        ("0ms", 0),
        ("10us", 10),
        ("100 µs", 100),
        ("5ms", 5000),
        ("1.5s", 1_500_000),
        ("7 sec", 7_000_000),
        ("1.5m", 90_000_000),
        ("2MIN", 120_000_000),
        ("1h", 3_600_000_000),
        ("2d", 172_800_000_000),
        ("1m30s", 90_000_000),
        ("1h 30 min", 5_400_000_000),
        ("1d2h3m4s5ms6us", 93_784_005_006),
    ] {
        assert_eq!(duration_us(text), Ok(wanted), "{text}");
    }
    for (bad, why) in [
        ("", Fault::Malformed),
        ("s", Fault::Malformed),
        ("-1s", Fault::Malformed),
        ("1..2s", Fault::Malformed),
        ("5", Fault::NoUnit),
        ("1x", Fault::UnknownUnit),
        ("5K", Fault::UnknownUnit),
        ("1e9h", Fault::UnknownUnit),
        ("0.1us", Fault::TooSmall),
        ("999999999d", Fault::TooLarge),
        ("1s1m", Fault::Malformed),
        ("1m1m", Fault::Malformed),
        ("1m30", Fault::NoUnit),
        ("1m30x", Fault::UnknownUnit),
        ("213503982d1d", Fault::Malformed),
        ("213503982d9h", Fault::TooLarge),
    ] {
        assert_eq!(fault(duration_us(bad)), why, "{bad:?}");
    }
    assert_eq!(duration_us_or("20", "s"), duration_us("20s"));
    assert_eq!(duration_us_or("20ms", "s"), duration_us("20ms"));
    assert_eq!(fault(duration_us_or("20x", "s")), Fault::UnknownUnit);
}

#[test]
fn shares() {
    for (text, wanted) in [
        ("5%", 0.05),
        ("80 %", 0.8),
        ("0.5%", 0.005),
        (".5%", 0.005),
        ("100%", 1.0),
        ("5.3%", 0.053),
    ] {
        assert_eq!(share(text), Ok(wanted), "{text}");
        assert_eq!(percent(text), Ok(wanted), "{text}");
        assert_eq!(percent(text.trim_end_matches('%')), Ok(wanted), "{text}");
    }
    for bad in ["", "%", "-5%", "1.2.3%", "inf", "NaN"] {
        assert_eq!(fault(percent(bad)), Fault::Malformed, "{bad:?}");
    }
    assert_eq!(fault(share("0.1")), Fault::NoUnit);
    assert_eq!(fault(percent("100.1")), Fault::TooLarge);
    for bad in ["5s", "5%%", "1e1"] {
        assert_eq!(fault(percent(bad)), Fault::UnknownUnit, "{bad:?}");
    }
}

#[test]
fn ranges_of_addresses() {
    for text in ["0x1000-0x2000", "4096+4K", "0x1000 + 0x1000", "4096-8192"] {
        assert_eq!(addresses(text), Ok(AddrRange::new(0x1000, 0x2000)), "{text}");
    }
    for (bad, why) in [
        ("", Fault::Malformed),
        ("5", Fault::Malformed),
        ("1+", Fault::Malformed),
        ("0x+5-9", Fault::Malformed),
        ("0x2000-0x1000", Fault::Empty),
        ("1-1", Fault::Empty),
        ("0xffffffffffffffff+1", Fault::TooLarge),
    ] {
        assert_eq!(fault(addresses(bad)), why, "{bad:?}");
    }
}

#[test]
fn errors_say_what_is_wrong_and_what_belongs_there() {
    for (error, wanted) in [
        (bytes("big").unwrap_err(), "expected a size, such as 512M, 10G or 5T"),
        (duration_us("5").unwrap_err(), "no unit, expected a duration with a unit, such as 5ms"),
        (duration_us("5x").unwrap_err(), "unknown unit, expected a duration with a unit"),
        (duration_us("999999999d").unwrap_err(), "expected less than 2^64 us"),
        (share("101%").unwrap_err(), "expected at most 100%"),
    ] {
        assert!(error.to_string().starts_with(wanted), "{error}");
    }
}

#[test]
fn writes_what_people_write() {
    assert_eq!([0, 1000, 4096, 3 << 29].map(show_bytes), ["0", "1000", "4K", "1536M"]);
    let times = [0, 85_700, 1_500_000, 120_000_000, 172_800_000_000];
    assert_eq!(times.map(show_duration), ["0s", "85.7ms", "1.5s", "2m", "2d"]);
    let shares = [0.0, 0.001, 0.05, 0.053, 0.8, 1.0];
    assert_eq!(shares.map(show_share), ["0%", "0.1%", "5%", "5.3%", "80%", "100%"]);
    assert_eq!(show_addresses(&AddrRange::new(0x1000, 0x2000)), "0x1000-0x2000");
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        number in any::<u64>(),
        shift in 0u32..64,
        part in 0.0..=1.0f64,
        ends in (0..u64::MAX, 1..u64::MAX),
    ) {
        let number = number >> shift;
        prop_assert_eq!(bytes(&show_bytes(number)), Ok(number));
        prop_assert_eq!(duration_us(&show_duration(number)), Ok(number));
        prop_assert_eq!(share(&show_share(part)), Ok(part));
        let range = AddrRange::new(ends.0, ends.0.saturating_add(ends.1));
        prop_assert_eq!(addresses(&show_addresses(&range)), Ok(range));
    }

    #[test]
    fn each_unit_reads_in_any_case_and_apart(number in 0u64..10_000, gap in "[ \t]{0,2}") {
        for (units, read) in [(SIZES, bytes as fn(&str) -> _), (TIMES, duration_us)] {
            for (unit, factor) in units {
                for unit in [unit.to_string(), unit.to_ascii_uppercase()] {
                    prop_assert_eq!(read(&format!("{number}{gap}{unit}")), Ok(number * factor));
                    prop_assert!(is_unit(&unit));
                }
            }
        }
    }

    #[test]
    fn anything_is_read_without_a_panic(text in "\\PC{0,24}") {
        let _ = (bytes(&text), duration_us_or(&text, "ms"), percent(&text), addresses(&text));
        let _ = (is_number(&text), is_unit(&text));
    }
}
