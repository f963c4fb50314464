//! Memory that comes back is asked to be idle for longer.

use super::toy::{INTERVAL_US, Known, Plenty, SECOND, Toy, idle, pages};
use crate::engine::dry_run::Counted;
use crate::engine::refaults::Refaults;
use crate::{DryRun, Engine, RefaultBound, Scheme};
use daos_core::{Action, PAGE_SIZE, TargetId};

/// Pages of a block of 2 MiB.
const BLOCK: u64 = 512;
const MINUTE: u64 = 60 * SECOND;

fn reclaim(share: f64) -> Engine {
    let bound = RefaultBound { share, per_us: MINUTE };
    Engine::new(vec![Scheme { max_refault: Some(bound), ..idle(5, Action::Pageout) }])
}

/// A block that is used every `period_us`, one that is not, and some pages in use all the time,
/// for ten minutes: how often the first had gone when it was used, in each half of the time.
fn refaults(engine: &mut Engine, period_us: u64) -> [u32; 2] {
    let mut toy = Toy::new(3 * BLOCK).used(2 * BLOCK, 3 * BLOCK);
    let region = |at: u64, rate| Known { from: at, to: at + BLOCK, rate, since_us: 0 };
    toy.known = vec![region(0, 0.0), region(BLOCK, 0.0), region(2 * BLOCK, 1.0)];
    let mut found = [0, 0];
    while toy.now_us < 10 * MINUTE {
        let is_used = (toy.now_us + INTERVAL_US).is_multiple_of(period_us);
        if is_used {
            found[(toy.now_us / (5 * MINUTE)) as usize] += u32::from(!toy.pages[0].present);
            toy.known[0].since_us = toy.now_us + INTERVAL_US;
        }
        toy.pages[..BLOCK as usize].iter_mut().for_each(|page| page.used = is_used);
        toy.pass(engine);
    }
    assert_eq!(toy.present(), 2 * BLOCK, "what is never used is gone, the rest is not");
    found
}

#[test]
fn memory_that_comes_back_is_left_alone() {
    let mut plain = Engine::new(vec![idle(5, Action::Pageout)]);
    assert_eq!(refaults(&mut plain, 15 * SECOND), [20, 20]);
    let mut engine = reclaim(0.002);
    let [before, after] = refaults(&mut engine, 15 * SECOND);
    assert!(before <= 2 && after <= 1, "{before}, {after}");
    let (_, stats) = engine.stats().next().unwrap();
    assert_eq!(stats.refault_bytes, u64::from(before + after) * BLOCK * PAGE_SIZE);
}

#[test]
fn what_is_paged_out_again_came_back_also_if_nobody_saw_it() {
    let mut refaults = Refaults::default();
    let mut toy = Toy::new(BLOCK);
    let bound = RefaultBound { share: 0.002, per_us: MINUTE };
    refaults.begin_pass(&bound, 5 * SECOND, &toy.snapshot(), &mut toy.memory).unwrap();
    let id = toy.snapshot().targets[0].id;
    let mut out = |from: u64, to: u64, at_s: u64| {
        refaults.note_out(id, &[pages(from, to)], 5 * SECOND, at_s * SECOND)
    };
    assert_eq!([out(0, 10, 10), out(20, 30, 11), out(5, 25, 40)], [0, 0, 10 * PAGE_SIZE]);
    let mut asked = Vec::new();
    refaults.asked(id, pages(0, BLOCK), 5 * SECOND, 40 * SECOND, &mut asked);
    // They had been away for 29.5 s on average, after five.
    assert!((68 * SECOND..70 * SECOND).contains(&asked[0].1), "{asked:?}");
}

#[test]
fn pages_of_files_that_do_not_come_back_are_forgotten() {
    let bound = RefaultBound { share: 0.002, per_us: MINUTE };
    let mut toy = Toy::new(BLOCK);
    for (id, back) in [(TargetId::of_file(1), 0), (TargetId(1), BLOCK * PAGE_SIZE)] {
        let mut refaults = Refaults::default();
        let mut snapshot = toy.snapshot();
        snapshot.targets[0].id = id;
        refaults.begin_pass(&bound, 5 * SECOND, &snapshot, &mut toy.memory).unwrap();
        let out = |refaults: &mut Refaults, at_us: u64| {
            refaults.note_out(id, &[pages(0, BLOCK)], 5 * SECOND, at_us)
        };
        out(&mut refaults, 10 * SECOND);
        refaults.forget(50 * MINUTE, |_| true);
        assert_eq!(out(&mut refaults, 50 * MINUTE), BLOCK * PAGE_SIZE);
        refaults.forget(111 * MINUTE, |_| true);
        assert_eq!(out(&mut refaults, 111 * MINUTE), back, "{id:?}");
    }
}

