use super::*;
use crate::testing::{HEAP, MIB, region, snapshot, source, targets, written};
use daos_core::{PageCache, RegionSnapshot, WITHIN_US, WorkingSets};

const STYLE: Style = Style { color: false, unicode: true, width: 100, height: 30 };

/// Two processes, watched for 70 s: the first has 100 MiB of which 20 are in use, 30 were left
/// alone for 10 s and 50 for 65 s, besides 60 that were never touched; the second is small, and
/// half of it can't be observed.
fn record() -> (Vec<Snapshot>, Vec<TargetInfo>) {
    let aged = |start: u64, mib: u64, age_s: u64| RegionSnapshot {
        age_us: age_s * 1_000_000,
        ..region(start, start + mib * MIB, 0)
    };
    let at = |mib: u64| HEAP + mib * MIB;
    let regions = [
        region(at(0), at(20), 20),
        aged(at(20), 30, 10),
        aged(at(50), 50, 65),
        aged(at(100), 60, 69),
    ];
    let mut snapshots =
        vec![snapshot(0, 100_000, &regions), snapshot(69_900_000, 70_000_000, &regions)];
    for snapshot in &mut snapshots {
        snapshot.sample_us = 5_000;
        snapshot.targets[0].resident_bytes = Some(100 * MIB);
        let small = RegionSnapshot { unobserved: 0.5, ..aged(HEAP, 4, 69) };
        snapshot.targets.push(TargetSnapshot {
            id: TargetId(1),
            resident_bytes: Some(4 * MIB),
            regions: vec![small],
            ..TargetSnapshot::default()
        });
    }
    let mut infos = targets();
    infos[0].cgroup = Some("/db".to_owned());
    let kinds = |anonymous, file, swapped| KindsOfMemory {
        anonymous_bytes: anonymous * MIB,
        file_bytes: file * MIB,
        shared_bytes: 0,
        swapped_bytes: swapped * MIB,
    };
    infos[0].memory = Some(kinds(90, 10, 7));
    let other = TargetInfo {
        id: TargetId(1),
        pid: Some(12),
        name: "/usr/bin/redis-server --replica".to_owned(),
        memory: Some(kinds(3, 1, 0)),
        cgroup: Some("/web".to_owned()),
        ..infos[0].clone()
    };
    infos.push(other);
    (snapshots, infos)
}

fn of(by: OwnersBy) -> Owners {
    let (snapshots, infos) = record();
    let Ok(owners) = compute(source(&snapshots), &infos, &OwnersOptions { by, time: None });
    owners
}

fn mib(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| bytes / MIB)
}

#[test]
fn what_cannot_be_observed_is_unseen_though_more_is_mapped_than_resident() {
    let (mut snapshots, infos) = record();
    for snapshot in &mut snapshots {
        let sets = WorkingSets::new([0.0; WITHIN_US.len()]);
        let small = &mut snapshot.targets[1];
        small.working_sets = Some(sets.beside_hidden((3 * MIB) as f64));
        small.regions[0].range.end += 12 * MIB;
    }
    let options = OwnersOptions { by: OwnersBy::Process, time: None };
    let Ok(owners) = compute(source(&snapshots), &infos, &options);
    let small = &owners.owners[1].amounts;
    assert_eq!((small.unseen, small.idle.map(mib)), (3 * MIB, [Some(1), Some(1), None]));
}

#[test]
fn one_process_is_one() {
    let (snapshots, infos) = record();
    let Ok(mut owners) = compute(source(&snapshots), &infos, &OwnersOptions::default());
    owners.owners.truncate(1);
    let text = written(|out| render(&owners, Format::Text, &STYLE, out));
    assert!(text.starts_with("Owners of memory: 1 process with "), "{text}");
}

#[test]
fn what_was_never_touched_is_not_idle_memory() {
    let owners = of(OwnersBy::Process);
    assert_eq!((owners.at_us, owners.watched_us), (70_000_000, 70_000_000));
    let [large, small] = &owners.owners[..] else { panic!("two") };
    assert_eq!((large.pid, large.cgroup.as_deref()), (Some(4711), Some("/db")));
    assert_eq!(large.amounts.accessed.map(mib), [Some(20), Some(50)]);
    assert_eq!(large.amounts.idle.map(mib), [Some(80), Some(50), None]);
    assert_eq!(large.amounts.unseen, 0);
    assert_eq!(small.amounts.idle.map(mib), [Some(2), Some(2), None]);
    assert_eq!((small.amounts.resident, small.amounts.unseen), (4 * MIB, 2 * MIB));
    assert_eq!(owners.total.idle.map(mib), [Some(82), Some(52), None]);
    assert_eq!(owners.total.kinds.unwrap().anonymous_bytes, 93 * MIB);
}

#[test]
fn of_which_kind_memory_was_before_is_not_known() {
    let (snapshots, infos) = record();
    let at = |time| {
        let options = OwnersOptions { time: Some(time), ..OwnersOptions::default() };
        let Ok(owners) = compute(source(&snapshots), &infos, &options);
        (owners.at_us, owners.is_latest, owners.owners[0].amounts.kinds.is_some())
    };
    assert_eq!(at((0, 1_000_000)), (100_000, false, false));
    assert_eq!(at((60_000_000, u64::MAX)), (70_000_000, true, true));
}

