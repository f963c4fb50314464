//! Quotas, watermarks and the time that a pass may take.

use super::toy::{INTERVAL_US, Known, SECOND, Toy, idle, pages};
use crate::{Engine, Quota, Scheme, Watermarks, Weights};
use daos_core::{Action, BATCH_BYTES, Metric, PAGE_SIZE};
use proptest::prelude::*;

fn with_quota(seconds: u64, quota: Quota) -> Scheme {
    Scheme { quota, ..idle(seconds, Action::Pageout) }
}

#[test]
fn the_coldest_go_first() {
    let mut toy = Toy::new(400);
    toy.known = (0..4)
        .map(|at| Known { from: at * 100, to: at * 100 + 100, rate: 0.0, since_us: 0 })
        .collect();
    toy.now_us = 1000 * SECOND;
    for (known, seconds) in toy.known.iter_mut().zip([10, 300, 30, 900]) {
        known.since_us = (1000 - seconds) * SECOND;
    }
    let quota = Quota { bytes: Some(50 * PAGE_SIZE), ..Quota::default() };
    let mut engine = Engine::new(vec![with_quota(5, quota)]);
    toy.run(&mut engine, 20 * SECOND);
    let order: Vec<u64> = toy.log.iter().map(|done| done.range.start / PAGE_SIZE / 100).collect();
    assert_eq!(order, [3, 3, 1, 1, 2, 2, 0, 0]);
    assert_eq!(toy.present(), 0);
}

#[test]
fn sizes_count_if_they_are_to() {
    let mut toy = Toy::new(300);
    toy.known = vec![
        Known { from: 0, to: 20, rate: 0.0, since_us: 0 },
        Known { from: 20, to: 300, rate: 0.0, since_us: 0 },
    ];
    let weights = Weights { size: 1.0, rate: 0.0, age: 0.0 };
    let quota = Quota { bytes: Some(20 * PAGE_SIZE), weights, ..Quota::default() };
    let mut engine = Engine::new(vec![with_quota(1, quota)]);
    toy.run(&mut engine, 2 * SECOND);
    assert_eq!(toy.log[0].range, pages(20, 40));
}

#[test]
fn a_scheme_sleeps_above_its_watermark() {
    let marks = |high| Watermarks {
        metric: Metric::FreeMemory,
        interval_us: SECOND,
        high,
        mid: high,
        low: 0.1,
    };
    for (high, left) in [(0.4, 100), (0.6, 0)] {
        let mut toy = Toy::new(100);
        let watermarks = Some(marks(high));
        let scheme = Scheme { watermarks, ..idle(1, Action::Pageout) };
        let mut engine = Engine::new(vec![scheme]);
        toy.run(&mut engine, 3 * SECOND);
        assert_eq!(toy.present(), left, "half of the memory is free");
        let stats = engine.stats().next().unwrap().1;
        assert_eq!(stats.slept > 0, left > 0);
        assert_eq!(stats.slept_us, if left > 0 { 3 * SECOND - INTERVAL_US } else { 0 });
    }
}

#[test]
fn what_there_is_no_room_for_is_not_tried_again_and_again() {
    let mut toy = Toy::new(1024).used(512, 513);
    toy.known = vec![
        Known { from: 0, to: 512, rate: 0.0, since_us: 0 },
        Known { from: 513, to: 1024, rate: 0.0, since_us: 0 },
    ];
    toy.is_full = true;
    let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
    let refused = |engine: &Engine| {
        let stats = engine.stats().next().unwrap().1;
        stats.refused_bytes.values().sum::<u64>() / PAGE_SIZE
    };
    toy.run(&mut engine, 60 * SECOND);
    assert_eq!(refused(&engine), 1023, "once");
    toy.is_full = false;
    toy.run(&mut engine, 30 * SECOND);
    assert_eq!((refused(&engine), toy.present()), (1023, 1), "and then it goes");
}

#[test]
fn reserved_memory_is_not_armed() {
    const GIB: u64 = (1 << 30) / PAGE_SIZE;
    let mut toy = Toy::new(3 * GIB);
    toy.pages.iter_mut().skip(700).for_each(|page| page.present = false);
    toy.run(&mut Engine::new(vec![idle(5, Action::Pageout)]), 8 * SECOND);
    assert_eq!(toy.present(), 0);
    let last = toy.armed.iter().map(|window| window.start).max();
    assert!(last < Some(1 << 30), "nothing is there from one gibibyte on: {last:x?}");
}

#[test]
fn an_apply_interval_is_kept() {
    let mut toy = Toy::new(64).knows(&[(0, 64, 0.9)]);
    let scheme = Scheme { apply_interval_us: Some(SECOND), ..super::toy::hot(Action::Lock) };
    toy.run(&mut Engine::new(vec![scheme]), 5 * SECOND);
    assert_eq!(toy.log.len(), 5);
}

