//! What holds whatever targets do with their memory.

use super::run::{Run, attrs, regions};
use crate::Monitor;
use daos_core::testing::TestMemory;
use daos_core::{AddrRange, PAGE_SIZE, Snapshot, Target, TargetId};
use proptest::collection::vec;
use proptest::prelude::*;

/// Gaps this small may be bridged before a difference is given up.
const SMALL_GAP: u64 = 64 << 10;

/// Up to `n` ranges, sorted, some with no gap and some with nothing else between them.
fn any_mapping(n: usize) -> impl Strategy<Value = Vec<AddrRange>> {
    let gap = prop_oneof![Just(0u64), 1u64..40, 0u64..3000];
    let len = prop_oneof![1u64..8, 1u64..3000];
    vec((gap, len), 1..n).prop_map(|parts| {
        let mut at = 16;
        let range = |(gap, len)| {
            let start = at + gap;
            at = start + len;
            AddrRange::new(start * PAGE_SIZE, at * PAGE_SIZE)
        };
        parts.into_iter().map(range).collect()
    })
}

/// Targets with numbers below 4.
fn any_targets() -> impl Strategy<Value = Vec<Target>> {
    vec(proptest::option::weighted(0.6, any_mapping(30)), 1..4).prop_map(|mappings| {
        let targets = mappings.into_iter().enumerate();
        let target = |(id, ranges): (usize, Option<_>)| {
            Some(Target {
                id: TargetId(id as u32),
                ranges: ranges?,
                is_listed: true,
                resident_bytes: None,
            })
        };
        targets.filter_map(target).collect()
    })
}

fn assert_sound(snapshot: &Snapshot, listed: &[Target], (min, max): (u32, u32), age: u32) {
    let ids = |targets: &mut dyn Iterator<Item = TargetId>| targets.collect::<Vec<_>>();
    assert_eq!(
        ids(&mut snapshot.targets.iter().map(|t| t.id)),
        ids(&mut listed.iter().map(|t| t.id))
    );
    let nr_ranges: usize =
        listed.iter().map(|t| AddrRange::joined(t.ranges.iter().copied()).len()).sum();
    for (found, listed) in snapshot.targets.iter().zip(listed) {
        let mapped = AddrRange::joined(listed.ranges.iter().copied());
        let mut covered = 0;
        for region in &found.regions {
            let range = region.range;
            assert!(!range.is_empty());
            assert_eq!((range.start % PAGE_SIZE, range.end % PAGE_SIZE), (0, 0));
            let inside = |r: &&AddrRange| r.intersect(&range).is_some();
            covered +=
                mapped.iter().filter_map(|r| r.intersect(&range)).map(|r| r.len()).sum::<u64>();
            let touched: Vec<_> = mapped.iter().filter(inside).collect();
            if touched.is_empty() {
                // Only a part of what was bridged.
                assert!(nr_ranges > max as usize, "{range:?} is not mapped");
                continue;
            }
            if nr_ranges <= max as usize {
                for gap in touched.windows(2) {
                    assert!(gap[1].start - gap[0].end <= SMALL_GAP, "{range:?} bridges {gap:?}");
                }
                assert!(touched[0].start <= range.start, "{range:?}");
                assert!(range.end <= touched[touched.len() - 1].end, "{range:?}");
            }
            assert!((0.0..=1.0).contains(&region.access_rate));
            assert!((0.0..=1.0).contains(&region.unobserved));
            assert!(region.age_us <= snapshot.end_us, "{region:?} in interval {age}");
        }
        let sorted = found.regions.windows(2).all(|w| w[0].range.end <= w[1].range.start);
        assert!(sorted, "{:?}", found.regions);
        assert_eq!(covered, mapped.iter().map(|r| r.len()).sum::<u64>(), "all is covered");
    }
    let pages: u64 = listed.iter().flat_map(|t| &t.ranges).map(|r| r.pages()).sum();
    let nr = regions(snapshot).count();
    assert!(nr <= max as usize, "{nr} regions of {max}");
    assert!(nr as u64 >= u64::from(min).min(pages), "{nr} regions, not {min}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn regions_and_windows_are_sound(
        steps in vec((any_targets(), any_mapping(12), any::<bool>()), 1..5),
        (absent, unobservable) in (any_mapping(6), any_mapping(6)),
        huge in any::<bool>(),
        (min, room) in (3u32..20, 0u32..100),
        seed in any::<u64>(),
    ) {
        let max = min + room;
        let mut run = Run::new(TestMemory::default(), attrs(min, max), Some(0.02), seed);
        for (step, (targets, hot, at_once)) in steps.into_iter().enumerate() {
            run.memory.targets = targets;
            run.memory.set(&absent, |page, inside| page.present = !inside);
            run.memory.set(&unobservable, |page, inside| page.stuck = inside);
            run.memory.set(&[], |page, _| page.huge = huge);
            run.memory.set_used(&hot);
            if at_once {
                run.monitor.update(&mut run.memory).unwrap();
            }
            run.until(1.5 * (step + 1) as f64);
        }
        for (nr, (snapshot, listed)) in run.snapshots.iter().zip(&run.listed).enumerate() {
            assert_sound(snapshot, listed, (min, max), nr as u32 + 1);
        }
        prop_assert!(run.memory.most_windows <= max as usize, "{} windows", run.memory.most_windows);
        prop_assert!(!run.snapshots.is_empty());
    }
}
