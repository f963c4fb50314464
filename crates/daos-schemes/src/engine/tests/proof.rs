//! What the accessed bits prove where several pages are armed as one: in huge pages, which
//! share a bit, and in large folios.

use super::toy::{INTERVAL_US, Known, SECOND, Toy, idle, pages};
use crate::{Engine, Filter, FilterType, Quota, Scheme};
use daos_core::{AccessCheck, Action, PAGE_SIZE, TargetId, Window};
use proptest::prelude::*;

const PAGES: u64 = 1024;
/// The least age that the schemes here ask for.
const LEAST_AGE_US: u64 = 2 * SECOND;

/// How memory is mapped.
#[derive(Debug, Clone, Copy)]
enum Mapped {
    Pages,
    Folios,
    Huge,
}

const MAPPED: [Mapped; 3] = [Mapped::Pages, Mapped::Folios, Mapped::Huge];

fn toy(mapped: Mapped) -> Toy {
    let mut toy = Toy::new(PAGES);
    match mapped {
        Mapped::Pages => {}
        Mapped::Folios => toy.folio_pages = 16,
        Mapped::Huge => toy.pages.iter_mut().for_each(|page| page.huge = true),
    }
    toy
}

fn known(from: u64, to: u64, since_us: u64) -> Known {
    Known { from, to, rate: 0.0, since_us }
}

/// Uses a page of the first region at 3 s, and begins to arm the second at any time from
/// then until the first may go: is the first still there a second after?
fn is_left(mapped: Mapped, known_since_us: u64, schemes: &[Scheme]) -> bool {
    let mut toy = toy(mapped);
    toy.known = vec![known(0, 8, 0), known(8, PAGES, known_since_us)];
    let mut engine = Engine::new(schemes.to_vec());
    while toy.now_us < 7 * SECOND {
        toy.pages[3].used = toy.now_us + INTERVAL_US == 3 * SECOND;
        toy.pass(&mut engine);
    }
    toy.pages[3].present
}

#[test]
fn arming_a_part_proves_nothing_of_another() {
    let one = [idle(5, Action::Pageout)];
    let two = [idle(4, Action::Pageout), idle(5, Action::Pageout)];
    let small = Quota { bytes: Some(64 * PAGE_SIZE), reset_us: INTERVAL_US, ..Quota::default() };
    let bounded = [Scheme { quota: small, ..idle(5, Action::Pageout) }];
    for schemes in [&one[..], &two, &bounded] {
        for mapped in MAPPED {
            for since_us in (2 * SECOND..6 * SECOND).step_by(INTERVAL_US as usize) {
                assert!(is_left(mapped, since_us, schemes), "{mapped:?}, since {since_us} µs");
            }
        }
    }
}

#[test]
fn what_is_armed_late_after_a_snapshot_is_proven_as_late() {
    const LATE_US: u64 = 400_000;
    let out_us = |late_from_us: u64| {
        let mut toy = Toy::new(PAGES);
        let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
        while toy.present() > 0 {
            let end_us = toy.now_us + INTERVAL_US;
            let late_us = if end_us == late_from_us { LATE_US } else { 0 };
            toy.clock_us = (end_us + late_us) as f64;
            toy.pass(&mut engine);
        }
        toy.now_us
    };
    // Pages are armed from an eighth of the age on.
    assert_eq!(out_us(700_000) - out_us(0), LATE_US);
    assert_eq!(out_us(2 * SECOND), out_us(0), "nothing is armed then");
}

#[test]
fn what_is_ripe_is_read_before_more_is_armed() {
    for mapped in MAPPED {
        let mut toy = toy(mapped);
        let part = Filter {
            filter_type: FilterType::Addresses(pages(0, 8)),
            inverted: false,
            allow: true,
        };
        let all = idle(5, Action::Pageout);
        let mut engine = Engine::new(vec![Scheme { filters: vec![part], ..all.clone() }]);
        toy.run(&mut engine, 2 * SECOND);
        toy.pages[3].used = true;
        toy.pass(&mut engine);
        toy.pages[3].used = false;
        toy.run(&mut engine, 3_600_000);
        // Armed after 0.7 s, the part is to be read now, and the rest to be armed.
        engine.replace(vec![all]);
        toy.pass(&mut engine);
        assert!(toy.pages[3].present, "{mapped:?}");
    }
}

#[test]
fn what_is_idle_goes_in_parts_that_are_armed_apart() {
    for mapped in MAPPED {
        let mut toy = toy(mapped);
        let parts = (0..PAGES / 8).map(|at| known(at * 8, at * 8 + 8, at % 5 * 300_000));
        toy.known = parts.collect();
        let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
        toy.run(&mut engine, 8 * SECOND);
        assert_eq!(toy.present(), 0, "{mapped:?}");
    }
}

/// What happens between two passes.
#[derive(Debug, Clone)]
enum Step {
    Use(u64, u64),
    /// Somebody else arms these pages, and says so.
    Arm(u64, u32),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..PAGES, 1u64..20).prop_map(|(from, pages)| Step::Use(from, (from + pages).min(PAGES))),
        (0..PAGES, 1u32..20)
            .prop_map(|(page, pages)| Step::Arm(page, pages.min((PAGES - page) as u32))),
        (1u64..15).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever the regions are said to be, no page goes that was used within the age asked
    /// for.
    #[test]
    fn no_page_goes_that_was_used_of_late(
        mapped in prop::sample::select(&MAPPED[..]),
        cuts in prop::collection::btree_set(1..PAGES, 0..8),
        since in prop::collection::vec(0..10 * SECOND, 9),
        quota_pages in prop::option::of(1u64..600),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut toy = toy(mapped);
        let ends = cuts.iter().copied().chain([PAGES]);
        let starts = [0].into_iter().chain(cuts.iter().copied());
        let regions = starts.zip(ends).zip(since).map(|((from, to), since)| known(from, to, since));
        toy.known = regions.collect();
        let mut schemes = [3, 2, 3].map(|seconds| idle(seconds, Action::Pageout));
        schemes[0].action = Action::Cold;
        if let Some(pages) = quota_pages {
            schemes[1].quota =
                Quota { bytes: Some(pages * PAGE_SIZE), reset_us: INTERVAL_US, ..Quota::default() };
        }
        let mut engine = Engine::new(schemes.to_vec());
        let mut used_us = vec![0; PAGES as usize];
        for step in steps {
            let mut intervals = 1;
            match step {
                Step::Use(from, to) => {
                    toy.memory.set_used(&[pages(from, to)]);
                    used_us[from as usize..to as usize].fill(toy.now_us + INTERVAL_US);
                }
                Step::Arm(page, pages) => {
                    let start = page * PAGE_SIZE;
                    toy.arm(&[Window { target: TargetId(0), start, pages }]).unwrap();
                }
                Step::Wait(passes) => intervals = passes,
            }
            for _ in 0..intervals {
                let before: Vec<bool> = toy.pages.iter().map(|page| page.present).collect();
                toy.pass(&mut engine);
                toy.memory.set_used(&[]);
                for (at, used_us) in used_us.iter().enumerate() {
                    let went = before[at] && !toy.pages[at].present;
                    prop_assert!(!went || used_us + LEAST_AGE_US <= toy.now_us, "page {at}");
                }
            }
        }
    }
}
