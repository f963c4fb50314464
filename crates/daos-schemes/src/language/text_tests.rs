//! Tests of schemes as text.

use super::super::arbitrary::plain;
use super::*;
use crate::{Age, Rate};
use proptest::prelude::*;

const S: u64 = 1_000_000;

fn one(line: &str) -> Scheme {
    let schemes = parse(line, "test").unwrap_or_else(|err| panic!("{err}"));
    assert_eq!(schemes.len(), 1, "{line}");
    schemes[0].clone()
}

fn all(text: &str) -> Vec<String> {
    parse(text, "test").unwrap_or_else(|err| panic!("{err}")).iter().map(format).collect()
}

fn error(text: &str) -> String {
    parse(text, "my.scheme").unwrap_err().to_string()
}

#[test]
fn the_fields_are_what_they_say() {
    let scheme = one("4K max min 5% 5s max pageout");
    assert_eq!(scheme.pattern.size, Bounds { min: 4096, max: u64::MAX });
    assert_eq!(scheme.pattern.rate, Bounds { min: Rate::MIN, max: Rate::Share(0.05) });
    assert_eq!(scheme.pattern.age, Bounds { min: Age::Time(5 * S), max: Age::MAX });
    assert_eq!(scheme, Scheme::new(scheme.pattern, Action::Pageout));
    assert!(says_all(&scheme) && !scheme.pattern.is_of_idle());
    assert!(one("4K max min min 5s max pageout").pattern.is_of_idle());
    assert_eq!(one("min max min max 3 10 stat").pattern.age.min, Age::Intervals(3));
    assert_eq!(one("null null null null null null stat").pattern, Pattern::ANY);
}

#[test]
fn the_papers_listing_1() {
    let text = "\
# size frequency age action
# page out memory regions not accessed
# >=2 minutes
min max min min 2m max page_out

# Use THP for >=2MiB regions having
# >=80% frequency ratio for >=1 minute
2MB max 80% max 1m max thp

# Do not use THP for regions having
# <=5% frequency ratio for >=1 minute
min max min 5% 1m max nothp
";
    assert_eq!(
        all(text),
        [
            "min max min min 2m max pageout",
            "2M max 80% max 1m max hugepage",
            "min max min 5% 1m max nohugepage",
        ]
    );
}

#[test]
fn the_papers_listing_3() {
    let text = "\
# size frequency age action
min max 5 max min max hugepage
2M max min min 7 s max nohugepage

4K max min min 5 s max pageout
";
    assert_eq!(
        all(text),
        [
            "min max 5% max min max hugepage",
            "2M max min min 7s max nohugepage",
            "4K max min min 5s max pageout",
        ]
    );
}

#[test]
fn the_listings_of_the_patch_series() {
    let v9 = "\
# format: <min/max size> <min/max frequency (0-100)> <min/max age> <action>
# ethp: Use huge pages if a region >2MB shows >5% access rate, use regular
# pages if a region >2MB shows <5% access rate for >1 second
2M null 5 null null null hugepage
2M null null 5 1s null nohugepage

# prcl: If a region >4KB shows <5% access rate for >5 seconds, page out.
4K null null 5 500ms null pageout
";
    assert_eq!(
        all(v9),
        [
            "2M max 5% max min max hugepage",
            "2M max min 5% 1s max nohugepage",
            "4K max min 5% 500ms max pageout",
        ]
    );
    for (line, age) in [("10s", "10s"), ("5s", "5s")] {
        let later = format!(
            "    min     max     5       max     min     max     hugepage\r\n\
             \x20   2M      max     min     min     7s      max     nohugepage\r\n\r\n\
             \x20   4K      max     0       0       {line}     max     pageout\r\n"
        );
        assert_eq!(
            all(&later),
            [
                "min max 5% max min max hugepage".to_owned(),
                "2M max min min 7s max nohugepage".to_owned(),
                format!("4K max min min {age} max pageout"),
            ]
        );
    }
}

#[test]
fn units_may_stand_apart_and_case_does_not_count() {
    assert_eq!(
        all("4 K 2 MiB 0.5 % 80 % 100 ms 7 s PageOut # why"),
        ["4K 2M 0.5% 80% 100ms 7s pageout"]
    );
    // `min` is a bound, and minutes only next to their number.
    assert_eq!(all("4K max 0 min 0.5min 7min stat"), ["4K max min min 30s 7m stat"]);
    assert_eq!(all("\u{feff}MIN Max NULL null min MAX LOCK#x"), ["min max min max min max lock"]);
    for (alias, action) in
        [("thp", "hugepage"), ("NOTHP", "nohugepage"), ("Page_Out", "pageout"), ("stat", "stat")]
    {
        assert_eq!(one(&format!("min max min max min max {alias}")).action.name(), action);
    }
}

