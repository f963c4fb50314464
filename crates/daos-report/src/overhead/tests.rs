use super::*;
use crate::testing::NOTHING;
use crate::testing::{record, snapshot, source, targets, written};

const STYLE: Style = Style { color: false, unicode: true, width: 80, height: 30 };

const GIVEN: OverheadOptions = OverheadOptions {
    max_regions: Some(1000),
    setup_cpu_us: Some(210_000),
    peak_rss_bytes: Some(11_700_000),
    max_overhead_percent: None,
};

/// Thirteen seconds of a monitor of windows that took twice as much in the tenth.
fn windows() -> Vec<Snapshot> {
    let moment = |i: u64| {
        let mut moment = snapshot(i * 500_000, (i + 1) * 500_000, &[]);
        moment.cost.checks = vec![60, 20].into();
        moment.cost.pages = 80 * 512;
        moment.cost.armed = 100;
        moment.cost.cpu_us = if i / 2 == 9 { 4000 } else { 2000 };
        moment.cost.target_us = 500;
        moment
    };
    (0..26).map(moment).collect()
}

#[test]
fn the_targets_side_and_the_bound_are_told() {
    let bound = |percent| OverheadOptions { max_overhead_percent: Some(percent), ..GIVEN };
    let overhead = of(&windows(), bound(0.5));
    // 10 s of 2500 us each half second, and two halves of 2000 us more.
    assert_eq!(overhead.worst_10s_percent(), Some(0.54));
    assert_eq!(overhead.bound_kept(), Some(true));
    assert_eq!(of(&windows(), bound(0.49)).bound_kept(), Some(false));
    assert_eq!(of(&windows(), GIVEN).bound_kept(), None);
    let short = of(&windows()[..2], bound(0.4));
    assert_eq!(short.bound_kept(), None, "the rest of ten seconds may be cheaper");
    assert!(rendered(&short, Format::Text).contains("0.4 % of one CPU, over ten seconds"));
    assert_eq!(overhead.pages_per_tick(), Some((20480.0, 50.0)));
    insta::assert_snapshot!("windows_text", rendered(&overhead, Format::Text));
    insta::assert_snapshot!("windows_json", rendered(&overhead, Format::Json));
    insta::assert_snapshot!("windows_csv", rendered(&of(&windows()[..2], GIVEN), Format::Csv));
    let picture = rendered(&overhead, Format::Svg);
    assert!(picture.contains("bound: 0.5 %"), "{picture}");
}

fn of<T: Clone + Into<Interval>>(intervals: &[T], options: OverheadOptions) -> Overhead {
    let Ok(overhead) = compute(source(intervals), &targets(), &options);
    overhead
}

fn rendered(overhead: &Overhead, format: Format) -> String {
    written(|out| render(overhead, format, &STYLE, out))
}

#[test]
fn costs_add_up() {
    let overhead = of(&record(), GIVEN);
    assert_eq!((overhead.checks_per_tick.count(), overhead.late_ticks), (400, 1));
    assert_eq!((overhead.elapsed_us(), overhead.cpu_us), (2_000_000, 27_500));
    assert_eq!(overhead.cpu_percent(), Some(1.375));
}

#[test]
fn the_histogram_holds_every_tick() {
    let (width, ticks) = of(&record(), GIVEN).histogram(10);
    assert_eq!((width, ticks.len()), (100, 10));
    assert_eq!(ticks.iter().sum::<u64>(), 400);
    assert_eq!(of(NOTHING, OverheadOptions::default()).histogram(10), (1, vec![0]));
}

#[test]
fn the_json_keeps_its_fields() {
    insta::assert_snapshot!("json", rendered(&of(&record(), GIVEN), Format::Json));
    insta::assert_snapshot!(
        "json_of_nothing",
        rendered(&of(NOTHING, OverheadOptions::default()), Format::Json)
    );
}

#[test]
fn little_is_shown_without_nonsense() {
    let unticked = of(&[snapshot(0, 0, &[])], OverheadOptions::default());
    for overhead in
        [&of(NOTHING, GIVEN), &unticked, &of(&record()[..1], OverheadOptions::default())]
    {
        for format in Format::ALL {
            let mut out = Vec::new();
            render(overhead, format, &STYLE, &mut out).unwrap();
            assert!(!String::from_utf8_lossy(&out).contains("NaN"));
        }
    }
}

#[test]
fn text() {
    insta::assert_snapshot!(rendered(&of(&record(), GIVEN), Format::Text));
}

#[test]
fn csv() {
    insta::assert_snapshot!(rendered(&of(&record()[..3], GIVEN), Format::Csv));
}
