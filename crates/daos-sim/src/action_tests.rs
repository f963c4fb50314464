//! Tests of the simulated memory under actions: nothing gets lost, what is used comes back.

use super::*;
use crate::cost::Counters;
use crate::memory::{MemoryModel, MemoryUse};
use crate::options::SimOptions;
use daos_core::{AccessCheck, Metric, Metrics, Observation, PAGE_SIZE, Window};
use daos_workload::Config;
use proptest::prelude::*;

const MIB: u64 = 1 << 20;
const MIXED: &str = "\
cold, 16M
hot, 16M
swept, 16M

busy
1s
hot, random, 0, 1
swept, stride, 4096, 1
";

fn space(text: &str, options: SimOptions) -> SimSpace {
    SimSpace::new(Config::parse("test", text).unwrap(), options)
}

fn mixed(accesses_per_sec: u64) -> SimSpace {
    space(MIXED, SimOptions { accesses_per_sec, seed: 3, ..SimOptions::default() })
}

/// One region of 64 MiB, accessed like that.
fn one(pattern: &str, options: SimOptions) -> SimSpace {
    space(&format!("all, 64M\n\nbusy\n1s\nall, {pattern}, 1\n"), options)
}

fn act(space: &mut SimSpace, action: Action, range: AddrRange) -> ActionReport {
    let Ok(report) = space.apply(action, TARGET, &[range]);
    report
}

fn check(space: &mut SimSpace, range: AddrRange) -> Observation {
    let mut found = Vec::new();
    let windows: Vec<Window> = (range.start..range.end)
        .step_by(BLOCK_SIZE as usize)
        .map(|start| {
            let pages = (range.end.min(start + BLOCK_SIZE) - start) / PAGE_SIZE;
            Window { target: TARGET, start, pages: pages as u32 }
        })
        .collect();
    let Ok(()) = space.check(&windows, &mut found);
    found.iter().fold(Observation::default(), |sum, o| Observation {
        present: sum.present + o.present,
        accessed: sum.accessed + o.accessed,
        entries: sum.entries + o.entries,
        ..sum
    })
}

fn counts(space: &mut SimSpace, range: AddrRange) -> (u32, u32) {
    let found = check(space, range);
    (found.present, found.accessed)
}

#[test]
fn hot_memory_comes_back_and_cold_does_not() {
    let mut space = mixed(20_000_000);
    let [cold, hot, swept] = *space.ranges() else { panic!("three regions") };
    for range in [cold, hot, swept] {
        let report = act(&mut space, Action::Pageout, range);
        assert_eq!((report.applied_bytes, &report.applied[..]), (16 * MIB, &[range][..]));
        assert_eq!(counts(&mut space, range), (0, 0));
    }
    let memory = space.memory();
    assert_eq!((memory.resident_bytes, memory.swapped_bytes), (0, 48 * MIB));
    assert_eq!(
        act(&mut space, Action::Pageout, hot),
        ActionReport::default(),
        "it is gone already"
    );

    space.advance_us(1_000_000);
    assert_eq!(counts(&mut space, cold), (0, 0));
    assert_eq!(counts(&mut space, hot), (4096, 4096));
    assert_eq!(counts(&mut space, swept), (4096, 4096));
    let memory = space.memory();
    assert_eq!((memory.resident_bytes, memory.swapped_bytes), (32 * MIB, 16 * MIB));
    assert_eq!((memory.swap_outs, memory.swap_ins), (3 * 4096, 2 * 4096));
    assert_eq!(memory.stall_us, 81_920.0);
    assert!((memory.slowdown() - 0.08192).abs() < 1e-9, "{}", memory.slowdown());
}

#[test]
fn as_much_comes_back_as_is_accessed_however_often_one_looks() {
    // An access a page in 10 ms, on average.
    let expected = 1.0 - (-1.0f64).exp();
    for looks in [1, 10, 100] {
        let options = SimOptions { accesses_per_sec: 1_638_400, ..SimOptions::default() };
        let mut space = one("random, 0", options);
        let all = space.ranges()[0];
        act(&mut space, Action::Pageout, all);
        for _ in 0..looks {
            space.advance_us(10_000 / looks);
            space.memory();
        }
        let share = space.memory().swap_ins as f64 / all.pages() as f64;
        assert!((share - expected).abs() < 0.02, "{looks} looks: {share}, not {expected}");
    }
}

