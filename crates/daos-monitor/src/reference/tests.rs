//! The reference monitor against memory whose every page the tests know.

use super::*;
use daos_core::testing::{TestMemory, mib, target};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};

/// Target 0 with these ranges, of which those in `used` are accessed all the time.
fn memory(ranges: &[AddrRange], used: &[AddrRange]) -> TestMemory {
    TestMemory { max_window_pages: 1, takes_gaps: true, ..TestMemory::new(ranges, used) }
}

/// Runs `seconds` of monitoring and returns all snapshots.
fn run(monitor: &mut Reference, memory: &mut TestMemory, seconds: u64) -> Vec<Snapshot> {
    let sample = monitor.attrs().sample_us;
    let begin = monitor.ticks() * sample;
    let ticks = seconds * 1_000_000 / sample;
    let tick = |at| {
        memory.use_pages();
        monitor.tick(memory, begin + at * sample).unwrap()
    };
    (0..=ticks).filter_map(tick).collect()
}

fn attrs(min_regions: u32, max_regions: u32) -> MonitorAttrs {
    MonitorAttrs { min_regions, max_regions, ..MonitorAttrs::default() }
}

#[test]
fn equal_regions_stay_as_they_are() {
    let mut memory = memory(&[mib(0, 100)], &[mib(30, 40)]);
    let attrs = MonitorAttrs { max_regions: 100, ..MonitorAttrs::default() };
    let mut monitor = Reference::with_equal_regions(attrs, 1).unwrap();
    let snapshots = run(&mut monitor, &mut memory, 3);
    assert_eq!(snapshots.len(), 30);
    for snapshot in &snapshots {
        let regions = &snapshot.targets[0].regions;
        assert!(regions.iter().map(|r| r.range).eq((0..100).map(|at| mib(at, at + 1))));
        let hot = regions.iter().filter(|r| r.access_rate == 1.0).map(|r| r.range);
        assert!(hot.eq((30..40).map(|at| mib(at, at + 1))));
        assert_eq!(snapshot.cost.checks, [100; 20]);
    }
}

#[test]
fn a_snapshot_an_aggregation_interval_with_its_checks() {
    let mut memory = memory(&[mib(0, 100)], &[]);
    let mut monitor = Reference::new(MonitorAttrs::default(), 1).unwrap();
    let snapshots = run(&mut monitor, &mut memory, 1);
    assert_eq!(snapshots.len(), 10);
    assert_eq!((snapshots[3].start_us, snapshots[3].end_us), (300_000, 400_000));
    assert_eq!(snapshots[0].cost.checks, [10; 20], "ten regions at the start, one check each");
}

#[test]
fn hot_memory_is_found_and_its_age_grows() {
    let hot = mib(300, 428);
    let mut memory = memory(&[mib(0, 1024)], &[hot]);
    let mut monitor = Reference::new(MonitorAttrs::default(), 42).unwrap();
    let last = run(&mut monitor, &mut memory, 10).pop().unwrap();
    let reported: Vec<_> =
        last.targets[0].regions.iter().filter(|r| r.access_rate >= 0.25).collect();
    let bytes: u64 = reported.iter().map(|r| r.range.len()).sum();
    let right: u64 = reported.iter().filter_map(|r| r.range.intersect(&hot)).map(|r| r.len()).sum();
    assert!(right as f64 >= 0.9 * bytes as f64, "precision {right} of {bytes}");
    assert!(right as f64 >= 0.9 * hot.len() as f64, "recall {right} of {}", hot.len());
    assert!(reported.iter().any(|r| r.age_us > 2_000_000), "a hot region keeps its age");
}

#[test]
fn unobservable_pages_are_told_from_cold_ones() {
    let mut memory = memory(&[mib(0, 64)], &[]);
    memory.set(&[mib(0, 64)], |page, inside| page.stuck = inside);
    let mut monitor = Reference::new(MonitorAttrs::default(), 1).unwrap();
    let last = run(&mut monitor, &mut memory, 1).pop().unwrap();
    for region in &last.targets[0].regions {
        assert_eq!((region.unobserved, region.access_rate), (1.0, 0.0));
    }
}

#[test]
fn targets_come_and_go_at_an_update() {
    let mut memory = memory(&[mib(0, 64)], &[]);
    let mut monitor = Reference::new(MonitorAttrs::default(), 1).unwrap();
    run(&mut monitor, &mut memory, 1);
    memory.targets.push(target(7, &[mib(5, 6)]));
    let last = run(&mut monitor, &mut memory, 2).pop().unwrap();
    assert_eq!(last.targets.iter().map(|t| t.id.0).collect::<Vec<_>>(), [0, 7]);
    memory.targets.remove(0);
    let last = run(&mut monitor, &mut memory, 2).pop().unwrap();
    assert_eq!(last.targets.iter().map(|t| t.id.0).collect::<Vec<_>>(), [7]);
    memory.targets.clear();
    run(&mut monitor, &mut memory, 2);
    assert!(!monitor.has_targets());
}

