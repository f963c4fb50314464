//! What is written is read, whole and in its order.

mod common;

use common::{Recorded, TestFile};
use daos_core::{
    AddrRange, Interval, OwnedPart, Owner, Ownership, PageCache, Rng, Snapshot, SnapshotSource,
};
use daos_core::{TargetId, TargetInfo};
use daos_record::{Extent, Writer};

fn written(count: u64) -> Vec<Interval> {
    let mut rng = Rng::new(1);
    (0..count).map(|index| common::interval(index, 5, &mut rng)).collect()
}

#[test]
fn a_record_gives_back_all_that_was_written() {
    let record = TestFile::new(&common::record(10).0).record();
    assert_eq!(*record.header(), common::header());
    assert_eq!(record.end(), Some(&common::end()));
    assert_eq!(record.damage(), None);
    assert_eq!(record.extent(), Extent { snapshots: 10, start_us: 0, end_us: 1_000_000 });
    let targets: Vec<_> = record.targets().cloned().collect();
    assert_eq!(targets, [common::target(0, "sort"), common::target(1, "child")]);
    for _ in 0..2 {
        let read: Result<Vec<_>, _> = record.intervals().collect();
        assert_eq!(read.unwrap(), written(10));
    }
}

#[test]
fn the_last_word_on_a_target_counts() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    for name in ["shell", "sort"] {
        writer.target(&common::target(4, name)).unwrap();
    }
    let record = TestFile::new(&bytes).record();
    assert_eq!(record.targets().collect::<Vec<_>>(), [&common::target(4, "sort")]);
    assert_eq!(record.extent(), Extent::default());
}

#[test]
fn who_had_what_is_known_to_the_end() {
    let of = |parts: &[(u64, &str)]| Ownership {
        owners: parts.iter().map(|&(_, name)| Owner { pid: None, name: name.into() }).collect(),
        parts: (0..)
            .zip(parts)
            .map(|(place, &(start, _))| OwnedPart {
                range: AddrRange::new(start, start + 8192),
                shares: vec![(place, 4096)],
            })
            .collect(),
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    for ownership in [None, Some(of(&[(0, "a"), (8192, "b")])), Some(of(&[(8192, "c")])), None] {
        writer.target(&TargetInfo { ownership, ..common::target(0, "RAM") }).unwrap();
    }
    let record = TestFile::new(&bytes).record();
    let ownership = record.targets().next().unwrap().ownership.as_ref().unwrap();
    let named = |part: &OwnedPart| ownership.owners[part.shares[0].0 as usize].name.clone();
    assert_eq!(ownership.parts.iter().map(named).collect::<Vec<_>>(), ["a", "c"]);
}

#[test]
fn page_cache_is_no_target() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    for bytes in [1 << 30, 2 << 30] {
        let page_cache = Some(PageCache { bytes, ..PageCache::default() });
        let info = TargetInfo { id: TargetId::PAGE_CACHE, page_cache, ..common::target(0, "") };
        writer.target(&info).unwrap();
    }
    let record = TestFile::new(&bytes).record();
    assert_eq!(record.targets().count(), 0);
    assert_eq!(record.page_cache().map(|cache| cache.bytes), Some(2 << 30));
    assert_eq!(TestFile::new(&common::record(1).0).record().page_cache(), None);
}

#[test]
fn readers_of_one_record_do_not_disturb_each_other() {
    let record = TestFile::new(&common::record(10).0).record();
    for (one, other) in record.intervals().zip(record.intervals().skip(1)) {
        assert_eq!(one.unwrap().snapshot.end_us, other.unwrap().snapshot.start_us);
    }
}

#[test]
fn a_replay_hands_out_targets_with_their_first_snapshot() {
    let record = TestFile::new(&common::record(4).0).record();
    let mut replay = record.replay();
    let mut seen = Vec::new();
    while let Some(snapshot) = replay.next_snapshot().unwrap() {
        let targets: Vec<_> = replay.changed_targets().iter().map(|t| t.id).collect();
        seen.push((snapshot.start_us, targets));
    }
    let (first, third) = (vec![TargetId(0)], vec![TargetId(1)]);
    assert_eq!(seen, [(0, first), (100_000, vec![]), (200_000, third), (300_000, vec![])]);
}

#[test]
fn a_replay_recorded_again_is_the_same_record() {
    let (bytes, _) = common::record(10);
    let record = TestFile::new(&bytes).record();
    let mut replay = record.replay();
    let mut again = Vec::new();
    let mut writer = Writer::new(&mut again, record.header()).unwrap();
    while let Some(interval) = replay.next_interval().unwrap() {
        for target in replay.changed_targets() {
            writer.target(&target).unwrap();
        }
        writer.interval(&interval).unwrap();
    }
    writer.finish(record.end().unwrap()).unwrap();
    assert!(again == bytes);
}

#[test]
fn every_frame_is_one_write() {
    let mut out = Recorded::default();
    let mut writer = Writer::new(&mut out, &common::header()).unwrap();
    writer.target(&common::target(0, "sort")).unwrap();
    writer.interval(&common::interval(0, 1000, &mut Rng::new(1))).unwrap();
    writer.finish(&common::end()).unwrap();
    assert_eq!(out.ends.len(), 4);
}

#[test]
fn what_breaks_the_rules_leaves_the_record_whole() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &common::header()).unwrap();
    let backwards = Interval::from(Snapshot { start_us: 1, ..Snapshot::default() });
    let error = writer.interval(&backwards).unwrap_err().to_string();
    assert!(error.contains("a snapshot ends before it starts"), "{error}");
    writer.interval(&written(1)[0]).unwrap();
    let record = TestFile::new(&bytes).record();
    assert_eq!(record.damage(), None);
    assert_eq!(record.extent().snapshots, 1);
}