#[test]
fn in_a_dry_run_nothing_comes_back() {
    let mut toy = Toy::new(BLOCK);
    let mut engine = reclaim(0.002);
    let mut counted = Counted::default();
    while toy.now_us < 30 * SECOND {
        toy.now_us += INTERVAL_US;
        let snapshot = toy.snapshot();
        let mut dry = DryRun::new(&mut toy.memory, &mut counted);
        engine.pass(&snapshot, &mut dry, &mut Plenty).unwrap();
    }
    let stats = engine.stats().next().unwrap().1;
    assert_eq!((stats.applied_bytes, stats.refault_bytes), (BLOCK * PAGE_SIZE, 0));
}

#[test]
fn memory_is_taken_again_when_it_is_used_no_more() {
    let mut engine = reclaim(0.002);
    // Once more after seven minutes, and then no more.
    assert_eq!(refaults(&mut engine, 7 * MINUTE), [0, 1]);
}

#[test]
fn what_may_come_back_teaches_nothing() {
    let mut engine = reclaim(1.0);
    let period_us = 2 * MINUTE;
    let mut longer = reclaim(0.002);
    assert_eq!(refaults(&mut engine, period_us), [2, 3], "as much as is in use, in two minutes");
    let [before, after] = refaults(&mut longer, period_us);
    assert!(before + after < 5, "{before}, {after}");
}

#[test]
fn a_target_whose_memory_comes_back_all_over_is_asked_for_longer() {
    // Each block is used once, at another time.
    let blocks = 24;
    let used_at = |block: u64| (10 + 10 * block) * SECOND;
    let mut engine = reclaim(0.002);
    let mut toy = Toy::new(blocks * BLOCK);
    let region = |at: u64| Known { from: at * BLOCK, to: (at + 1) * BLOCK, rate: 0.0, since_us: 0 };
    toy.known = (0..blocks).map(region).collect();
    let mut present = Vec::new();
    while toy.now_us < 4 * MINUTE {
        for block in 0..blocks {
            let is_used = toy.now_us + INTERVAL_US == used_at(block);
            if is_used {
                toy.known[block as usize].since_us = used_at(block);
            }
            let pages = (block * BLOCK) as usize..((block + 1) * BLOCK) as usize;
            toy.pages[pages].iter_mut().for_each(|page| page.used = is_used);
        }
        toy.pass(&mut engine);
        present.push(toy.present() / BLOCK);
    }
    let at = |second: usize| present[second * 10 - 1];
    assert!(at(9) == 0, "all of it is out at first: {}", at(9));
    assert!(at(60) <= at(120) && at(120) <= at(200), "{} {} {}", at(60), at(120), at(200));
    assert!(at(200) >= 4, "what was used stays for longer and longer: {}", at(200));
}

#[test]
fn pages_that_come_back_one_after_the_other_count_once() {
    // A page every tenth of a second, from the twentieth second on; then never again.
    let mut engine = reclaim(0.002);
    let mut toy = Toy::new(BLOCK);
    while toy.now_us < 140 * SECOND {
        toy.pass(&mut engine);
        let next = (toy.now_us / INTERVAL_US).checked_sub(200).filter(|page| *page < BLOCK);
        toy.pages.iter_mut().for_each(|page| page.used = false);
        if let Some(page) = next {
            toy.pages[page as usize].used = true;
            toy.known[0].since_us = toy.now_us + INTERVAL_US;
        }
        if toy.now_us == 75 * SECOND {
            assert_eq!(toy.present(), BLOCK, "all of it came back");
        }
    }
    assert!(toy.known[0].since_us < 72 * SECOND);
    // The first were away for some fifteen seconds, the last for some sixty.
    toy.run(&mut engine, 120 * SECOND);
    assert_eq!(toy.present(), 0, "{:?}", toy.now_us);
}