#[test]
fn a_stride_brings_back_exactly_what_it_passes() {
    // A step every 100 µs, every fourth page.
    let options = SimOptions { accesses_per_sec: 10_000, ..SimOptions::default() };
    let mut space = one("stride, 16K", options);
    let all = space.ranges()[0];
    act(&mut space, Action::Pageout, all);
    for step in 1..=9u64 {
        space.advance_us(20_000);
        assert_eq!(space.memory().swap_ins, 200 * step);
    }
    let first = AddrRange::new(all.start, all.start + 4 * PAGE_SIZE);
    assert_eq!(counts(&mut space, first), (1, 1));
    space.advance_us(3_600_000_000);
    assert_eq!(space.memory().swap_ins, 4096);
}

#[test]
fn what_is_brought_back_ahead_is_not_waited_for() {
    let mut space = mixed(20_000_000);
    let (cold, hot) = (space.ranges()[0], space.ranges()[1]);
    for range in [cold, hot] {
        act(&mut space, Action::Pageout, range);
        assert_eq!(act(&mut space, Action::Willneed, range).applied_bytes, 16 * MIB);
        assert_eq!(act(&mut space, Action::Willneed, range), ActionReport::default());
        assert_eq!(counts(&mut space, range), (4096, 0), "present, and not accessed");
    }
    space.advance_us(1_000_000);
    assert_eq!(counts(&mut space, cold), (4096, 0));
    assert_eq!(counts(&mut space, hot), (4096, 4096));
    let memory = space.memory();
    assert_eq!((memory.swap_outs, memory.swap_ins, memory.stall_us), (8192, 8192, 0.0));
}

#[test]
fn what_came_back_can_be_armed_and_what_is_gone_can_not() {
    let mut space = mixed(20_000_000);
    let hot = space.ranges()[1];
    let window = Window { target: TARGET, start: hot.start, pages: 512 };
    act(&mut space, Action::Pageout, hot);
    let Ok(()) = space.arm(&[window, Window { pages: 1, ..window }]);
    let asked = Counters { ranges_armed: 2, ..Counters::default() };
    assert_eq!(space.counters(), asked, "there was nothing to clear");
    space.advance_us(1_000_000);
    let Ok(()) = space.arm(&[window]);
    assert_eq!(space.counters().entries_cleared, 512);
    assert_eq!(counts(&mut space, window.range()), (512, 0));
}

#[test]
fn only_what_was_accessed_comes_back_and_it_says_so() {
    let mut space = mixed(409_600);
    let hot = space.ranges()[1];
    let Ok(()) = space.arm(&[Window { target: TARGET, start: hot.start, pages: 512 }]);
    act(&mut space, Action::Pageout, hot);
    space.advance_us(20_000);
    let (present, accessed) = counts(&mut space, hot);
    assert!((2000..3000).contains(&present), "{present}");
    assert_eq!(accessed, present);
}

#[test]
fn swap_may_be_full() {
    let mut space = mixed(0);
    let swap_bytes = 3 * MIB + 1;
    space.set_memory_model(MemoryModel { swap_bytes, ..MemoryModel::DISK });
    let cold = space.ranges()[0];
    let report = act(&mut space, Action::Pageout, cold);
    assert_eq!(report.applied_bytes, 3 * MIB);
    assert_eq!(report.refused, [(Refusal::NoRoom, 13 * MIB)]);
    assert_eq!(report.applied, [AddrRange::new(cold.start, cold.start + 4 * MIB)]);
    assert_eq!(space.memory().swapped_bytes, 3 * MIB);
}

#[test]
fn huge_pages_make_it_faster() {
    let work = |pattern: &str, share: u64| {
        let mut space = one(pattern, SimOptions::default());
        let all = space.ranges()[0];
        let end = all.start + all.len() * share / 4;
        space.advance_us(1_000_000);
        let before = space.memory();
        assert_eq!(before.work(), 1.0);
        let report = act(&mut space, Action::Hugepage, AddrRange::new(all.start, end));
        assert_eq!((report.applied_bytes, report.bloat_bytes), (16 * MIB * share, 0));
        assert_eq!(space.memory().huge_bytes, 16 * MIB * share);
        space.advance_us(1_000_000);
        space.memory().since(&before).work()
    };
    assert!((work("random, 0", 4) - 1.15).abs() < 1e-9);
    assert!((work("stride, 4K", 4) - 1.03).abs() < 1e-9);
    assert!((work("random, 0", 2) - 2.0 / (1.0 + 1.0 / 1.15)).abs() < 1e-9);
    assert_eq!(work("random, 0", 0), 1.0);
}

