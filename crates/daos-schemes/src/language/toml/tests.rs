//! Tests of schemes in TOML.

use super::super::arbitrary::{any_scheme, plain};
use super::*;
use crate::{
    Age, Bounds, Filter, FilterType, Goal, Pattern, Quota, Rate, RefaultBound, Watermarks, Weights,
    text,
};
use daos_core::{Action, AddrRange, Metric};
use proptest::prelude::*;

const FULL: &str = r#"
# All there is.
[[scheme]]
name = "all of it"
size = ["4K", "max"]
frequency = [0, "0%"]
age = ["5 s", 100]
action = "page_out"
apply_interval = "1s"
max_refault = "0.2%/m"

[scheme.quota]
bytes = "64M"
time = "10ms"
per = "2s"
weights = { size = 1, frequency = 2.5, age = 3 }

[scheme.watermarks]
metric = "free-memory"
high = "50%"
mid = "40%"
low = "20%"
interval = "5s"

[scheme.goal]
metric = "memory-pressure"
target = "0.1%"

[[scheme.filter]]
addresses = "0x1000-0x2000"
verdict = "reject"

[[scheme.filter]]
cgroup = "/system.slice"
inverted = true
verdict = "reject"

[[scheme.filter]]
memory = "anonymous"
verdict = "allow"

[[scheme]]
size = ["min", "max"]
frequency = [25, "max"]
age = ["null", "null"]
action = "LOCK"
"#;

/// In place of a column: the line where the table begins.
const HEADER: usize = 0;

fn error(text: &str) -> String {
    parse(text, "my.toml").unwrap_err().to_string()
}

/// The full file with a change, and the line that the change is on.
fn changed(from: &str, to: &str) -> (String, usize) {
    let at = FULL.find(from).unwrap_or_else(|| panic!("{from}"));
    (FULL.replacen(from, to, 1), place(FULL, at).0)
}

#[test]
fn says_all_there_is() {
    let schemes = parse(FULL, "my.toml").unwrap_or_else(|err| panic!("{err}"));
    let reject = |filter_type, inverted| Filter { filter_type, inverted, allow: false };
    let full = Scheme {
        name: Some("all of it".into()),
        pattern: Pattern {
            size: Bounds { min: 4096, max: u64::MAX },
            rate: Bounds { min: Rate::MIN, max: Rate::MIN },
            age: Bounds { min: Age::Time(5_000_000), max: Age::Intervals(100) },
        },
        action: Action::Pageout,
        quota: Quota {
            bytes: Some(64 << 20),
            time_us: Some(10_000),
            reset_us: 2_000_000,
            weights: Weights { size: 1.0, rate: 2.5, age: 3.0 },
        },
        watermarks: Some(Watermarks {
            metric: Metric::FreeMemory,
            interval_us: 5_000_000,
            high: 0.5,
            mid: 0.4,
            low: 0.2,
        }),
        filters: vec![
            reject(FilterType::Addresses(AddrRange::new(0x1000, 0x2000)), false),
            reject(FilterType::Cgroup("/system.slice".into()), true),
            Filter { filter_type: FilterType::Anonymous, inverted: false, allow: true },
        ],
        goal: Some(Goal { metric: Metric::MemoryPressure, target: 0.001 }),
        max_refault: Some(RefaultBound { share: 0.002, per_us: 60_000_000 }),
        apply_interval_us: Some(1_000_000),
    };
    assert_eq!(schemes[0], full);
    assert_eq!(text::format(&schemes[1]), "min max 25% max min max lock");
    assert!(text::says_all(&schemes[1]) && !text::says_all(&schemes[0]));
    assert_eq!(parse(&format(&schemes), "again").unwrap(), schemes);
}

