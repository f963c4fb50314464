//! Memory that is used by turns.

use super::run::{Run, attrs, hot_share};
use daos_core::testing::{TestMemory, mib};
use daos_core::{AddrRange, Prices};

/// 256 MiB each.
const HALVES: [AddrRange; 2] =
    [AddrRange { start: 16 << 20, end: 272 << 20 }, AddrRange { start: 272 << 20, end: 528 << 20 }];
/// How long it is the turn of each, in seconds.
const TURN_S: u64 = 5;

/// Runs for so many turns, and returns for each the shares of both halves that are told to be hot
/// at its end: of the one in use first.
fn turns(nr: u64) -> (Vec<(f64, f64)>, Run) {
    let mut memory = TestMemory::new(&[mib(16, 528)], &[]);
    // To set the bits of a half anew takes as much as there is to spend in a turn.
    memory.prices = Prices { set_again: 0.4, ..memory.prices };
    let mut run = Run::new(memory, attrs(10, 1000), Some(0.005), 7);
    let told = (0..nr).map(|turn| {
        let (used, other) = (HALVES[turn as usize % 2], HALVES[(turn as usize + 1) % 2]);
        run.memory.set_used(&[used]);
        run.until(((turn + 1) * TURN_S) as f64);
        (hot_share(run.last(), used), hot_share(run.last(), other))
    });
    (told.collect(), run)
}

/// The share of the page tables that are known page by page.
fn known(run: &Run) -> f64 {
    let subregions = &run.monitor.targets[0].subregions;
    let known = subregions.iter().filter(|subregion| subregion.table.is_some()).count();
    known as f64 / subregions.len() as f64
}

#[test]
fn what_turns_as_a_whole_is_followed_though_it_is_dear() {
    let (told, run) = turns(16);
    for (used, other) in &told[8..] {
        assert!(*used > 0.9 && *other < 0.1, "{told:?}");
    }
    let late: f64 = run.costs.iter().filter(|(at, _)| *at >= 40_000_000).map(|(_, us)| us).sum();
    assert!(late <= 0.005 * 40e6, "{late} us in 40 s");
}

#[test]
fn what_is_armed_at_once_while_it_turns_is_left_again() {
    let (_, mut run) = turns(8);
    let target = &mut run.monitor.targets[0];
    let now_us = 8 * TURN_S * 1_000_000;
    for subregion in &mut target.subregions {
        let pages = subregion.range.pages() as u32;
        subregion.make_table();
        subregion.arm(0, pages, now_us);
    }
    run.memory.set_used(&[HALVES[0]]);
    run.until((8 * TURN_S + 4) as f64);
    assert!(known(&run) < 0.25, "{}", known(&run));
}

#[test]
fn what_has_settled_is_known_page_by_page_again() {
    let (_, mut run) = turns(8);
    assert!(known(&run) < 0.25, "{}", known(&run));
    run.until(140.0);
    assert!(known(&run) > 0.75, "{}", known(&run));
}
