use super::*;
use crate::testing::NOTHING;
use crate::testing::{HEAP, MIB, record, run, source, targets, written};

fn listed<T: Clone + Into<Interval>>(
    intervals: &[T],
    options: RegionsOptions,
    format: Format,
) -> String {
    let style = Style::default();
    written(|out| render(source(intervals), &targets(), &options, format, &style, out))
}

#[test]
fn text_shows_the_last_snapshot() {
    let mut moments = record();
    moments[19].targets[0].regions[1].unobserved = 0.25;
    insta::assert_snapshot!(listed(&moments, RegionsOptions::default(), Format::Text));
}

#[test]
fn runs_of_pages_are_shown_with_their_region() {
    let mut moment = record().remove(0);
    let edge = HEAP + 8 * MIB;
    moment.targets[0].pages = vec![
        run(HEAP, HEAP + 12288, 19),
        run(edge - 4096, edge + 8192, 0),
        run(edge + MIB, edge + MIB + 4096, 2),
    ]
    .into();
    for (name, format) in [("runs_text", Format::Text), ("runs_csv", Format::Csv)] {
        insta::assert_snapshot!(name, listed(&[moment.clone()], RegionsOptions::default(), format));
    }
    let json = listed(&[moment], RegionsOptions::default(), Format::Json);
    let list: Vec<SnapshotJson> = serde_json::from_str(&json).unwrap();
    let low = [[HEAP, HEAP + 12288, 0], [edge - 4096, edge, 200_000]];
    assert_eq!(list[0].regions[0].pages, low);
    assert_eq!(list[0].regions[1].pages.len(), 2);
}

#[test]
fn a_time_shows_all_snapshots_in_it() {
    let options = RegionsOptions { time: Some((50_000, 150_000)), ..RegionsOptions::default() };
    let text = listed(&record(), options, Format::Text);
    assert_eq!(text.matches("regions").count(), 2, "{text}");
    let last = RegionsOptions { last: Some(true), ..options };
    assert_eq!(listed(&record(), last, Format::Json).matches("start_us").count(), 1);
}

#[test]
fn data() {
    insta::assert_snapshot!(
        "json",
        listed(&record()[..2], RegionsOptions::default(), Format::Json)
    );
    insta::assert_snapshot!("csv", listed(&record()[..2], RegionsOptions::default(), Format::Csv));
}

#[test]
fn the_json_is_a_list_whatever_is_in_it() {
    for (length, options) in [
        (0, RegionsOptions::default()),
        (3, RegionsOptions::default()),
        (3, RegionsOptions { target: Some(TargetId(9)), ..RegionsOptions::default() }),
    ] {
        let json = listed(&record()[..length], options, Format::Json);
        let list: Vec<SnapshotJson> = serde_json::from_str(&json).unwrap();
        assert_eq!(list.len(), if options.target.is_some() { 0 } else { length });
    }
    assert_eq!(listed(NOTHING, RegionsOptions::default(), Format::Text), "no snapshots\n");
}

#[test]
fn what_came_before_a_failure_is_written() {
    let first = record().into_iter().take(1).map(|snapshot| Ok(Interval::from(snapshot)));
    let broken = first.chain([Err(io::Error::other("torn"))]);
    let mut out = Vec::new();
    let options = RegionsOptions::default();
    let error =
        render(broken, &[], &options, Format::Json, &Style::default(), &mut out).unwrap_err();
    assert_eq!(error.to_string(), "torn");
    assert_eq!(serde_json::from_slice::<Vec<SnapshotJson>>(&out).unwrap().len(), 1);
}

#[test]
fn regions_are_no_picture() {
    let options = RegionsOptions::default();
    let style = Style::default();
    let error = render(source(NOTHING), &[], &options, Format::Png, &style, &mut Vec::new());
    assert_eq!(error.unwrap_err().to_string(), "regions can be text, json or csv, not png");
}