#[test]
fn a_new_huge_page_has_one_bit_which_is_set() {
    let mut space = mixed(0);
    let cold = space.ranges()[0];
    let window = Window { target: TARGET, start: cold.start, pages: 512 };
    let Ok(()) = space.arm(&[window]);
    assert_eq!(check(&mut space, window.range()).entries, 512);
    act(&mut space, Action::Hugepage, window.range());
    assert_eq!(counts(&mut space, window.range()), (512, 512));
    assert_eq!(check(&mut space, window.range()).entries, 1);
    assert_eq!(act(&mut space, Action::Hugepage, window.range()), ActionReport::default());

    let Ok(()) = space.arm(&[Window { pages: 1, ..window }]);
    assert_eq!(counts(&mut space, window.range()), (512, 0));
    let page = AddrRange::new(window.start, window.start + PAGE_SIZE);
    act(&mut space, Action::Pageout, page);
    assert_eq!(counts(&mut space, window.range()), (511, 0));
    assert_eq!((space.memory().huge_bytes, check(&mut space, window.range()).entries), (0, 511));

    let part = AddrRange::new(cold.start + MIB, cold.start + 3 * MIB);
    assert_eq!(act(&mut space, Action::Hugepage, part).refused, [(Refusal::Unsuitable, 2 * MIB)]);
}

#[test]
fn a_huge_page_is_cleared_as_a_whole_and_it_says_so() {
    let mut space = mixed(0);
    let cold = space.ranges()[0];
    let page = |at: u64| Window { target: TARGET, start: cold.start + bytes(at), pages: 1 };
    let pages =
        |from, to| (TARGET, AddrRange::new(cold.start + bytes(from), cold.start + bytes(to)));
    assert!(space.take_cleared().is_empty(), "from now on it is noted");
    act(&mut space, Action::Hugepage, AddrRange::new(cold.start, cold.start + 4 * MIB));

    let Ok(()) = space.arm(&[page(3), page(700), page(1030), page(5)]);
    let expected = [pages(0, 512), pages(512, 1024), pages(1030, 1031)];
    assert_eq!(space.take_cleared(), expected, "page 5 was armed with page 3");
    act(&mut space, Action::Nohugepage, AddrRange::new(cold.start, cold.start + 2 * MIB));
    act(&mut space, Action::Hugepage, AddrRange::new(cold.start, cold.start + 2 * MIB));
    let Ok(()) = space.arm(&[Window { pages: 40, ..page(500) }]);
    assert_eq!(space.take_cleared(), [pages(0, 540)], "of the second nothing was left to clear");
    let Ok(()) = space.arm(&[Window { pages: 512, ..page(1000) }]);
    assert_eq!(space.take_cleared(), [pages(1000, 1512)]);
}

#[test]
fn what_was_accessed_of_a_huge_page_is_seen_when_it_is_split() {
    // 50 accesses to each huge page, but only to every tenth page.
    let options = SimOptions { huge_pages: true, accesses_per_sec: 1600, ..SimOptions::default() };
    let mut space = one("random, 0", options);
    let all = space.ranges()[0];
    for start in (all.start..all.end).step_by(BLOCK_SIZE as usize) {
        let Ok(()) = space.arm(&[Window { target: TARGET, start, pages: 512 }]);
    }
    assert_eq!(counts(&mut space, all), (16384, 0));
    space.advance_us(1_000_000);
    assert_eq!(act(&mut space, Action::Nohugepage, all).applied_bytes, 64 * MIB);
    assert_eq!(counts(&mut space, all), (16384, 16384));
}

