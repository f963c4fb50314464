use super::*;
use crate::testing::NOTHING;
use crate::testing::{
    HEAP, MIB, MMAP, acting, record, region, run, snapshot, source, targets, written,
};
use daos_core::{
    Done, Mapping, OwnedPart, Owner, Ownership, RegionSnapshot, Snapshot, TargetSnapshot,
};
use proptest::prelude::*;
use std::convert::Infallible;

fn options(columns: usize, rows: usize) -> HeatmapOptions {
    HeatmapOptions {
        address: None,
        time: None,
        target: None,
        columns,
        rows,
        page_rows: rows,
        most_segments: 1000,
        small_targets: true,
        actions: true,
        scale: Scale::Share,
    }
}

fn map<T: Clone + Into<Interval>>(intervals: &[T], options: HeatmapOptions) -> Heatmap {
    let mut targets = targets();
    targets[0].mappings.clear();
    map_of(intervals, &targets, options)
}

fn map_of<T: Clone + Into<Interval>>(
    intervals: &[T],
    targets: &[TargetInfo],
    options: HeatmapOptions,
) -> Heatmap {
    let Ok(map) = compute(|| Ok::<_, Infallible>(source(intervals)), targets, &options);
    map
}

fn rendered(heatmap: &Heatmap, format: Format, style: Style) -> String {
    written(|out| render(heatmap, format, &style, out))
}

const NARROW: Style = Style { color: false, unicode: true, width: 72, height: 32 };

#[test]
fn a_cell_is_the_mean_over_its_bytes_and_its_time() {
    let first = snapshot(0, 10, &[region(0, 4096, 20), region(4096, 8192, 0)]);
    let second = snapshot(10, 40, &[region(0, 8192, 10)]);
    let one = map(&[first.clone(), second.clone()], options(1, 1));
    assert_eq!(one.segments[0].rates, [[Some(0.5)]]);
    let four = map(&[first, second], options(2, 2));
    assert_eq!(four.times, [0, 20, 40]);
    assert_eq!(four.segments[0].addresses, [0, 4096, 8192]);
    assert_eq!(four.segments[0].rates, [[Some(0.75), Some(0.5)], [Some(0.25), Some(0.5)]]);
}

#[test]
fn cold_differs_from_not_monitored() {
    let half = snapshot(0, 10, &[region(0, 4096, 0)]);
    let whole = snapshot(10, 20, &[region(0, 8192, 0)]);
    let map = map(&[half, whole], options(2, 2));
    assert_eq!(map.segments[0].rates, [[Some(0.0), Some(0.0)], [None, Some(0.0)]]);
}

#[test]
fn what_could_not_be_observed_was_not_monitored() {
    let locked = RegionSnapshot { unobserved: 1.0, ..region(0, 4096, 0) };
    let map = map(&[snapshot(0, 10, &[locked])], options(1, 1));
    assert_eq!(map.segments[0].rates, [[None]]);
}

#[test]
fn large_gaps_are_left_out() {
    let map = map(&record(), options(20, 40));
    let ranges: Vec<_> = map.segments.iter().map(|segment| segment.range().start).collect();
    assert_eq!(ranges, [HEAP, MMAP, crate::testing::STACK]);
    assert_eq!(map.bytes(), 320 * MIB + 132 * 1024);
    assert_eq!(map.segments.iter().map(|segment| segment.rates.len()).sum::<usize>(), 40);
}

#[test]
fn holes_in_what_is_mapped_are_gaps_unless_accessed() {
    let mut targets = targets();
    let [low, high] = [(0, MIB), (9 * MIB, 10 * MIB)].map(|(s, e)| AddrRange::new(s, e));
    targets[0].mappings =
        [low, high].map(|range| Mapping { range, name: String::new(), shared: false }).into();
    let cold = [snapshot(0, 10, &[region(0, 10 * MIB, 0)])];
    let shown = |map: Heatmap| map.segments.iter().map(Segment::range).collect::<Vec<_>>();
    assert_eq!(shown(map_of(&cold, &targets, options(5, 40))), [low, high]);
    let used = [snapshot(0, 10, &[region(0, 5 * MIB, 1), region(5 * MIB, 10 * MIB, 0)])];
    assert_eq!(shown(map_of(&used, &targets, options(5, 40))), [AddrRange::new(0, 5 * MIB), high]);
}