#[test]
fn a_plain_scheme_is_short() {
    let schemes = text::parse("4K max min 5 5s max pageout", "test").unwrap();
    assert_eq!(
        format(&schemes),
        "[[scheme]]\nsize = [\"4K\", \"max\"]\nfrequency = [\"min\", \"5%\"]\n\
         age = [\"5s\", \"max\"]\naction = \"pageout\"\n"
    );
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    for (from, to, column, words) in [
        ("action = \"page_out\"", "action = \"pagout\"", 10, "did you mean pageout?"),
        ("\"4K\", \"max\"", "\"4K\", \"mxa\"", 15, "did you mean max?"),
        ("[0, \"0%\"]", "[0, \"0.5s\"]", 17, "a frequency in percent"),
        ("[0, \"0%\"]", "[0, 101]", 17, "at most 100%"),
        ("[0, \"0%\"]", "[-1, 5]", 14, "\"-1\", expected a frequency"),
        ("[0, \"0%\"]", "[6, 5]", 13, "min_freq (6%) is above max_freq (5%)"),
        ("[\"4K\", \"max\"]", "[\"4K\"]", 8, "a list of 1, expected two bounds"),
        ("[\"4K\", \"max\"]", "[1, 2, 3]", 8, "a list of 3, expected two bounds"),
        ("[\"4K\", \"max\"]", "[true, 2]", 9, "expected a string or a number"),
        ("[\"4K\", \"max\"]", "4096", 8, "expected a list"),
        ("bytes = \"64M\"", "bytes = \"0\"", HEADER, "quota of 0 bytes"),
        ("bytes = \"64M\"", "byte = \"64M\"", 1, "did you mean bytes?"),
        ("time = \"10ms\"", "time = 10", 8, "duration with a unit"),
        ("age = 3 }", "agee = 3 }", 40, "did you mean age?"),
        ("apply_interval", "aply_interval", 1, "did you mean apply_interval?"),
        ("\"0.2%/m\"", "\"0.2%\"", 15, "a share of the working set in a time"),
        ("\"0.2%/m\"", "\"0%/m\"", 15, "leave it out"),
        ("mid = \"40%\"", "mid = \"60%\"", HEADER, "low (20%) <= mid (60%) <= high (50%)"),
        ("high = \"50%\"", "high = 0.5", 8, "percent with its sign"),
        ("\"free-memory\"", "\"free_memory\"", 10, "did you mean free-memory?"),
        ("target = \"0.1%\"", "target = \"0%\"", HEADER, "not above 0%"),
        ("memory = \"anonymous\"", "memory = \"anon\"", 10, "anonymous, file, huge"),
        ("verdict = \"allow\"", "verdict = \"alow\"", 11, "did you mean allow?"),
        ("addresses = \"0x1000-0x2000\"", "addresses = \"0x1000\"", 13, "START+SIZE"),
        (
            "cgroup = \"/system.slice\"",
            "cgroup = \"system.slice\"",
            HEADER,
            "root of the hierarchy",
        ),
        ("memory = \"anonymous\"", "", HEADER, "one of addresses, memory and cgroup"),
        ("action = \"page_out\"", "action = page_out", 10, "string"),
    ] {
        let (text, line) = changed(from, to);
        let error = error(&text);
        assert!(error.contains(words), "{to}: {error}");
        // What is wrong with a table as a whole is shown where it begins.
        let begins = |at: &usize| text.lines().nth(at - 1).is_some_and(|l| l.starts_with('['));
        let header = (1..=line).rev().find(begins).unwrap();
        let line = if column == HEADER { header } else { line };
        let place = format!("my.toml:{line}:{}: ", column.max(1));
        assert!(error.starts_with(&place), "{to}: expected {place}, not {error}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for key in ["size", "frequency", "age", "action"] {
        let last = &FULL[FULL.rfind("[[scheme]]").unwrap()..];
        let text: Vec<&str> = last.lines().filter(|line| !line.starts_with(key)).collect();
        let error = error(&text.join("\n"));
        assert!(error.contains(&format!("missing field `{key}`")), "{error}");
    }
    for text in ["", "# nothing\n", "scheme = []"] {
        assert!(error(text).contains("[[scheme]]"));
    }
    assert!(error("[scheme]\nname = 'a'").contains("as in [[scheme]]"));
    assert!(error("[[schema]]").contains("did you mean scheme?"));
}

#[test]
fn the_form_is_told_by_name_or_content() {
    use super::super::parse;
    let line = "min max min max min max stat";
    let table = FULL;
    assert_eq!(parse(line, "a.scheme").unwrap().len(), 1);
    assert_eq!(parse(table, "a.scheme").unwrap().len(), 2);
    assert_eq!(parse(table, "a.toml").unwrap().len(), 2);
    assert!(parse(line, "a.toml").is_err());
}

proptest! {
    #[test]
    fn what_is_written_reads_back(schemes in prop::collection::vec(any_scheme(), 1..4)) {
        let written = format(&schemes);
        let read = parse(&written, "test");
        prop_assert_eq!(read.as_ref(), Ok(&schemes), "{}", written);
    }

    #[test]
    fn text_to_toml_to_text(schemes in prop::collection::vec(plain(), 1..4)) {
        let lines: Vec<String> = schemes.iter().map(text::format).collect();
        let read = text::parse(&lines.join("\n"), "test").unwrap();
        let back = parse(&format(&read), "test").unwrap();
        prop_assert_eq!(back.iter().map(text::format).collect::<Vec<_>>(), lines);
        prop_assert!(back.iter().all(text::says_all));
    }

    #[test]
    fn anything_is_read_without_a_panic(text in "(?s).{0,200}") {
        let _ = parse(&text, "test");
    }
}