#[test]
fn who_was_watched_for_a_moment_has_no_past() {
    let (mut snapshots, infos) = record();
    snapshots[0].targets.truncate(1);
    let Ok(owners) = compute(source(&snapshots), &infos, &OwnersOptions::default());
    assert_eq!(owners.owners[1].amounts.idle, [None; 3]);
    assert_eq!(owners.owners[1].amounts.accessed, [None; 2]);
    assert_eq!(owners.total.idle.map(mib), [Some(80), Some(50), None]);
}

#[test]
fn memory_that_is_used_seldom_is_in_part_idle() {
    let (mut snapshots, infos) = record();
    // Once in a second: 63 % within a second, all within a minute, and 1 % idle for 5 s.
    let rate = 1.0 - (-0.005f64).exp();
    for snapshot in &mut snapshots {
        snapshot.targets[0].regions.truncate(1);
        snapshot.targets[0].regions[0].access_rate = rate;
        snapshot.targets[0].resident_bytes = Some(20 * MIB);
    }
    let Ok(owners) = compute(source(&snapshots), &infos, &OwnersOptions::default());
    let Amounts { accessed, idle, .. } = owners.owners[0].amounts;
    assert_eq!(accessed.map(mib), [Some(12), Some(20)]);
    assert!(idle[0].is_some_and(|bytes| (MIB / 10..MIB / 5).contains(&bytes)), "{idle:?}");
}

#[test]
fn memory_that_is_not_there_is_not_older_than_other() {
    let (mut snapshots, infos) = record();
    for snapshot in &mut snapshots {
        let target = &mut snapshot.targets[0];
        // All but the last 50 MiB came into sight a moment ago; of 140 without accesses 30 are
        // there.
        target.regions[1].range.end = target.regions[2].range.end;
        target.regions[1].age_us = 2_000_000;
        target.regions.remove(2);
        target.resident_bytes = Some(50 * MIB);
    }
    let Ok(owners) = compute(source(&snapshots), &infos, &OwnersOptions::default());
    assert_eq!(owners.owners[0].amounts.accessed.map(mib)[0], Some(20));
    // 30 of 140, of 60 that are old.
    assert_eq!(owners.owners[0].amounts.idle.map(mib)[0], Some(12));
}

#[test]
fn lines_may_be_of_programs_or_of_cgroups() {
    let names = |by| of(by).owners.into_iter().map(|o| (o.name, o.processes)).collect::<Vec<_>>();
    assert_eq!(names(OwnersBy::Name), [("redis-server".to_owned(), 2)]);
    assert_eq!(names(OwnersBy::Cgroup), [("/db".to_owned(), 1), ("/web".to_owned(), 1)]);
    assert_eq!(program("sshd: root@pts/0"), "sshd");
    assert_eq!(program("/usr/bin/python3 x.py"), "python3");
    assert_eq!(program(""), "(no name)");
}

#[test]
fn processes_that_were_not_watched_have_a_size() {
    let (snapshots, infos) = record();
    let mut watching = Watching::default();
    snapshots.iter().for_each(|snapshot| watching.add(snapshot));
    let known = &infos[..1];
    let bill = watching.bill(snapshots.last(), known, &infos[1..], OwnersBy::Process);
    assert_eq!(bill.owners.len(), 3);
    let other = bill.owners.iter().find(|owner| owner.pid == Some(12)).unwrap();
    assert_eq!((other.amounts.resident, other.amounts.unseen), (4 * MIB, 4 * MIB));
    assert_eq!(other.amounts.idle, [None; 3]);
}

#[test]
fn without_snapshots_there_is_nobody() {
    let Ok(owners) = compute(source(crate::testing::NOTHING), &[], &OwnersOptions::default());
    assert_eq!(owners.owners, []);
    let text = written(|out| render(&owners, Format::Text, &STYLE, out));
    assert_eq!(text, "Owners of memory: 0 processes with 0 B, watched for 0 s\n");
}

#[test]
fn page_cache_that_nobody_maps_stands_apart() {
    let page_cache = PageCache {
        bytes: 1500 * MIB,
        active_bytes: 400 * MIB,
        referenced_bytes: 1000 * MIB,
        dirty_bytes: 3 * MIB,
        shmem_bytes: 0,
    };
    let owners = Owners { page_cache: Some(page_cache), ..of(OwnersBy::Process) };
    let text = written(|out| render(&owners, Format::Text, &STYLE, out));
    insta::assert_snapshot!("page_cache", text.split_once("Page cache").unwrap().1);
    let json = written(|out| render(&owners, Format::Json, &STYLE, out));
    assert!(json.contains(r#""page_cache":{"unmapped":1572864000,"active":419430400,"#), "{json}");
}

#[test]
fn text_json_and_csv() {
    let mut owners = of(OwnersBy::Process);
    let small = owners.owners[1].clone();
    owners.owners.extend((0..30).map(|_| small.clone()));
    insta::assert_snapshot!("text", written(|out| render(&owners, Format::Text, &STYLE, out)));
    owners.owners.truncate(2);
    insta::assert_snapshot!("json", written(|out| render(&owners, Format::Json, &STYLE, out)));
    insta::assert_snapshot!("csv", written(|out| render(&owners, Format::Csv, &STYLE, out)));
    assert!(render(&owners, Format::Svg, &STYLE, &mut Vec::new()).is_err());
}