#[test]
fn many_small_pieces_share_few_segments() {
    let pieces: Vec<_> =
        (0..500).map(|i| region(i << 30, (i << 30) + (4096 << (i / 100)), 1)).collect();
    let map = map(&[snapshot(0, 10, &pieces)], options(4, 40));
    assert_eq!(map.segments.len(), 6);
}

#[test]
fn rows_go_to_what_is_covered_not_to_holes() {
    // As of a shell: its program, its heap, its libraries and its stack, far apart.
    let starts = [HEAP - (600 << 20), HEAP, MMAP, crate::testing::STACK];
    let sizes = [16, 400, 16, 16].map(|pages| pages * 4096);
    let regions = starts.iter().zip(sizes).map(|(&start, size)| region(start, start + size, 1));
    let map = map(&[snapshot(0, 10, &regions.collect::<Vec<_>>())], options(4, 40));
    assert_eq!(map.segments.iter().map(|segment| segment.range().len()).collect::<Vec<_>>(), sizes);
    let rows: Vec<_> = map.segments.iter().map(|segment| segment.rates.len()).collect();
    assert_eq!(rows, [2, 33, 2, 3]);
}

#[test]
fn targets_that_are_small_beside_the_largest_are_left_out_of_what_is_drawn() {
    let mut all = processes(8);
    all.targets[1].regions[0].range.end = HEAP + 40 * MIB;
    let shown = HeatmapOptions::new(Format::Text, &NARROW, &[]);
    let drawn = map(&[all.clone()], shown);
    let ids: Vec<_> = drawn.segments.iter().map(|segment| segment.target.0).collect();
    assert_eq!((ids, drawn.left_out), (vec![1, 1], LeftOut { parts: 0, targets: 7 }));
    let text = rendered(&drawn, Format::Text, NARROW);
    assert!(text.contains("of target 1\n") && text.contains("without 7 smaller targets"), "{text}");
    let chosen = map(&[all.clone()], HeatmapOptions { target: Some(TargetId(2)), ..shown });
    assert_eq!((chosen.bytes(), chosen.left_out), (2 * MIB, LeftOut::default()));
    let data = map(&[all.clone()], HeatmapOptions::new(Format::Csv, &NARROW, &[]));
    assert_eq!((data.segments.len(), data.left_out), (16, LeftOut::default()));
    // Few are shown, however small they are.
    all.targets.truncate(3);
    assert_eq!(map(&[all], shown).segments.len(), 6);
}

/// So many processes, each with a heap and, far above it, as much mapped memory.
fn processes(count: u32) -> Snapshot {
    let mut all = snapshot(0, 10, &[region(HEAP, HEAP + MIB, 20), region(MMAP, MMAP + MIB, 0)]);
    let first = all.targets.remove(0);
    all.targets =
        (0..count).map(|id| TargetSnapshot { id: TargetId(id), ..first.clone() }).collect();
    all
}

#[test]
fn each_process_of_several_keeps_its_gap() {
    for count in [4, 10] {
        let map = map(&[processes(count)], options(4, 32));
        assert_eq!(map.segments.len(), 2 * count as usize);
        assert_eq!(map.bytes(), u64::from(count) * 2 * MIB);
    }
}

#[test]
fn of_many_processes_a_picture_shows_as_many_as_there_is_room_for() {
    let style = Style { color: false, ..NARROW };
    let shown = HeatmapOptions::new(Format::Svg, &style, &[]);
    let map = map(&[processes(60)], HeatmapOptions { address: None, ..shown });
    assert_eq!(map.segments.len() + map.left_out.parts, 120);
    assert!((10..40).contains(&map.segments.len()), "{}", map.segments.len());
    let svg = rendered(&map, Format::Svg, style);
    assert!(svg.contains(&format!("without {} smaller parts", map.left_out.parts)), "{svg}");
}