#[test]
fn a_mistake_is_shown_where_it_is() {
    assert_eq!(
        error("# idle\n\n4K max min min 5s max pagout\n"),
        "my.scheme:3:23: found \"pagout\", expected an action: willneed, cold, hugepage, \
         nohugepage, pageout, lock, stat; did you mean pageout?"
    );
    assert_eq!(
        error("ä4K max min min 5s max stat"),
        "my.scheme:1:1: found \"ä4K\", expected min_size, a size (4096, 4K, 2MiB; units B, K, M, \
         G, T), min, max or null"
    );
    for (line, column, words) in [
        ("4K mxa min min 5s max stat", 4, vec!["max_size", "did you mean max?"]),
        ("4X max min min 5s max stat", 1, vec!["min_size", "4X", "units B, K, M, G, T"]),
        ("4K max 5s min 5s max stat", 8, vec!["min_freq", "percent"]),
        ("4K max min 101% 5s max stat", 12, vec!["max_freq", "at most 100%"]),
        ("4K max min -5 5s max stat", 12, vec!["max_freq", "percent"]),
        ("4K max min min 5 K max stat", 16, vec!["min_age", "5 K", "us, ms, s, m, h, d"]),
        ("2M 4K min min 5s max stat", 4, vec!["min_size (2M) is above max_size (4K)"]),
        ("4K max max min 5s max stat", 12, vec!["min_freq (max) is above max_freq (min)"]),
        ("4K max min min 5s 1s stat", 19, vec!["min_age (5s) is above max_age (1s)"]),
        ("99999999999G max min min 5s 1s stat", 1, vec!["2^64"]),
    ] {
        let error = error(line);
        assert!(error.starts_with(&format!("my.scheme:1:{column}: ")), "{line}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{line}: {error}");
    }
}

#[test]
fn says_which_field_is_missing_or_too_many() {
    for (line, column, words) in [
        // max_freq was forgotten, so what follows does not fit.
        ("4K max min 5s max pageout", 12, vec!["6 fields instead of 7", "\"5s\"", "max_freq"]),
        ("4K max min min max pageout", 20, vec!["6 fields", "\"pageout\"", "max_age"]),
        ("4K max min min 5s max", 22, vec!["6 fields", "end of the line", "an action: willneed"]),
        ("4K", 3, vec!["1 field instead of 7", "end of the line", "max_size"]),
        ("4K max min min 5s max stat 7", 28, vec!["8 fields", "\"7\"", "nothing after the action"]),
        ("4K max min min 5s max 7 stat", 23, vec!["8 fields", "\"7\"", "an action"]),
    ] {
        let error = error(line);
        assert!(error.starts_with(&format!("my.scheme:1:{column}: ")), "{line}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{line}: {error}");
    }
}

#[test]
fn a_text_without_schemes_is_refused() {
    for text in ["", "\n\n", "# nothing\n   # here\n"] {
        let error = parse(text, "empty").unwrap_err();
        assert_eq!(error.problem, Problem::Empty);
        assert!(error.to_string().contains("4K max min min 5s max pageout"));
    }
}

#[test]
fn a_label_is_the_name_or_the_text() {
    let mut scheme = one("4096 null 0 0% 5000ms null page_out");
    assert_eq!(scheme.label(), "4K max min min 5s max pageout");
    scheme.name = Some("prcl".into());
    assert_eq!(scheme.label(), "prcl");
    assert!(!says_all(&scheme));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(schemes in prop::collection::vec(plain(), 1..4)) {
        let lines: Vec<String> = schemes.iter().map(format).collect();
        prop_assert_eq!(parse(&lines.join("\n"), "test").unwrap(), schemes);
    }

    #[test]
    fn anything_is_read_without_a_panic(text in "(?s).{0,200}") {
        if let Err(error) = parse(&text, "test") {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }

    #[test]
    fn nonsense_in_one_field_is_shown_there(
        scheme in plain(),
        at in 0usize..7,
        word in "[xyz?!/]{1,60}",
    ) {
        let line = format(&scheme);
        let mut fields: Vec<&str> = line.split(' ').collect();
        let column = fields[..at].iter().map(|field| field.len() + 1).sum::<usize>() + 1;
        fields[at] = &word;
        let error = parse(&fields.join(" "), "test").unwrap_err();
        prop_assert_eq!((error.line, error.column), (1, column));
        prop_assert!(error.to_string().contains("expected"));
    }
}
