//! Page runs: written when they are not as expected, and never given to a snapshot
//! that they don't belong to.

mod common;

use common::{Recorded, TestFile};
use daos_core::{
    AddrRange, Interval, PAGE_SIZE, PageRun, Rng, SnapshotSource, TargetId, TargetSnapshot,
};
use daos_record::{Flaw, Writer};
use proptest::collection::vec;
use proptest::prelude::*;

const PAGES: u8 = 5;

/// Three pages with so many thousandths of the highest rate, and so many intervals old.
fn run(first: u64, permille: u32, age: u64) -> PageRun {
    let range = AddrRange::new(first * PAGE_SIZE, (first + 3) * PAGE_SIZE);
    let age_us = age * common::AGGREGATION_US;
    PageRun { range, access_rate: f64::from(permille) / 1000.0, age_us }
}

/// Interval number `index` of targets with these runs.
fn interval(index: u64, targets: &[(u32, &[PageRun])]) -> Interval {
    let mut interval = common::interval(index, 5, &mut Rng::new(index));
    let regions = interval.snapshot.targets.remove(0).regions;
    let target = |&(id, pages): &(u32, &[PageRun])| TargetSnapshot {
        id: TargetId(id),
        resident_bytes: None,
        regions: regions.clone(),
        pages: pages.to_vec().into(),
        ..TargetSnapshot::default()
    };
    interval.snapshot.targets = targets.iter().map(target).collect();
    interval
}

/// The bytes of a record of these snapshots, and where each write ended.
fn recorded(intervals: &[Interval]) -> (Vec<u8>, Vec<usize>) {
    let mut out = Recorded::default();
    let mut writer = Writer::new(&mut out, &common::header()).unwrap();
    intervals.iter().for_each(|interval| writer.interval(interval).unwrap());
    (out.bytes, out.ends)
}

fn read(bytes: &[u8]) -> Vec<Interval> {
    let record = TestFile::new(bytes).record();
    let intervals: Vec<_> = record.intervals().map(Result::unwrap).collect();
    let mut replay = record.replay();
    for interval in &intervals {
        assert_eq!(replay.next_snapshot().unwrap().as_ref(), Some(&interval.snapshot));
    }
    intervals
}

/// Kind and end of every frame.
fn frames(bytes: &[u8]) -> Vec<(u8, usize)> {
    let mut frames = Vec::new();
    let mut at = 12;
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 1..at + 5].try_into().unwrap()) as usize;
        frames.push((bytes[at], at + 5 + length + 4));
        at += 5 + length + 4;
    }
    frames
}

fn changes(bytes: &[u8]) -> usize {
    frames(bytes).iter().filter(|(kind, _)| *kind == PAGES).count()
}

/// Snapshots in which runs come, stay, age, change and go.
fn eventful() -> Vec<Interval> {
    let hot = run(20, 700, 0);
    vec![
        interval(0, &[(0, &[])]),
        interval(1, &[(0, &[run(10, 0, 4), hot]), (3, &[hot])]),
        interval(2, &[(0, &[run(10, 0, 5), hot]), (3, &[hot])]),
        interval(3, &[(0, &[run(10, 0, 6), run(20, 690, 0)])]),
        interval(4, &[(0, &[run(10, 0, 7)]), (3, &[hot])]),
        interval(5, &[(0, &[])]),
        interval(6, &[(0, &[])]),
    ]
}

#[test]
fn runs_come_back_with_their_snapshots() {
    let (bytes, writes) = recorded(&eventful());
    assert_eq!(read(&bytes), eventful());
    // In 1 both targets, in 3 one, in 4 one that ends and one that is back, in 5 one.
    assert_eq!(changes(&bytes), 2 + 1 + 2 + 1);
    assert_eq!(writes.len(), 1 + eventful().len(), "a snapshot and its runs are one write");
}

#[test]
fn runs_that_only_age_take_no_bytes() {
    let of = |age| (0..2000).map(|at| run(at * 5, 0, age)).collect::<Vec<_>>();
    let (first, later) = (of(7), of(8));
    let (with, with_ends) = recorded(&[interval(0, &[(0, &first)]), interval(1, &[(0, &later)])]);
    let (_, without) = recorded(&[interval(0, &[(0, &[])]), interval(1, &[(0, &[])])]);
    assert_eq!(with_ends[2] - with_ends[1], without[2] - without[1]);
    assert_eq!(read(&with)[1].snapshot.targets[0].pages, later.into());
}