#[test]
fn rates_of_other_sampling_intervals_are_told_for_the_first() {
    let rate = |us: f64| 1.0 - (-10.0 * us / 1e6f64).exp();
    let of = |start_us, end_us, sample_us: u64| {
        let mut one = snapshot(start_us, end_us, &[region(0, 4096, 0)]);
        one.sample_us = sample_us;
        one.targets[0].regions[0].access_rate = rate(sample_us as f64);
        one
    };
    let record = [of(0, 10, 5000), of(10, 20, 80_000), of(20, 30, 160_000)];
    let map = map(&record, HeatmapOptions { time: Some((0, 20)), ..options(2, 1) });
    assert_eq!(map.sample_us, 5000);
    for cell in &map.segments[0].rates[0] {
        assert!((cell.unwrap() - rate(5000.0)).abs() < 1e-9, "{cell:?}");
    }
}

#[test]
fn targets_are_stacked_or_chosen() {
    let mut both = snapshot(0, 10, &[region(0, 4096, 20)]);
    let mut other = both.targets[0].clone();
    other.id = TargetId(7);
    other.regions[0].access_rate = 0.25;
    both.targets.push(other);
    let all = map(&[both.clone()], options(1, 2));
    let ids: Vec<_> = all.segments.iter().map(|segment| segment.target.0).collect();
    assert_eq!(ids, [0, 7]);
    assert_eq!(all.title, "redis-server *:6379 (pid 4711) and 1 more");
    let text = rendered(&all, Format::Text, NARROW);
    assert!(text.contains("target 7"), "{text}");
    let one = map(&[both], HeatmapOptions { target: Some(TargetId(7)), ..options(1, 2) });
    assert_eq!(one.segments[0].rates, [[Some(0.25)]], "no row is less than a page");
}

#[test]
fn failures_of_the_source_pass_through() {
    let broken = || Ok([Err("broken")].into_iter());
    assert_eq!(compute(broken, &[], &options(1, 1)), Err("broken"));
    let closed = || Err::<std::iter::Empty<Result<Interval, _>>, _>("closed");
    assert_eq!(compute(closed, &[], &options(1, 1)), Err("closed"));
}

#[test]
fn nothing_is_said_to_be_nothing() {
    let empty = snapshot(5, 5, &[region(0, 4096, 1)]);
    let elsewhere = HeatmapOptions { address: Some(AddrRange::new(7, 7)), ..options(9, 9) };
    let nothings =
        [map(NOTHING, options(9, 9)), map(&[empty], options(9, 9)), map(&record(), elsewhere)];
    for nothing in nothings {
        for format in Format::ALL {
            let mut out = Vec::new();
            render(&nothing, format, &Style::default(), &mut out).unwrap();
            assert!(!out.is_empty());
        }
        let text = rendered(&nothing, Format::Text, NARROW);
        assert_eq!(text, "Memory accesses of no target\nnothing was monitored here\n");
        assert_eq!(rendered(&nothing, Format::Csv, NARROW).lines().count(), 1);
    }
}

#[test]
fn one_snapshot_is_enough() {
    for format in Format::ALL {
        let map = map(&record()[..1], HeatmapOptions::new(format, &NARROW, &[]));
        let mut out = Vec::new();
        render(&map, format, &NARROW, &mut out).unwrap();
        assert!(!String::from_utf8_lossy(&out).contains("NaN"));
    }
}

#[test]
fn text() {
    let map = map(&record(), HeatmapOptions::new(Format::Text, &NARROW, &[]));
    insta::assert_snapshot!(rendered(&map, Format::Text, NARROW));
}

#[test]
fn text_in_ascii() {
    let style = Style { unicode: false, ..NARROW };
    let zoomed = HeatmapOptions {
        address: Some(AddrRange::new(MMAP, MMAP + 64 * MIB)),
        time: Some((0, 700_000)),
        ..HeatmapOptions::new(Format::Text, &style, &[])
    };
    insta::assert_snapshot!(rendered(&map(&record(), zoomed), Format::Text, style));
}