#[test]
fn more_ranges_than_checks_take_turns() {
    let mut memory = memory(&[], &[]);
    memory.targets = (0..40).map(|id| target(id, &[mib(1, 2)])).collect();
    memory.set_used(&[mib(1, 2)]);
    let mut monitor = Reference::new(attrs(3, 16), 1).unwrap();
    let last = run(&mut monitor, &mut memory, 2).pop().unwrap();
    assert_eq!(memory.most_windows, 16);
    for target in &last.targets {
        let seen = target.regions.iter().map(|r| r.access_rate * 20.0).sum::<f64>().round();
        assert!((7.0..=9.0).contains(&seen), "16 of 40 a tick, 20 ticks: 8 each, not {seen}");
    }
}

/// Two gaps cut regions in two, of which any two neighbours are too large together.
#[test]
fn there_are_no_more_regions_than_may_be_where_none_are_small_enough_to_merge() {
    let mut memory = memory(&[mib(0, 60)], &[]);
    let mut monitor = Reference::new(attrs(10, 11), 1).unwrap();
    monitor.update(&mut memory).unwrap();
    memory.targets[0].ranges = vec![mib(0, 26), mib(28, 38), mib(40, 60)];
    monitor.update(&mut memory).unwrap();
    let regions = monitor.regions(TargetId(0)).unwrap().len();
    assert!((10..=11).contains(&regions), "{regions}");
}

#[test]
fn the_stream_of_regions_is_fixed_by_the_seed() {
    let snapshots = |seed| {
        let mut memory = memory(&[mib(0, 512)], &[mib(100, 130)]);
        let mut monitor = Reference::new(MonitorAttrs::default(), seed).unwrap();
        run(&mut monitor, &mut memory, 5)
    };
    assert_eq!(snapshots(3), snapshots(3));
    assert_ne!(snapshots(3), snapshots(4));
}

/// Ranges as a process has them: up to `n`, sorted, with gaps of all sizes.
fn any_mapping(n: usize) -> impl Strategy<Value = Vec<AddrRange>> {
    proptest::collection::vec((0u64..2000, 1u64..3000), 1..n).prop_map(|parts| {
        let mut at = 16;
        parts
            .into_iter()
            .map(|(gap, len)| {
                let start = at + gap;
                at = start + len;
                AddrRange::new(start * PAGE_SIZE, at * PAGE_SIZE)
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the mappings do: regions are sorted, disjoint, aligned, cover
    /// exactly the three ranges after an update, and stay within the bounds.
    #[test]
    fn the_invariants_hold(
        mappings in proptest::collection::vec(any_mapping(40), 1..5),
        hot in any_mapping(10),
        min in 3u32..20,
        room in 6u32..100,
        seed in any::<u64>(),
    ) {
        let max = min + room;
        let mut memory = memory(&mappings[0], &hot);
        let mut monitor = Reference::new(attrs(min, max), seed).unwrap();
        for mapping in &mappings {
            memory.targets[0].ranges = mapping.clone();
            monitor.update(&mut memory).unwrap();
            let ranges = layout::three_ranges(mapping);
            let regions = monitor.regions(TargetId(0)).unwrap();
            prop_assert_eq!(
                regions.iter().map(|r| r.range.len()).sum::<u64>(),
                ranges.iter().map(|r| r.len()).sum::<u64>()
            );
            for _ in 0..45 {
                memory.use_pages();
                monitor.tick(&mut memory, 0).unwrap();
                let regions = monitor.regions(TargetId(0)).unwrap();
                prop_assert!(regions.windows(2).all(|w| w[0].range.end <= w[1].range.start));
                for r in regions {
                    prop_assert!(!r.range.is_empty() && r.range.start % PAGE_SIZE == 0
                        && r.range.end % PAGE_SIZE == 0);
                    prop_assert!(ranges.iter().any(|m| m.intersect(&r.range) == Some(r.range)));
                }
                let pages: u64 = ranges.iter().map(|r| r.pages()).sum();
                prop_assert!(regions.len() as u64 >= u64::from(min).min(pages));
                prop_assert!(regions.len() <= max as usize);
                prop_assert!(memory.most_windows <= max as usize);
            }
        }
    }
}
