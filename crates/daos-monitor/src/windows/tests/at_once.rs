//! Arming all of a target at once.

use super::run::{Run, attrs, regions};
use daos_core::testing::{TestMemory, mib, pages};
use daos_core::{AddrRange, HOT_RATE, MonitorAttrs, PAGE_SIZE, Prices, TargetId};

/// 256 MiB.
const ALL: AddrRange = AddrRange { start: 16 << 20, end: 272 << 20 };
/// Of a CPU. With that, to arm page tables one by one takes some twenty seconds.
const BOUND: f64 = 0.002;

/// Every tenth page is in use. To arm a page with all others takes so many microseconds.
fn singles(arm_target_page: f64) -> TestMemory {
    let numbers = (ALL.start / PAGE_SIZE..ALL.end / PAGE_SIZE).step_by(10);
    let used: Vec<AddrRange> = numbers.map(|page| pages(page, page + 1)).collect();
    let mut memory = TestMemory::new(&[ALL], &used);
    // As with page frames that are in no cache.
    memory.prices = Prices { arm_target_page, arm_page: 0.4, ..memory.prices };
    memory.arms_targets = true;
    memory
}

fn after(seconds: f64, memory: TestMemory) -> Run {
    let mut run = Run::new(memory, attrs(10, 1000), Some(BOUND), 7);
    run.until(seconds);
    run
}

/// Pages that are told to be in use, one by one, and how many of those are.
fn found(run: &Run) -> (usize, usize) {
    let runs = run.last().targets[0].pages.iter().filter(|run| run.access_rate > 0.0);
    let told = AddrRange::joined(runs.map(|run| run.range));
    let is_used = |page: &AddrRange| run.memory.pages[(page.start / PAGE_SIZE) as usize].used;
    let told: Vec<AddrRange> = told.iter().flat_map(|range| range.blocks(PAGE_SIZE)).collect();
    (told.len(), told.iter().filter(|page| is_used(page)).count())
}

#[test]
fn single_pages_are_known_soon() {
    let used = ALL.pages() as usize / 10;
    let found_with = |arms_targets| {
        let run = after(10.0, TestMemory { arms_targets, ..singles(0.05) });
        let (told, right) = found(&run);
        assert!(right * 100 >= told * 95, "{right} of {told} pages");
        (right, run.memory.armed_targets.len())
    };
    let ((at_once, times), (one_by_one, never)) = (found_with(true), found_with(false));
    assert!(times >= 1 && never == 0);
    assert!(at_once * 100 >= used * 95, "{at_once} of {used} pages");
    assert!(one_by_one * 2 < at_once, "{one_by_one} pages without");
}

#[test]
fn how_often_they_are_used_is_known_then() {
    // In each sampling interval.
    let run = after(10.0, singles(0.05));
    assert!(!run.memory.armed_targets.is_empty());
    let used = run.last().targets[0].pages.iter().filter(|run| run.access_rate > 0.0);
    let (often, seldom): (Vec<_>, Vec<_>) = used.partition(|run| run.access_rate >= HOT_RATE);
    assert!(often.len() >= 19 * seldom.len(), "{} and {} runs", often.len(), seldom.len());
}

/// The first at which all are armed at once, in seconds.
fn armed_after(memory: TestMemory) -> f64 {
    let mut run = Run::new(memory, attrs(10, 1000), Some(BOUND), 7);
    while run.memory.armed_targets.is_empty() && run.due_us < 30_000_000 {
        run.tick_at(run.due_us);
    }
    run.now_us as f64 / 1e6
}

#[test]
fn where_pages_differ_that_is_not_put_by_for_first() {
    // Half of what ten seconds have, of which nothing was spent yet.
    let mixed = armed_after(singles(0.1));
    assert!(mixed < 2.5, "after {mixed} s");
    // Where a few pages tell as much, it can wait.
    let mut blocks = singles(0.1);
    blocks.set_used(&[mib(16, 80)]);
    let waits = armed_after(blocks);
    assert!(waits > 2.0 * mixed, "after {waits} and {mixed} s");
}