#[test]
fn text_in_colour() {
    let style = Style { color: true, width: 40, height: 16, ..NARROW };
    let map = map(&record(), HeatmapOptions::new(Format::Text, &style, &[]));
    insta::assert_snapshot!(rendered(&map, Format::Text, style).replace('\x1b', "^"));
}

#[test]
fn data() {
    let map = map(&record(), options(2, 4));
    insta::assert_snapshot!("json", rendered(&map, Format::Json, NARROW));
    insta::assert_snapshot!("csv", rendered(&map, Format::Csv, NARROW));
}

#[test]
fn picture() {
    let map = map(&record(), options(4, 12));
    insta::assert_snapshot!(rendered(&map, Format::Svg, NARROW));
}

#[test]
fn actions_are_in_the_cell_of_their_moment() {
    let done = |start, end| Done {
        scheme: 0,
        action: Action::Pageout,
        target: TargetId(0),
        range: AddrRange::new(start, end),
    };
    let mut moments =
        [0, 10, 20, 30].map(|at| Interval::from(snapshot(at, at + 10, &[region(0, 16384, 1)])));
    // At 10 in both rows, at 20 in the upper one, at 40 somewhere else.
    moments[0].done = vec![done(4096, 12288)];
    moments[1].done = vec![done(8192, 12288), done(12288, 16384)];
    moments[3].done = vec![done(1 << 30, 1 << 31), Done { target: TargetId(9), ..done(0, 4096) }];
    let of = |columns, time| {
        let map = map(&moments, HeatmapOptions { time, ..options(columns, 2) });
        map.segments[0].acted.get(&Action::Pageout).cloned().unwrap_or_default()
    };
    assert_eq!(of(4, None), [[4096, 0, 0, 0], [4096, 8192, 0, 0]]);
    assert_eq!(of(2, None), [[4096, 0], [12288, 0]]);
    assert_eq!(of(2, Some((10, 20))), [[0, 0], [0, 8192]], "what ends at 10 is before it");
    assert!(of(2, Some((20, 40))).is_empty());
    let hidden = map(&moments, HeatmapOptions { actions: false, ..options(4, 2) });
    assert!(hidden.actions().is_empty());
}

#[test]
fn actions_in_text() {
    let plain = map(&acting(), HeatmapOptions::new(Format::Text, &NARROW, &[]));
    insta::assert_snapshot!("actions_text", rendered(&plain, Format::Text, NARROW));
    let style = Style { color: true, width: 40, height: 16, ..NARROW };
    let coloured = map(&acting(), HeatmapOptions::new(Format::Text, &style, &[]));
    let text = rendered(&coloured, Format::Text, style).replace('\x1b', "^");
    insta::assert_snapshot!("actions_in_colour", text);
}

#[test]
fn actions_as_data() {
    let map = map(&acting(), options(2, 4));
    insta::assert_snapshot!("actions_json", rendered(&map, Format::Json, NARROW));
    insta::assert_snapshot!("actions_csv", rendered(&map, Format::Csv, NARROW));
}

#[test]
fn actions_in_a_picture() {
    let map = map(&acting(), options(10, 12));
    insta::assert_snapshot!("actions_svg", rendered(&map, Format::Svg, NARROW));
}

/// A second of RAM that two processes and the page cache have, and nobody has the rest.
fn physical() -> Heatmap {
    let moment = |at: u64| {
        let regions =
            [region(0, 4 * MIB, 0), region(4 * MIB, 8 * MIB, 10), region(GAP, GAP + MIB, 0)];
        snapshot(at * 100_000, (at + 1) * 100_000, &regions)
    };
    let owner = |pid, name: &str| Owner { pid, name: name.to_owned() };
    let part = |start, end, shares: &[(u32, u64)]| OwnedPart {
        range: AddrRange::new(start * MIB, end * MIB),
        shares: shares.to_vec(),
    };
    let ownership = Ownership {
        owners: vec![
            owner(Some(7), "/usr/bin/cat x"),
            owner(None, "page cache that nobody maps"),
            owner(Some(4711), "/usr/lib/postgresql/16/bin/postgres -D /var/lib/postgresql/16/main"),
        ],
        parts: vec![
            part(0, 2, &[(0, MIB / 4), (1, MIB / 2)]),
            part(2, 6, &[(2, 4 * MIB)]),
            part(1 << 10, (1 << 10) + 1, &[(0, MIB)]),
        ],
    };
    let mut targets = targets();
    targets[0].mappings.clear();
    (targets[0].name, targets[0].pid) = ("physical memory".to_owned(), None);
    targets[0].ownership = Some(ownership);
    map_of(&[moment(0), moment(1)], &targets, options(4, 10))
}

