//! Which memory is acted on, and when.

use super::toy::{INTERVAL_US, Plenty, SECOND, Toy, hot, idle, pages};
use crate::engine::dry_run::Counted;
use crate::{Bounds, DryRun, Engine, Filter, FilterType, Pattern, Rate, Scheme};
use daos_core::{
    Action, ActionSink, Mapping, MonitorAttrs, PAGE_SIZE, PageRun, Refusal, SchemeStats, Snapshot,
    Target, TargetId,
};
use daos_monitor::{AnyMonitor, Monitor, MonitorKind, MonitorOptions};

fn stats(engine: &Engine) -> &SchemeStats {
    engine.stats().next().unwrap().1
}

#[test]
fn idle_memory_goes_when_it_is_old_enough_and_not_before() {
    let mut toy = Toy::new(2000);
    let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
    // The region has been idle from the start; each page, for all that is known, since it
    // was armed after an eighth of that age.
    toy.run(&mut engine, 5_600_000);
    assert_eq!(toy.present(), 2000);
    toy.run(&mut engine, 200_000);
    assert_eq!(toy.present(), 0);
    assert_eq!(stats(&engine).applied_bytes, 2000 * PAGE_SIZE);
}

#[test]
fn single_pages_in_use_are_left_where_their_region_looks_idle() {
    let mut toy = Toy::new(2000).used(700, 701).used(1200, 1210);
    let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
    toy.run(&mut engine, 20 * SECOND);
    assert_eq!(toy.present(), 11);
    let touched =
        |from, to| toy.log.iter().any(|done| done.range.intersect(&pages(from, to)).is_some());
    assert!(!touched(700, 701) && !touched(1200, 1210), "not even tried");
    assert!(stats(&engine).spared_bytes >= 11 * PAGE_SIZE);
}

#[test]
fn pages_of_which_nothing_is_known_are_left() {
    let mut toy = Toy::new(2000);
    toy.pages[100..103].iter_mut().for_each(|page| page.stuck = true);
    let mut engine = Engine::new(vec![idle(2, Action::Pageout)]);
    toy.run(&mut engine, 20 * SECOND);
    assert_eq!(toy.present(), 3);
    assert!(toy.pages[100..103].iter().all(|page| page.present));
}

/// A target of 1000 pages, and a file with as many that no monitor tells of.
fn with_file() -> Toy {
    let mut toy = Toy::new(1000);
    toy.files = vec![Target {
        id: TargetId::of_file(0),
        ranges: vec![pages(1000, 2000)],
        is_listed: true,
        resident_bytes: None,
    }];
    toy.mappings.push(Mapping { range: pages(1000, 2000), name: "/file".into(), shared: false });
    toy.use_pages();
    toy
}

#[test]
fn files_that_nobody_maps_lose_what_is_idle_of_them_and_that_is_not_told() {
    let mut toy = with_file().used(1500, 1510);
    let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
    let done: Vec<_> = (0..100).flat_map(|_| toy.pass(&mut engine)).collect();
    assert_eq!(toy.present(), 10);
    assert_eq!(stats(&engine).page_cache_bytes, 990 * PAGE_SIZE);
    assert_eq!(stats(&engine).applied_bytes, 1990 * PAGE_SIZE);
    assert!(!done.is_empty() && done.iter().all(|done| done.target == TargetId(0)));
}

#[test]
fn files_that_nobody_maps_are_for_schemes_that_page_out_what_is_idle_wherever() {
    let cgroup =
        Filter { filter_type: FilterType::Cgroup("/other".into()), inverted: false, allow: false };
    let files = Filter { filter_type: FilterType::File, inverted: false, allow: false };
    let any_rate = Scheme {
        pattern: Pattern { age: idle(5, Action::Pageout).pattern.age, ..Pattern::ANY },
        ..idle(5, Action::Pageout)
    };
    for scheme in [
        idle(5, Action::Cold),
        any_rate,
        Scheme { filters: vec![cgroup], ..idle(5, Action::Pageout) },
        Scheme { filters: vec![files], ..idle(5, Action::Pageout) },
    ] {
        let mut toy = with_file();
        let mut engine = Engine::new(vec![scheme]);
        toy.run(&mut engine, 10 * SECOND);
        assert!(toy.log.iter().any(|done| done.range.start < pages(1000, 1000).start));
        let of_file = toy.log.iter().filter(|done| done.range.end > pages(1000, 1000).end);
        assert_eq!(of_file.count(), 0, "{:?}", engine.stats().next());
        assert_eq!(stats(&engine).page_cache_bytes, 0);
    }
}