#[test]
fn idle_memory_is_no_younger_for_it() {
    let mut memory = singles(0.05);
    memory.set_used(&[]);
    let run = after(25.0, memory);
    assert!(!run.memory.armed_targets.is_empty());
    let oldest = regions(run.last()).map(|region| region.age_us).max();
    assert!(oldest >= Some(20_000_000), "{oldest:?}");
}

#[test]
fn it_waits_while_a_target_fills_its_memory() {
    let times = |grows: bool| {
        let mut run = Run::new(singles(0.05), attrs(10, 1000), Some(BOUND), 7);
        for second in 1..=10 {
            let resident = if grows { 16 * second } else { 160 };
            run.memory.targets[0].resident_bytes = Some(resident << 20);
            run.until(second as f64);
        }
        run.memory.armed_targets.len()
    };
    assert!(times(true) == 0 && times(false) > 0);
}

#[test]
fn what_was_filled_since_it_was_planned_is_noticed() {
    let armed_at_us = |grows_at_us: Option<u64>| {
        let seldom = MonitorAttrs { update_us: 60_000_000, ..attrs(10, 1000) };
        let mut run = Run::new(singles(0.05), seldom, Some(BOUND), 7);
        while run.memory.armed_targets.is_empty() && run.due_us < 30_000_000 {
            let mebibytes = if grows_at_us == Some(run.due_us) { 240 } else { 160 };
            run.memory.targets[0].resident_bytes = Some(mebibytes << 20);
            run.tick_at(run.due_us);
        }
        run.now_us
    };
    let armed_us = armed_at_us(None);
    assert!((1_000_000..20_000_000).contains(&armed_us));
    assert!(armed_at_us(Some(armed_us)) >= armed_us + 3_000_000);
}

#[test]
fn what_is_gone_over_is_seen_though_most_is_put_by_and_ticks_are_dear() {
    let mut memory = singles(0.05);
    memory.prices.set_again = 0.01;
    let mut run = Run::new(memory, attrs(10, 1000), Some(0.005), 7);
    // Whatever is done in it: caches are cold.
    run.tick_us = 400.0;
    while run.due_us < 5_000_000 {
        run.sweep_and_tick(ALL, 1_500_000);
    }
    let used = regions(run.last()).filter(|region| region.access_rate > 0.0);
    let used: u64 = used.map(|region| region.range.len()).sum();
    assert!(used > ALL.len() / 2, "{} MiB", used >> 20);
}

#[test]
fn what_can_not_be_armed_so_is_not_tried_again() {
    let run = after(20.0, TestMemory { refuses_targets: true, ..singles(0.05) });
    assert_eq!(run.memory.armed_targets, [TargetId(0)]);
    let (told, right) = found(&run);
    assert!(right > 500 && right * 100 >= told * 95, "{right} of {told} pages");
}

#[test]
fn it_is_left_where_the_target_would_wait_for_long_or_pay_much() {
    let times = |memory| after(15.0, memory).memory.armed_targets.len();
    assert_eq!(times(singles(0.5)), 0, "it takes 33 ms");
    let mut in_use = singles(0.05);
    in_use.set_used(&[mib(16, 240)]);
    in_use.prices.set_again = 0.5;
    assert_eq!(times(in_use), 0, "it costs the target 28 ms");
}

#[test]
fn what_is_gone_over_is_not_armed_so_again_and_again() {
    let mut memory = singles(0.05);
    memory.set_used(&[]);
    memory.prices.set_again = 0.1;
    let mut run = Run::new(memory, attrs(10, 1000), Some(BOUND), 7);
    while run.due_us < 60_000_000 {
        run.sweep_and_tick(ALL, 3_500_000);
    }
    // Until it is known that all of it is used, its pages may differ.
    let times = run.memory.armed_targets.len();
    assert!(times <= 2, "{times} times: a few pages of each table tell as much");
}
