//! Ticks that come when they like.

use super::run::{Run, attrs};
use daos_core::Rng;
use daos_core::testing::{TestMemory, mib, pages};
use proptest::prelude::*;

fn memory() -> TestMemory {
    TestMemory::new(&[mib(0, 64)], &[mib(20, 24), pages(12_000, 12_010)])
}

/// Snapshots follow each other without holes.
fn assert_seamless(run: &Run) {
    let mut at_us = run.snapshots.first().map_or(0, |first| first.start_us);
    for snapshot in &run.snapshots {
        assert_eq!(snapshot.start_us, at_us);
        assert!(snapshot.end_us > at_us && snapshot.end_us <= run.now_us);
        at_us = snapshot.end_us;
    }
}

#[test]
fn a_snapshot_an_aggregation_interval() {
    let mut run = Run::of(memory());
    run.until(5.05);
    let times: Vec<_> = run.snapshots.iter().map(|s| (s.start_us, s.end_us)).collect();
    let expected = (0..times.len() as u64).map(|i| (i * 100_000, (i + 1) * 100_000));
    assert_eq!(times, expected.collect::<Vec<_>>());
    assert!((49..=50).contains(&times.len()), "{}", times.len());
    assert!(run.snapshots.iter().all(|s| s.aggregation_us == 100_000));
}

#[test]
fn a_snapshot_is_handed_out_before_the_next_is_over() {
    let mut run = Run::of(memory());
    while run.due_us < 5_000_000 {
        let before = run.snapshots.len();
        run.tick_at(run.due_us);
        assert!(run.snapshots.len() <= before + 1);
        if run.snapshots.len() > before {
            assert!(run.now_us < run.last().end_us + 100_000);
        }
    }
    assert_seamless(&run);
}

#[test]
fn it_sleeps_most_of_the_time() {
    let mut run = Run::of(TestMemory::new(&[mib(0, 64)], &[]));
    run.until(10.0);
    // Nothing goes on: armed once, checked once, in each interval.
    let settled = run.costs.iter().filter(|(at_us, _)| *at_us >= 5_000_000).count();
    assert!(settled <= 2 * 50 + 5, "{settled} ticks in 5 s");
}

#[test]
fn sampling_intervals_may_be_long() {
    for sample_us in [150_000, 300_000, 3_000_000] {
        // Of which page tables can be known, and of which they can't.
        for mapped in [64, 4096] {
            let memory = TestMemory::new(&[mib(0, mapped)], &[mib(20, 24)]);
            let aggregation_us = 2 * sample_us;
            let update_us = aggregation_us;
            let attrs =
                daos_core::MonitorAttrs { sample_us, aggregation_us, update_us, ..attrs(10, 100) };
            let mut run = Run::new(memory, attrs, None, 1);
            run.until(60.0);
            assert!(run.snapshots.len() > 5);
            assert_seamless(&run);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn late_early_and_missed_ticks(
        seed in any::<u64>(),
        sample_us in prop_oneof![Just(5_000u64), 100u64..50_000],
        late_up_to in prop_oneof![Just(0u64), 0u64..10_000, 0u64..1_000_000],
        early in any::<bool>(),
    ) {
        let attrs = daos_core::MonitorAttrs { sample_us, ..attrs(10, 100) };
        let mut run = Run::new(memory(), attrs, None, seed);
        let mut rng = Rng::new(seed);
        for _ in 0..150 {
            let now_us = match rng.below(8) {
                0 if early => run.due_us.saturating_sub(rng.below(20_000)),
                1 => run.due_us + rng.below(2_000_000),
                _ => run.due_us + rng.below(late_up_to + 1),
            };
            run.tick_at(now_us);
        }
        prop_assert!(!run.snapshots.is_empty());
        assert_seamless(&run);
        // Nothing is held back for long, however late it all is.
        let behind_us = run.now_us - run.last().end_us;
        prop_assert!(behind_us <= 2 * run.last().aggregation_us * 64, "{behind_us} us behind");
    }
}