/// A real monitor looks at the same pages, and clears bits that the engine waits for.
#[test]
fn pages_in_seldom_use_are_left_whoever_watches() {
    for kind in [MonitorKind::Windows, MonitorKind::Reference] {
        for seconds in [1, 2, 3, 4] {
            let mut toy = Toy::new(2048);
            let attrs = MonitorAttrs { max_regions: 100, ..MonitorAttrs::default() };
            let options = MonitorOptions { max_overhead: Some(0.1), ..MonitorOptions::default() };
            let mut monitor = AnyMonitor::new(kind, attrs, options, seconds).unwrap();
            let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
            let mut used_us = 0;
            while toy.now_us < 30 * SECOND {
                if toy.now_us >= used_us {
                    toy.pages.iter_mut().for_each(|page| page.used = true);
                    toy.use_pages();
                    toy.pages.iter_mut().for_each(|page| page.used = false);
                    used_us = toy.now_us + seconds * SECOND;
                }
                let now_us = toy.now_us;
                if let Some(snapshot) = monitor.tick(&mut toy.memory, now_us).unwrap() {
                    engine.pass(&snapshot, &mut toy.memory, &mut Plenty).unwrap();
                }
                toy.now_us += monitor.wait_us();
            }
            let paged_out: u64 = toy.log.iter().map(|done| done.bytes).sum();
            assert_eq!(paged_out, 0, "{kind:?}, used every {seconds} s");
        }
    }
}

#[test]
fn pages_known_to_be_in_use_are_left_without_a_proof_too() {
    let seldom =
        Pattern { rate: Bounds { min: Rate::MIN, max: Rate::Share(0.05) }, ..Pattern::ANY };
    let mut toy = Toy::new(100);
    toy.runs = vec![PageRun { range: pages(40, 41), access_rate: 0.9, age_us: 0 }];
    let mut engine = Engine::new(vec![Scheme::new(seldom, Action::Pageout)]);
    toy.pass(&mut engine);
    assert_eq!(toy.present(), 1);
    assert!(toy.pages[40].present);
}

#[test]
fn idle_pages_among_those_in_use_go() {
    let mut toy = Toy::new(100).used(0, 10).used(11, 100).knows(&[(0, 100, 0.5)]);
    toy.runs = vec![PageRun {
        range: pages(10, 11),
        access_rate: 0.0,
        age_us: 80 * super::toy::INTERVAL_US,
    }];
    let mut engine = Engine::new(vec![idle(5, Action::Pageout)]);
    toy.run(&mut engine, 6 * SECOND);
    assert_eq!((toy.present(), toy.pages[10].present), (99, false));
}

#[test]
fn memory_in_use_fits_nothing_that_is_for_idle_memory() {
    let mut toy = Toy::new(1000).used(0, 1000).knows(&[(0, 1000, 0.3)]);
    let mut engine = Engine::new(vec![idle(1, Action::Pageout), idle(1, Action::Cold)]);
    toy.run(&mut engine, 10 * SECOND);
    assert!(toy.log.is_empty());
    assert_eq!((stats(&engine).tried_bytes, toy.armed.len()), (0, 0));
}

#[test]
fn an_age_starts_anew_after_an_action_but_not_after_counting() {
    let mut toy = Toy::new(100);
    let mut engine = Engine::new(vec![idle(5, Action::Stat), idle(5, Action::Cold)]);
    toy.run(&mut engine, 16 * SECOND);
    let times: Vec<u64> = toy.log.iter().map(|done| done.at_us / SECOND).collect();
    assert_eq!(times, [5, 10, 15]);
    // The counting comes first, so it sees the age of 5 s that the other scheme resets.
    assert_eq!(stats(&engine).tried_regions, 3);
    let mut engine = Engine::new(vec![idle(5, Action::Stat)]);
    Toy::new(100).run(&mut engine, 16 * SECOND);
    assert_eq!(stats(&engine).tried_regions, 111);
}