#[test]
fn bloat_that_is_used_is_no_bloat() {
    let options = SimOptions { populate: false, accesses_per_sec: 16384, ..SimOptions::default() };
    let mut space = one("random, 0", options);
    let all = space.ranges()[0];
    space.advance_us(1_000_000);
    act(&mut space, Action::Hugepage, all);
    let unused = |space: &mut SimSpace| space.memory().bloat_bytes as f64 / all.len() as f64;
    assert!((unused(&mut space) - (-1.0f64).exp()).abs() < 0.02);
    space.advance_us(1_000_000);
    assert!((unused(&mut space) - (-2.0f64).exp()).abs() < 0.02);
    space.advance_us(100_000_000);
    assert_eq!(unused(&mut space), 0.0);
    assert_eq!(act(&mut space, Action::Nohugepage, all).bloat_bytes, 0);
}

#[test]
fn huge_pages_bloat_and_give_back() {
    // Every eighth page is ever accessed.
    let options = SimOptions { populate: false, ..SimOptions::default() };
    let mut space = one("stride, 32K", options);
    let all = space.ranges()[0];
    assert_eq!(act(&mut space, Action::Hugepage, all).refused, [(Refusal::NotWorth, 64 * MIB)]);
    space.advance_us(1_000_000);
    assert_eq!(space.memory().resident_bytes, 8 * MIB);
    let report = act(&mut space, Action::Hugepage, all);
    assert_eq!((report.applied_bytes, report.bloat_bytes), (64 * MIB, 56 * MIB as i64));
    space.advance_us(1_000_000);
    let memory = space.memory();
    assert_eq!((memory.resident_bytes, memory.bloat_bytes), (64 * MIB, 56 * MIB));

    let half = AddrRange::new(all.start, all.start + 31 * MIB);
    let report = act(&mut space, Action::Nohugepage, half);
    assert_eq!(report.applied_bytes, 31 * MIB);
    assert_eq!(report.bloat_bytes * 8, -7 * 31 * MIB as i64);
    // The sixteenth huge page was split, but of its second half nothing given back.
    assert_eq!(space.memory().huge_bytes, 32 * MIB);
    assert_eq!(space.memory().bloat_bytes * 8, 7 * 33 * MIB);
    // Pages of zeros take no room in swap.
    assert_eq!(
        act(&mut space, Action::Pageout, all).applied_bytes,
        (64 - 31 + 31 / 8) * MIB + MIB * 7 / 8
    );
    assert_eq!(space.memory().swapped_bytes, 8 * MIB);
    space.advance_us(1_000_000);
    let memory = space.memory();
    assert_eq!((memory.resident_bytes, memory.bloat_bytes), (8 * MIB, 0));
}

#[test]
fn a_scarce_huge_page_is_brought_by_its_first_access() {
    let pattern = "random, 0";
    let options = SimOptions { populate: false, accesses_per_sec: 32, ..SimOptions::default() };
    let mut small = one(pattern, options);
    let mut huge = one(pattern, SimOptions { huge_pages: true, ..options });
    small.advance_us(1_000_000);
    huge.advance_us(1_000_000);
    let (small, memory) = (small.memory(), huge.memory());
    assert_eq!(memory.resident_bytes, memory.huge_bytes);
    assert_eq!(memory.bloat_bytes + small.resident_bytes, memory.resident_bytes);
    // The same draws: some 20 of 32 huge pages got one or two.
    assert!((10..30).contains(&(memory.huge_bytes / BLOCK_SIZE)), "{memory:?}");
    let all = huge.ranges()[0];
    let report = act(&mut huge, Action::Nohugepage, all);
    assert_eq!(-report.bloat_bytes, memory.bloat_bytes as i64);
    assert_eq!(huge.memory().resident_bytes, small.resident_bytes);
}

#[test]
fn untouched_memory_appears_with_its_first_access() {
    let options =
        SimOptions { populate: false, accesses_per_sec: 20_000_000, ..SimOptions::default() };
    let mut space = space(MIXED, options);
    let [cold, hot, _] = *space.ranges() else { panic!("three regions") };
    let start = Window { target: TARGET, start: hot.start, pages: 1 };
    let mut found = Vec::new();
    let Ok(()) = space.check(&[start, Window { pages: 512, ..start }], &mut found);
    assert!(found.iter().all(|o| (o.present, o.empty_bytes) == (0, BLOCK_SIZE)), "{found:?}");
    assert_eq!(space.targets().unwrap()[0].resident_bytes, Some(0));
    space.advance_us(1_000_000);
    assert_eq!(space.targets().unwrap()[0].resident_bytes, Some(32 * MIB));
    assert_eq!(counts(&mut space, hot), (4096, 4096));
    assert_eq!(counts(&mut space, cold), (0, 0));
    let memory = space.memory();
    assert_eq!((memory.untouched_bytes, memory.swap_ins), (16 * MIB, 0));
    assert_eq!(memory.work(), 1.0);
}

