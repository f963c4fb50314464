//! Broken records: what is whole is read, the rest is told, nothing panics.

mod common;

use common::{TestFile, frame};
use daos_core::SnapshotSource;
use daos_record::{Extent, Flaw, ReadError, Record};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Reads a file to its end. What an open record promises must hold.
fn read(file: &TestFile) -> Option<Record> {
    let record = Record::open(&file.path).ok()?;
    let snapshots = record.intervals().map(Result::unwrap).count() as u64;
    assert_eq!(record.extent().snapshots, snapshots);
    let mut replay = record.replay();
    while replay.next_snapshot().unwrap().is_some() {}
    Some(record)
}

#[test]
fn a_record_cut_anywhere_is_read_to_its_last_whole_frame() {
    let (bytes, ends) = common::record(3);
    for length in 0..=bytes.len() {
        let record = read(&TestFile::new(&bytes[..length]));
        let frames = ends.iter().filter(|end| **end <= length).count();
        let Some(record) = record else {
            assert_eq!(frames, 0, "{length} bytes");
            continue;
        };
        // Header, target, snapshot, target, snapshot, snapshot, end.
        let snapshots = [0, 0, 1, 1, 2, 3, 3][frames - 1];
        assert_eq!(record.extent().snapshots, snapshots, "{length} bytes");
        assert_eq!(record.damage().is_none(), ends.contains(&length), "{length} bytes");
        assert_eq!(record.end().is_some(), length == bytes.len());
    }
}

#[test]
fn damage_is_told_in_a_sentence() {
    let (bytes, ends) = common::record(37);
    let before_last_snapshot = ends[ends.len() - 3];
    let file = TestFile::new(&bytes[..before_last_snapshot + 20]);
    let record = read(&file).unwrap();
    let damage = record.damage().unwrap();
    assert_eq!(damage.offset, before_last_snapshot as u64);
    assert_eq!(damage.readable, Extent { snapshots: 36, start_us: 0, end_us: 3_600_000 });
    let Flaw::Torn { needs, has: 20 } = damage.flaw else { panic!("{damage:?}") };
    assert_eq!(
        file.without_directory(damage),
        format!(
            "record.daos is cut short at byte {before_last_snapshot} \
             (a frame of {needs} bytes has 20): the first 36 snapshots (3.6 s) could be read"
        )
    );
}

#[test]
fn reading_stops_at_a_corrupt_frame() {
    let (mut bytes, ends) = common::record(4);
    bytes[ends[2] + 12] ^= 1;
    let file = TestFile::new(&bytes);
    let record = read(&file).unwrap();
    assert_eq!(
        file.without_directory(record.damage().unwrap()),
        format!(
            "record.daos is damaged at byte {} (the checksum of a frame is wrong): \
             the first snapshot (0.1 s) could be read",
            ends[2]
        )
    );
    assert_eq!(record.end(), None);
}

#[test]
fn what_stands_behind_the_end_is_told() {
    let (bytes, _) = common::record(2);
    let record = read(&TestFile::new(&bytes.repeat(2))).unwrap();
    assert_eq!(record.damage().unwrap().offset, bytes.len() as u64);
    let record = read(&TestFile::new(&[&bytes[..], &[0; 100]].concat())).unwrap();
    assert_eq!(record.extent().snapshots, 2);
    assert!(record.end().is_some() && record.damage().is_some());
}

#[test]
fn a_record_that_shrinks_while_it_is_read_is_an_error() {
    let (bytes, ends) = common::record(10);
    let file = TestFile::new(&bytes);
    let record = file.record();
    std::fs::write(&file.path, &bytes[..ends[3]]).unwrap();
    let mut snapshots = record.intervals();
    assert!(snapshots.next().unwrap().is_ok() && snapshots.next().unwrap().is_ok());
    let error = snapshots.next().unwrap().unwrap_err().to_string();
    assert!(error.contains("the file became shorter"), "{error}");
    assert!(snapshots.next().is_none());

    let mut changed = bytes.clone();
    changed[ends[3] + 12] ^= 1;
    std::fs::write(&file.path, changed).unwrap();
    let error = record.intervals().find_map(Result::err).unwrap();
    assert!(matches!(error, ReadError::Changed { offset, .. } if offset == ends[3] as u64));
}

#[test]
fn kinds_of_later_releases_are_skipped() {
    let (bytes, ends) = common::record(2);
    let (head, tail) = bytes.split_at(ends[1]);
    let record = read(&TestFile::new(&[head, &frame(99, b"moons"), tail].concat())).unwrap();
    assert_eq!(record.extent().snapshots, 2);
    assert_eq!(record.damage(), None);
}

#[test]
fn a_length_of_gigabytes_is_not_believed() {
    let (mut bytes, ends) = common::record(2);
    bytes[ends[1] + 4] = 0xff;
    let record = read(&TestFile::new(&bytes)).unwrap();
    let flaw = Flaw::Corrupt("the length of a frame is impossible");
    assert_eq!(record.damage().unwrap().flaw, flaw);
}

/// A record of these frames behind its header.
fn with_frames(frames: &[(u8, &[u8])]) -> TestFile {
    let (bytes, ends) = common::record(0);
    let frames = frames.iter().flat_map(|(kind, payload)| frame(*kind, payload));
    TestFile::new(&bytes[..ends[0]].iter().copied().chain(frames).collect::<Vec<_>>())
}

