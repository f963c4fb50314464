//! Tests of the parser: what it reads, and where it says that something is wrong.

use super::*;
use proptest::prelude::*;

const MASIM: &str = "\
#regions
a, 100000000
b, 100000000

#phases
initial phase
10000
a, 0, 4096, 1
b, 0, 4096, 1

low phase 0
5000
a, 0, 4096, 50
";

fn error(text: &str) -> String {
    Config::parse("hot.cfg", text).unwrap_err().to_string()
}

#[test]
fn a_file_without_an_end_is_refused() {
    // What is read of it are zeros, which are text.
    let error = Config::read(Path::new("/dev/zero")).unwrap_err().to_string();
    assert_eq!(error, "/dev/zero:1:1: the configuration is too long: expected at most 2 MiB");
}

#[test]
fn a_name_cannot_steer_a_terminal() {
    let found = error("a\u{1b}[2J, 4096\n\nbusy\n1s\n");
    assert!(found.contains("expected a name without control characters"), "{found}");
    assert!(!found.contains('\u{1b}'), "{found}");
}

/// A configuration of one region and one phase with the pattern line `line`.
fn with_pattern(line: &str) -> String {
    format!("hot, 4096\ncold, 4096\n\nbusy\n1s\n{line}\n")
}

#[test]
fn reads_a_configuration_of_masim() {
    let config = Config::parse("m", MASIM).unwrap();
    assert_eq!(config.regions[1], Region { name: "b".into(), len: 100_000_000 });
    assert_eq!(config.phases.len(), 2);
    assert_eq!(config.phases[0].name, "initial phase");
    assert_eq!(config.phases[1].duration_ms, 5000);
    assert_eq!(
        config.phases[1].patterns,
        [Pattern { region: 0, order: Order::Stride(4096), weight: 50, mode: Mode::Wo }]
    );
    assert_eq!((config.bytes(), config.duration_us()), (200_000_000, 15_000_000));
}

#[test]
fn reads_units_words_comments_and_idle_phases() {
    let text = "\
# all of it
one, 1GiB, none  # the only one\r
\r
\r
rest   # nothing happens
500ms
# still the same paragraph

work
2m
one, random, 0, 3, RW
one, seq, 4K, 1, ro";
    let config = Config::parse("u", text).unwrap();
    assert_eq!(config.regions, [Region { name: "one".into(), len: 1 << 30 }]);
    assert_eq!(config.phases[0].name, "rest");
    assert_eq!((config.phases[0].duration_ms, config.phases[0].patterns.len()), (500, 0));
    let [random, stride] = config.phases[1].patterns[..] else { panic!("two patterns") };
    assert_eq!((random.order, random.weight, random.mode), (Order::Random, 3, Mode::Rw));
    assert_eq!((stride.order, stride.mode), (Order::Stride(4096), Mode::Ro));
}

#[test]
fn a_length_without_a_unit_is_in_milliseconds() {
    for (text, wanted) in [
        ("10000", 10_000),
        ("10S", 10_000),
        ("2min", 120_000),
        ("1.5 h", 5_400_000),
        ("2d", 172_800_000),
        ("1us", 1),
    ] {
        let config = Config::parse("l", &format!("one, 1.5M\n\nbusy\n{text}\n")).unwrap();
        assert_eq!((config.bytes(), config.phases[0].duration_ms), (3 << 19, wanted), "{text}");
    }
}