const GAP: u64 = 1 << 30;

#[test]
fn rows_say_whose_they_are() {
    let map = physical();
    let owners: Vec<_> = map.owners.iter().map(|o| (o.owner.pid, o.bytes)).collect();
    assert_eq!(owners, [(Some(4711), 4 * MIB), (Some(7), MIB + MIB / 4), (None, MIB / 2)]);
    let owned = &map.segments[0].owned;
    assert_eq!(owned.len(), 8, "{:x?}", map.segments[0].addresses);
    assert_eq!(owned[0], [(2, MIB / 4), (1, MIB / 8)], "who has most comes first");
    assert_eq!(map.owner_of(&owned[0]), Some((1, MIB / 8)), "of processes");
    assert_eq!(owned[2], [(0, MIB)]);
    assert_eq!(owned[6], []);
    assert_eq!(map.segments[1].owned, [[(1, MIB / 2)], [(1, MIB / 2)]]);
    assert!(map_without_owners().owners.is_empty());
}

fn map_without_owners() -> Heatmap {
    map(&record(), options(2, 4))
}

#[test]
fn owners_in_every_format() {
    let map = physical();
    insta::assert_snapshot!("owners_text", rendered(&map, Format::Text, NARROW));
    insta::assert_snapshot!("owners_json", rendered(&map, Format::Json, NARROW));
    insta::assert_snapshot!("owners_csv", rendered(&map, Format::Csv, NARROW));
    insta::assert_snapshot!("owners_svg", rendered(&map, Format::Svg, NARROW));
}

/// Snapshots that follow each other, with regions without gaps over 16 pages.
fn gapless() -> impl Strategy<Value = Vec<Snapshot>> {
    let regions = prop::collection::vec((1u64..16, 0u32..=20), 1..6);
    prop::collection::vec((1u64..50, regions), 1..12).prop_map(|moments| {
        let mut now = 0;
        let mut moment = |(length, cuts): (u64, Vec<(u64, u32)>)| {
            let mut edges: Vec<_> =
                cuts.iter().map(|(at, _)| at * 4096).chain([0, 65536]).collect();
            edges.sort_unstable();
            edges.dedup();
            let regions: Vec<_> = edges
                .windows(2)
                .zip(cuts.iter().map(|(_, count)| *count).cycle())
                .map(|(edge, count)| region(edge[0], edge[1], count))
                .collect();
            now += length;
            snapshot(now - length, now, &regions)
        };
        moments.into_iter().map(&mut moment).collect()
    })
}

/// The mean rate of a gapless heat map over all bytes and all its time.
fn mean(map: &Heatmap) -> f64 {
    let mut sum = 0.0;
    let mut weight = 0.0;
    for segment in &map.segments {
        for (addresses, row) in segment.addresses.windows(2).zip(&segment.rates) {
            for (times, rate) in map.times.windows(2).zip(row) {
                let area = ((addresses[1] - addresses[0]) * (times[1] - times[0])) as f64;
                sum += area * rate.expect("no gaps");
                weight += area;
            }
        }
    }
    sum / weight
}

/// A second of 40 pages, of which the record knows to the page that 7 are in use, from
/// the second half on two more.
fn stripes() -> Vec<Snapshot> {
    let moment = |i: u64| {
        let mut moment = snapshot(i * 100_000, (i + 1) * 100_000, &[region(HEAP, HEAP + MIB, 2)]);
        let run = |from: u64, to: u64, count| run(HEAP + from * 4096, HEAP + to * 4096, count);
        let end = if i < 5 { 24 } else { 26 };
        moment.targets[0].pages =
            vec![run(0, 9, 0), run(9, 11, 20), run(11, 19, 0), run(19, end, 14), run(end, 40, 0)]
                .into();
        moment
    };
    (0..10).map(moment).collect()
}

