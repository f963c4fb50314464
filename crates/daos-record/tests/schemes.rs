//! What schemes did: with the snapshot that they did it in, and under the number that a
//! scheme keeps.

mod common;

use common::{Recorded, TestFile, frame};
use daos_core::{
    Action, AddrRange, Done, Interval, PAGE_SIZE, Refusal, Rng, SchemeStats, SnapshotSource,
    TargetId,
};
use daos_record::{End, Flaw, Header, Record, SchemeEnd, Writer};

const DONE: u8 = 6;

fn done(scheme: u32, action: Action, first: u64, pages: u64) -> Done {
    let range = AddrRange::new(first * PAGE_SIZE, (first + pages) * PAGE_SIZE);
    Done { scheme, action, target: TargetId(0), range }
}

/// Interval number `index`, at whose end this was done.
fn interval(index: u64, done: &[Done]) -> Interval {
    Interval { done: done.to_vec(), ..common::interval(index, 5, &mut Rng::new(index)) }
}

fn labels(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|&label| label.to_owned()).collect()
}

fn header(schemes: &[&str]) -> Header {
    Header { schemes: labels(schemes), ..common::header() }
}

fn read(record: &Record) -> Vec<Interval> {
    record.intervals().map(Result::unwrap).collect()
}

/// Four intervals; in two of them something was done.
fn eventful() -> Vec<Interval> {
    let cold = [done(0, Action::Pageout, 10, 6), done(0, Action::Pageout, 90, 1)];
    let both = [done(0, Action::Pageout, 10, 1), done(1, Action::Hugepage, 512, 512)];
    vec![interval(0, &[]), interval(1, &cold), interval(2, &[]), interval(3, &both)]
}

/// The bytes of a record of these snapshots, and where each write ended.
fn recorded(intervals: &[Interval]) -> (Vec<u8>, Vec<usize>) {
    let mut out = Recorded::default();
    let mut writer = Writer::new(&mut out, &header(&["cold", "hot"])).unwrap();
    intervals.iter().for_each(|interval| writer.interval(interval).unwrap());
    (out.bytes, out.ends)
}

#[test]
fn what_was_done_comes_back_with_its_snapshot() {
    let (bytes, writes) = recorded(&eventful());
    let record = TestFile::new(&bytes).record();
    assert_eq!(read(&record), eventful());
    assert_eq!(record.schemes(), ["cold", "hot"]);
    assert_eq!(writes.len(), 1 + eventful().len(), "a snapshot and what was done are one write");
    let mut replay = record.replay();
    for interval in eventful() {
        assert_eq!(replay.next_snapshot().unwrap(), Some(interval.snapshot));
    }
}

#[test]
fn without_schemes_a_record_is_what_it_was_before_there_were_any() {
    let (bytes, ends) = common::record(3);
    assert!(!bytes.windows(9).any(|word| word == b"\"schemes\""));
    let mut at = 12;
    for end in ends {
        assert!(bytes[at] < DONE, "kind {}", bytes[at]);
        at = end;
    }
    let nothing_done = recorded(&[interval(1, &[])]).1;
    let done = recorded(&[interval(1, &[done(0, Action::Pageout, 10, 6)])]).1;
    // Frame and checksum, one group of four numbers, and one range.
    assert_eq!(done[1] - nothing_done[1], 9 + 1 + 4 + 2);
}

#[test]
fn batches_in_any_order_are_read_as_ranges() {
    let batches = [
        done(1, Action::Cold, 5, 5),
        done(0, Action::Pageout, 16, 4),
        done(0, Action::Pageout, 10, 6),
        done(0, Action::Pageout, 70, 0),
    ];
    let (bytes, _) = recorded(&[interval(0, &batches)]);
    let joined = [done(0, Action::Pageout, 10, 10), done(1, Action::Cold, 5, 5)];
    assert_eq!(read(&TestFile::new(&bytes).record())[0].done, joined);
}