#[test]
fn huge_pages_are_made_of_what_is_present_and_in_use_only() {
    let mut toy = Toy::new(4 * 512).used(0, 512).used(512, 600).used(1024, 1400).used(1536, 2048);
    // Of the second block a part is there, of the third a part is used, of the last most.
    toy.pages[600..1024].iter_mut().for_each(|page| page.present = false);
    toy.pages[1536..1700].iter_mut().for_each(|page| (page.present, page.used) = (false, false));
    toy.known[0].rate = 0.5;
    let mut engine = Engine::new(vec![hot(Action::Hugepage)]);
    toy.run(&mut engine, 5 * SECOND);
    let huge: Vec<bool> = (0..4).map(|block| toy.pages[block * 512].huge).collect();
    assert_eq!(huge, [true, false, true, true]);
    let stats = stats(&engine);
    assert_eq!(stats.bloat_bytes, 164 * PAGE_SIZE as i64);
    assert_eq!(stats.applied_bytes, 3 * 512 * PAGE_SIZE);
    assert_eq!(stats.refused_bytes[&Refusal::NotWorth], 512 * PAGE_SIZE);
    let done = toy.log.len();
    toy.run(&mut engine, 5 * SECOND);
    assert_eq!(toy.log.len(), done, "what is huge or not worth it is left for a while");
}

#[test]
fn what_was_armed_for_long_is_judged_at_once() {
    let mut toy = Toy::new(8 * 512).used(0, 8 * 512);
    toy.known[0].rate = 0.5;
    toy.prices.arm_page = 10.0;
    let mut engine = Engine::new(vec![hot(Action::Hugepage)]);
    toy.run(&mut engine, 4 * INTERVAL_US);
    assert!(toy.pages.iter().all(|page| page.huge));
}

#[test]
fn what_nobody_used_for_a_moment_is_judged_later() {
    let mut toy = Toy::new(2 * 512);
    toy.known[0].rate = 0.5;
    let mut engine = Engine::new(vec![hot(Action::Hugepage)]);
    toy.run(&mut engine, SECOND / 2);
    // Its user has the CPU again.
    let mut toy = toy.used(0, 512);
    toy.run(&mut engine, SECOND);
    assert!(toy.pages[0].huge && !toy.pages[512].huge);
    assert_eq!(stats(&engine).refused_bytes[&Refusal::NotWorth], 512 * PAGE_SIZE);
}

#[test]
fn idle_huge_pages_become_small_and_rest() {
    let mut toy = Toy::new(1024);
    toy.pages[..512].iter_mut().for_each(|page| page.huge = true);
    let mut engine = Engine::new(vec![idle(2, Action::Nohugepage)]);
    toy.run(&mut engine, 8 * SECOND);
    assert!(toy.pages.iter().all(|page| !page.huge));
    assert_eq!(toy.log.len(), 1);
}

#[test]
fn what_is_to_stay_is_asked_to_in_every_pass() {
    let mut toy = Toy::new(64).knows(&[(0, 32, 0.9), (32, 64, 0.0)]);
    let mut engine = Engine::new(vec![hot(Action::Lock)]);
    toy.run(&mut engine, SECOND);
    assert_eq!(toy.log.len(), 10);
    assert!(toy.log.iter().all(|done| done.range == pages(0, 32)));
}

#[test]
fn filters_decide_what_is_left() {
    let mut toy = Toy::new(100);
    toy.mappings = vec![
        Mapping { range: pages(0, 30), name: "/usr/lib/libc.so".into(), shared: false },
        Mapping { range: pages(30, 100), name: "[heap]".into(), shared: false },
    ];
    toy.pages[50..60].iter_mut().for_each(|page| page.huge = true);
    let keep = |filter_type| Filter { filter_type, inverted: false, allow: false };
    let filters = vec![keep(FilterType::File), keep(FilterType::Addresses(pages(90, 200)))];
    let scheme = Scheme { filters, ..idle(1, Action::Pageout) };
    let mut engine = Engine::new(vec![scheme]);
    toy.run(&mut engine, 3 * SECOND);
    let left: Vec<usize> = (0..100).filter(|&page| toy.pages[page].present).collect();
    assert_eq!(left, (0..30).chain(90..100).collect::<Vec<_>>());
    assert_eq!(stats(&engine).tried_bytes % (60 * PAGE_SIZE), 0);
}