#[test]
fn says_where_a_region_is_wrong() {
    for (text, expected) in [
        ("", "1:1: found the end, expected a region"),
        ("# nothing\n\n", "2:1: found the end, expected a region"),
        ("hot\n", "1:4: found nothing, expected a comma and the region's size"),
        ("hot,\n", "1:5: found nothing, expected a comma and the region's size"),
        (", 4K\n", "1:1: found nothing, expected a region's name"),
        ("hot, lots\n", "1:6: found \"lots\", expected a size in bytes"),
        ("hot, 0\n", "1:6: the size of a region is zero"),
        ("hot, 20000000T\n", "1:6: the number is too large"),
        ("hot, 0.1b\n", "1:6: found \"0.1b\", expected a size in bytes"),
        ("hot, 60T\ncold, 5T\n", "2:7: the regions' total size: expected at most 64 TiB"),
        ("hot, 1M, data.bin\n", "1:10: found \"data.bin\", expected none"),
        ("hot, 1M, none, 3\n", "1:16: found \"3\", expected the end of the line"),
        (
            "hot, 1M\nb, 1\n  hot, 1M\n",
            "3:3: a second region called \"hot\"; the first is on line 1",
        ),
        ("hot, 1M\n", "1:1: found the end, expected a blank line and a phase"),
    ] {
        let error = error(text);
        assert!(error.starts_with(&format!("hot.cfg:{expected}")), "{text:?}: {error}");
    }
    let long = format!("{}, 1M\n", "é".repeat(101));
    assert!(error(&long).contains("1:1: a name is too long"));
}

#[test]
fn says_where_a_phase_is_wrong() {
    for (text, expected) in [
        ("hot, 1M\n\nbusy\n", "3:5: found nothing, expected a line with the phase's length"),
        (
            "hot, 1M\n\nbusy\nhot, 0, 1, 1\n",
            "4:1: found \"hot, 0, 1, 1\", expected the phase's length",
        ),
        ("hot, 1M\n\nbusy\n0\n", "4:1: the phase's length is zero"),
        ("hot, 1M\n\nbusy\n99999999h\n", "4:1: the phase is too long: expected at most a year"),
        ("hot, 1M\n\nbusy\n9999999999h\n", "4:1: the phase is too long"),
    ] {
        let error = error(text);
        assert!(error.starts_with(&format!("hot.cfg:{expected}")), "{text:?}: {error}");
    }
}

#[test]
fn says_where_a_pattern_is_wrong() {
    for (line, expected) in [
        ("hot", "4: found nothing, expected a comma and random"),
        ("hot, 2, 1, 1", "6: found \"2\", expected random (1), stride (0) or singles"),
        ("hot, 0, 0, 1", "9: the stride is zero"),
        ("hot, 0, , 1", "9: found nothing, expected a comma and the bytes a step"),
        ("hot, singles, 4096, 1", "15: found \"4096\", expected bytes of which one page"),
        ("hot, singles, 9000, 1", "15: found \"9000\", expected bytes of which one page"),
        ("hot, singles, 2M, 1", "15: found \"2M\", expected bytes of which one page"),
        ("hot, 0, 4096", "13: found nothing, expected a comma and the weight"),
        ("hot, 0, 4096, -1", "15: found \"-1\", expected a weight"),
        ("hot, 0, 4096, 0", "15: the weight is zero"),
        ("hot, 0, 4096, 4294967296", "15: the weight is too large"),
        ("hot, 0, 4096, 1, wr", "18: found \"wr\", expected ro, wo or rw"),
        ("hot, 0, 4096, 1, wo, x", "22: found \"x\", expected the end of the line"),
    ] {
        let error = error(&with_pattern(line));
        assert!(error.starts_with(&format!("hot.cfg:6:{expected}")), "{line:?}: {error}");
    }
}

#[test]
fn suggests_the_nearest_region() {
    assert_eq!(
        error(&with_pattern("hto, 1, 1, 1")),
        "hot.cfg:6:1: no region is called \"hto\"; expected one of hot, cold (did you mean \"hot\"?)"
    );
    assert!(error(&with_pattern("elsewhere, 1, 1, 1")).ends_with("expected one of hot, cold"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::read(Path::new("/nowhere/x.cfg")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /nowhere/x.cfg"), "{error}");
}

proptest! {
    #[test]
    fn never_panics_and_points_into_the_text(text in "[abc0-9,# \n\tKé]{0,120}") {
        if let Err(ConfigError::Syntax { line, column, .. }) = Config::parse("p", &text) {
            let lines: Vec<&str> = text.lines().collect();
            prop_assert!(line >= 1 && line <= lines.len().max(1));
            let width = lines.get(line - 1).map_or(0, |l| l.chars().count());
            prop_assert!(column >= 1 && column <= width + 1);
        }
    }
}
