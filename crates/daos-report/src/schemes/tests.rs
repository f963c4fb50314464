use super::*;
use crate::testing::NOTHING;
use crate::testing::{MIB, SCHEMES, acting, record, source, targets, written};
use daos_core::Refusal;

const STYLE: Style = Style { color: false, unicode: true, width: 90, height: 30 };

fn known() -> Vec<RecordedScheme> {
    SCHEMES.map(|label| RecordedScheme { label: label.to_owned(), stats: None }).into()
}

fn with_stats() -> Vec<RecordedScheme> {
    let mut known = known();
    known[0].stats = Some(SchemeStats {
        tried_regions: 40,
        tried_bytes: 160 * MIB,
        applied_regions: 12,
        applied_bytes: 100 * MIB,
        page_cache_bytes: 3 * MIB,
        spared_bytes: MIB,
        refault_bytes: 2 * MIB,
        refused_bytes: [(Refusal::NoRoom, 8 * MIB), (Refusal::Shared, 12 * MIB)].into(),
        bloat_bytes: -4096,
        quota_exceeded: 3,
        spent_us: 81_000.4,
        passes: 20,
        slept: 5,
        slept_us: 7_000_000,
        fitting_bytes: 0,
    });
    known[2].stats = Some(SchemeStats::default());
    known
}

fn of<T: Clone + Into<Interval>>(
    intervals: &[T],
    known: Vec<RecordedScheme>,
    options: SchemesOptions,
) -> Schemes {
    let Ok(schemes) = compute(source(intervals), &targets(), known, &options);
    schemes
}

fn rendered(schemes: &Schemes, format: Format) -> String {
    written(|out| render(schemes, format, &STYLE, out))
}

#[test]
fn what_each_scheme_did_is_summed() {
    let all = of(&acting(), known(), SchemesOptions::default());
    let counted: Vec<_> =
        all.schemes.iter().map(|s| (s.times, s.bytes / MIB, s.first_us(), s.last_us())).collect();
    let expected = [
        (10, 6 * 16 + 6 * 4, Some(600_000), Some(1_900_000)),
        (2, 2 * 8, Some(400_000), Some(500_000)),
        (0, 0, None, None),
    ];
    assert_eq!(counted, expected);
    assert_eq!(all.schemes[0].timeline[2], (1_000_000, 16 * MIB));
    assert_eq!(all.schemes[0].timeline[4], (1_200_000, 4 * MIB));
    assert_eq!(all.schemes[0].timeline[5], (1_300_000, 20 * MIB), "two ranges at once");
}

#[test]
fn time_and_target_narrow_it() {
    let in_time = |from, to| {
        let options = SchemesOptions { time: Some((from, to)), ..SchemesOptions::default() };
        let all = of(&acting(), known(), options);
        (all.time, all.schemes[0].times, all.schemes[1].times)
    };
    assert_eq!(in_time(400_000, 600_000), ((400_000, 600_000), 1, 1));
    assert_eq!(in_time(450_000, 650_000), ((450_000, 650_000), 1, 1));
    assert_eq!(in_time(9_000_000, 9_500_000), ((0, 0), 0, 0));
    let other = SchemesOptions { target: Some(TargetId(7)), ..SchemesOptions::default() };
    assert_eq!(of(&acting(), known(), other).schemes[0].times, 0);
}

#[test]
fn schemes_that_nothing_is_known_of_are_shown() {
    let all = of(&acting(), Vec::new(), SchemesOptions::default());
    let shown: Vec<_> = all.schemes.iter().map(|s| (s.number, s.action.unwrap())).collect();
    assert_eq!(shown, [(0, Action::Pageout), (1, Action::Hugepage)]);
    let idle = of(&record(), known(), SchemesOptions::default());
    let actions = idle.schemes.iter().map(|scheme| scheme.action);
    assert!(actions.eq([Some(Action::Pageout), Some(Action::Hugepage), None]));
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let none = of(&record(), Vec::new(), SchemesOptions::default());
    assert!(rendered(&none, Format::Text).ends_with("the record has no schemes\n"));
    assert_eq!(rendered(&none, Format::Csv).lines().count(), 1);
    let idle = of(NOTHING, known(), SchemesOptions::default());
    for format in Format::ALL {
        for schemes in [&none, &idle] {
            let mut out = Vec::new();
            render(schemes, format, &STYLE, &mut out).unwrap();
            assert!(!String::from_utf8_lossy(&out).contains("NaN"));
        }
    }
}

#[test]
fn text() {
    let all = of(&acting(), with_stats(), SchemesOptions::default());
    insta::assert_snapshot!(rendered(&all, Format::Text));
}

#[test]
fn data() {
    let all = of(&acting(), with_stats(), SchemesOptions::default());
    insta::assert_snapshot!("json", rendered(&all, Format::Json));
    insta::assert_snapshot!("csv", rendered(&all, Format::Csv));
}

#[test]
fn picture() {
    let all = of(&acting(), with_stats(), SchemesOptions::default());
    let svg = rendered(&all, Format::Svg);
    assert!(svg.contains("scheme 0, pageout: 4K max min min 5s max pageout"), "{svg}");
    assert!(svg.contains("3 schemes, 2 acted"), "{svg}");
}