#[test]
fn schemes_keep_their_numbers_when_others_take_their_place() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header(&["cold", "hot"])).unwrap();
    let second = |index| interval(index, &[done(1, Action::Stat, 10, 1)]);
    writer.interval(&second(0)).unwrap();
    writer.schemes(&labels(&["hot", "idle"])).unwrap();
    writer.interval(&second(1)).unwrap();
    writer.schemes(&labels(&["idle", "cold"])).unwrap();
    writer.interval(&second(2)).unwrap();
    writer.finish(&common::end()).unwrap();
    let record = TestFile::new(&bytes).record();
    assert_eq!(record.schemes(), ["cold", "hot", "idle"]);
    assert_eq!(record.damage(), None);
    let acted: Vec<_> = read(&record).iter().map(|interval| interval.done[0].scheme).collect();
    assert_eq!(acted, [1, 2, 0], "hot, idle, cold");
}

#[test]
fn a_record_cut_anywhere_gives_no_snapshot_what_another_did() {
    let (bytes, writes) = recorded(&eventful());
    for length in writes[0]..=bytes.len() {
        let snapshots = writes[1..].iter().filter(|end| **end <= length).count();
        let record = TestFile::new(&bytes[..length]).record();
        assert_eq!(read(&record), eventful()[..snapshots], "{length} bytes");
    }
}

#[test]
fn damage_in_what_was_done_is_told() {
    let (bytes, writes) = recorded(&eventful());
    let (head, tail) = bytes.split_at(writes[1]);
    let with = |between: &[u8]| TestFile::new(&[head, between, tail].concat());
    let undecodable = (1, Flaw::Corrupt("what schemes did can't be decoded"));
    let cut_short = with(&frame(DONE, &[1, 0, 4, 0, 1]));
    assert_eq!(cut_short.first_undecodable(), undecodable);
    // Of one snapshot there is one frame; the next is that of `tail`.
    let twice = with(&frame(DONE, &[1, 0, 4, 0, 1, 9, 1]));
    assert_eq!(twice.first_undecodable(), undecodable);
    let record = with(&frame(7, b"{}")).record();
    assert!(record.damage().is_some() && record.extent().snapshots == 1);
}

#[test]
fn what_breaks_the_rules_leaves_the_record_whole() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &header(&["cold"])).unwrap();
    let odd = Done { range: AddrRange::new(0, 100), ..done(0, Action::Cold, 0, 1) };
    let error = writer.interval(&interval(0, &[odd])).unwrap_err().to_string();
    assert!(error.contains("does not begin and end with a page"), "{error}");
    let good = interval(0, &[done(0, Action::Cold, 3, 1)]);
    writer.interval(&good).unwrap();
    assert_eq!(read(&TestFile::new(&bytes).record()), [good]);
}

#[test]
fn the_end_has_what_each_scheme_came_to() {
    let stats = SchemeStats {
        tried_regions: 9,
        applied_bytes: 8192,
        refused_bytes: [(Refusal::NoRoom, 4096), (Refusal::Shared, 1)].into(),
        bloat_bytes: -4096,
        spent_us: 12.5,
        ..SchemeStats::default()
    };
    let end = |schemes| End { schemes, ..common::end() };
    let scheme = SchemeEnd { label: "cold".into(), stats };
    let mut bytes = Vec::new();
    let writer = Writer::new(&mut bytes, &header(&["cold"])).unwrap();
    writer.finish(&end(vec![scheme.clone()])).unwrap();
    assert_eq!(TestFile::new(&bytes).record().end(), Some(&end(vec![scheme.clone()])));

    // Of a later release, which knows one more reason: what it says of that scheme is
    // left out, the rest is read.
    let strange = serde_json::to_string(&scheme).unwrap().replace("no-room", "full-moon");
    let json = serde_json::to_string(&end(vec![scheme.clone()])).unwrap();
    let later = json.replace(r#""schemes":["#, &format!(r#""schemes":[{strange},"#));
    let (head, _) = recorded(&[]);
    let record = TestFile::new(&[head, frame(4, later.as_bytes())].concat()).record();
    assert_eq!(record.end(), Some(&end(vec![scheme])));
}