#[test]
fn a_long_time_between_two_passes_is_no_hindrance() {
    let mut toy = Toy::new(64);
    let apply_interval_us = Some(60 * SECOND);
    let scheme = Scheme { apply_interval_us, ..idle(5, Action::Pageout) };
    toy.run(&mut Engine::new(vec![scheme]), 200 * SECOND);
    assert_eq!(toy.present(), 0);
    let mut toy = Toy::new(512).used(0, 512).knows(&[(0, 512, 0.5)]);
    let scheme = Scheme { apply_interval_us, ..super::toy::hot(Action::Hugepage) };
    toy.run(&mut Engine::new(vec![scheme]), 200 * SECOND);
    assert!(toy.pages[0].huge);
}

#[test]
fn each_gets_its_turn_where_a_pass_does_not_reach_the_end() {
    let mut toy = Toy::new(1 << 16).knows(&[(0, 1 << 16, 0.9)]);
    toy.page_us = 4.0;
    let mut engine = Engine::new(vec![super::toy::hot(Action::Lock)]);
    toy.run(&mut engine, 3 * SECOND);
    let reached = toy.log.iter().map(|done| done.range.end).max();
    assert_eq!(reached, Some(pages(0, 1 << 16).end));
    let again = toy.log.iter().filter(|done| done.range.start == 0).count();
    assert!(again > 1);
}

#[test]
fn a_pass_takes_a_quarter_of_an_interval_and_a_batch_at_most() {
    let mut toy = Toy::new(1 << 18);
    toy.page_us = 4.0;
    let mut engine = Engine::new(vec![idle(1, Action::Pageout)]);
    let mut longest = 0.0f64;
    for _ in 0..90 {
        let before = toy.clock_us;
        toy.pass(&mut engine);
        longest = longest.max(toy.clock_us - before);
    }
    let batch = 4.0 * (BATCH_BYTES / PAGE_SIZE) as f64;
    assert!(longest <= INTERVAL_US as f64 / 4.0 + batch + 1000.0, "{longest}");
    assert_eq!(toy.present(), 0, "nothing is lost by that");
}

#[test]
fn what_a_scheme_leaves_of_it_others_take() {
    let passes = |schemes: Vec<Scheme>| {
        let mut toy = Toy::new(1 << 17);
        toy.page_us = 4.0;
        let mut engine = Engine::new(schemes);
        (1..1000).find(|_| {
            toy.pass(&mut engine);
            toy.present() == 0
        })
    };
    let alone = passes(vec![idle(1, Action::Pageout)]).expect("all is idle");
    let busy = || super::toy::hot(Action::Lock);
    let beside = [vec![busy(), idle(1, Action::Pageout)], vec![idle(1, Action::Pageout), busy()]];
    for schemes in beside {
        assert_eq!(passes(schemes), Some(alone), "the other finds nothing to do");
    }
    let two = passes(vec![idle(1, Action::Pageout), idle(1, Action::Pageout)]);
    assert!(two.is_some_and(|two| two <= alone + 1), "together they take no less");
}

#[test]
fn each_has_its_part_though_a_batch_of_another_takes_all_the_time() {
    let mut toy = Toy::new(1 << 17).knows(&[(0, 1 << 16, 0.9), (1 << 16, 1 << 17, 0.0)]);
    toy.page_us = 9.0;
    let mut engine = Engine::new(vec![super::toy::hot(Action::Lock), idle(1, Action::Pageout)]);
    toy.run(&mut engine, 20 * SECOND);
    assert_eq!(toy.present(), 1 << 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_quota_is_never_exceeded_by_more_than_a_batch(
        cuts in prop::collection::vec(1u64..4000, 1..12),
        ages in prop::collection::vec(0u64..100, 12),
        bytes in prop::option::of(1u64..20_000),
        time_us in prop::option::of(1u64..20_000),
        page_us in 0.0f64..8.0,
        used in 0u64..4000,
    ) {
        let total: u64 = cuts.iter().sum();
        let mut toy = Toy::new(total).used(used.min(total - 1), total.min(used + 3).max(1));
        toy.page_us = page_us;
        toy.now_us = 200 * SECOND;
        let mut from = 0;
        toy.known = cuts.iter().zip(&ages).map(|(len, age)| {
            let known = Known { from, to: from + len, rate: 0.0, since_us: (200 - age) * SECOND };
            from += len;
            known
        }).collect();
        let quota = Quota { bytes: bytes.map(|b| b * PAGE_SIZE), time_us, ..Quota::default() };
        let mut engine = Engine::new(vec![with_quota(3, quota)]);
        for _ in 0..8 {
            // A reset interval: ten passes.
            let (done, clock_us) = (toy.log.len(), toy.clock_us);
            toy.run(&mut engine, SECOND);
            let bytes: u64 = toy.log[done..].iter().map(|done| done.bytes).sum();
            prop_assert!(quota.bytes.is_none_or(|most| bytes <= most));
            let batch = (page_us + 1.0) * (BATCH_BYTES / PAGE_SIZE) as f64;
            let spent = toy.clock_us - clock_us;
            prop_assert!(time_us.is_none_or(|most| spent <= most as f64 + batch), "{spent}");
        }
        let stats = engine.stats().next().unwrap().1;
        let all: u64 = toy.log.iter().map(|done| done.bytes).sum();
        prop_assert_eq!(stats.applied_bytes, all);
    }
}
