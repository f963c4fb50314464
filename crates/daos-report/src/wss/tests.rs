use super::*;
use crate::testing::NOTHING;
use crate::testing::{MIB, record, region, run, snapshot, source, targets, written};
use daos_core::HOT_RATE;
use proptest::prelude::*;

const STYLE: Style = Style { color: false, unicode: true, width: 80, height: 30 };

fn of<T: Clone + Into<Interval>>(intervals: &[T], options: WssOptions) -> Wss {
    let Ok(wss) = compute(source(intervals), &targets(), &options);
    wss
}

fn rendered(wss: &Wss, format: Format) -> String {
    written(|out| render(wss, format, &STYLE, out))
}

#[test]
fn regions_count_whole_from_the_threshold_on() {
    let moment = snapshot(0, 10, &[region(0, 10, 0), region(10, 30, 1), region(30, 70, 5)]);
    let bytes = |min_rate| {
        of(
            std::slice::from_ref(&moment),
            WssOptions { min_rate: Some(min_rate), ..WssOptions::default() },
        )
    };
    let at = [0.0, 0.05, HOT_RATE, 0.26].map(|rate| bytes(rate).percentile(50.0).unwrap());
    assert_eq!(at, [60, 60, 40, 0]);
}

#[test]
fn pages_count_where_they_are_known() {
    let mut moment =
        snapshot(0, 10, &[region(0, 100, 4), region(100, 200, 0), region(200, 250, 9)]);
    // In the first region 10 in use and 20 not, in the second 5, in the third all cold.
    moment.targets[0].pages =
        vec![run(0, 10, 12), run(30, 50, 0), run(150, 155, 1), run(200, 250, 0)].into();
    let bytes = |min_rate| {
        let options = WssOptions { min_rate: Some(min_rate), ..WssOptions::default() };
        of(std::slice::from_ref(&moment), options).percentile(50.0).unwrap()
    };
    assert_eq!([0.0, 0.1, 0.5, 0.7].map(bytes), [80 + 5, 80, 10, 0]);
}

#[test]
fn what_is_used_a_little_counts_a_little() {
    let mut moment = snapshot(0, 100_000, &[region(0, 1000, 10), region(1000, 2000, 0)]);
    moment.sample_us = 5_000;
    let bytes = |moment: &Snapshot, within_us| {
        let options = WssOptions { within_us, ..WssOptions::default() };
        of(std::slice::from_ref(moment), options).percentile(50.0).unwrap()
    };
    // Half of it within a sampling interval, three quarters within two.
    assert_eq!(bytes(&moment, Some(5_000)), 500);
    assert_eq!(bytes(&moment, Some(10_000)), 750);
    assert_eq!(bytes(&moment, None), 1000, "twenty sampling intervals");
    moment.targets[0].resident_bytes = Some(600);
    assert_eq!(bytes(&moment, None), 600);
}

#[test]
fn time_narrows_the_snapshots() {
    let options = WssOptions { time: Some((300_000, 500_000)), ..WssOptions::default() };
    let wss = of(&record(), options);
    assert_eq!((wss.snapshots(), wss.time), (2, (300_000, 500_000)));
}

#[test]
fn the_json_keeps_its_fields() {
    let small = [snapshot(0, 10, &[region(0, 10, 1)]), snapshot(10, 20, &[region(0, 21, 1)])];
    assert_eq!(
        rendered(&of(&small, WssOptions::default()), Format::Json),
        "{\"unit\":\"bytes\",\"snapshots\":2,\"percentiles\":\
         {\"0\":10,\"25\":10,\"50\":10,\"75\":21,\"100\":21},\"mean\":15.5}\n"
    );
    let asked = WssOptions { percentiles: vec![99.5], timeline: true, ..WssOptions::default() };
    assert_eq!(
        rendered(&of(&small, asked), Format::Json),
        "{\"unit\":\"bytes\",\"snapshots\":2,\"percentiles\":{\"99.5\":21},\"mean\":15.5,\
         \"timeline\":[[10,10],[20,21]]}\n"
    );
}

#[test]
fn no_snapshots_have_no_working_set() {
    let none = of(NOTHING, WssOptions::default());
    assert!(rendered(&none, Format::Json).contains("\"0\":null"));
    assert!(rendered(&none, Format::Text).ends_with("no snapshots\n"));
    for format in Format::ALL {
        for wss in [&none, &of(&record()[..1], WssOptions::default())] {
            let mut out = Vec::new();
            render(wss, format, &STYLE, &mut out).unwrap();
            assert!(!String::from_utf8_lossy(&out).contains("NaN"));
        }
    }
}

#[test]
fn text() {
    let mut record = record();
    record[1].targets[0].resident_bytes = Some(321 * MIB);
    record[2].targets[0].resident_bytes = Some(320 * MIB);
    insta::assert_snapshot!(rendered(&of(&record, WssOptions::default()), Format::Text));
}

#[test]
fn csv() {
    insta::assert_snapshot!(rendered(&of(&record()[..3], WssOptions::default()), Format::Csv));
}

proptest! {
    #[test]
    fn the_working_set_lies_within_its_bounds(
        counts in prop::collection::vec((1u64..1000, 0u32..=20), 1..20), rate in 0.0..1.0,
    ) {
        let mut at = 0;
        let regions: Vec<_> = counts.iter().map(|&(size, count)| {
            at += size;
            region(at - size, at, count)
        }).collect();
        let moment = [snapshot(0, 10, &regions)];
        let used = |min_rate| of(&moment, WssOptions { min_rate: Some(min_rate), ..WssOptions::default() }).percentile(0.0);
        prop_assert!(used(rate) <= used(0.0));
        prop_assert!(used(0.0) <= Some(at));
    }
}