#[test]
fn snapshots_that_overlap_are_damage() {
    // From 5 us on, 10 us long, without ticks and targets; then the same again.
    let snapshot = [5, 10, 10, 20, 0, 0, 0, 0, 0];
    let record = read(&with_frames(&[(3, &snapshot)])).unwrap();
    assert_eq!((record.extent().end_us, record.damage()), (15, None));
    let record = read(&with_frames(&[(3, &snapshot), (3, &snapshot)])).unwrap();
    assert_eq!(record.extent().snapshots, 1);
    assert!(record.damage().unwrap().to_string().contains("before the last one ended"));
}

#[test]
fn mappings_out_of_order_are_damage() {
    let of = |mappings: &str| {
        let json = format!(r#"{{"id":0,"name":"x","mappings":[{mappings}]}}"#);
        read(&with_frames(&[(2, json.as_bytes())])).unwrap().damage().is_some()
    };
    let at = |start, end| format!(r#"{{"start":{start},"end":{end},"name":""}}"#);
    assert!(!of(&[at(0, 4096), at(4096, 8192)].join(",")));
    for damaged in [[at(4096, 8192), at(0, 4096)], [at(0, 5), at(4, 6)], [at(9, 8), at(10, 11)]] {
        assert!(of(&damaged.join(",")), "{damaged:?}");
    }
}

#[test]
fn shares_of_a_target_that_do_not_add_up_are_told() {
    let is_damaged = |start: u64, end: u64, owner: u64, bytes: u64| {
        let target = format!(
            r#"{{"id":0,"name":"x","mappings":[],"ownership":{{"owners":[{{"name":"a"}}],
                "parts":[{{"start":{start},"end":{end},"shares":[[{owner},{bytes}]]}}]}}}}"#
        );
        with_frames(&[(2, target.as_bytes())]).record().damage().is_some()
    };
    assert!(!is_damaged(0, 4096, 0, 4096));
    assert!(is_damaged(4096, 0, 0, 0) && is_damaged(0, 4096, 1, 1) && is_damaged(0, 4096, 0, 4097));
}

#[test]
fn targets_and_regions_out_of_order_are_told() {
    // Two targets with one region of one page each, of these ids and sizes.
    let of = |ids: [u8; 2], pages: u8| {
        let mut snapshot = vec![0, 10, 10, 20, 0, 0, 0, 0, 2];
        ids.iter().for_each(|id| snapshot.extend([*id, 0, 1, 7, pages, 0, 0]));
        with_frames(&[(3, &snapshot)]).record().intervals().next().unwrap().is_ok()
    };
    assert!(of([1, 2], 1));
    assert!(!of([2, 1], 1) && !of([1, 1], 1), "ids rise");
    assert!(!of([1, 2], 0), "no region is empty");
}

#[test]
fn names_of_mappings_that_are_gone_do_not_fill_the_memory() {
    let name = "é".repeat(100_000);
    let old = format!(
        r#"{{"id":0,"name":"x","mappings":[{{"start":0,"end":9000000000,"name":"{name}"}}]}}"#
    );
    let mapping =
        |at: u64| format!(r#"{{"start":{},"end":{},"name":""}}"#, at * 8192, at * 8192 + 4096);
    let new: Vec<_> = (1..10_000).map(mapping).collect();
    let new = format!(r#"{{"id":0,"name":"x","mappings":[{}]}}"#, new.join(","));
    let record = with_frames(&[(2, old.as_bytes()), (2, new.as_bytes())]).record();
    let mappings = &record.targets().next().unwrap().mappings;
    assert_eq!(mappings.len(), 2 * 9_999 + 1);
    assert!(mappings.iter().map(|mapping| mapping.name.len()).sum::<usize>() < 6 << 20);
}

proptest! {
    #[test]
    fn changed_bytes_are_survived(
        changes in vec((any::<Index>(), any::<u8>()), 0..6),
        length: Index,
        truncate: bool,
    ) {
        let (mut bytes, _) = common::record(6);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if truncate {
            bytes.truncate(length.index(bytes.len()));
        }
        read(&TestFile::new(&bytes));
    }

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..400), frames in 0..3usize) {
        let (record, ends) = common::record(2);
        read(&TestFile::new(&bytes));
        read(&TestFile::new(&[&record[..12], &bytes].concat()));
        read(&TestFile::new(&[&record[..ends[frames]], &bytes].concat()));
    }

    #[test]
    fn any_payload_is_survived(
        payload in vec(prop_oneof![0..4u8, any::<u8>()], 0..200),
        kind in 0..9u8,
    ) {
        let (record, ends) = common::record(2);
        let file = TestFile::new(&[&record[..ends[1]], &frame(kind, &payload)].concat());
        // Its checksum is right, so that of a snapshot only its time is looked at.
        match file.record().intervals().find_map(Result::err) {
            None => drop(read(&file)),
            Some(ReadError::Undecodable { offset, .. }) => prop_assert_eq!(offset, ends[1] as u64),
            Some(error) => panic!("{error}"),
        }
        read(&TestFile::new(&[&record[..12], &frame(1, &payload)].concat()));
    }
}