#[test]
fn what_actions_take_is_on_the_clock() {
    let mut space = mixed(0);
    let cold = space.ranges()[0];
    let model = MemoryModel::ZRAM;
    let mut took = |action| {
        let before = space.clock_us();
        act(&mut space, action, cold);
        space.clock_us() - before
    };
    let near = |took: f64, each: f64, number: f64| {
        let expected = each * number + model.call_us;
        assert!((took - expected).abs() < 0.01, "{took}, not {expected}");
    };
    near(took(Action::Cold), model.advise_us, 4096.0);
    near(took(Action::Pageout), model.page_out_us, 4096.0);
    near(took(Action::Willneed), model.page_in_us, 4096.0);
    near(took(Action::Hugepage), model.collapse_us, 8.0);
    near(took(Action::Nohugepage), model.split_us, 8.0);
    near(took(Action::Lock), model.advise_us, 4096.0);
    assert_eq!(took(Action::Stat), 0.0);
}

#[test]
fn others_are_gone_and_holes_are_nothing() {
    let mut space = mixed(0);
    let cold = space.ranges()[0];
    let Ok(report) = space.apply(Action::Pageout, TargetId(1), &[cold]);
    assert_eq!(report.refused, [(Refusal::Gone, 16 * MIB)]);
    assert!(space.mappings(TargetId(1)).is_empty() && space.mappings(TARGET).len() == 3);
    let hole = AddrRange::new(cold.end, cold.end + PAGE_SIZE);
    assert_eq!(act(&mut space, Action::Pageout, hole), ActionReport::default());
    let end = space.ranges()[2].end;
    let all = AddrRange::new(cold.start - MIB, end + MIB);
    assert_eq!(act(&mut space, Action::Pageout, all).applied_bytes, 48 * MIB);
}

#[test]
fn schemes_are_told_how_memory_is() {
    let mut space = mixed(20_000_000);
    let read = |space: &mut SimSpace| {
        let mut metrics = space.metrics();
        Metric::ALL.iter().map(|metric| metrics.read(*metric)).collect::<Vec<_>>()
    };
    assert_eq!(read(&mut space), [None, Some(0.0), Some(1.0)]);
    space.set_memory_model(MemoryModel {
        dram_bytes: Some(64 * MIB),
        swap_in_us: 1e6 / 8192.0,
        ..MemoryModel::ZRAM
    });
    let [cold, hot, swept] = *space.ranges() else { panic!("three regions") };
    for range in [cold, hot, swept] {
        act(&mut space, Action::Pageout, range);
    }
    assert_eq!(read(&mut space), [Some(1.0), Some(0.0), Some(0.0)]);
    space.advance_us(1_000_000);
    let [free, pressure, resident] = read(&mut space)[..] else { panic!("three metrics") };
    assert_eq!((free, resident), (Some(0.5), Some(2.0 / 3.0)));
    // It waited for as long as it ran, for a second of ten.
    assert!((pressure.unwrap() - 0.5 * (1.0 - (-0.1f64).exp())).abs() < 1e-9, "{pressure:?}");
}

/// Regions that share blocks, of these numbers of pages, every other one in use.
fn packed(pages: &[u64], options: SimOptions) -> SimSpace {
    let mut text = String::new();
    for (at, pages) in pages.iter().enumerate() {
        text += &format!("r{at}, {}K\n", pages * 4);
    }
    text += "\nbusy\n1s\n";
    for (at, order) in (0..pages.len()).step_by(2).zip(["random, 0", "stride, 8K"].iter().cycle()) {
        text += &format!("r{at}, {order}, 1\n");
    }
    let mut end = BLOCK_SIZE + 5 * PAGE_SIZE;
    let ranges = pages.iter().map(|pages| {
        let start = end;
        end += pages * PAGE_SIZE;
        AddrRange::new(start, end)
    });
    let ranges = ranges.collect();
    SimSpace::placed(Config::parse("packed", &text).unwrap(), ranges, options).unwrap()
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Act(Action, u64, u64),
    Arm(u64, u32),
    Wait(u64),
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let actions = prop::sample::select(Action::ALL);
    let block = prop_oneof![Just(1u64), Just(512)];
    prop_oneof![
        4 => (actions, 0u64..4000, 1u64..2000, block).prop_map(|(action, start, pages, unit)| {
            // Half of them of whole blocks.
            Step::Act(action, start / unit * unit, pages.next_multiple_of(unit))
        }),
        1 => (0u64..4000, 1u32..=512).prop_map(|(start, pages)| Step::Arm(start, pages)),
        2 => (0u64..50_000).prop_map(Step::Wait),
        1 => Just(Step::Look),
    ]
}