#[test]
fn a_target_that_was_away_starts_with_no_runs() {
    let moments = [
        interval(0, &[(0, &[run(1, 5, 0)])]),
        interval(1, &[]),
        interval(2, &[(0, &[])]),
        interval(3, &[(0, &[run(1, 5, 0)])]),
    ];
    assert_eq!(read(&recorded(&moments).0), moments);
}

#[test]
fn a_record_cut_anywhere_gives_no_snapshot_the_runs_of_another() {
    let moments = eventful();
    let (bytes, _) = recorded(&moments);
    let frames = frames(&bytes);
    for length in frames[0].1..=bytes.len() {
        let whole = |&&(kind, end): &&(u8, usize)| kind == 3 && end <= length;
        let snapshots = frames.iter().filter(whole).count();
        let file = TestFile::new(&bytes[..length]);
        assert_eq!(read(&bytes[..length]), moments[..snapshots], "{length} bytes");
        let at_frame = frames.iter().any(|(_, end)| *end == length);
        assert_eq!(file.record().damage().is_none(), at_frame, "{length} bytes");
    }
}

#[test]
fn a_lost_frame_of_runs_is_noticed() {
    let (bytes, _) = recorded(&eventful());
    let frames = frames(&bytes);
    // Without the first change, what comes next is a change of other runs.
    let lost = frames.iter().position(|(kind, _)| *kind == PAGES).unwrap();
    let bytes = [&bytes[..frames[lost - 1].1], &bytes[frames[lost].1..]].concat();
    let (snapshots, flaw) = TestFile::new(&bytes).first_undecodable();
    assert_eq!((snapshots, flaw), (3, Flaw::Corrupt("page runs can't be decoded")));
}

/// A frame of runs with a right checksum, for target 0.
fn frame(edits: &[u8]) -> Vec<u8> {
    let payload = [&[0], edits].concat();
    let mut frame = vec![PAGES];
    frame.extend((payload.len() as u32).to_le_bytes());
    frame.extend(payload);
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame
}

#[test]
fn runs_of_a_target_that_is_gone_are_forgotten() {
    let (bytes, ends) = recorded(&[interval(0, &[(3, &[])]), interval(1, &[(0, &[])])]);
    // No runs before, one edit: none stay, none go, one is new: page 1, 1 page, 1 access.
    let orphan = frame(&[0, 1, 0, 0, 1, 1, 1, 2]);
    let with = [&bytes[..ends[0]], &orphan, &bytes[ends[0]..]].concat();
    assert_eq!(read(&with), read(&bytes));
    let twice = [&bytes[..ends[1]], &orphan, &orphan, &bytes[ends[1]..]].concat();
    assert_eq!(TestFile::new(&twice).first_undecodable().0, 1);
}

#[test]
fn runs_that_break_the_rules_leave_the_record_whole() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    let good = interval(0, &[(0, &[run(1, 5, 0)])]);
    writer.interval(&good).unwrap();
    let overlapping = interval(1, &[(0, &[run(1, 5, 0), run(2, 5, 0)])]);
    let error = writer.interval(&overlapping).unwrap_err().to_string();
    assert!(error.contains("not sorted and disjoint"), "{error}");
    let twins = interval(1, &[(4, &[]), (4, &[run(1, 5, 0)])]);
    assert!(writer.interval(&twins).unwrap_err().to_string().contains("the same id"));
    let mut late = interval(1, &[(0, &[run(9, 5, 0)])]);
    late.snapshot.start_us = u64::MAX;
    assert!(writer.interval(&late).unwrap_err().to_string().contains("ends before"));
    let next = interval(1, &[(0, &[run(9, 5, 0)])]);
    writer.interval(&next).unwrap();
    assert_eq!(read(&bytes), [good, next]);
}

proptest! {
    #[test]
    fn runs_of_any_snapshots_come_back(
        moments in vec(vec((0..4u64, 0..3u32, 0..3u64, 0..3u32), 0..12), 0..8),
    ) {
        let moment = |(index, runs): (usize, Vec<(u64, u32, u64, u32)>)| {
            let mut first = [0; 3];
            let mut targets: [Vec<PageRun>; 3] = Default::default();
            for (gap, permille, age, id) in runs {
                let id = id as usize;
                targets[id].push(run(first[id] + gap, permille, age));
                first[id] += gap + 3;
            }
            let [a, b, c] = &targets;
            interval(index as u64, &[(0, a), (1, b), (7, c)])
        };
        let moments: Vec<_> = moments.into_iter().enumerate().map(moment).collect();
        prop_assert_eq!(read(&recorded(&moments).0), moments);
    }
}