fn close(format: Format, pages: u64) -> HeatmapOptions {
    let address = Some(AddrRange::new(HEAP, HEAP + pages * 4096));
    HeatmapOptions { address, columns: 10, ..HeatmapOptions::new(format, &CLOSE, &[]) }
}

const CLOSE: Style = Style { height: 48, ..NARROW };

#[test]
fn a_close_view_has_a_row_for_each_page() {
    let map = map(&stripes(), close(Format::Text, 40));
    let segment = &map.segments[0];
    let pages: Vec<_> = (0..=40).map(|page| HEAP + page * 4096).collect();
    assert_eq!(segment.addresses, pages);
    let used = |column: usize| {
        let used = |row: &usize| segment.rates[*row][column] > Some(0.0);
        (0..40).filter(used).collect::<Vec<_>>()
    };
    assert_eq!(used(0), [9, 10, 19, 20, 21, 22, 23]);
    assert_eq!(used(9), [9, 10, 19, 20, 21, 22, 23, 24, 25]);
    insta::assert_snapshot!("close_text", rendered(&map, Format::Text, CLOSE));
    insta::assert_snapshot!("close_svg", rendered(&map, Format::Svg, CLOSE));
}

#[test]
fn a_close_view_is_as_sharp_in_every_format() {
    for (format, pages) in [(Format::Svg, 256), (Format::Json, 256), (Format::Text, 40)] {
        assert_eq!(map(&stripes(), close(format, pages)).segments[0].rates.len() as u64, pages);
    }
}

#[test]
fn an_edge_is_at_its_page_also_where_rows_are_larger() {
    let options = HeatmapOptions { rows: 6, page_rows: 6, ..close(Format::Json, 40) };
    let map = map(&stripes()[..5], options);
    let segment = &map.segments[0];
    let pages: Vec<_> = segment.addresses.iter().map(|edge| (edge - HEAP) / 4096).collect();
    assert_eq!(pages, [0, 9, 11, 19, 24, 33, 40]);
    let rates: Vec<_> = segment.rates.iter().map(|row| row[0].unwrap()).collect();
    assert_eq!(rates, [0.0, 1.0, 0.0, 0.7, 0.0, 0.0]);
}

#[test]
fn runs_of_pages_show_in_a_region_that_was_not_observed() {
    let locked = RegionSnapshot { unobserved: 1.0, ..region(0, 8192, 0) };
    let mut moment = snapshot(0, 10, &[locked]);
    moment.targets[0].pages = vec![run(4096, 8192, 10)].into();
    let map = map(&[moment], options(1, 2));
    assert_eq!(map.segments[0].rates, [[None], [Some(0.5)]]);
}

proptest! {
    #[test]
    fn the_mean_rate_does_not_depend_on_the_grid(
        snapshots in gapless(), columns in 1usize..30, rows in 1usize..30,
    ) {
        let coarse = mean(&map(&snapshots, options(1, 1)));
        let fine = mean(&map(&snapshots, options(columns, rows)));
        prop_assert!((coarse - fine).abs() < 1e-9, "{} {}", coarse, fine);
    }

    #[test]
    fn zooming_is_cropping(snapshots in gapless(), column in 0usize..5, row in 0usize..4) {
        let whole = map(&snapshots, options(5, 4));
        let column = column.min(whole.times.len() - 2);
        let time = (whole.times[column], whole.times[column + 1]);
        let segment = &whole.segments[0];
        let address = AddrRange::new(segment.addresses[row], segment.addresses[row + 1]);
        let zoom = HeatmapOptions { address: Some(address), time: Some(time), ..options(1, 1) };
        let cell = map(&snapshots, zoom).segments[0].rates[0][0].unwrap();
        prop_assert!((cell - segment.rates[row][column].unwrap()).abs() < 1e-9);
    }
}