#[test]
fn huge_memory_can_be_filtered() {
    let mut toy = Toy::new(1024);
    toy.pages[..512].iter_mut().for_each(|page| page.huge = true);
    let filters = vec![Filter { filter_type: FilterType::Huge, inverted: false, allow: false }];
    let mut engine = Engine::new(vec![Scheme { filters, ..idle(1, Action::Pageout) }]);
    toy.run(&mut engine, 3 * SECOND);
    assert_eq!(toy.present(), 512);
    assert!(toy.pages[0].present);
}

#[test]
fn a_dry_run_counts_what_is_there_once_and_does_nothing() {
    let mut toy = Toy::new(1000).used(10, 12);
    toy.pages[100..200].iter_mut().for_each(|page| page.present = false);
    toy.memory.shared = vec![pages(300, 350), pages(351, 352)];
    let mut engine = Engine::new(vec![idle(2, Action::Pageout)]);
    let mut counted = Counted::default();
    for _ in 0..100 {
        toy.now_us += super::toy::INTERVAL_US;
        let snapshot = toy.snapshot();
        engine
            .pass(&snapshot, &mut DryRun::new(&mut toy.memory, &mut counted), &mut Plenty)
            .unwrap();
    }
    assert!(toy.log.is_empty());
    assert_eq!(stats(&engine).applied_bytes, 849 * PAGE_SIZE, "nobody touches the used ones here");
    let refused: Vec<_> = stats(&engine).refused_bytes.iter().collect();
    assert_eq!(refused, [(&Refusal::Shared, &(51 * PAGE_SIZE))]);
}

#[test]
fn a_dry_run_forgets_targets_that_have_ended() {
    let mut toy = Toy::new(100);
    let target = toy.snapshot().targets[0].id;
    let mut counted = Counted::default();
    let applied = |toy: &mut Toy, counted: &mut Counted| {
        let mut dry = DryRun::new(&mut toy.memory, counted);
        dry.apply(Action::Pageout, target, &[pages(0, 100)]).unwrap().applied_bytes
    };
    assert_eq!(applied(&mut toy, &mut counted), 100 * PAGE_SIZE);
    counted.forget_ended(&toy.snapshot());
    assert_eq!(applied(&mut toy, &mut counted), 0, "it lives, and counts once");
    counted.forget_ended(&Snapshot { targets: Vec::new(), ..toy.snapshot() });
    assert_eq!(applied(&mut toy, &mut counted), 100 * PAGE_SIZE, "another of its number");
}

/// Others may read a file that is mapped to be shared, without mapping it.
#[test]
fn files_mapped_to_be_shared_are_left_unless_a_filter_allows_them() {
    let mappings = [("/data", true), ("/lib/libc.so", false), ("", false), ("", true)];
    let mappings = mappings.iter().zip(0..).map(|(&(name, shared), at)| Mapping {
        range: pages(at * 100, at * 100 + 100),
        name: name.into(),
        shared,
    });
    let allow = |filter_type| Filter { filter_type, inverted: false, allow: true };
    let all = allow(FilterType::Addresses(pages(0, 400)));
    for (action, filters, shared_goes, rest_goes) in [
        (Action::Pageout, vec![], false, true),
        (Action::Pageout, vec![all], false, true),
        (Action::Pageout, vec![allow(FilterType::File), allow(FilterType::Anonymous)], true, true),
        (Action::Pageout, vec![allow(FilterType::File)], true, false),
    ] {
        let mut toy = Toy::new(400);
        toy.memory.mappings = mappings.clone().collect();
        let scheme = Scheme { filters, ..idle(5, action) };
        let mut engine = Engine::new(vec![scheme.clone()]);
        toy.run(&mut engine, 20 * SECOND);
        let went = |at: usize| toy.pages[at..at + 100].iter().filter(|page| !page.present).count();
        let expected =
            [shared_goes, true, rest_goes, rest_goes].map(|goes| if goes { 100 } else { 0 });
        assert_eq!([0, 100, 200, 300].map(went), expected, "{:?}", scheme.filters);
    }
}