proptest! {
    #[test]
    fn nothing_gets_lost(
        seed: u64, huge_pages: bool, populate: bool, swap_pages in 0u64..5000,
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let options = SimOptions {
            seed, huge_pages, populate, accesses_per_sec: 50_000, ..SimOptions::default()
        };
        let pages = [100, 1000, 1, 3, 1500, 400, 700];
        let swap_bytes = swap_pages * PAGE_SIZE;
        let mut runs = Vec::new();
        for _ in 0..2 {
            let mut space = packed(&pages, options);
            space.set_memory_model(MemoryModel { swap_bytes, ..MemoryModel::ZRAM });
            let (first, whole) = (BLOCK_SIZE, AddrRange::new(BLOCK_SIZE, 10 * BLOCK_SIZE));
            let mapped: u64 = bytes(pages.iter().sum());
            let mut run: Vec<(MemoryUse, ActionReport)> = Vec::new();
            for step in &steps {
                let before = space.memory();
                let mut report = ActionReport::default();
                match *step {
                    Step::Act(action, start, pages) => {
                        let start = first + start * PAGE_SIZE;
                        let range = AddrRange::new(start, start + pages * PAGE_SIZE);
                        report = act(&mut space, action, range);
                        let after = space.memory();
                        let more = after.resident_bytes as i64 - before.resident_bytes as i64;
                        let applied = report.applied_bytes as i64;
                        match action {
                            Action::Pageout => prop_assert_eq!(-more, applied),
                            Action::Willneed => prop_assert_eq!(more, applied),
                            _ => prop_assert_eq!(more, report.bloat_bytes),
                        }
                        let refused: u64 = report.refused.iter().map(|(_, bytes)| bytes).sum();
                        prop_assert!(report.applied_bytes + refused <= range.len());
                        let inside: u64 = report.applied.iter().map(AddrRange::len).sum();
                        prop_assert!(report.applied_bytes <= inside);
                        prop_assert!(report.applied.windows(2).all(|w| w[0].end < w[1].start));
                        let again = act(&mut space, action, range);
                        let changes = !matches!(action, Action::Cold | Action::Lock);
                        prop_assert!(!changes || again.applied_bytes == 0, "{:?}", again);
                    }
                    Step::Arm(start, pages) => {
                        let start = first + start * PAGE_SIZE;
                        let Ok(()) = space.arm(&[Window { target: TARGET, start, pages }]);
                    }
                    Step::Wait(us) => space.advance_us(us),
                    Step::Look => {
                        let found = check(&mut space, whole);
                        let memory = space.memory();
                        prop_assert_eq!(bytes(found.present.into()), memory.resident_bytes);
                        prop_assert!(found.accessed <= found.present);
                    }
                }
                let armed: Vec<_> = space.blocks.made().map(|(at, b)| (at, b.armed)).collect();
                for (number, armed) in armed {
                    let absent = space.residency_of(number).absent();
                    prop_assert!((armed & absent).is_empty(), "armed and not there");
                }
                let now = space.memory();
                prop_assert_eq!(
                    now.resident_bytes + now.swapped_bytes + now.untouched_bytes, mapped
                );
                prop_assert_eq!(bytes(now.swap_outs - now.swap_ins), now.swapped_bytes);
                prop_assert!(now.swapped_bytes <= swap_bytes);
                prop_assert!(now.bloat_bytes <= now.resident_bytes);
                prop_assert!(now.huge_bytes <= now.resident_bytes);
                prop_assert!(now.stall_us >= before.stall_us && now.gain_us >= before.gain_us);
                run.push((now, report));
            }
            runs.push(run);
        }
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}
